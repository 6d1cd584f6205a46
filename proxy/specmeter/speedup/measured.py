"""A baseline that was measured on a plain server, over contexts and loads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean

from specmeter.speedup.baseline import PlainSpeed, Source
from specmeter.speedup.company import Company
from specmeter.speedup.drift import drift_error
from specmeter.speedup.interpolation import weights
from specmeter.speedup.load_cost import USUAL_COST
from specmeter.speedup.mix import Mix, error_of_mix
from specmeter.speedup.strata import Conditions, Stratum
from specmeter.speedup.table import Point, Table

ALONE_ERROR = 0.1
"""Relative error where one point has to do for all contexts."""

_FIRST_TOKENS = 32

_Parts = dict[int, float]
"""What part each point has in an estimate, by index."""


class MeasuredBaseline:
    """Plain speed from a table, along straight lines between its points.

    A stratum's mean would not do: within 8k-32k plain speed may double, and the table's points
    are not spread as the traffic is.
    """

    source = Source.MEASURED

    def __init__(self, table: Table) -> None:
        self._measured_at = table.measured_at
        self._points = table.points
        self._seconds = [point.seconds_per_token for point in table.points]
        self._errors = {index: point.relative_error for index, point in enumerate(table.points)}
        self._loads = sorted({point.in_flight for point in table.points})
        self._curves = [
            sorted(
                (index for index, point in enumerate(table.points) if point.in_flight == load),
                key=lambda index: table.points[index].context,
            )
            for load in self._loads
        ]
        self._contexts = [
            [table.points[index].context for index in curve] for curve in self._curves
        ]
        self._mix: Mix[int] = Mix()
        for index, seconds in enumerate(self._seconds):
            # As if a little of the traffic had been everywhere: nothing is known of it yet.
            self._mix.add(index, seconds * _FIRST_TOKENS)
        self._error_of_mix = 0.0
        self._company = Company()

    def plain_speed(self, conditions: Conditions, tokens: int, at: float) -> PlainSpeed:
        """Return what a completion would have taken per token.

        Args:
            conditions: Its context and load.
            tokens: That it decoded. The error is that of the mix of all that was asked for.
            at: Unix time.
        """
        context, in_flight, doubt_of_context = conditions.context, conditions.in_flight, 0.0
        if context is not None and in_flight is not None:
            context, doubt_of_context = self._company.context(context, in_flight)
        seconds, parts, doubt = self._look(context, in_flight)
        if context is not None and doubt_of_context:
            further, _, _ = self._look(context + doubt_of_context, in_flight)
            doubt = math.hypot(doubt, further / seconds - 1)
        if conditions.context is not None:
            self._company.add(conditions.context, seconds * tokens)
        for index, part in parts.items():
            self._mix.add(index, abs(part) * self._seconds[index] * tokens)
        if self._mix.is_due:
            self._error_of_mix = error_of_mix(self._mix.shares(), self._errors, {})
        return PlainSpeed(
            seconds_per_token=seconds,
            relative_error=math.hypot(
                self._error_of_mix, doubt, drift_error(at - self._measured_at)
            ),
            source=self.source,
            stratum=conditions.stratum,
            measured_at=self._measured_at,
        )

    def strata(self, at: float) -> list[PlainSpeed]:
        """Return what is known, by stratum: the mean of the points that fall into it."""
        drift = drift_error(at - self._measured_at)
        by_stratum: dict[Stratum, list[Point]] = {}
        for point in self._points:
            stratum = Stratum.of(point.context, point.in_flight)
            by_stratum.setdefault(stratum, []).append(point)
        return [
            PlainSpeed(
                seconds_per_token=fmean(point.seconds_per_token for point in points),
                relative_error=math.hypot(fmean(p.relative_error for p in points), drift),
                source=self.source,
                stratum=stratum,
                measured_at=self._measured_at,
            )
            for stratum, points in by_stratum.items()
        ]

    def _look(self, context: float | None, in_flight: float | None) -> tuple[float, _Parts, float]:
        """Return seconds per token, the points' parts in it, and the error of the lines."""
        parts = self._parts(context, in_flight, within=True)
        within = self._mean(parts)
        if context is None or in_flight is None:
            spread = sum(part * (self._seconds[i] / within - 1) ** 2 for i, part in parts.items())
            return within, parts, math.sqrt(spread)
        beyond = self._mean(self._parts(context, in_flight, within=False))
        # A line that slopes the wrong way, by noise, must not lead to nothing.
        seconds = max(beyond, within / 2)
        alone = ALONE_ERROR if any(len(curve) == 1 for curve in self._curves) else 0.0
        doublings = math.log2(in_flight / self._loads[0]) if len(self._loads) == 1 else 0.0
        doubt = math.hypot(seconds / within - 1, alone, USUAL_COST.error * doublings)
        return seconds * USUAL_COST.factor(doublings), parts, doubt

    def _parts(self, context: float | None, in_flight: float | None, *, within: bool) -> _Parts:
        parts: _Parts = {}
        for i, of_load in weights(self._loads, in_flight, within=within):
            for j, of_context in weights(self._contexts[i], context, within=within):
                index = self._curves[i][j]
                parts[index] = parts.get(index, 0.0) + of_load * of_context
        return parts

    def _mean(self, parts: Mapping[int, float]) -> float:
        return sum(part * self._seconds[index] for index, part in parts.items())
