"""An exchange arrives at the main process as it left the worker."""

import msgspec
import pytest

from specmeter.fault import Fault
from specmeter.gateway.exchange import Ending, Exchange, Replayable
from specmeter.gateway.failures import Reason
from specmeter.unread import Unread
from specmeter.workers.ended import Ended, packed, unpacked
from tests.answers import copied

# Each field with a value that is neither its default nor another one's.
FULL = Exchange(
    endpoint="/v1/completions",
    completion=True,
    received_at=1.25,
    upstream="u",
    request_id=b"id-\xff",
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
    for field in msgspec.structs.fields(Exchange):
        if field.name != "transcript":
            assert getattr(FULL, field.name) != getattr(plain, field.name), field.name
    assert sent(FULL) == FULL
    assert sent(plain) == plain


@pytest.mark.parametrize("limit", [10, 1024, 10**6])
@pytest.mark.parametrize("form", ["body", "events", "lines"])
@pytest.mark.parametrize("events", [1, 40, 3000])
def test_a_copy_arrives(form: str, limit: int, events: int) -> None:
    """Whole or in part, what is read is what would have been read at the worker."""
    pieces = [
        b'data: {"choices":[{"delta":{"content":"a"}}],"usage":%d}\n\n' % n for n in range(events)
    ]
    copy = copied(form, *pieces, limit=limit)
    exchange = msgspec.structs.replace(FULL, transcript=copy)
    got = sent(exchange).transcript
    assert got is not None
    assert got.copied() == copy


def test_a_fault_of_the_copy_arrives() -> None:
    """The main process tells of it, and counts it."""
    fault = Fault("ZeroDivisionError", "in a file")
    got = sent(msgspec.structs.replace(FULL, transcript=fault)).transcript
    assert got is not None
    assert got.copied() == fault
