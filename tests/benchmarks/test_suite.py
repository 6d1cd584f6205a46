"""What the suite finds becomes medians, differences, ratios and verdicts; failures are told."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.errors import DeliveryError
from tests.benchmarks.percentiles import Percentiles
from tests.benchmarks.suite import must_hold
from tests.benchmarks.suite.cost import EVENT, FIRST_P99
from tests.benchmarks.suite.lab import LITELLM, OWN, Lab
from tests.benchmarks.suite.report import Report
from tests.benchmarks.suite.results import BASE, DIRECT, Section
from tests.benchmarks.suite.scale import FULL, QUICK
from tests.benchmarks.targets import Target
from tests.benchmarks.traffic import MOST_MODELS, UNMETERED, Shape, Traffic


def section(*rows: tuple[str, int, float], measure: object = EVENT) -> Section:
    """A section with one measure: way, repeat, value."""
    made = Section("Cost")
    for way, repeat, value in rows:
        made.add(measure, way, repeat, value)  # type: ignore[arg-type]
    return made


def report(*sections: Section) -> Report:
    """A report of a run that took a minute."""
    lab = Lab(QUICK, Target(1, 1), [DIRECT, BASE, OWN], "", None, lambda _: None)
    return Report(lab, sections, 60.0)


def test_ratio_compares_within_a_repeat() -> None:
    """Each repeat is compared with nginx in the same repeat, then the median is taken."""
    found = section(
        *((BASE, 0, 20), (BASE, 1, 30), (BASE, 2, 50)), *((OWN, 0, 40), (OWN, 1, 60), (OWN, 2, 250))
    )
    ratio = found.ratio(EVENT, OWN)
    assert ratio is not None
    assert (ratio.low, ratio.median, ratio.high) == (2, 2, 5)


def test_what_is_added_compares_with_the_direct_way() -> None:
    """Times that the direct way has too are taken off within the same repeat."""
    found = section(*((DIRECT, 0, 10), (DIRECT, 1, 20), (OWN, 0, 11), (OWN, 1, 23)))
    assert found.added(EVENT, OWN) is None
    found = section(
        *((DIRECT, 0, 10), (DIRECT, 1, 20), (OWN, 0, 11), (OWN, 1, 23)), measure=FIRST_P99
    )
    added = found.added(FIRST_P99, OWN)
    assert added is not None
    assert (added.low, added.high) == (1, 3)


def test_a_way_without_its_counterpart_has_no_ratio() -> None:
    """What nginx has no number for is compared with nothing."""
    found = section((OWN, 0, 40), (BASE, 1, 20))
    assert found.ratio(EVENT, OWN) is None


@pytest.mark.parametrize(("cpu", "said"), [(25.0, "; reached: 1.25"), (27.0, "NOT reached: 1.35")])
def test_goals_beside_nginx(cpu: float, said: str) -> None:
    """Whether the goal is reached is said beside it."""
    (verdict,) = report(section((BASE, 0, 20.0), (OWN, 0, cpu))).verdicts()
    assert "at most 1.3 times nginx's" in verdict
    assert said in verdict


@pytest.mark.parametrize(("cpu", "said"), [(900.0, "; reached: 45"), (800.0, "NOT reached: 40")])
def test_goal_beside_litellm(cpu: float, said: str) -> None:
    """So is the one beside LiteLLM, if it was measured."""
    verdicts = list(report(section((BASE, 0, 20), (OWN, 0, 20.0), (LITELLM, 0, cpu))).verdicts())
    assert said in verdicts[1]


def test_what_cannot_be_measured_is_told() -> None:
    """A failure is in the report, and the rest is measured all the same."""
    found = section((BASE, 0, 20), (OWN, 0, 20))
    with found.trying("haproxy"):
        raise DeliveryError("event 7 is missing")
    made = report(found)
    assert "NOT measured: haproxy: event 7 is missing" in made.markdown()
    assert json.loads(made.as_json())["sections"][0]["failures"] == ["haproxy: event 7 is missing"]


def test_report_shows_every_way() -> None:
    """The table has a row a way, the direct one first, with value, what it added and the ratio."""
    made = report(section((OWN, 0, 12), (BASE, 0, 8), (DIRECT, 0, 4), measure=FIRST_P99))
    rows = [line for line in made.markdown().splitlines() if line.endswith("|")][2:]
    assert rows == [
        "| time to first byte, p99 | direct | 4.00 ms |  |  |",
        "|  | nginx | 8.00 ms | 4.00 ms | 1 |",
        "|  | specmeter | 12.00 ms | 8.00 ms | 1.50 |",
    ]


@pytest.mark.parametrize(("gap", "held"), [(14.9, True), (15.1, False)])
def test_the_gap_must_hold(gap: float, held: bool) -> None:
    """What is added to the direct way's is judged."""
    found = section((DIRECT, 0, 10.0), (OWN, 0, gap), measure=must_hold.GAP)
    assert ("NOT held" not in must_hold.gap_verdict(found)) is held


