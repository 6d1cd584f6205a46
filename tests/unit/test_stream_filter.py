"""Taking out of a stream what asking for usage put into it."""

import orjson
import pytest

from specmeter.gateway.ask_usage import ask_for_usage
from specmeter.gateway.stream_filter import UsageFilter

CONTENT = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
FINISH = b'data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}\n\n'
STAMPED = FINISH.replace(b"]}\n\n", b'],"system_fingerprint":"vllm-1"}\n\n')
USAGE = b'data: {"choices":[],"usage":{"x":1},"system_fingerprint":"vllm-1"}\n\n'
DONE = b"data: [DONE]\n\n"


def filtered(*pieces: bytes) -> bytes:
    usage_filter = UsageFilter()
    passed = b"".join(usage_filter.feed(piece) for piece in pieces)
    return passed + usage_filter.flush()


def test_the_usage_chunk_is_taken_out_and_the_fingerprint_put_back() -> None:
    """The stream is what it would have been without asking."""
    assert filtered(CONTENT + FINISH + USAGE + DONE) == CONTENT + STAMPED + DONE


def test_content_is_not_held() -> None:
    """Only the chunk with the finish reason waits for the one behind it."""
    usage_filter = UsageFilter()
    assert usage_filter.feed(CONTENT) == CONTENT
    assert usage_filter.feed(FINISH) == b""
    assert usage_filter.feed(USAGE) == STAMPED
    assert usage_filter.feed(DONE) == DONE


def test_a_ping_between_finish_and_usage_keeps_its_place() -> None:
    """Comments pass in order."""
    ping = b": ping\n\n"
    assert filtered(ping + FINISH + ping + USAGE + DONE) == ping + STAMPED + ping + DONE


@pytest.mark.parametrize(
    "usage",
    [
        b'data: {"choices":[],"usage":{"x":1}}\n\n',
        b'data: {"choices":[],"usage":{"x":1},"system_fingerprint":null}\n\n',
        b'data: {"choices":[],"usage":{"x":1},"system_fingerprint":}\n\n',
    ],
)
def test_no_fingerprint_nothing_put_back(usage: bytes) -> None:
    """Older servers have none; then only the chunk goes."""
    assert filtered(FINISH + usage + DONE) == FINISH + DONE


def test_a_stream_without_usage_passes_whole() -> None:
    """A server that ignores the wish, an error, a break: nothing is lost."""
    error = b'data: {"error":{}}\n\n'
    assert filtered(CONTENT + FINISH + DONE) == CONTENT + FINISH + DONE
    assert filtered(CONTENT + FINISH + error) == CONTENT + FINISH + error
    assert filtered(CONTENT + FINISH) == CONTENT + FINISH
    assert filtered(CONTENT[:10]) == CONTENT[:10]


def test_usage_on_every_chunk_is_the_servers_own() -> None:
    """Where the client would have got usage anyway, it stays."""
    forced = CONTENT.replace(b"]}\n\n", b'],"usage":{"x":1}}\n\n')
    stream = forced + FINISH + USAGE + DONE
    assert filtered(stream) == stream


def test_an_endless_event_passes() -> None:
    """What is longer than any event of a server is not collected without end."""
    usage_filter = UsageFilter()
    piece = b"x" * (1024 * 1024)
    passed = sum(len(usage_filter.feed(piece)) for _ in range(8))
    assert passed == 8 * len(piece)


class TestAsking:
    """The request that goes out."""

    def test_a_member_is_added_at_the_end(self) -> None:
        """All the client's bytes stay, also those that no JSON library keeps."""
        body = b'{"stream":true,"a":1e40,"n":1,"b":12345678901234567890123,"b":"\\u00e9" } \n'
        asked = ask_for_usage(body)
        assert asked is not None
        assert asked.startswith(body.rstrip()[:-1])
        assert orjson.loads(asked)["stream_options"] == {"include_usage": True}

    def test_other_options_stay(self) -> None:
        """A later member overrides the earlier one, so it repeats what else was in it."""
        asked = ask_for_usage(b'{"stream":true,"stream_options":{"x":5,"include_usage":false}}')
        assert asked is not None
        assert orjson.loads(asked)["stream_options"] == {"x": 5, "include_usage": True}

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"{",
            b'{"stream":false}',
            b'{"stream":"true"}',
            b'{"stream":true,"n":2}',
            b'{"stream":true,"best_of":2}',
            b'{"stream":true,"prompt":["a","b"]}',
            b'{"stream":true,"stream_options":[]}',
            b'{"stream":true,"stream_options":{"include_usage":true}}',
            b'{"stream":true,"stream_options":{"continuous_usage_stats":true}}',
        ],
    )
    def test_what_goes_out_as_it_is(self, body: bytes) -> None:
        """Not a stream, asked already, several outputs, or not understood."""
        assert ask_for_usage(body) is None

    def test_token_prompts_are_one_prompt(self) -> None:
        """A list of numbers is a tokenised prompt."""
        assert ask_for_usage(b'{"stream":true,"prompt":[1,2,3]}') is not None
