"""An exchange arrives at the main process as it left the worker."""

import dataclasses
import random

import msgspec
import pytest

from specmeter import ndjson, sse
from specmeter.gateway.exchange import Ending, Exchange, Replayable
from specmeter.gateway.failures import Reason
from specmeter.transcript import Framing, Transcript, Unread
from specmeter.workers.ended import Ended, packed, unpacked

# Each field with a value that is neither its default nor another one's.
FULL = Exchange(
    endpoint="/v1/completions",
    completion=True,
    received_at=1.25,
    upstream="u",
    request_id="id-\udcff",
    code=200,
    ending=Ending.UPSTREAM_FAILED,
    failure=Reason.BROKEN_OFF,
    sent_at=2.5,
    waited_seconds=0.125,
    answered_at=3.5,
    forwarded_at=4.5,
    ended_at=5.5,
    transcript=None,
    in_flight=6.5,
    held_out_of="spec",
    asked_model="m",
    replayable=Replayable("/v1/completions?a=\udcfe", b'{"prompt":"\xff"}'),
    unread=Unread.COMPRESSED,
)


def sent(exchange: Exchange) -> Exchange:
    """Return what arrives."""
    data = msgspec.msgpack.encode(packed(exchange))
    return unpacked(msgspec.msgpack.decode(data, type=Ended))


def test_every_field_arrives() -> None:
    """Also those that no UTF-8 can hold; a field that is added is not forgotten."""
    plain = Exchange("other", completion=False, received_at=0.0)
    for field in dataclasses.fields(Exchange):
        if field.name != "transcript":
            assert getattr(FULL, field.name) != getattr(plain, field.name), field.name
    assert sent(FULL) == FULL
    assert sent(plain) == plain


@pytest.mark.parametrize("framing", [sse, ndjson], ids=["sse", "ndjson"])
@pytest.mark.parametrize("limit", [1024, 20_000, 10**6])
@pytest.mark.parametrize("events", [0, 1, 40, 3000])
def test_a_stream_reads_the_same(framing: Framing, limit: int, events: int) -> None:
    """Whole or cut, what is read from a copy is what would have been read at the worker."""
    dice = random.Random(events)
    copy = Transcript(streamed=True, limit=limit, framing=framing)
    for number in range(events):
        text = b'{"choices":[{"delta":{"content":"%d %b"}}]}' % (number, b"x" * dice.randrange(20))
        copy.append(b"data: %b\n\n" % text if framing is sse else text + b"\n", float(number))
    exchange = dataclasses.replace(FULL, transcript=copy)
    got = sent(exchange).transcript
    assert got is not None
    for what in ("truncated", "total", "limit", "streamed"):
        assert getattr(got, what) == getattr(copy, what)
    assert got.end() == copy.end()
    assert got.head == copy.head
    assert list(got.events()) == list(copy.events())
    assert got.first_content_at() == copy.first_content_at()
    assert got.last_content_at() == copy.last_content_at()
    assert (copy.first_content_at() is None) == (events == 0)


@pytest.mark.parametrize("limit", [10, 1000])
def test_a_body_reads_the_same(limit: int) -> None:
    """A body in one piece is the same JSON, or as much cut."""
    copy = Transcript(streamed=False, limit=limit)
    copy.append(b'{"usage":', 0.5)
    copy.append(b'{"prompt_tokens":3}}', 1.0)
    got = sent(dataclasses.replace(FULL, transcript=copy)).transcript
    assert got is not None
    assert got.truncated == copy.truncated == (limit == 10)
    if limit > 10:
        assert got.body() == {"usage": {"prompt_tokens": 3}}
