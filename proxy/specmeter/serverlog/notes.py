"""What has to be said of a log beside its numbers: what was damaged, and what to beware of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from specmeter.reading import Inconsistency
from specmeter.serverlog import vllm
from specmeter.serverlog.evidence import Sign
from specmeter.serverlog.reader import LogReader
from specmeter.serverlog.totals import Totals


def notes(reader: LogReader, totals: Sequence[Totals]) -> Iterator[str]:
    """Say it, a sentence each."""
    yield from _of_damage(reader, totals)
    if reader.untimed:
        requests = _many(reader.untimed, "request")
        yield f"{requests} ended without numbers (cancelled, failed, or no completion)"
    if Sign.SYNTHETIC in reader.evidence.signs:
        yield "the server draws acceptance at random (--spec-synth-…): its output is not valid"
    for total in totals:
        if total.acceptance.denominator and not total.acceptance.numerator:
            drafted = f"{total.acceptance.denominator:.0f}"
            yield f"{total.server}: none of {drafted} drafted tokens was accepted: drafts only cost"
        if total.server == vllm.SERVER_V0:
            yield (
                "vLLM V0 counts right guesses behind a wrong one as accepted: its acceptance says "
                "little about what a round brings back"
            )


def _of_damage(reader: LogReader, totals: Sequence[Totals]) -> Iterator[str]:
    faults = impossible(totals)
    stopped = faults.pop(Inconsistency.ACCEPTED_NOT_BELOW_GENERATED, 0)
    if faults:
        reasons = ", ".join(f"{reason} {count}" for reason, count in faults.most_common())
        records = _many(sum(total.faulty_entries for total in totals), "record")
        yield f"{records} had impossible numbers, which are left out: {reasons}"
    if stopped:
        yield (
            f"{_many(stopped, 'request')} accepted as many tokens as it put out, or more (a stop "
            "in the middle of a round): the least possible steps are counted"
        )
    if reader.unreadable:
        lines = _many(reader.unreadable, "line")
        yield f"{lines} with draft numbers could not be read (cut off or damaged)"
    if reader.repeated:
        yield f"{_many(reader.repeated, 'line')} came twice and count once"
    if reader.too_long:
        yield f"{_many(reader.too_long, 'line')} of more than 1 MiB left out"


def impossible(totals: Sequence[Totals]) -> Counter[str]:
    """Return how many records have each kind of fault."""
    faults: Counter[str] = Counter()
    for total in totals:
        faults.update({str(reason): count for reason, count in total.faults.items()})
    return faults


def _many(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"
