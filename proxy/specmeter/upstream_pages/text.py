"""The Prometheus text format: the lines of a page that are wanted.

A page of vLLM has a thousand lines, most of them buckets. Only those that begin like a wanted name
are parsed, so that reading a page does not hold up the loop that the traffic runs in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from prometheus_client.parser import text_string_to_metric_families

from specmeter.upstream_pages.base import (
    DamagedPageError,
    NoPageError,
    Sample,
    Samples,
)

_LARGEST = 1e18
"""No server counts this far."""

MAX_SERIES = 2000
"""More than these are not parsed, so that the traffic never waits long."""

_LONGEST_LINE = 4096


def read_samples(body: bytes, prefix: str, names: Collection[str]) -> Samples:
    """Return the samples with these names, which have to match whole.

    An empty page is one of a server that has nothing to tell yet.

    Raises:
        NoPageError: It is not text, or no line begins with the prefix.
        DamagedPageError: A wanted line is at fault or there twice, or the last line is cut off.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise NoPageError("it is not text") from None
    if not text.strip():
        return Samples((), 0)
    lines = text.split("\n")
    if not any(line.startswith((prefix, f"# TYPE {prefix}", f"# HELP {prefix}")) for line in lines):
        raise NoPageError(f"no series in it begins with {prefix}")
    if lines[-1]:
        raise DamagedPageError("it is cut off in the middle of a line")
    beginnings = tuple(names)
    wanted = [line for line in lines if line.startswith(beginnings)]
    if len(wanted) > MAX_SERIES or any(len(line) > _LONGEST_LINE for line in wanted):
        raise DamagedPageError(f"more than {MAX_SERIES} series in it are of use, or one is endless")
    kept, left_out = [], 0
    seen = set()
    for sample in _parse(wanted):
        if sample.name not in names:
            continue
        if (identity := (sample.name, frozenset(sample.labels.items()))) in seen:
            raise DamagedPageError(f"{sample.name} is there twice with the same labels")
        seen.add(identity)
        if 0 <= sample.value <= _LARGEST:  # false for NaN
            kept.append(sample)
        else:
            left_out += 1
    return Samples(tuple(kept), left_out)


def _parse(lines: Iterable[str]) -> Iterator[Sample]:
    # Without the TYPE lines, the parser leaves the names as they are.
    families = text_string_to_metric_families("\n".join(lines))
    try:
        for family in families:
            for sample in family.samples:
                yield Sample(sample.name, sample.labels, sample.value)
    except (ValueError, IndexError):
        raise DamagedPageError("a line of it is not in the text format") from None
