"""Requests under way over several processes: the same as if one process counted them."""

import random

import pytest

from specmeter.upstream.load import Load, Mark
from specmeter.upstream.shared_load import SharedLoad, SharedLoads


@pytest.mark.parametrize("seed", range(5))
def test_the_same_as_in_one_process(seed: int) -> None:
    """Whichever process a request is in, count and mean are those of one that has all of them."""
    dice = random.Random(seed)
    loads = SharedLoads(2, 4)
    cells = [loads.of(1, process) for process in range(4)]
    alone = Load()
    under_way: list[tuple[SharedLoad, Mark, Mark]] = []
    now = 1e6
    for _ in range(2000):
        now += dice.choice((0.0, 1e-4, dice.random()))
        if under_way and dice.random() < 0.5:
            cell, mark, mark_alone = under_way.pop(dice.randrange(len(under_way)))
            expected = alone.leave(mark_alone, now)
            assert cell.leave(mark, now) == pytest.approx(expected, rel=1e-4)
        else:
            cell = dice.choice(cells)
            under_way.append((cell, cell.enter(now), alone.enter(now)))
        assert {cell.under_way for cell in cells} == {alone.under_way}
    assert loads.of(0, 0).under_way == 0
    loads.close()


def test_two_descriptors_of_the_same_memory() -> None:
    """Who opens the memory by its descriptor counts together with who made it."""
    made = SharedLoads(1, 2)
    opened = SharedLoads(1, 2, made.file)
    mark = made.of(0, 0).enter(10.0)
    opened.of(0, 1).enter(12.0)
    assert made.of(0, 0).under_way == 2
    assert made.of(0, 0).leave(mark, 14.0) == 1.5
    made.close()


def test_a_process_that_ended_has_nothing_under_way() -> None:
    """What it left counts up to its end, and the next process in its place begins with none."""
    loads = SharedLoads(1, 2)
    stays, dies = loads.of(0, 0), loads.of(0, 1)
    mark = stays.enter(0.0)
    dies.enter(10.0)
    dies.enter(10.0)
    loads.process_ended(1, 20.0)
    assert stays.under_way == 1
    following = loads.of(0, 1)
    last = following.enter(30.0)
    assert following.leave(last, 40.0) == 2.0
    assert stays.leave(mark, 40.0) == (40 + 2 * 10 + 10) / 40
    assert stays.under_way == 0
    loads.close()


@pytest.mark.parametrize("written", [1, 2], ids=["count", "count and offset"])
@pytest.mark.parametrize("change", ["enter", "leave"])
def test_ended_in_the_middle_of_a_write(written: int, change: str) -> None:
    """A process that is killed between two numbers of its cell leaves no false integral."""
    loads = SharedLoads(1, 2)
    stays, dies = loads.of(0, 0), loads.of(0, 1)
    mark = stays.enter(1e6)
    dying = dies.enter(1e6)
    before = dies._row.tolist()
    if change == "enter":
        dies.enter(1e6 + 10)
    else:
        dies.leave(dying, 1e6 + 10)
    for number in range(3 + written, 6):
        dies._row[number] = before[number]
    loads.process_ended(1, 1e6 + 10)
    assert stays.under_way == 1
    assert stays.leave(mark, 1e6 + 20) == pytest.approx(1.5)
    loads.close()
