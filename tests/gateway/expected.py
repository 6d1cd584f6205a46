"""What the captured responses say, read off their files by hand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Numbers:
    """One completion; `None` is what its response does not tell."""

    generated: int
    prompt: int
    cached: int | None
    drafted: int | None = None
    accepted: int | None = None
    steps: int | None = None
    """Generated - accepted, but 2 at least where something was drafted."""
    seconds: float | None = None
    """Of decoding, as the server says; completions below 8 tokens have none that counts."""
    rounds: int | None = None
    positions: tuple[int, ...] = ()
    unread: str | None = None
    """What is missing in spite of the numbers."""
    inconsistent: str | None = None

    @property
    def speculation(self) -> str:
        if self.drafted is None:
            return "not_reported"
        return "drafted" if self.drafted else "not_drafted"


_LLAMA_USAGE = {
    "messages": Numbers(24, 32, 31),
    "messages_stream": Numbers(24, 32, 31),
    "responses": Numbers(24, 32, 0),
}
"""Endpoints on which llama-server counts tokens and tells nothing of drafting."""

_NGRAM = {
    "chat": Numbers(128, 108, 0, 98, 98, 30, 1.017428),
    "chat_short": Numbers(1, 32, 24, 0, 0, 1),
    "chat_stop_word": Numbers(
        *(10, 108, 0, 64, 22, 2, 0.382382), inconsistent="accepted_not_below_generated"
    ),
    "chat_stream": Numbers(96, 108, 0, 187, 92, 4, 1.137156),
    "chat_stream_timings_per_token": Numbers(48, 108, 0, 80, 44, 4, 0.545854),
    "chat_stream_usage": Numbers(96, 108, 0, 187, 92, 4, 0.976744),
    "completions": Numbers(64, 10, 0, 12, 12, 52, 0.703627),
    "completions_stream": Numbers(32, 10, 9, 16, 16, 16, 0.292292),
    "native": Numbers(64, 10, 9, 48, 48, 16, 0.529197),
    "native_stream": Numbers(32, 10, 9, 16, 16, 16, 0.366814),
    "responses_stream": Numbers(24, 32, 31, 0, 0, 24, 0.299951),
    **_LLAMA_USAGE,
}

_DRAFT = {
    "chat": Numbers(128, 108, 0, 95, 95, 33, 3.716268),
    "chat_n2": Numbers(32, 108, 107, 23, 23, 9, 1.685341, unread="other_choices"),
    "chat_short": Numbers(1, 32, 24, 0, 0, 1),
    "chat_stop_word": Numbers(10, 108, 0, 9, 9, 2, 0.377103),
    "chat_stream": Numbers(96, 108, 0, 71, 71, 25, 2.763356),
    "chat_stream_timings_per_token": Numbers(48, 108, 0, 35, 35, 13, 1.515232),
    "chat_stream_usage": Numbers(96, 108, 0, 71, 71, 25, 2.846755),
    "completions": Numbers(64, 10, 0, 47, 47, 17, 1.782923),
    "completions_stream": Numbers(32, 10, 9, 23, 23, 9, 0.839394),
    "native": Numbers(64, 10, 9, 47, 47, 17, 1.542247),
    "native_stream": Numbers(32, 10, 9, 23, 23, 9, 0.819133),
    "responses_stream": Numbers(24, 32, 31, 17, 17, 7, 0.773746),
    **_LLAMA_USAGE,
}

_PLAIN = {
    "chat": Numbers(128, 108, 0, 0, 0, 128, 2.335361),
    "chat_n2": Numbers(32, 108, 107, 0, 0, 32, 0.857592, unread="other_choices"),
    "chat_short": Numbers(1, 32, 24, 0, 0, 1),
    "chat_stop_word": Numbers(10, 108, 0, 0, 0, 10, 0.178895),
    "chat_stream": Numbers(96, 108, 0, 0, 0, 96, 1.5478),
    "chat_stream_timings_per_token": Numbers(48, 108, 0, 0, 0, 48, 0.686587),
    "chat_stream_usage": Numbers(96, 108, 0, 0, 0, 96, 1.430991),
    "completions": Numbers(64, 10, 0, 0, 0, 64, 0.917291),
    "completions_stream": Numbers(32, 10, 9, 0, 0, 32, 0.444931),
    "native": Numbers(64, 10, 9, 0, 0, 64, 0.906625),
    "native_stream": Numbers(32, 10, 9, 0, 0, 32, 0.440929),
    "responses_stream": Numbers(24, 32, 31, 0, 0, 24, 0.332375),
    **_LLAMA_USAGE,
    "responses": Numbers(24, 32, 24),
}

_VLLM = {
    "chat": Numbers(48, 72, None, 32, 27, 21, 3.316285955000012, 8, (7, 7, 7, 6)),
    "chat_stream_usage": Numbers(24, 72, None, 20, 19, 5, 0.7829943379999804, 5, (5, 5, 5, 4)),
    "completions": Numbers(24, 10, None, 17, 10, 14, 1.7436054100001002, 5, (5, 3, 1, 1)),
    "completions_stream_usage": Numbers(
        *(24, 10, None, 17, 10, 14, 1.4205037320000429, 5, (5, 3, 1, 1))
    ),
    "messages": Numbers(12, 31, None),
    "messages_stream": Numbers(12, 31, None),
    "responses": Numbers(16, 32, 0, seconds=0.8136939440000788),
    "responses_stream": Numbers(16, 32, 0, seconds=0.9732554830000026),
}

EXPECTED = {
    f"{folder}/{name}": numbers
    for folder, table in (
        ("llama_cpp/draft-simple", _DRAFT),
        ("llama_cpp/ngram-mod", _NGRAM),
        ("llama_cpp/plain", _PLAIN),
        ("vllm", _VLLM),
    )
    for name, numbers in table.items()
}

UNREAD = {"vllm/chat_stream": "no_numbers"}
"""Completions without a number, and why."""

STATUS = {
    "embeddings": 501,
    "error_context": 400,
    "error_json": 400,
    "error_model": 404,
}
"""Answers that are errors, by name."""
