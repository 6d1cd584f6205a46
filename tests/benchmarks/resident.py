"""Memory of other processes (Linux)."""

import os
from collections.abc import Iterable
from pathlib import Path


def resident_bytes(pids: Iterable[int]) -> int:
    """The memory that the processes occupy now; shared pages count in each.

    Raises:
        OSError: a process has ended.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page for pid in pids)
