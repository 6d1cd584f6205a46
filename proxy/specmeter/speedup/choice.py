"""Which baseline a completion is compared with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Protocol

import msgspec

from specmeter.speedup.baseline import LEARNED, Origin, PlainSpeed, Sample, Source
from specmeter.speedup.learned import Learned
from specmeter.speedup.live import LiveBaseline
from specmeter.speedup.state import BaselineState
from specmeter.speedup.strata import Conditions

_BEST_FIRST = tuple(Source)

STALE_ERROR = 0.1
"""Relative error of a baseline of another build or model, on top of its own."""


class Baseline(Protocol):
    """One source of plain speed."""

    @property
    def source(self) -> Source:
        """Which one."""

    def plain_speed(self, conditions: Conditions, tokens: int, at: float) -> PlainSpeed | None:
        """Return what a completion would have taken per token; `None` if that is not known."""

    def strata(self, at: float) -> list[PlainSpeed]:
        """Return what is known, by stratum."""


class Baselines:
    """The baselines of one model of one upstream, by source.

    Attributes:
        drafts: Whether anything was ever drafted in this run. Until then completions without
            drafts are no baseline: a server that never drafts would be compared with itself.
    """

    def __init__(self) -> None:
        self.drafts = False
        self._given: dict[Source, tuple[Baseline, Origin]] = {}
        self._live: dict[Source, tuple[LiveBaseline, Origin]] = {}

    def give(self, baseline: Baseline, origin: Origin) -> None:
        """Set a baseline that was measured beforehand; a former one of that source is dropped."""
        self._given[baseline.source] = (baseline, origin)

    def resume(self, source: Source, learned: Learned, origin: Origin) -> None:
        """Go on with what a live source learned earlier."""
        self._live[source] = (LiveBaseline(source, learned), origin)

    def learn(self, source: Source, sample: Sample, origin: Origin) -> None:
        """Add a sample to a live source, which starts anew if build or model are others.

        Raises:
            ValueError: The source is not one that learns.
        """
        if source not in LEARNED:
            raise ValueError(f"{source} does not learn from requests")
        live, known = self._live.get(source, (None, origin))
        if live is None or known.differs(origin):
            live, known = LiveBaseline(source), origin
        self._live[source] = (live, known.completed(origin))
        live.learn(sample)

    def plain_speed(
        self, conditions: Conditions, tokens: int, at: float, now: Origin
    ) -> PlainSpeed | None:
        """Return plain seconds per token from the best source that has data.

        A source of another build or model comes after all others.

        Args:
            conditions: Context and load of the completion.
            tokens: That it decoded.
            at: Unix time.
            now: What decoded it.
        """
        if not (self._given or self._live):
            return None
        stale: list[Baseline] = []
        for baseline, origin in self._in_order():
            if origin.differs(now):
                stale.append(baseline)
            elif found := baseline.plain_speed(conditions, tokens, at):
                return found
        for baseline in stale:
            if found := baseline.plain_speed(conditions, tokens, at):
                error = math.hypot(found.relative_error, STALE_ERROR)
                return msgspec.structs.replace(found, relative_error=error, stale=True)
        return None

    def states(self, at: float, now: Origin) -> tuple[BaselineState, ...]:
        """Return what is known, best source first."""
        return tuple(
            BaselineState(
                source=baseline.source,
                origin=origin,
                stale=origin.differs(now),
                strata=tuple(baseline.strata(at)),
            )
            for baseline, origin in self._in_order()
        )

    def learned(self) -> Iterator[tuple[Source, Learned, Origin]]:
        """Yield what the live sources have learned."""
        for source, (live, origin) in self._live.items():
            yield source, live.learned, origin

    def _in_order(self) -> Iterator[tuple[Baseline, Origin]]:
        for source in _BEST_FIRST:
            if source is Source.UNDRAFTED and not self.drafts:
                continue
            known = self._given.get(source) or self._live.get(source)
            if known is not None:
                yield known
