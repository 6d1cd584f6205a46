"""How fast a machine is at a time: noise, stalls, and drift that no baseline sees."""

import math
from collections.abc import Callable
from random import Random

NOISE = math.log(1.26) / 2.326
"""Five draws of a normal distribution span 2.326 standard deviations on average."""

HOUR = 3600.0
DAY = 24 * HOUR

_WANDER = 0.03
_WANDER_LASTS = 300.0
"""Seconds after which the machine is not as it was."""

Drift = Callable[[float], float]
"""How slow the machine is at a time (seconds), relative to its usual speed."""


def noise(draw: Random, stalls: float = 0.0) -> float:
    """Return a factor, of mean 1 without stalls.

    Args:
        draw: Of the world.
        stalls: Share of completions that take three to ten times as long.
    """
    factor = math.exp(draw.gauss(-NOISE * NOISE / 2, NOISE))
    if stalls and draw.random() < stalls:
        factor *= draw.uniform(3, 10)
    return factor


def steady(_draw: Random) -> Drift:
    """Return no drift."""
    return lambda _at: 1.0


def daily(draw: Random) -> Drift:
    """Return ±10 % over the day, from a random phase."""
    phase = draw.uniform(0, 2 * math.pi)
    return lambda at: 1 + 0.1 * math.sin(2 * math.pi * at / DAY + phase)


def sudden(draw: Random) -> Drift:
    """Return 10 % up or down, at some time of the second half of the first day or after it."""
    when = draw.uniform(0.5 * DAY, 1.5 * DAY)
    before, after = draw.choice(((1.0, 1.1), (1.1, 1.0)))
    return lambda at: before if at < when else after


def wandering(draw: Random) -> Drift:
    """Return 3 % up or down for some minutes at a time, all requests alike."""
    keep = math.exp(-1.0)
    value = draw.gauss(0, 1)
    values = []
    for _ in range(int(3 * DAY / _WANDER_LASTS)):
        values.append(1 + _WANDER * value)
        value = keep * value + math.sqrt(1 - keep * keep) * draw.gauss(0, 1)
    return lambda at: values[int(at / _WANDER_LASTS) % len(values)]


DRIFTS: dict[str, Callable[[Random], Drift]] = {
    "none": steady,
    "±10 % daily": daily,
    "10 % at once": sudden,
    "3 % for minutes": wandering,
}
FOLLOWED = ("none", "±10 % daily", "10 % at once")
"""Those that an estimate has to stand."""
