"""Buckets of context, output length and load, and the strata in which plain speed is known."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import msgspec

ANY = "any"
"""The bucket that holds every value, unknown ones included."""


class Axis(msgspec.Struct, frozen=True):
    """One quantity cut into buckets, whose labels never change: they are label values."""

    bounds: tuple[int, ...]
    """Where each bucket but the first begins, ascending; a bound belongs to the bucket above."""
    labels: tuple[str, ...]

    def bucket(self, value: float | None) -> str:
        """Return the label of the bucket that holds a value; `ANY` if it is unknown."""
        if value is None:
            return ANY
        return self.labels[bisect_right(self.bounds, value)]


CONTEXT = Axis(
    bounds=(512, 2048, 8192, 32768, 131072),
    labels=("0-512", "512-2k", "2k-8k", "8k-32k", "32k-128k", "128k+"),
)
"""Tokens in the cache at mid-generation; 2k is 2048."""

OUTPUT = Axis(
    bounds=(64, 256, 1024, 4096),
    labels=("0-64", "64-256", "256-1k", "1k-4k", "4k+"),
)
"""Generated tokens."""

IN_FLIGHT = Axis(
    bounds=(2, 3, 5, 9, 17, 33, 65),
    labels=("1", "2", "3-4", "5-8", "9-16", "17-32", "33-64", "65+"),
)
"""Requests that the server works on at the same time, this one included."""


def context_tokens(prompt: int | None, generated: int | None) -> float | None:
    """Return the tokens in the cache at mid-generation; `None` if either is unknown.

    Reading the cache costs time in proportion to what is in it, and this is its mean.
    """
    if prompt is None or generated is None:
        return None
    return prompt + generated / 2


class Stratum(msgspec.Struct, frozen=True, order=True):
    """Completions whose plain speed is taken to be the same: labels of `CONTEXT`, `IN_FLIGHT`."""

    context: str = ANY
    in_flight: str = ANY

    @classmethod
    def of(cls, context: float | None, in_flight: float | None) -> Stratum:
        """Return the stratum of so many tokens in the cache and requests in flight."""
        return cls(CONTEXT.bucket(context), IN_FLIGHT.bucket(in_flight))

    @property
    def is_known(self) -> bool:
        """Whether its buckets are those of the axes."""
        return self.context in {ANY, *CONTEXT.labels} and self.in_flight in {ANY, *IN_FLIGHT.labels}

    @property
    def doublings(self) -> int | None:
        """How many times one request in flight has to be doubled for its load; `None` for any."""
        return None if self.in_flight == ANY else IN_FLIGHT.labels.index(self.in_flight)

    def chain(self) -> Iterator[Stratum]:
        """Yield this stratum, then coarser ones: any load, then any context too."""
        yield self
        if ANY not in (self.context, self.in_flight):
            yield Stratum(self.context)
        if self != Stratum():
            yield Stratum()


class Conditions(msgspec.Struct, frozen=True):
    """What plain speed depends on, for one completion, and the stratum that follows from it."""

    context: float | None
    """Tokens in the cache at mid-generation."""
    in_flight: float | None
    """Requests that the server worked on at the same time, this one included."""
    stratum: Stratum

    @classmethod
    def of(cls, context: float | None, in_flight: float | None) -> Conditions:
        """Return those of so many tokens in the cache and requests in flight."""
        return cls(context, in_flight, Stratum.of(context, in_flight))
