"""CPU times are those of the right processes."""

import os
import subprocess
import sys
import time

from tests.benchmarks.cpu import cpu_seconds, machine_cpu_seconds, process_tree


def test_cpu_time_is_the_process_clock() -> None:
    """A process's CPU time read from outside is what the process reads itself."""
    before = time.process_time()
    between = cpu_seconds([os.getpid()])
    assert before <= between <= time.process_time()


def test_children_belong_to_the_process() -> None:
    """The CPU time of nginx is that of its worker, so children are found."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in process_tree(os.getpid())
        child.communicate(b"\n")


def test_machine_does_at_least_what_this_process_does() -> None:
    """The machine's CPU time contains that of this process."""
    machine, own = machine_cpu_seconds(), time.process_time()
    while time.process_time() < own + 0.1:
        pass
    assert machine_cpu_seconds() - machine > 0.05
