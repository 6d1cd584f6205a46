"""Replace a file in one go, so that whoever reads it finds the former or the new one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

PRIVATE = 0o600
READABLE = 0o644


def replace_file(path: Path, content: bytes, mode: int = PRIVATE) -> None:
    """Write a file and put it in the place of the former one. Blocks.

    Args:
        path: Of the file; its folder has to exist.
        content: All of it.
        mode: The new file's permissions.

    Raises:
        OSError: It cannot be written; then the former file is still there.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            if mode != PRIVATE:
                os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    # The new name is on the disk only once the folder is.
    opened = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
