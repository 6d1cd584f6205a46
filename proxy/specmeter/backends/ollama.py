"""Ollama: token counts and times of `/api/chat` and `/api/generate`, nothing of drafting.

Source: api/types.go (`Metrics`) of Ollama. Durations are nanoseconds. The native API streams a JSON
document a line, and the last one has the numbers; the OpenAI endpoints give usage only.
"""

from __future__ import annotations

from collections.abc import Sequence

from specmeter.backends.base import Extract, Message
from specmeter.backends.counts import scaled
from specmeter.backends.openai import OpenAI
from specmeter.reading import RawNumbers

_IMITATION = 1
"""KoboldCpp imitates this API, and calls every duration 1."""


class Ollama(OpenAI):
    """Reads `eval_count` and `eval_duration`."""

    name = "ollama"
    markers: tuple[bytes, ...] = (b'"eval_count"', b'"usage"')

    def recognises(self, message: Message) -> bool:
        """Tell by the fingerprint of its OpenAI endpoints, or by its durations."""
        if message.get("system_fingerprint") == "fp_ollama":
            return True
        return message.get("eval_duration", _IMITATION) != _IMITATION and "done" in message

    def extract(self, messages: Sequence[Message]) -> Extract:
        """Take the last evaluation, or the usage where there is none."""
        for message in reversed(messages):
            if "eval_count" in message:
                duration = message.get("eval_duration")
                numbers = RawNumbers(
                    generated=message["eval_count"],
                    prompt=message.get("prompt_eval_count"),
                    decode_milliseconds=(
                        None if duration == _IMITATION else scaled(duration, 1e-6)
                    ),
                )
                return Extract((numbers,))
        return super().extract(messages)