@pytest.mark.parametrize(("memory", "held"), [(59.0, True), (61.0, False)])
def test_the_memory_must_hold(memory: float, held: bool) -> None:
    """What a stream takes is judged."""
    found = section((OWN, 0, memory), measure=must_hold.MEMORY)
    assert ("NOT held" not in must_hold.memory_verdict(found)) is held


def test_must_hold_without_a_result() -> None:
    """A run that specmeter did not survive is not held."""
    found = section((DIRECT, 0, 10.0), measure=must_hold.GAP)
    assert "NOT held" in must_hold.gap_verdict(found)
    assert "NOT held" in must_hold.memory_verdict(found)


def test_full_measures_what_quick_leaves_out() -> None:
    """The whole run has more of everything, up to 4000 streams and bodies of 64 MiB."""
    assert max(FULL.stream_counts) == 4000
    assert max(FULL.body_sizes) == 64 * 1024 * 1024
    assert FULL.many_requests == 100_000
    assert FULL.repeats > QUICK.repeats


def test_percentiles() -> None:
    """The median and the 99th percentile of times in seconds are milliseconds."""
    found = Percentiles.of([i / 1000 for i in range(101)])
    assert found == Percentiles(p50=50.0, p99=99.0, count=101)
    assert Percentiles.of([]) is None


def test_shapes() -> None:
    """Events, answers and requests have the sizes that a shape gives them."""
    traffic = Traffic(Shape(event_bytes=4096, answer_bytes=100_000, upload_bytes=50_000))
    assert {len(event) for event in list(traffic.events(1, 10))[1:-2]} == {4096}
    assert len(traffic.answer(1)) == 100_000
    assert len(traffic.request(1)) > 50_000
    assert json.loads(traffic.answer(1))["timings"]["predicted_n"] == 128


def test_models_of_a_shape() -> None:
    """Each of ten models is asked for and answers, and the upstream lists them all."""
    traffic = Traffic(Shape(path=UNMETERED, models=MOST_MODELS))
    listed = {model["id"] for model in json.loads(traffic.pages["/v1/models"])["data"]}
    for number in range(MOST_MODELS):
        asked = json.loads(traffic.request(number))["model"]
        assert asked in listed
        assert json.loads(traffic.answer(number))["model"] == asked
        assert f'"model":"{asked}"'.encode() in next(iter(traffic.events(number, 5)))


def test_every_part_has_its_place() -> None:
    """A module of the suite with `measure` in it is run by some part."""
    folder = Path(__file__).parent / "suite"
    main = (folder / "__main__.py").read_text()
    parts = {path.stem for path in folder.glob("*.py") if "def measure(lab" in path.read_text()}
    assert parts
    assert all(f"{part}.measure" in main for part in parts)
