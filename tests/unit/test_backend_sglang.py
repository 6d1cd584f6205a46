"""SGLang: the drafts of one request, under every name and in every place."""

from typing import Any

import pytest

from specmeter.backends.injection import CHAT, Habits, Undo
from specmeter.backends.sglang import Sglang
from specmeter.reading import Inconsistency, Reading, Speculation, check
from specmeter.unread import Unread
from tests.answers import chat, last
from tests.examples.example import USAGE
from tests.examples.sglang import DETAILS, META_INFO
from tests.examples.vllm import running


def read(*messages: dict[str, Any]) -> list[Reading]:
    return [check(numbers) for numbers in Sglang().extract(messages).numbers]


def details(**changed: Any) -> Reading:
    extension = {"spec_tokens_details": {**DETAILS, **changed}}
    (one,) = read(chat(usage=USAGE, sglext=extension))
    return one


def test_verifications_and_the_prompt_pass_are_the_steps() -> None:
    """64 verifications are 65 runs of the target, as it is counted for every server."""
    one = details()
    assert (one.rounds, one.steps, one.target_steps) == (64, 65, 65)
    assert one.mean_acceptance_length == 2.0
    assert one.accepted_per_position == (40, 17, 7)


def test_a_stop_in_the_middle_of_a_round() -> None:
    """The server's own count of steps holds where tokens minus accepted would say too few."""
    usage = {"prompt_tokens": 41, "completion_tokens": 70}
    (one,) = read(chat(usage=usage, sglext={"spec_tokens_details": DETAILS}))
    assert one.target_steps == 65
    assert one.inconsistencies == ()


@pytest.mark.parametrize("verifications", [30, 200])
def test_steps_that_cannot_be(verifications: int) -> None:
    """More steps than tokens, or too few for those that no draft brought, are said and left."""
    one = details(spec_verify_ct=verifications)
    assert Inconsistency.STEPS_DISAGREE in one.inconsistencies
    assert (one.steps, one.target_steps) == (None, 65)


@pytest.mark.parametrize("filler", [0, None])
def test_filled_in_zeros_are_no_measurement(filler: Any) -> None:
    """Without a verification nothing was measured."""
    zeros = dict.fromkeys(DETAILS, 0) | {"spec_verify_ct": filler}
    one = details(**zeros)
    assert one.speculation is Speculation.NOT_REPORTED
    assert (one.rounds, one.steps, one.target_steps) == (None, None, None)
    assert one.inconsistencies == ()


def test_verifications_alone_tell_the_steps() -> None:
    """Versions before the draft counts have zeros in their place."""
    one = details(spec_num_correct_drafts=0, spec_num_proposed_drafts=0)
    assert one.speculation is Speculation.NOT_REPORTED
    assert one.target_steps == 65
    assert one.output_per_step == pytest.approx(129 / 65)


def test_accepted_without_proposed() -> None:
    """Half of a pair is no filler, but a fault."""
    one = details(spec_num_proposed_drafts=None)
    assert one.inconsistencies == (Inconsistency.HALF_REPORTED,)


@pytest.mark.parametrize("form", ["body", "stream"])
def test_drafts_of_several_choices(form: str) -> None:
    """A list has an item for each; the usage is their sum."""
    usage = {"prompt_tokens": 41, "completion_tokens": 258}
    extension = {"spec_tokens_details": [DETAILS, DETAILS]}
    body = (chat({}, {}, usage=usage, sglext=extension),)
    (one,) = read(*(body if form == "body" else (last(sglext=extension), last(usage=usage))))
    assert (one.generated, one.drafted, one.accepted, one.rounds) == (258, 384, 128, 128)
    assert (one.steps, one.target_steps, one.sequences) == (130, 130, 2)
    assert one.accepted_per_position == (80, 34, 14)


@pytest.mark.parametrize(("histogram", "reasons"), [(None, ()), ("x", (Inconsistency.WRONG_TYPE,))])
def test_a_choice_without_positions(histogram: Any, reasons: tuple[Inconsistency, ...]) -> None:
    """Then there are none of the sum either; the rest stands."""
    odd = {**DETAILS, "spec_correct_drafts_histogram": histogram}
    usage = {"prompt_tokens": 41, "completion_tokens": 258}
    extension = {"spec_tokens_details": [DETAILS, odd]}
    (one,) = read(chat({}, {}, usage=usage, sglext=extension))
    assert (one.accepted_per_position, one.inconsistencies) == (None, reasons)
    assert one.accepted == 128


def test_drafts_of_some_choices_are_none() -> None:
    """They do not go with the tokens of all."""
    extension = {"spec_tokens_details": [DETAILS, None]}
    extract = Sglang().extract([chat({}, {}, usage=USAGE, sglext=extension)])
    assert extract.unread is Unread.OTHER_CHOICES
    assert check(extract.numbers[0]).speculation is Speculation.NOT_REPORTED


