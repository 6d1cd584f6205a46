"""How many files the system lets this process open, connections included, and what that is for."""

from __future__ import annotations

import contextlib
import errno
import os
import resource

OWN_FILES = 32
"""Kept free of clients: for the admin listener, questions to upstreams, the log, the state file,
and clients that are just being refused."""

_OPEN_AT_START = 32
"""Assumed where the system does not tell; it is fewer."""

REMEDY = "Raise it: ulimit -n, LimitNOFILE= of systemd, or --ulimit nofile= of docker."

_OUT_OF_FILES = frozenset((errno.EMFILE, errno.ENFILE))


def raise_limit() -> None:
    """Let this process open as many files as it may without asking anybody."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def limit() -> int | None:
    """Return how many files may be open at a time; `None` if there is no limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def room_for_clients(listing: str = "/dev/fd") -> int | None:
    """Return for how many clients at a time there are files; `None` if there is no limit.

    Each needs two: its own connection, and one to the upstream.

    Args:
        listing: The folder in which the system lists what this process has open.
    """
    most = limit()
    if most is None:
        return None
    try:
        is_open = len(os.listdir(listing))  # noqa: PTH208 - names only
    except OSError:  # as where the root was changed, and nobody mounted /proc
        is_open = _OPEN_AT_START
    return max((most - is_open - OWN_FILES) // 2, 1)


def is_out_of_files(error: OSError) -> bool:
    """Whether something failed because no more files can be opened."""
    if error.errno in _OUT_OF_FILES:
        return True
    # The look-up of a name fails with an error of its own then: see whether that is why.
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as cause:
        return cause.errno in _OUT_OF_FILES
    return False
