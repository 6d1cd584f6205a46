import io

from rich.console import Console

from specmeter.demo.screen import LiveResults, next_step, steps
from specmeter.demo.traffic import Row
from tests.demo.completions import DRAFTED, UNDRAFTED, completion


def console(*, terminal: bool, height: int = 30) -> tuple[Console, io.StringIO]:
    """Give a console of 80 columns, and what is written to it."""
    written = io.StringIO()
    return Console(file=written, force_terminal=terminal, width=80, height=height), written


def test_pipe_gets_a_line_as_each_completion_comes() -> None:
    """Without a terminal each completion is one line at once, the totals come at the end."""
    pipe, written = console(terminal=False)
    results = LiveResults(pipe)
    with results.shown():
        results.add(Row("prose", completion(DRAFTED)))
        lines = written.getvalue().splitlines()
        assert len(lines) == 1
        assert "drafted 192" in lines[0]
    assert written.getvalue().splitlines()[1:] == [
        "ngram-mod: acceptance 0.33 = accepted 64 / drafted 192",
        "ngram-mod: output per target step 1.98 = tokens 129 / steps 65",
        "ngram-mod: tokens per second 80.0 = decoded tokens 128 / decode seconds 1.60",
    ]


def test_terminal_ends_with_the_totals_of_every_upstream() -> None:
    """On a terminal the last picture holds the newest rows and both totals, uncut."""
    screen, written = console(terminal=True)
    results = LiveResults(screen)
    with results.shown():
        results.asking = "plain: list"
        for number in range(30):
            results.add(Row(f"prompt {number}", completion(DRAFTED)))
            results.add(Row("prose", completion(UNDRAFTED, "plain")))
        results.asking = None
    last = written.getvalue().rpartition("upstream")[2]
    assert "prompt 29" in last
    assert "prompt 20" not in last
    assert "accepted 1920 / drafted 5760" in last
    assert "decoded tokens 3000 / decode seconds 60.00" in last
    assert "Ctrl-C" not in last


def test_totals_are_seen_in_a_small_terminal() -> None:
    """While it runs, a terminal of 24 lines shows both totals and how to end."""
    screen, _ = console(terminal=True, height=24)
    results = LiveResults(screen)
    for _ in range(20):
        results.add(Row("code", completion(DRAFTED)))
        results.add(Row("code", completion(UNDRAFTED, "plain")))
    results.asking = "plain: list"
    lines = screen.render_lines(results._view(), pad=False)
    assert len(lines) <= 24
    text = "".join(segment.text for line in lines for segment in line)
    assert text.count("output per target step") == 2
    assert "Ctrl-C ends the demo" in text


def test_steps_are_lines_in_a_pipe() -> None:
    """Without a terminal each step of the start is a line of its own."""
    pipe, written = console(terminal=False)
    with steps(pipe, count=2) as progress:
        next_step(progress, "starting this")
        next_step(progress, "starting that")
    assert written.getvalue().splitlines() == ["starting this", "starting that"]


def test_steps_move_a_bar_on_a_terminal() -> None:
    """On a terminal a bar moves on when a step is done."""
    screen, written = console(terminal=True)
    with steps(screen, count=2) as progress:
        next_step(progress, "starting this")
        assert progress.tasks[0].completed == 0
        next_step(progress, "starting that")
        assert progress.tasks[0].completed == 1
    assert "starting that" in written.getvalue()
