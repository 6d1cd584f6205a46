"""What single runs say, and what they add up to: each ratio with its own denominator. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from specmeter.reading import MIN_DECODE_TOKENS, Reading, Speculation


class Cell(msgspec.Struct, frozen=True, order=True):
    """One prompt at one length."""

    prompt: str
    """Its name."""
    length: int
    """Tokens that were asked for."""

    def __str__(self) -> str:
        return f"{self.prompt}, {self.length} tokens"


class Run(msgspec.Struct, frozen=True):
    """One repeat of a cell at one server: its requests, which ran at the same time."""

    cell: Cell
    readings: tuple[Reading, ...]
    digests: tuple[str | None, ...]
    """sha256 of each output; `None` where it could not be read."""
    is_new: bool = False
    """Whether the server had not been asked this prompt before, at any length."""

    @property
    def is_long_enough(self) -> bool:
        """Whether all answers are long enough to tell a speed."""
        return all(
            one.decoded and (one.generated or 0) >= MIN_DECODE_TOKENS for one in self.readings
        )

    @property
    def tokens(self) -> int:
        """That came in `seconds`."""
        return sum(one.decoded or 0 for one in self.readings)

    @property
    def seconds(self) -> float:
        """Of decoding."""
        return sum(one.decode_seconds or 0.0 for one in self.readings)

    @property
    def speed(self) -> float:
        """Decoded tokens per second of one request."""
        return self.tokens / self.seconds

    @property
    def shortest(self) -> int:
        """Tokens of the shortest answer."""
        return min(one.generated or 0 for one in self.readings)


class Share(msgspec.Struct, frozen=True, omit_defaults=True):
    """A ratio of two sums over the same completions."""

    above: float
    below: float

    @property
    def value(self) -> float | None:
        """The quotient; `None` if nothing was divided by."""
        return self.above / self.below if self.below else None


class Drafting(msgspec.Struct, frozen=True):
    """What completions say about drafting."""

    completions: int
    reporting: int
    """Those that say something of it."""
    drafted: int
    """Those in which something was drafted."""
    acceptance: Share
    """Accepted over drafted tokens."""
    output_per_step: Share
    """Generated tokens over target steps, of those that report."""
    accepted_per_round: Share
    """Accepted tokens over rounds with a draft, of those that report rounds."""

    @classmethod
    def of(cls, readings: Iterable[Reading]) -> Drafting:
        """Add up completions."""
        every = list(readings)
        reporting = [one for one in every if one.speculation is not Speculation.NOT_REPORTED]
        stepped = [one for one in reporting if one.target_steps]
        rounded = [one for one in reporting if one.rounds and one.accepted is not None]
        return cls(
            completions=len(every),
            reporting=len(reporting),
            drafted=sum(one.speculation is Speculation.DRAFTED for one in reporting),
            acceptance=Share(
                sum(one.accepted or 0 for one in reporting),
                sum(one.drafted or 0 for one in reporting),
            ),
            output_per_step=Share(
                sum(one.generated or 0 for one in stepped),
                sum(one.target_steps or 0 for one in stepped),
            ),
            accepted_per_round=Share(
                sum(one.accepted or 0 for one in rounded), sum(one.rounds or 0 for one in rounded)
            ),
        )


class Outputs(StrEnum):
    """Whether both servers generated the same text, greedily."""

    IDENTICAL = "identical"
    DIFFERENT = "different"
    VARYING = "varying"
    """The plain server's own repeats differ, so that nothing can be said."""
    UNKNOWN = "unknown"


def outputs(spec: Sequence[Run], plain: Sequence[Run]) -> Outputs:
    """Tell whether the texts of two servers are the same."""
    ours = {digest for run in spec for digest in run.digests}
    theirs = {digest for run in plain for digest in run.digests}
    if None in ours | theirs or not ours or not theirs:
        return Outputs.UNKNOWN
    if len(theirs) > 1:
        return Outputs.VARYING
    return Outputs.IDENTICAL if ours == theirs else Outputs.DIFFERENT
