"""Show completions and totals: as a table for a terminal, as plain lines for a file or pipe."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.table import Table

from specmeter.demo.tally import Ratio, Tally
from specmeter.demo.traffic import Row
from specmeter.speedup.interval import Verdict, speedup

_UNKNOWN = "–"  # noqa: RUF001 - a dash in a column of numbers
_NEARLY_ALL = 0.9
_WORDS = {
    Verdict.FASTER: "faster",
    Verdict.SLOWER: "slower",
    Verdict.CANNOT_TELL: "cannot tell",
    Verdict.NO_BASELINE: "no baseline",
}
_FEW = 6  # prompts: two rounds of the mix
_WIDE = 126  # columns of a terminal


def rows_table(rows: Sequence[Row], width: int) -> Table:
    """Make the table of single completions; a narrow one leaves out the model names."""
    wide = width >= _WIDE
    table = _table(padding=1 if wide else 0)
    for name in ("model", "upstream", "prompt") if wide else ("upstream", "prompt"):
        table.add_column(name)
    for name in (
        *("tokens", "drafted", "accepted", "accept-\nance", "output\nper step", "tok/s"),
        "speedup",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        names = (row.completion.model_name, row.completion.upstream, row.prompt)
        table.add_row(*names[0 if wide else 1 :], *_cells(row))
    return table


def row_line(row: Row) -> str:
    """Write one completion on one line."""
    done = row.completion
    tokens, drafted, accepted, acceptance, output_per_step, speed, speedup = _cells(row)
    return (
        f"{done.model_name} ({done.upstream}) {row.prompt}: tokens {tokens}, drafted {drafted}, "
        f"accepted {accepted}, acceptance {acceptance}, output per step {output_per_step}, "
        f"tok/s {speed}, speedup {speedup}"
    )


def totals_table(totals: Mapping[str, Tally]) -> Table:
    """Make the table of totals, with what each number was divided from."""
    table = _table(padding=0)
    table.add_column("totals")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("from")
    for upstream, tally in totals.items():
        table.add_row(upstream, "", f"  completions {tally.completions}", style="bold")
        for name, value, source in _numbers(tally):
            table.add_row(f"  {name}", value, f"= {source}")
    return table


def totals_lines(totals: Mapping[str, Tally]) -> list[str]:
    """Write the totals, one number a line."""
    return [
        f"{upstream}: {name} {value} = {source}"
        for upstream, tally in totals.items()
        for name, value, source in _numbers(tally)
    ]


def comparison(plain: Tally, drafter: Tally, name: str) -> str | None:
    """Say in a sentence what was seen over the same prompts; `None` if speed is unknown."""
    speed, plain_speed = drafter.tokens_per_second.value, plain.tokens_per_second.value
    if speed is None or plain_speed is None:
        return None
    guesses = drafter.acceptance
    rate = guesses.value
    seen = (
        "drafted nothing"
        if rate is None
        else f"had acceptance {rate:.2f} ({_source(guesses, 'accepted', 'drafted', 0)})"
    )
    prompts = f"{plain.completions} prompt{'' if plain.completions == 1 else 's'}"
    slower = speed < plain_speed
    word = "and yet" if slower and rate is not None and rate >= _NEARLY_ALL else "and"
    caution = "" if plain.completions >= _FEW else " That is few: let the demo run longer."
    return (
        f"{name} {seen} {word} was {'slower' if slower else 'not slower'} than plain: "
        f"{speed:.1f} tok/s against {plain_speed:.1f} tok/s, "
        f"over the same {prompts} of this run.{caution}"
    )


def _table(padding: int) -> Table:
    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, padding))


def _cells(row: Row) -> tuple[str, ...]:
    reading = row.completion.reading
    speed = Ratio().plus(reading.decoded, reading.decode_seconds).value
    return (
        _number(reading.generated, 0),
        _number(reading.drafted, 0),
        _number(reading.accepted, 0),
        _number(reading.acceptance, 2),
        _number(reading.output_per_step, 2),
        _number(speed, 1),
        _times(None if row.completion.estimate is None else row.completion.estimate.ratio),
    )


def _numbers(tally: Tally) -> list[tuple[str, str, str]]:
    """Name, value and source of every number of a tally."""
    acceptance, steps, speed = tally.acceptance, tally.output_per_step, tally.tokens_per_second
    return [
        ("acceptance", _number(acceptance.value, 2), _source(acceptance, "accepted", "drafted", 0)),
        ("output per target step", _number(steps.value, 2), _source(steps, "tokens", "steps", 0)),
        (
            "tokens per second",
            _number(speed.value, 1),
            _source(speed, "decoded tokens", "decode seconds", 2),
        ),
        *_speedup(tally),
    ]


def _speedup(tally: Tally) -> list[tuple[str, str, str]]:
    """The speedup with its interval, its baseline and what can be said; nothing without one."""
    found = speedup(tally.sums)
    if found is None:
        return []
    sums, interval = tally.sums, found.interval
    span = "too few for an interval"
    if interval is not None:
        span = f"95 %: {interval.low:.2f} to {interval.high:.2f}"
    baseline = " and ".join(tally.baselines)
    return [
        (
            "speedup",
            _times(found.ratio),
            f"plain seconds {sums.plain:.2f} / decode seconds {sums.spent:.2f}",
        ),
        ("verdict", _WORDS[found.verdict], f"{span}; {sums.count} against {baseline}"),
    ]


def _times(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:.2f}×"  # noqa: RUF001 - the sign that is meant


def _source(ratio: Ratio, numerator: str, denominator: str, digits: int) -> str:
    above, below = _number(ratio.numerator, 0), _number(ratio.denominator, digits)
    return f"{numerator} {above} / {denominator} {below}"


def _number(value: float | None, digits: int) -> str:
    return _UNKNOWN if value is None else f"{value:.{digits}f}"
