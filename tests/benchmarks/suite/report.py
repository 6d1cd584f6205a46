"""The suite's one report: Markdown for people, JSON for machines."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from tests.benchmarks.report import machine
from tests.benchmarks.suite.cost import EVENT, REQUEST
from tests.benchmarks.suite.lab import LITELLM, OWN, Lab
from tests.benchmarks.suite.results import Measure, Section
from tests.benchmarks.summary import TARGETS, Spread

LITELLM_TARGET = 45.0
"""So many times cheaper than LiteLLM specmeter has to be."""

_TARGETS = {EVENT: TARGETS["events"], REQUEST: TARGETS["requests"]}


@dataclass(frozen=True)
class Report:
    """What a run found.

    Attributes:
        lab: where.
        sections: what.
        seconds: how long it took.
    """

    lab: Lab
    sections: Sequence[Section]
    seconds: float

    def markdown(self) -> str:
        """The report for people."""
        lines = ["# What the proxy costs", "", *(f"* {note}" for note in self._notes()), ""]
        for section in self.sections:
            lines += [f"## {section.title}", "", *_table(section), ""]
            lines += [*(f"* {note}" for note in section.notes)]
            lines += [*(f"* NOT measured: {failure}" for failure in section.failures), ""]
        return "\n".join(lines)

    def as_json(self) -> str:
        """Everything that was found."""
        return json.dumps(
            {
                "machine": machine(),
                "scale": asdict(self.lab.scale),
                "seconds": self.seconds,
                "samples": self.lab.quiet.samples,
                "disturbed_samples": self.lab.quiet.disturbed,
                "verdicts": list(self.verdicts()),
                "sections": [
                    {
                        "title": section.title,
                        "notes": section.notes,
                        "failures": section.failures,
                        "measures": [_measure(section, measure) for measure in section.measures],
                    }
                    for section in self.sections
                ],
            },
            indent=2,
        )

    def verdicts(self) -> Iterator[str]:
        """Say for each goal whether it is reached; nothing if it was not measured."""
        for section in self.sections:
            for measure, target in _TARGETS.items():
                if measure not in section.measures or OWN not in section.ways(measure):
                    continue
                if (ratio := section.ratio(measure, OWN)) is not None:
                    said = "reached" if ratio.median <= target else "NOT reached"
                    goal = f"{measure.name}: at most {target:g} times nginx's"
                    yield f"{goal}; {said}: {_text(ratio, 2)}"
                if LITELLM in section.ways(measure):
                    own = section.value(measure, OWN).median
                    times = section.value(measure, LITELLM).median / own
                    said = "reached" if times >= LITELLM_TARGET else "NOT reached"
                    yield (
                        f"{measure.name}: at least {LITELLM_TARGET:g} times cheaper than LiteLLM; "
                        f"{said}: {times:.0f}"
                    )

    def _notes(self) -> Iterator[str]:
        yield from self.verdicts()
        lab = self.lab
        yield (
            "Medians of interleaved repeats (least to greatest), each way with a proxy of its own "
            "started for it; clients, proxy and upstream share the machine, and every byte of an "
            "answer is compared with what was sent. Ratios are within one repeat, then the median."
        )
        yield f"{', '.join(machine().values())}; took {self.seconds:.0f} s."
        quiet = lab.quiet
        if quiet.disturbed:
            yield (
                f"Other things used more than a tenth of a core during {quiet.disturbed} of "
                f"{quiet.samples} samples: times are longer, and ratios less sure, than they are "
                "on a quiet machine."
            )


def _table(section: Section) -> list[str]:
    header = ["", "way", "value", "over direct", "times nginx"]
    rows = [header, ["---", "---", "---:", "---:", "---:"]]
    for measure in section.measures:
        for i, way in enumerate(section.ways(measure)):
            value, added = section.value(measure, way), section.added(measure, way)
            ratio = section.ratio(measure, way)
            rows.append(
                [
                    measure.name if i == 0 else "",
                    way,
                    f"{_text(value, measure.digits)} {measure.unit}".strip(),
                    "" if added is None else f"{_text(added, measure.digits)} {measure.unit}",
                    "" if ratio is None else "1" if way == "nginx" else _text(ratio, 2),
                ]
            )
    return ["| " + " | ".join(row) + " |" for row in rows]


def _measure(section: Section, measure: Measure) -> dict[str, object]:
    ways = {}
    for way in section.ways(measure):
        added, ratio = section.added(measure, way), section.ratio(measure, way)
        ways[way] = {
            "value": asdict(section.value(measure, way)),
            "over_direct": added and asdict(added),
            "times_nginx": ratio and asdict(ratio),
        }
    return {"name": measure.name, "unit": measure.unit, "ways": ways}


def _text(spread: Spread, digits: int) -> str:
    if spread.low == spread.high:
        return f"{spread.median:.{digits}f}"
    return f"{spread.median:.{digits}f} ({spread.low:.{digits}f} to {spread.high:.{digits}f})"
