"""How many rounds had a draft: not in the logs, but in the ratios that they print.

The mean acceptance length is 1 + accepted / rounds, and the rate of each position is a whole
number of rounds over the rounds; both are rounded. Only so many rounds give just these digits.
"""

from __future__ import annotations

import math

import msgspec

from specmeter.serverlog.numbers import Printed

_MOST_TRIED = 4096


class Rounds(msgspec.Struct, frozen=True, gc=False):
    """The numbers of rounds that are possible; one of them is the truth."""

    low: int
    high: int

    @property
    def exact(self) -> int | None:
        """The number, if only one is possible."""
        return self.low if self.low == self.high else None


def recover(
    drafted: int,
    accepted: int,
    mean: Printed | None,
    rates: tuple[Printed, ...] | None = None,
    longest: int | None = None,
) -> Rounds | None:
    """Find the rounds that give the printed numbers.

    Args:
        drafted: At least one token in every round.
        accepted: At most `drafted`.
        mean: The mean acceptance length.
        rates: For each position, the share of rounds in which its token was accepted.
        longest: The most tokens a round drafts, where it is known.

    Returns:
        `None` if nothing was drafted, nothing is known, or no number of rounds gives all this.
    """
    if not drafted or (mean is None and rates is None):
        return None
    low, high = 1, drafted
    if rates is not None:
        low = max(low, -(-accepted // len(rates)))
    if longest is not None:
        low = max(low, -(-drafted // longest))
    if mean is not None:
        extra = mean.value - 1
        if (extra + mean.error <= 0) if accepted else (extra > mean.error):
            return None
    if mean is not None and accepted:
        low = max(low, math.ceil(accepted / (extra + mean.error)))
        if extra > mean.error:
            high = min(high, math.floor(accepted / (extra - mean.error)))
    if low > high:
        return None
    if rates is None or high - low > _MOST_TRIED:
        return Rounds(low, high)
    possible = [tried for tried in range(low, high + 1) if _fit(tried, accepted, rates)]
    return Rounds(possible[0], possible[-1]) if possible else None


def accepted_per_position(
    rounds: int, accepted: int, rates: tuple[Printed, ...]
) -> tuple[int, ...] | None:
    """Return the whole numbers behind the rates; `None` if they are not certain."""
    counts = tuple(round(rate.value * rounds) for rate in rates)
    certain = all(rate.error * rounds < 0.5 for rate in rates)  # noqa: PLR2004 - half a round
    return counts if certain and sum(counts) == accepted else None


def _fit(rounds: int, accepted: int, rates: tuple[Printed, ...]) -> bool:
    least = most = 0
    for rate in rates:
        low = math.ceil(rate.low * rounds)
        high = math.floor(rate.high * rounds)
        if low > high:
            return False
        least += max(low, 0)
        most += high
    return least <= accepted <= most
