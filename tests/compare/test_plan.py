"""The order of the runs."""

from collections import Counter
from itertools import pairwise

from specmeter.compare.plan import Side, plan
from specmeter.compare.samples import Cell

CELLS = [Cell(prompt, length) for prompt in "ab" for length in (128, 512)]


def test_every_cell_runs_on_both_servers_as_often_as_asked() -> None:
    """Nothing is left out, nothing comes twice."""
    counts = Counter((step.side, step.cell) for step in plan(CELLS, 3, seed=1))
    assert counts == {(side, cell): 3 for side in Side for cell in CELLS}


def test_a_seed_gives_the_order() -> None:
    """The same one the same, another one another."""
    assert plan(CELLS, 3, seed=1) == plan(CELLS, 3, seed=1)
    assert plan(CELLS, 3, seed=1) != plan(CELLS, 3, seed=2)


def test_servers_are_interleaved() -> None:
    """Neither server runs long without the other, on the average of many seeds."""
    changes = 0
    for seed in range(200):
        sides = [step.side for step in plan(CELLS, 3, seed)]
        changes += sum(one is not other for one, other in pairwise(sides))
    assert 11 < changes / 200 < 13  # 23 neighbours, of which half differ
