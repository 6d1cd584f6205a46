"""The bytes of the benchmark, made from captured llama.cpp responses.

The upstream sends them and the load generator expects them, so both make them here. Each exchange
has a number, which is in every byte sequence: lost, repeated, reordered or mixed-up pieces show.
"""

import json
from pathlib import Path

from tests.benchmarks.errors import DeliveryError

_CAPTURES = Path(__file__).parents[1] / "captures" / "llama_cpp" / "ngram-mod"
_PROMPT = "def f(a):\n    return a + 1\n\n" * 30  # brings a request's body to about 1 kB


class Traffic:
    """Requests and the responses to them, by the number of the exchange."""

    def __init__(self, captures: Path = _CAPTURES) -> None:
        stream = (captures / "chat_stream.body").read_bytes()
        first, piece, *_, finish, done = stream.removesuffix(b"\n\n").split(b"\n\n")
        self._first = first + b"\n\n"
        self._piece = piece + b"\n\n"
        self._finish = finish + b"\n\n"
        self._done = done + b"\n\n"
        self._answer = (captures / "chat.body").read_bytes()
        self._stream_id = _completion_id(json.loads(first.removeprefix(b"data: ")))
        self._answer_id = _completion_id(json.loads(self._answer))
        self._content = _content(json.loads(piece.removeprefix(b"data: ")))
        self.pages = {
            "/health": (captures / "health.json").read_bytes(),
            "/metrics": (captures / "metrics.txt").read_bytes(),
            "/props": (captures / "props.json").read_bytes(),
            "/slots": (captures / "slots.json").read_bytes(),
            "/v1/models": (captures / "models.json").read_bytes(),
        }

    def request(self, number: int, events: int = 0) -> bytes:
        """The body of a request for so many events, or for a plain JSON answer if 0."""
        return json.dumps(
            {
                "model": "smollm2-135m",
                "messages": [{"role": "user", "content": _PROMPT}],
                "stream": events > 0,
                "max_tokens": events or 128,
                "seed": number,
            },
        ).encode()

    def answer(self, number: int) -> bytes:
        """The body of the JSON answer."""
        return self._answer.replace(self._answer_id, _numbered(self._answer_id, number))

    def events(self, number: int, count: int) -> list[bytes]:
        """The events of a stream: role, pieces of text, finish with timings, `[DONE]`.

        Args:
            number: that of the exchange.
            count: of events, 3 or more.
        """
        identity = _numbered(self._stream_id, number)
        piece = self._piece.replace(self._stream_id, identity)
        return [
            self._first.replace(self._stream_id, identity),
            *(piece.replace(self._content, b'"content":" w%05d"' % i) for i in range(count - 3)),
            self._finish.replace(self._stream_id, identity),
            self._done,
        ]


def check(received: bytes | bytearray, expected: bytes, what: str) -> None:
    """Compare byte for byte.

    Raises:
        DeliveryError: they differ; says where.
    """
    if received == expected:
        return
    pairs = enumerate(zip(received, expected, strict=False))
    first = next((i for i, (a, b) in pairs if a != b), min(len(received), len(expected)))
    raise DeliveryError(
        f"{what}: {len(received)} bytes arrived, {len(expected)} were sent, "
        f"and they differ from byte {first} on: "
        f"{bytes(received[first : first + 40])!r} instead of {expected[first : first + 40]!r}",
    )


def _completion_id(event: dict[str, str]) -> bytes:
    return event["id"].encode()


def _content(event: dict[str, list[dict[str, dict[str, str]]]]) -> bytes:
    return f'"content":{json.dumps(event["choices"][0]["delta"]["content"])}'.encode()


def _numbered(identity: bytes, number: int) -> bytes:
    """Make an id of the same length that ends in the number."""
    return identity[:-8] + b"%08d" % number
