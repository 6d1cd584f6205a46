import itertools

from specmeter.demo.prompts import KINDS, mix


def test_mix_holds_every_kind_streamed_and_not() -> None:
    """Two rounds bring each kind of prompt once streamed and once whole."""
    prompts = list(itertools.islice(mix(), 2 * len(KINDS)))
    assert {(prompt.kind, prompt.streamed) for prompt in prompts} == set(
        itertools.product(KINDS, (True, False))
    )


def test_prompts_differ_for_six_rounds() -> None:
    """A drafter with a memory meets new text for a while."""
    texts = [prompt.text for prompt in itertools.islice(mix(), 6 * len(KINDS) + 1)]
    assert len(set(texts)) == 6 * len(KINDS)
    assert texts[-1] == texts[0]


def test_code_comes_first_and_repeats() -> None:
    """The first prompt drafts well, so that even a short demo shows drafts."""
    first = next(mix())
    assert first.kind == "code"
    assert first.text.count("def f(a):") > 1


def test_requests_are_greedy_and_ask_streams_for_usage() -> None:
    """Runs are alike: temperature 0, the model as given, usage in streams too."""
    streamed, whole = itertools.islice(mix(), 2)
    assert streamed.body("m")["stream_options"] == {"include_usage": True}
    assert "stream_options" not in whole.body("m")
    for prompt in (streamed, whole):
        body = prompt.body("m")
        assert (body["model"], body["temperature"]) == ("m", 0)
        assert body["stream"] is prompt.streamed
