"""From the copy of a response to its readings: any split, any damage."""

import itertools
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter.backends import by_name
from specmeter.reader import Outcome, read
from specmeter.reading import Clock, Speculation
from specmeter.unread import Unread
from tests.answers import copied

CAPTURES = Path(__file__).parents[1] / "captures"
STREAMS = sorted(CAPTURES.rglob("*stream*.body"))
BODIES = sorted(set(CAPTURES.rglob("*.body")) - set(STREAMS))


def read_stream(*pieces: bytes, limit: int = 1 << 20) -> Outcome:
    return read(copied("events", *pieces, limit=limit))


def read_body(body: Any, limit: int = 1 << 20) -> Outcome:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return read(copied("body", raw, limit=limit))


def test_the_captures_are_there() -> None:
    """The tests below have something to read."""
    assert len(STREAMS) > 20
    assert len(BODIES) > 20


@given(st.sampled_from(STREAMS), st.lists(st.integers(0, 30_000), max_size=12))
def test_any_split_of_a_stream_gives_the_same_numbers(path: Path, cuts: list[int]) -> None:
    """Where the pieces end does not matter."""
    stream = path.read_bytes()
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in itertools.pairwise(bounds)]
    whole, split = read_stream(stream), read_stream(*pieces)
    counts = [
        [(r.generated, r.drafted, r.accepted, r.rounds, r.accepted_per_position) for r in readings]
        for readings in (whole.readings, split.readings)
    ]
    assert counts[0] == counts[1]
    assert (whole.model, whole.fingerprint, whole.unread) == (
        split.model,
        split.fingerprint,
        split.unread,
    )


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
@pytest.mark.parametrize("path", STREAMS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_line_ends_do_not_matter(path: Path, end: bytes) -> None:
    """A stream with other line ends says the same."""
    stream = path.read_bytes()
    plain, other = read_stream(stream), read_stream(stream.replace(b"\n", end))
    assert plain.unread == other.unread
    assert [r.drafted for r in plain.readings] == [r.drafted for r in other.readings]


@given(st.sampled_from(STREAMS + BODIES), st.integers(0, 30_000), st.binary(max_size=20))
def test_damage_anywhere_is_survived(path: Path, at: int, damage: bytes) -> None:
    """Bytes overwritten anywhere: nothing raised, nothing impossible."""
    raw = bytearray(path.read_bytes())
    at = min(at, len(raw))
    raw[at : at + len(damage)] = damage
    streamed = path in STREAMS
    outcome = read(copied("events" if streamed else "body", bytes(raw)))
    assert outcome.readings or outcome.unread
    for one in outcome.readings:
        assert one.target_steps is None or one.target_steps >= 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["timings", "usage", "metrics", "choices", "response", "draft_n"])
                | st.text(max_size=3),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_survived(value: Any) -> None:
    """Whatever JSON comes, as a body or as an event, it is read or said to be unread."""
    raw = orjson.dumps(value)
    for outcome in (read_body(raw), read_stream(b"data: " + raw + b"\n\n")):
        assert outcome.readings or outcome.unread


def test_a_body_past_the_limit_is_unread() -> None:
    """It is not taken for broken JSON."""
    assert read_body({"usage": {}, "x": "y" * 100}, limit=50).unread == (Unread.TOO_LARGE,)


def test_a_stream_past_the_limit_is_read_from_its_end() -> None:
    """The numbers come last, so the end is enough."""
    chunk = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    last = b'data: {"choices":[],"timings":{"predicted_n":9,"draft_n":4,"draft_n_accepted":2}}\n\n'
    (one,) = read_stream(*[chunk] * 500, last, b"data: [DONE]\n\n", limit=4096).readings
    assert (one.generated, one.drafted) == (9, 4)


