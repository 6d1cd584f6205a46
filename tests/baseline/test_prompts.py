"""Prompts of a wanted length."""

import pytest

from specmeter.baseline.prompts import Calibration, messages


def text(stream: int, words: int) -> str:
    content: str = messages(stream, words)[0]["content"]
    return content


def test_two_prompts_tell_how_words_become_tokens() -> None:
    """A line through both: 20 tokens at all, 3 for each word."""
    found = Calibration.of((10, 50), (100, 320))
    assert (found.tokens_at_all, found.tokens_per_word) == (20, 3)
    assert found.words(320) == 100
    assert found.words(0) == 1
    assert found.least == 23


def test_tokens_that_do_not_grow_tell_nothing() -> None:
    """Something changes the prompts on their way."""
    with pytest.raises(ValueError, match="no more tokens"):
        Calibration.of((10, 50), (100, 50))


def test_a_longer_prompt_of_a_stream_begins_like_a_shorter_one() -> None:
    """So that a server's prompt cache is of use."""
    assert text(0, 200).startswith(text(0, 50))
    assert len(text(0, 200).split()) == len(text(0, 50).split()) + 150


def test_streams_share_nothing() -> None:
    """Not even their beginning: some servers decode faster where prompts share one."""
    assert text(0, 50).split()[:2] != text(1, 50).split()[:2]
    assert text(0, 50).split()[-20:] != text(1, 50).split()[-20:]


def test_a_stream_is_always_the_same() -> None:
    """Repeats measure the same."""
    assert messages(3, 40) == messages(3, 40)
