"""Pages whose series carry the model's name as a label: all but llama.cpp's."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from specmeter.upstream_pages.base import DamagedPageError, Key, Name, Sample, Samples, Value

PROCESS_START = "process_start_time_seconds"
"""When the process began, as Python's client library shows it."""

_MODEL = "model_name"
_LONGEST_POSITION = 4


def read_counters(
    samples: Samples, counters: Mapping[str, Name], *, position_label: str = "position"
) -> dict[Key, Value]:
    """Return the counters among the samples.

    Series that differ in other labels stay apart: whoever adds them up has to notice if one of
    them starts anew.

    Args:
        samples: The page.
        counters: What each series counts, by its name.
        position_label: The label with the position in the draft.

    Raises:
        DamagedPageError: A position is no number.
    """
    found: dict[Key, Value] = {}
    for sample in samples.kept:
        if (name := counters.get(sample.name)) is None:
            continue
        position = sample.labels.get(position_label)
        rest = _text({**sample.labels, position_label: "", _MODEL: ""})
        key = Key(name, model_of(sample), parse_position(position), rest)
        found[key] = Value(sample.value)
    return found


def sum_up(samples: Collection[Sample]) -> dict[str | None, float]:
    """Add a gauge's series up, by model."""
    sums: dict[str | None, float] = {}
    for sample in samples:
        model = model_of(sample)
        sums[model] = sums.get(model, 0) + sample.value
    return sums


def model_of(sample: Sample) -> str | None:
    """Return the model that a sample is of."""
    return sample.labels.get(_MODEL)


def named(samples: Samples, name: str) -> list[Sample]:
    """Return the samples of one name."""
    return [sample for sample in samples.kept if sample.name == name]


def process_of(samples: Samples) -> str:
    """Return what tells the server's process from another; empty if the page does not."""
    starts = [sample.value for sample in named(samples, PROCESS_START) if not sample.labels]
    return f"{starts[0]!r}" if starts else ""


def parse_position(text: str | None) -> int | None:
    """Read a position.

    Raises:
        DamagedPageError: It is no number.
    """
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= _LONGEST_POSITION):
        raise DamagedPageError("a position in it is no number")
    return int(text)


def _text(labels: Mapping[str, str]) -> str:
    return ",".join(f"{label}={labels[label]}" for label in sorted(labels) if labels[label])
