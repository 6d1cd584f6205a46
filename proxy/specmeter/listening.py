"""What is said when nobody can listen where the configuration says."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterator

from specmeter.config import Address
from specmeter.errors import StartupError

_ELSEWHERE = "Name an address of this machine, such as 127.0.0.1,"
_REMEDIES = {
    errno.EADDRNOTAVAIL: _ELSEWHERE,
    errno.EAFNOSUPPORT: _ELSEWHERE,
    errno.EACCES: "Choose a port above 1023, or run it with CAP_NET_BIND_SERVICE: name one",
    errno.EADDRINUSE: "Stop what uses it, or choose another",
}


@contextlib.contextmanager
def told_plainly(key: str, address: Address) -> Iterator[None]:
    """Tell a failure to listen by what to do about it.

    Args:
        key: The setting that says where, which is also a flag.
        address: What it says.

    Raises:
        StartupError: Nobody can listen there.
    """
    try:
        yield
    except (socket.gaierror, UnicodeError) as error:  # the latter: what no name can look like
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        text = f"its name cannot be found: {reason}. {_ELSEWHERE}"
    except OSError as error:
        reason = (os.strerror(error.errno) if error.errno else str(error)).lower()
        text = f"{reason}. {_REMEDIES.get(error.errno or 0, 'Choose another')}"
    else:
        return
    raise StartupError(f"{key}: cannot listen on {address}: {text} with --{key} HOST:PORT")
