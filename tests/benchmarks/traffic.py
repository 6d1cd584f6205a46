"""The bytes of the benchmark, made from captured llama.cpp responses.

The upstream sends them and the load generator expects them, so both make them here. Each exchange
has a number, which is in every byte sequence: lost, repeated, reordered or mixed-up pieces show.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.benchmarks.errors import DeliveryError

CHAT = "/v1/chat/completions"

UNMETERED = "/relay"
"""A path that the upstream answers like a chat, and no proxy takes for a completion."""

MOST_MODELS = 10
"""That the upstream lists beside its own."""

_CAPTURES = Path(__file__).parents[1] / "captures" / "llama_cpp" / "ngram-mod"
_MODEL = b"smollm2-135m"
_PROMPT = "def f(a):\n    return a + 1\n\n" * 30  # brings a request's body to about 1 kB


@dataclass(frozen=True)
class Shape:
    """How requests and answers look; what is 0 is as captured.

    Attributes:
        path: where requests go.
        models: how many model names there are; each exchange has one of them.
        event_bytes: the size of each event of a stream with text.
        answer_bytes: the size of an answer without streaming.
        upload_bytes: what is added to a request's body.
        rate: events per second of each stream, if not the upstream's usual one.
    """

    path: str = CHAT
    models: int = 1
    event_bytes: int = 0
    answer_bytes: int = 0
    upload_bytes: int = 0
    rate: float = 0.0


AS_CAPTURED = Shape()


class Traffic:
    """Requests and the responses to them, by the number of the exchange."""

    def __init__(self, shape: Shape = AS_CAPTURED, captures: Path = _CAPTURES) -> None:
        self.shape = shape
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
            "/v1/models": _models(captures / "models.json"),
        }

    def request(self, number: int, events: int = 0) -> bytes:
        """The body of a request for so many events, or for a plain JSON answer if 0."""
        shape = self.shape
        request: dict[str, object] = {
            "model": self._model(number).decode(),
            "messages": [{"role": "user", "content": _PROMPT + "x" * shape.upload_bytes}],
            "stream": events > 0,
            "max_tokens": events or 128,
            "seed": number,
        }
        if shape != AS_CAPTURED:
            request["shape"] = asdict(shape)
        return json.dumps(request).encode()

    def answer(self, number: int) -> bytes:
        """The body of the JSON answer."""
        answer = self._answer.replace(self._answer_id, _numbered(self._answer_id, number))
        if missing := self.shape.answer_bytes - len(answer):
            answer = answer.replace(b'"content":"', b'"content":"' + b"~" * max(missing, 0), 1)
        return self._named(answer, number)

    def events(self, number: int, count: int) -> Iterator[bytes]:
        """Yield the events of a stream: role, pieces of text, finish with timings, `[DONE]`.

        Args:
            number: that of the exchange.
            count: of events, 3 or more.
        """
        identity = _numbered(self._stream_id, number)
        piece = self._named(self._piece.replace(self._stream_id, identity), number)
        piece = piece.replace(self._content, b'"content":" w00000"')
        if missing := self.shape.event_bytes - len(piece):
            piece = piece.replace(b" w00000", b" w00000" + b"~" * max(missing, 0))
        before, after = piece.split(b"00000", 1)
        yield self._named(self._first.replace(self._stream_id, identity), number)
        for i in range(count - 3):
            yield b"%b%05d%b" % (before, i, after)
        yield self._named(self._finish.replace(self._stream_id, identity), number)
        yield self._done

    def _model(self, number: int) -> bytes:
        models = self.shape.models
        return _MODEL if models == 1 else b"model-%d" % (number % models)

    def _named(self, text: bytes, number: int) -> bytes:
        return text if self.shape.models == 1 else text.replace(_MODEL, self._model(number))


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


def _models(path: Path) -> bytes:
    """The list of models, with some more."""
    page = json.loads(path.read_text())
    (one,) = page["data"]
    names = [f"model-{i}" for i in range(MOST_MODELS)]
    page["data"] += [{**one, "id": name, "aliases": [name]} for name in names]
    return json.dumps(page).encode()
