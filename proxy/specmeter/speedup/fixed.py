"""A baseline that is one number of the configuration."""

from __future__ import annotations

import math

from specmeter.speedup.baseline import PlainSpeed, Source
from specmeter.speedup.drift import drift_error
from specmeter.speedup.strata import Conditions, Stratum

FIXED_ERROR = 0.1
"""Relative error of a number that comes without one."""

BLIND_ERROR = 0.07
"""Completions in a row share contexts and loads, which a number knows nothing of."""


class FixedBaseline:
    """Plain speed that is the same for all contexts and loads.

    Args:
        seconds_per_token: Of plain decoding (> 0).
        measured_at: Unix time; when the proxy was started, if nothing else is known.
        relative_error: Standard error per unit (>= 0) of the number as a mean over all completions.
    """

    source = Source.FIXED

    def __init__(
        self, seconds_per_token: float, measured_at: float, relative_error: float = FIXED_ERROR
    ) -> None:
        self._seconds_per_token = seconds_per_token
        self._measured_at = measured_at
        self._relative_error = relative_error

    def strata(self, at: float) -> list[PlainSpeed]:
        """Return what is known, by stratum."""
        return [self._speed(at)]

    def plain_speed(self, conditions: Conditions, tokens: int, at: float) -> PlainSpeed:  # noqa: ARG002
        """Return the number, whatever the completion is."""
        return self._speed(at)

    def _speed(self, at: float) -> PlainSpeed:
        return PlainSpeed(
            seconds_per_token=self._seconds_per_token,
            relative_error=math.hypot(
                self._relative_error, BLIND_ERROR, drift_error(at - self._measured_at)
            ),
            source=self.source,
            stratum=Stratum(),
            measured_at=self._measured_at,
        )
