"""mlx-vlm's server, since 0.6.10, and mlxcel, which follows it: `timings` with `draft_rounds`.

Source: mlx_vlm/server/schemas.py (`GenerationTimings`). The four draft fields are null without a
drafter; older versions have none of them, and say nothing. Of requests that run in one batch each
gets the batch's numbers. Streams carry the whole object only on the usage chunk.
"""

from __future__ import annotations

from msgspec.structs import replace

from specmeter.backends.base import Message
from specmeter.backends.llama_cpp import LlamaCpp
from specmeter.backends.timings import Timings, timings_of
from specmeter.reading import RawNumbers

_OWN_KEYS = ("draft_kind", "draft_rounds", "peak_memory")


class MlxVlm(LlamaCpp):
    """Reads `timings` with its rounds."""

    name = "mlx_vlm"
    injection = None

    def recognises(self, message: Message) -> bool:
        """Tell by what only its timings have, or by a speed alone, as on a stream's way."""
        keys = timings_of(message).keys()
        return keys == {"predicted_per_second"} or not keys.isdisjoint(_OWN_KEYS)

    def _read(self, timings: Timings) -> RawNumbers:
        numbers = super()._read(timings)
        if "draft_n" not in timings and "draft_n_accepted" not in timings:
            return replace(numbers, drafted=None, accepted=None)
        return replace(numbers, rounds=timings.get("draft_rounds"))
