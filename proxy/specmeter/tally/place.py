"""Where a completion belongs: what sums are sliced by."""

from __future__ import annotations

import msgspec

from specmeter.reading import Reading
from specmeter.speedup.strata import CONTEXT, IN_FLIGHT, OUTPUT, Axis, context_tokens

SLICES: dict[str, Axis] = {"context": CONTEXT, "output": OUTPUT, "in_flight": IN_FLIGHT}
"""What completions are sliced by, in the order of `Place`."""


class Place(msgspec.Struct, frozen=True):
    """A completion's bucket on each axis; `any` where it is unknown."""

    context: str
    output: str
    in_flight: str

    @property
    def labels(self) -> tuple[str, str, str]:
        """Its buckets, in the order of `SLICES`."""
        return self.context, self.output, self.in_flight

    @classmethod
    def of(cls, reading: Reading, in_flight: int | None) -> Place:
        """Return the place of a completion."""
        return cls(
            CONTEXT.bucket(context_tokens(reading.prompt, reading.generated)),
            OUTPUT.bucket(reading.generated),
            IN_FLIGHT.bucket(in_flight),
        )