@pytest.mark.parametrize("index", [{}, {"index": 0}])
def test_native_results_of_a_batch(index: dict[str, Any]) -> None:
    """Each has an id, and is a reading of its own; a stream repeats it on every chunk."""
    first = {"text": "a", "meta_info": {**META_INFO, "id": "1", "completion_tokens": 1}, **index}
    last_ = {"text": "ab", "meta_info": {**META_INFO, "id": "1"}, **index}
    other = {"text": "c", "meta_info": {**META_INFO, "id": "2"}, "index": 1}
    assert [one.generated for one in read(first, other, last_)] == [129, 129]


def test_a_native_result_without_drafts() -> None:
    """A server that does not speculate says nothing of it, as an old one does."""
    info = {"id": "1", "prompt_tokens": 41, "completion_tokens": 129, "cached_tokens": 8}
    (one,) = read({"text": "a", "meta_info": info})
    assert one.speculation is Speculation.NOT_REPORTED
    assert (one.generated, one.prompt, one.cached_prompt) == (129, 41, 8)


@pytest.mark.parametrize("damaged", ["x", 5, [], [5], ["x"], None])
def test_details_that_are_none(damaged: Any) -> None:
    """They are as good as absent."""
    (one,) = read(chat(usage=USAGE, sglext={"spec_tokens_details": damaged}))
    assert one.speculation is Speculation.NOT_REPORTED
    assert one.inconsistencies == ()


def test_no_numbers() -> None:
    """Nothing is made up."""
    assert Sglang().extract([{"sglext": 5, "choices": []}]).unread is Unread.NO_NUMBERS


def test_usage_on_every_chunk() -> None:
    """The last one counts, and is no count of steps."""
    (one,) = read(running("a", 1), running("b", 9))
    assert (one.generated, one.target_steps) == (9, None)


SWITCH = {"return_spec_tokens_details": True}
KNOWN = Habits(usage_unasked=False)


class TestAsking:
    """What a request is asked in addition."""

    def ask(self, request: dict[str, Any], habits: Habits = KNOWN) -> Any:
        return Sglang().injection.ask(CHAT, request, habits)

    @pytest.mark.parametrize("request_", [{"n": 1}, {"n": 2}, {"stream": False, "best_of": 2}])
    def test_a_document_is_asked_for_the_drafts(self, request_: dict[str, Any]) -> None:
        """Also of several outputs: each has its own."""
        asked = self.ask(request_)
        assert asked.members == SWITCH
        assert asked.undo.extension == b"sglext"
        assert not asked.undo.usage_chunk

    def test_a_stream_is_asked_for_the_usage_too(self) -> None:
        """Both additions are taken out again."""
        asked = self.ask({"stream": True})
        assert asked.members == {**SWITCH, "stream_options": {"include_usage": True}}
        assert asked.undo.usage_chunk
        assert not asked.undo.watch_usage

    def test_the_first_stream_shows_whether_usage_comes_unasked(self) -> None:
        """Until that is known, no usage is asked for, and none is taken out."""
        asked = self.ask({"stream": True}, Habits())
        assert asked.members == SWITCH
        assert asked.undo.watch_usage
        assert not asked.undo.usage_chunk

    def test_usage_that_comes_unasked_is_left_in(self) -> None:
        """The server's clients may count on it."""
        asked = self.ask({"stream": True}, Habits(usage_unasked=True))
        assert asked.members == SWITCH
        assert not asked.undo.usage_chunk
        assert not asked.undo.watch_usage

    @pytest.mark.parametrize("value", [True, False, None])
    def test_who_asks_itself_is_not_asked(self, value: Any) -> None:
        """What the client wrote stands."""
        request = {"stream": True, "return_spec_tokens_details": value}
        request["stream_options"] = {"include_usage": True}
        assert self.ask(request) is None

    @pytest.mark.parametrize(
        "request_",
        [
            {"return_cached_tokens_details": True},
            {"return_routed_experts": True},
            {"return_input_ids": True},
            {"prompt": ["a", "b"]},
        ],
    )
    def test_an_extension_with_more_in_it_is_left_alone(self, request_: dict[str, Any]) -> None:
        """It could not be taken out whole; of several prompts only the first one's is in it."""
        assert self.ask(request_) is None

    def test_usage_on_every_chunk_where_it_is_wanted(self) -> None:
        """It needs no usage chunk."""
        asked = self.ask({"stream": True, **SWITCH}, Habits(running_usage=True))
        assert asked.members == {"stream_options": {"continuous_usage_stats": True}}
        assert asked.undo == Undo(
            running_usage=True, null_usage=asked.undo.null_usage, watch_usage=True
        )

    @pytest.mark.parametrize("options", [{"continuous_usage_stats": True}, [], "x"])
    def test_running_usage_that_is_asked_or_not_understood(self, options: Any) -> None:
        """Nothing is added to it."""
        habits = Habits(running_usage=True, usage_unasked=True)
        assert self.ask({"stream": True, **SWITCH, "stream_options": options}, habits) is None
