"""How far a machine's speed may have moved since it was measured.

The speed of a machine drifts with heat, other work and time of day, unseen by a baseline.
"""

from __future__ import annotations

DRIFT_PER_HOUR = 0.02
"""As much as ±10 % over a day comes to, where it is steepest."""

FOLLOWED_DRIFT_PER_HOUR = 0.015
"""For a baseline that follows the drift, per hour that it lags behind. With more, intervals were
too wide on a steady machine; with this they are wide enough on one that drifts."""

MOST_DRIFT = 0.10
"""Two moments of a day with a drift of ±10 % lie 10 % apart (root mean square)."""


def drift_error(age: float, per_hour: float = DRIFT_PER_HOUR) -> float:
    """Return the relative error of a speed that was measured so many seconds ago."""
    return min(per_hour * max(age, 0.0) / 3600, MOST_DRIFT)
