"""A baseline that is learned from live samples, and follows the drift of the machine."""

from __future__ import annotations

import math
from statistics import median

from specmeter.speedup.baseline import PlainSpeed, Sample, Source
from specmeter.speedup.drift import FOLLOWED_DRIFT_PER_HOUR, drift_error
from specmeter.speedup.learned import Learned
from specmeter.speedup.mix import Mix, error_of_mix
from specmeter.speedup.shapes import Shape
from specmeter.speedup.strata import Conditions, Stratum
from specmeter.speedup.view import View

FIRST_SAMPLES = 5
"""So many are needed to know what to expect of a sample."""

_SHAPES_AFTER = 8
"""Samples after which shapes are worked out again: they change slowly, and it takes its time."""


class LiveBaseline:
    """Plain speed from samples of a plain server.

    Args:
        source: What kind of samples these are.
        learned: What was learned earlier.
    """

    def __init__(self, source: Source, learned: Learned | None = None) -> None:
        self.source = source
        self.learned = learned or Learned()
        self._first: list[Sample] = []
        self._mix: Mix[Stratum] = Mix()
        self._error_of_mix = 0.0
        self._view = View(self.learned)
        self._unseen = False
        self._due = 0

    def learn(self, sample: Sample) -> None:
        """Add a sample; before the fifth, nothing is known of what to expect."""
        if self.learned.samples:
            view = self._look()
            shape = view.shapes.of(sample.stratum)
            usual = shape.seconds_per_token if shape else self.learned.mean
            self.learned.fold(sample, usual, view.pace)
        else:
            self._first.append(sample)
            if len(self._first) < FIRST_SAMPLES:
                return
            usual = median(one.seconds / one.tokens for one in self._first)
            for one in self._first:
                self.learned.fold(one, usual, 1.0)
            self._first.clear()
        self._unseen = True

    def plain_speed(self, conditions: Conditions, tokens: int, at: float) -> PlainSpeed | None:
        """Return what a completion would have taken per token; `None` without enough samples.

        Args:
            conditions: Its context and load.
            tokens: That it decoded. The error is that of the mix of all that was asked for.
            at: Unix time.
        """
        view = self._look()
        shape = view.shapes.of(conditions.stratum)
        if shape is None or view.relative_error == math.inf:
            return None
        self._mix.add(conditions.stratum, tokens * shape.seconds_per_token)
        if self._mix.is_due:
            self._weigh(view)
        return self._speed(view, shape, self._error_of_mix, at)

    def strata(self, at: float) -> list[PlainSpeed]:
        """Return what is known, by stratum; errors are those of each stratum on its own."""
        view = self._look()
        if view.relative_error == math.inf:
            return []
        cells = (cell.stratum for cell in self.learned.cells)
        shapes = {shape.stratum: shape for one in cells if (shape := view.shapes.of(one))}
        return [self._speed(view, shape, shape.whole_error, at) for shape in shapes.values()]

    def _speed(self, view: View, shape: Shape, error: float, at: float) -> PlainSpeed:
        drift = drift_error(at - view.measured_at, FOLLOWED_DRIFT_PER_HOUR)
        return PlainSpeed(
            seconds_per_token=shape.seconds_per_token * view.scale,
            relative_error=math.hypot(view.relative_error, error, drift),
            source=self.source,
            stratum=shape.stratum,
            measured_at=view.measured_at,
        )

    def _look(self) -> View:
        if self._unseen:
            self._unseen = False
            samples = self.learned.samples
            if samples < self._due:
                self._view.refresh()
            else:
                self._view = View(self.learned)
                self._due = samples + min(samples // 16 + 1, _SHAPES_AFTER)
                self._weigh(self._view)
        return self._view

    def _weigh(self, view: View) -> None:
        shares = self._mix.shares()
        shapes = {one: shape for one in shares if (shape := view.shapes.of(one)) is not None}
        if len(shapes) < len(shares):
            return  # too few samples again, as the latest one is so long that it outweighs them
        errors = {stratum: shape.relative_error for stratum, shape in shapes.items()}
        by_load = sum(share * shapes[stratum].load_error for stratum, share in shares.items())
        self._error_of_mix = math.hypot(error_of_mix(shares, errors, view.shares()), by_load)
