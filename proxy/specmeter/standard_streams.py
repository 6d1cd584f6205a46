"""Standard input, output and error, where whoever started the program closed some of them."""

import os
import sys

_STANDARD = (0, 1, 2)


def open_missing() -> None:
    """Open /dev/null as those of descriptors 0, 1 and 2 that are closed.

    Else the next files to be opened get these numbers, and libuv ends the program where it is to
    close one of them.

    Raises:
        OSError: One is closed, and there is no /dev/null.
    """
    for number in _STANDARD:
        if not _is_open(number):
            # The lowest number that is free, so this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # children need it too
    # Python has none for what was closed when it started, and not everybody asks before writing.
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - open to the end
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
