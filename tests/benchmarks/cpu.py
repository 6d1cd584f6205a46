"""CPU time of other processes and of the machine (Linux)."""

import os
import time
from collections.abc import Iterable
from pathlib import Path


def process_tree(pid: int) -> list[int]:
    """The process and all its descendants."""
    tree = [pid]
    for parent in tree:  # grows while it is walked
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            tree += map(int, children.read_text().split())
    return tree


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU time that the processes have used so far, all threads, exact to the nanosecond.

    Raises:
        OSError: a process has ended.
    """
    return sum(time.clock_gettime_ns(_clock(pid)) for pid in pids) / 1e9


def machine_cpu_seconds() -> float:
    """CPU time that everything on this machine has used so far, in steps of 10 ms or so.

    What a hypervisor took away counts too: it disturbs a measurement just as well.
    """
    line = Path("/proc/stat").read_text().split("\n", 1)[0]
    user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = map(int, line.split()[1:])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _clock(pid: int) -> int:
    """The id of a process's CPU clock, as clock_getcpuclockid(3) makes it."""
    return ~pid << 3 | 2