def test_numbers_beyond_the_copy_are_unread() -> None:
    """A last event longer than the copy cannot be read, and that is the reason given."""
    last = b'data: {"x":"' + b"y" * 5000 + b'","timings":{"predicted_n":9}}\n\n'
    assert read_stream(last, limit=1024).unread == (Unread.TOO_LARGE,)


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"", Unread.NO_NUMBERS),
        (b"data: [DONE]\n\n", Unread.NO_NUMBERS),
        (b'data: {"timings": {"predicted_n": NaN}}\n\n', Unread.NOT_JSON),
        (b'data: {"timings": {"predicted_n": 5}\n\n', Unread.NOT_JSON),
        (b'data: {"usage":{}}\n\n', None),
        (b'data: {"choices":[]}\n\ndata: {"error":{"message":"no"}}\n\n', Unread.ERROR_EVENT),
        (b'event: error\ndata: {"type":"error","error":{}}\n\n', Unread.ERROR_EVENT),
    ],
)
def test_why_a_stream_is_unread(stream: bytes, reason: Unread | None) -> None:
    """Each way to have no numbers has its own reason."""
    assert read_stream(stream).unread == ((reason,) if reason else ())


@pytest.mark.parametrize("body", [b"", b"{", b'{"usage": NaN}', b"<html>"])
def test_a_body_that_is_no_json(body: bytes) -> None:
    """Broken JSON is its own reason."""
    assert read_body(body).unread == (Unread.NOT_JSON,)


def test_an_answer_that_broke_off_is_cut_short() -> None:
    """What came before the break is not taken for the whole."""
    stream = b'data: {"timings":{"predicted_n":5}}\n\n'
    outcome = read(copied("events", stream), complete=False)
    assert outcome.unread == (Unread.CUT_SHORT,)
    assert outcome.readings == ()


def test_a_server_that_was_replaced_is_recognised() -> None:
    """What an answer tells of the server counts more than what is remembered."""
    raw = (CAPTURES / "llama_cpp" / "ngram-mod" / "chat.body").read_bytes()
    outcome = read(copied("body", raw), remembered=by_name("vllm"))
    assert outcome.backend.name == "llama_cpp"
    assert outcome.readings[0].drafted == 98


def test_a_configured_kind_is_not_doubted() -> None:
    """Who says that the server is vLLM gets it read as vLLM."""
    raw = (CAPTURES / "llama_cpp" / "ngram-mod" / "chat.body").read_bytes()
    outcome = read(copied("body", raw), configured=by_name("vllm"))
    assert outcome.readings[0].speculation is Speculation.NOT_REPORTED


def test_model_text_is_not_looked_into() -> None:
    """A model that writes timings into its text does not change the numbers."""
    text = 'x","timings":{"predicted_n":1,"draft_n":1,"draft_n_accepted":1},"y":"'
    fake = orjson.dumps({"choices": [{"index": 0, "delta": {"content": text}}]})
    real = b'{"choices":[{"index":0}],"timings":{"predicted_n":9}}'
    (one,) = read_stream(b"data: " + fake + b"\n\ndata: " + real + b"\n\n").readings
    assert (one.generated, one.speculation) == (9, Speculation.NOT_DRAFTED)


class TestOwnClock:
    """Where a server gives no decode time, streams are timed as they pass."""

    USAGE = b'data: {"choices":[],"usage":{"completion_tokens":3}}\n\n'

    @staticmethod
    def chunk(index: int) -> bytes:
        return b'data: {"choices":[{"index":%d,"delta":{"content":"x"}}]}\n\n' % index

    def test_first_to_last_content(self) -> None:
        """The reading says whose clock it was."""
        (one,) = read_stream(*[self.chunk(0)] * 3, self.USAGE).readings
        assert one.decode_seconds == 2.0
        assert one.clock is Clock.PROXY
        assert one.seconds_per_token == 1.0

    def test_interleaved_choices_have_no_clock(self) -> None:
        """Two outputs at once are no time of one."""
        (one,) = read_stream(self.chunk(0), self.chunk(1), self.chunk(0), self.USAGE).readings
        assert one.decode_seconds is None

    def test_all_at_once_is_no_time(self) -> None:
        """An answer in one piece was not timed."""
        (one,) = read_stream(self.chunk(0) * 3 + self.USAGE).readings
        assert one.decode_seconds is None

    def test_the_servers_own_time_is_better(self) -> None:
        """The proxy's clock is only a stand-in."""
        timings = b'data: {"choices":[],"timings":{"predicted_n":3,"predicted_ms":500}}\n\n'
        (one,) = read_stream(*[self.chunk(0)] * 3, timings).readings
        assert (one.decode_seconds, one.clock) == (0.5, Clock.SERVER)
