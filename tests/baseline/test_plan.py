"""Which contexts and loads fit a server, and the order of measuring."""

from collections import Counter
from typing import Any

from specmeter.baseline.plan import Cell, Plan, plan, rounds


def planned(contexts: tuple[int, ...], loads: tuple[int, ...], **more: Any) -> Plan:
    known: dict[str, Any] = {"least_prompt": 30, "window": None, "slots": None}
    return plan(contexts, loads, 64, **{**known, **more})


def test_every_context_is_combined_with_every_load() -> None:
    """Where nothing is known of the server."""
    found = planned((256, 1024), (1, 4))
    assert found.cells == (Cell(256, 1), Cell(256, 4), Cell(1024, 1), Cell(1024, 4))
    assert found.left_out == ()


def test_what_does_not_fit_into_the_window_is_left_out_and_told() -> None:
    """A context is the middle of a generation, so half of the output comes on top."""
    found = planned((256, 1000, 1024), (1,), window=1050)
    assert found.cells == (Cell(256, 1), Cell(1000, 1))
    (said,) = found.left_out
    assert said.startswith("context 1024 is left out")
    assert said.endswith("does not fit into the server's window of 1050")


def test_what_is_shorter_than_any_prompt_is_left_out_and_told() -> None:
    """The chat template alone has some tokens."""
    found = planned((50, 256), (1,))
    assert found.cells == (Cell(256, 1),)
    assert "context 50 is left out" in found.left_out[0]
    assert "62" in found.left_out[0]


def test_more_requests_than_the_server_works_on_are_left_out_and_told() -> None:
    """They would wait for one another."""
    found = planned((256,), (1, 2, 4), slots=2)
    assert found.cells == (Cell(256, 1), Cell(256, 2))
    assert found.left_out == ("4 in flight is left out: the server works on 2 at a time",)


def test_every_cell_comes_once_a_round_and_every_other_round_backwards() -> None:
    """So that a drift of the machine hits all alike."""
    cells = [Cell(256, 1), Cell(1024, 1), Cell(256, 2)]
    order = rounds(cells, 3)
    assert Counter(order) == {(repeat, cell): 1 for repeat in range(3) for cell in cells}
    first, second = ([cell for repeat, cell in order if repeat == at] for at in (0, 1))
    assert first == sorted(cells) == second[::-1]
