# ruff: noqa: RUF001 - the signs are what is shown

import io

import pytest
from rich.console import Console
from rich.table import Table

from specmeter.demo.table import comparison, row_line, rows_table, totals_lines, totals_table
from specmeter.demo.tally import Ratio, Tally
from specmeter.demo.traffic import Row
from tests.demo.completions import DRAFTED, ESTIMATE, SILENT, UNDRAFTED, completion


def rendered(table: Table, width: int) -> list[str]:
    written = io.StringIO()
    Console(file=written, width=width).print(table)
    return written.getvalue().splitlines()


def test_row_line_tells_every_number() -> None:
    """The line of a completion holds its tokens, drafts, ratios and speed."""
    done = completion(DRAFTED, estimate=ESTIMATE)
    assert row_line(Row("code, stream", done)) == (
        "model-of-ngram-mod (ngram-mod) code, stream: tokens 129, drafted 192, accepted 64, "
        "acceptance 0.33, output per step 1.98, tok/s 80.0, speedup 1.25×"
    )


def test_row_line_shows_unknown_as_a_dash() -> None:
    """What a server did not report is a dash, not 0."""
    assert row_line(Row("prose", completion(SILENT))).endswith(
        "tokens 50, drafted –, accepted –, acceptance –, output per step –, tok/s –, speedup –"
    )


@pytest.mark.parametrize("width", [80, 126])
def test_rows_table_fits_the_terminal(width: int) -> None:
    """A row stays on one line and uncut in a narrow terminal as in a wide one."""
    done = completion(DRAFTED, "draft-simple", estimate=ESTIMATE)
    rows = [Row("list, stream", done)]
    lines = rendered(rows_table(rows, width), width)
    (line,) = [line for line in lines if "draft-simple" in line]
    assert line.split()[-7:] == ["129", "192", "64", "0.33", "1.98", "80.0", "1.25×"]
    assert "list, stream" in line
    assert "…" not in "".join(lines)


def test_wide_table_names_the_model() -> None:
    """The model's name is shown where there is room."""
    rows = [Row("prose", completion(UNDRAFTED, "plain"))]
    assert "model-of-plain" in "".join(rendered(rows_table(rows, 126), 126))
    assert "model-of-plain" not in "".join(rendered(rows_table(rows, 80), 80))


def test_totals_name_their_denominators() -> None:
    """Each total says what was divided by what."""
    assert totals_lines({"ngram-mod": Tally().plus(DRAFTED).plus(UNDRAFTED)}) == [
        "ngram-mod: acceptance 0.33 = accepted 64 / drafted 192",
        "ngram-mod: output per target step 1.39 = tokens 230 / steps 166",
        "ngram-mod: tokens per second 63.3 = decoded tokens 228 / decode seconds 3.60",
    ]


def test_totals_tell_the_speedup_with_its_interval_and_baseline() -> None:
    """Ten completions of 1.6 s that would have taken 2.0: faster, and told by whom."""
    tally = Tally()
    for _ in range(10):
        tally = tally.plus(DRAFTED, ESTIMATE)
    assert totals_lines({"ngram-mod": tally})[-2:] == [
        "ngram-mod: speedup 1.25× = plain seconds 20.00 / decode seconds 16.00",
        "ngram-mod: verdict faster = 95 %: 1.14 to 1.39; 10 against shadow",
    ]
    few = totals_lines({"ngram-mod": Tally().plus(DRAFTED, ESTIMATE)})
    assert few[-1] == "ngram-mod: verdict cannot tell = too few for an interval; 1 against shadow"


def test_unknown_totals_are_dashes() -> None:
    """A total that no completion told is a dash, and so are its parts."""
    assert totals_lines({"other": Tally().plus(SILENT)}) == [
        "other: acceptance – = accepted – / drafted –",
        "other: output per target step – = tokens – / steps –",
        "other: tokens per second – = decoded tokens – / decode seconds –",
    ]


def test_totals_table_fits_a_narrow_terminal() -> None:
    """Large totals of both upstreams stay on one line each in 80 columns."""
    large = Tally(999, Ratio(98765, 123456), Ratio(159840, 98765), Ratio(158841, 3210.55))
    lines = rendered(totals_table({"plain": large, "draft-simple": large}), 80)
    text = "\n".join(line.rstrip() for line in lines)
    assert text.count("0.80 = accepted 98765 / drafted 123456") == 2
    assert text.count("1.62 = tokens 159840 / steps 98765") == 2
    assert text.count("49.5 = decoded tokens 158841 / decode seconds 3210.55") == 2


def tally(accepted: int, drafted: int, speed: float, prompts: int = 6) -> Tally:
    return Tally(prompts, Ratio(accepted, drafted), Ratio(300, 100), Ratio(speed * 10, 10))


def test_comparison_of_a_good_drafter_that_is_slow() -> None:
    """High acceptance that is slower than plain is said to be so, with both speeds."""
    assert comparison(tally(0, 0, 76.1), tally(410, 418, 40.9), "draft-simple") == (
        "draft-simple had acceptance 0.98 (accepted 410 / drafted 418) and yet was slower than "
        "plain: 40.9 tok/s against 76.1 tok/s, over the same 6 prompts of this run."
    )


def test_comparison_of_a_drafter_that_pays() -> None:
    """A drafter that is faster is not called slow, whatever its acceptance."""
    assert comparison(tally(0, 0, 70, 1), tally(5, 10, 90, 1), "ngram-mod") == (
        "ngram-mod had acceptance 0.50 (accepted 5 / drafted 10) and was not slower than plain: "
        "90.0 tok/s against 70.0 tok/s, over the same 1 prompt of this run. "
        "That is few: let the demo run longer."
    )


def test_comparison_without_drafts() -> None:
    """Without a single draft there is no acceptance to tell."""
    sentence = comparison(tally(0, 0, 70), tally(0, 0, 69), "ngram-mod")
    assert sentence is not None
    assert sentence.startswith("ngram-mod drafted nothing and was slower than plain: 69.0 tok/s")


def test_no_comparison_without_speed() -> None:
    """Where a speed is unknown nothing is compared."""
    assert comparison(Tally().plus(SILENT), tally(5, 10, 90), "ngram-mod") is None
