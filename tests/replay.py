"""The responses of real servers, as they were captured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CAPTURES = Path(__file__).parent / "captures"

ENDPOINTS = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "embeddings": "/v1/embeddings",
    "error": "/v1/chat/completions",
    "messages": "/v1/messages",
    "native": "/completion",
    "responses": "/v1/responses",
}
"""The path that gave a capture, by the first word of its name."""

FRAMING = frozenset((b"connection", b"keep-alive", b"transfer-encoding"))
"""Headers that speak of one connection only."""


@dataclass(frozen=True)
class Capture:
    """One response."""

    name: str
    """Folder and name, such as `llama_cpp/plain/chat`."""
    head: bytes
    """Up to and with the blank line; empty if it was not captured."""
    body: bytes

    @property
    def target(self) -> str:
        return ENDPOINTS[self.name.rpartition("/")[2].partition("_")[0]]

    @property
    def is_chunked(self) -> bool:
        return b"chunked" in self.head

    @property
    def closes(self) -> bool:
        return b"Connection: close" in self.head

    @property
    def fields(self) -> list[tuple[bytes, bytes]]:
        """The headers for whoever is at the end, in order."""
        lines = self.head[:-4].split(b"\r\n")[1:]
        pairs = [(name, value.strip()) for name, _, value in (x.partition(b":") for x in lines)]
        return [pair for pair in pairs if pair[0].lower() not in FRAMING]


def capture(name: str) -> Capture:
    """Read a capture."""
    headers = CAPTURES / f"{name}.headers"
    head = headers.read_bytes() if headers.exists() else b""
    return Capture(name, head, (CAPTURES / f"{name}.body").read_bytes())


def capture_names() -> list[str]:
    """Name every capture."""
    return sorted(
        path.relative_to(CAPTURES).with_suffix("").as_posix() for path in CAPTURES.rglob("*.body")
    )


def model_list(name: str) -> bytes:
    """Return what the server of a capture answers to `/v1/models`."""
    return (CAPTURES / name).with_name("models.json").read_bytes()


VLLM_STREAM = capture("vllm/chat_stream").body
VLLM_STREAM_ASKED = (
    capture("vllm/chat_stream_usage")
    .body.replace(b"chatcmpl-a564d7f36ded23aa", b"chatcmpl-be5568a45654d027")
    .replace(b"1795961505", b"1795961507")
)
"""The same stream with its usage chunk: id and time are those of the other capture."""
