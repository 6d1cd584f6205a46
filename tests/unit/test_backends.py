"""Each backend with numbers of its own, and with every kind of damage."""

from typing import Any

import pytest

from specmeter.backends import BACKENDS, by_name, recognise
from specmeter.backends.llama_cpp import LlamaCpp
from specmeter.backends.openai import OpenAI
from specmeter.backends.usage import find_usage
from specmeter.backends.vllm import Vllm
from specmeter.reading import Inconsistency, Reading, Speculation, check
from specmeter.transcript import Unread

TIMINGS: dict[str, Any] = {
    "cache_n": 30,
    "prompt_n": 11,
    "prompt_ms": 120.5,
    "predicted_n": 129,
    "predicted_ms": 1600.0,
    "draft_n": 192,
    "draft_n_accepted": 64,
}
SPECULATIVE: dict[str, Any] = {
    "acceptance_histogram": [24, 23, 10, 7],
    "num_spec_steps": 64,
    "num_accepted_draft_tokens": 64,
    "num_draft_tokens": 192,
    "num_spec_tokens": 3,
}
USAGE = {"prompt_tokens": 41, "completion_tokens": 129, "total_tokens": 170}


def llama(*messages: dict[str, Any]) -> list[Reading]:
    return [check(numbers) for numbers in LlamaCpp().extract(messages).numbers]


def vllm(metrics: Any, **more: Any) -> Reading:
    body = {"usage": USAGE, "metrics": metrics, **more}
    (numbers,) = Vllm().extract([body]).numbers
    return check(numbers)


class TestLlamaCpp:
    """The `timings` object."""

    def test_numbers_of_a_body(self) -> None:
        """All numbers of the format's own example."""
        (one,) = llama({"timings": TIMINGS})
        assert (one.generated, one.drafted, one.accepted) == (129, 192, 64)
        assert (one.prompt, one.cached_prompt) == (41, 30)
        assert one.target_steps == 65
        assert one.acceptance == pytest.approx(1 / 3)
        assert one.seconds_per_token == pytest.approx(0.0125)
        assert one.rounds is None

    @pytest.mark.parametrize("nothing", [{}, {"draft_n": None, "draft_n_accepted": None}])
    def test_no_draft_fields_are_nothing_drafted(self, nothing: dict[str, Any]) -> None:
        """The server leaves both out; null is the same as absent."""
        timings: dict[str, Any] = {"predicted_n": 129, "predicted_ms": 1600.0}
        timings |= nothing
        (one,) = llama({"timings": timings})
        assert one.speculation is Speculation.NOT_DRAFTED
        assert one.target_steps == 129

    def test_no_timings_are_not_reported(self) -> None:
        """Endpoints without timings have token counts only."""
        (one,) = llama({"usage": {"output_tokens": 24, "input_tokens": 32}})
        assert one.speculation is Speculation.NOT_REPORTED
        assert (one.generated, one.prompt) == (24, 32)

    def test_the_last_timings_of_a_choice_count(self) -> None:
        """A stop word makes two chunks carry timings: never summed."""
        first = {"choices": [{"index": 0}], "timings": {**TIMINGS, "predicted_n": 100}}
        last = {"choices": [{"index": 0, "finish_reason": "stop"}], "timings": TIMINGS}
        assert [one.generated for one in llama(first, last)] == [129]

    def test_each_choice_has_its_own(self) -> None:
        """Streams of several outputs report every one."""
        messages = [
            {"choices": [{"index": index}], "timings": TIMINGS | {"predicted_n": 100 + index}}
            for index in (0, 1, 0, 2)
        ]
        assert sorted(one.generated or 0 for one in llama(*messages)) == [100, 101, 102]

    def test_usage_chunks_replace_the_chunks_of_their_choices(self) -> None:
        """With timings on every chunk and usage asked for, nothing is counted twice."""
        chunk = {"choices": [{"index": 0}], "timings": {**TIMINGS, "predicted_n": 5}}
        usage = {"choices": [], "timings": TIMINGS}
        assert [one.generated for one in llama(chunk, usage, chunk, usage)] == [129, 129]

    def test_several_choices_in_a_body_report_the_first_one(self) -> None:
        """The others' numbers are missing, and that is said."""
        extract = LlamaCpp().extract([{"choices": [{}, {}], "timings": TIMINGS}])
        assert len(extract.numbers) == 1
        assert extract.unread is Unread.OTHER_CHOICES

    def test_a_list_of_native_results(self) -> None:
        """Several prompts of /completion give a list of objects."""
        assert len(llama({"index": 0, "timings": TIMINGS}, {"index": 1, "timings": TIMINGS})) == 2

    def test_verbose_is_not_looked_into(self) -> None:
        """`__verbose` repeats the result and is no second one."""
        (one,) = llama({"timings": TIMINGS, "__verbose": {"timings": {"predicted_n": 1}}})
        assert one.generated == 129

    @pytest.mark.parametrize("choices", ["x", [None], [[]], {}, [{"index": "0"}], [{"index": []}]])
    def test_odd_choices_do_not_hide_the_timings(self, choices: Any) -> None:
        """Damage around the timings does not lose them."""
        (one,) = llama({"choices": choices, "timings": TIMINGS})
        assert one.drafted == 192

    @pytest.mark.parametrize("key", ["predicted_n", "draft_n", "draft_n_accepted", "predicted_ms"])
    @pytest.mark.parametrize("value", ["9", -1, 1e300, [], {}, True])
    def test_damaged_numbers(self, key: str, value: Any) -> None:
        """Each damaged number is named, and none of the kind comes out."""
        (one,) = llama({"timings": {**TIMINGS, key: value}})
        assert one.inconsistencies
        assert Inconsistency.HALF_REPORTED not in one.inconsistencies

    def test_truncated_numbers(self) -> None:
        """A draft without its accepted tokens is half reported."""
        (one,) = llama({"timings": {"predicted_n": 129, "draft_n": 192}})
        assert one.inconsistencies == (Inconsistency.HALF_REPORTED,)
        assert one.generated == 129

    @pytest.mark.parametrize("timings", [None, [], "x", 5])
    def test_timings_that_are_no_object(self, timings: Any) -> None:
        """They are as good as none."""
        assert LlamaCpp().extract([{"timings": timings}]).unread is Unread.NO_NUMBERS


class TestVllm:
    """`metrics.speculative_decoding`."""

    def test_numbers_of_a_body(self) -> None:
        """All numbers of the format's own example; positions follow from the histogram."""
        one = vllm({"generation_time_ms": 1600.0, "speculative_decoding": SPECULATIVE})
        assert (one.generated, one.drafted, one.accepted, one.rounds) == (129, 192, 64, 64)
        assert one.accepted_per_position == (40, 17, 7)
        assert one.mean_acceptance_length == 2.0
        assert one.decode_seconds == 1.6
        assert one.target_steps == 65

    def test_the_documented_sample(self) -> None:
        """43 rounds, 129 drafted, 10 accepted: 7.75 % and 1.2326."""
        sample = {"acceptance_histogram": [39, 1, 0, 3], "num_spec_steps": 43}
        sample |= {"num_accepted_draft_tokens": 10, "num_draft_tokens": 129}
        one = vllm({"speculative_decoding": sample})
        assert one.acceptance == pytest.approx(0.0775, abs=5e-5)
        assert one.mean_acceptance_length == pytest.approx(1.2326, abs=5e-5)
        assert one.accepted_per_position == (4, 3, 3)

    @pytest.mark.parametrize("metrics", [None, {}, {"speculative_decoding": None}, "x", []])
    def test_null_is_not_reported(self, metrics: Any) -> None:
        """Off, several choices and an older server look the same: tokens only."""
        one = vllm(metrics)
        assert one.speculation is Speculation.NOT_REPORTED
        assert one.generated == 129

    def test_nothing_drafted(self) -> None:
        """An all-zero histogram is a server that reports, and did not draft."""
        zeros = {"acceptance_histogram": [0, 0, 0], "num_spec_steps": 0}
        zeros |= {"num_accepted_draft_tokens": 0, "num_draft_tokens": 0}
        one = vllm({"speculative_decoding": zeros})
        assert one.speculation is Speculation.NOT_DRAFTED
        assert one.inconsistencies == ()

    def test_a_response_event_wraps_both(self) -> None:
        """/v1/responses has usage and metrics inside `response`."""
        usage = {"input_tokens": 41, "output_tokens": 129, "input_tokens_details": None}
        response = {"usage": usage, "metrics": {"speculative_decoding": SPECULATIVE}}
        (numbers,) = Vllm().extract([{"type": "response.completed", "response": response}]).numbers
        assert check(numbers).drafted == 192
        assert check(numbers).prompt == 41

    def test_usage_of_several_choices_is_one_sum(self) -> None:
        """Two outputs have two first tokens that no decode time covers."""
        one = vllm({"generation_time_ms": 1000.0}, choices=[{}, {}])
        assert one.decoded == 127

    @pytest.mark.parametrize("key", ["num_spec_steps", "num_draft_tokens", "acceptance_histogram"])
    @pytest.mark.parametrize("value", ["9", -1, 1e300, {}, True, [1, "x"], [-5, 1], [1e300, 0]])
    def test_damaged_numbers(self, key: str, value: Any) -> None:
        """Each damaged number is named."""
        one = vllm({"speculative_decoding": {**SPECULATIVE, key: value}})
        assert one.inconsistencies

    @pytest.mark.parametrize("key", ["num_draft_tokens", "num_accepted_draft_tokens"])
    def test_truncated_numbers(self, key: str) -> None:
        """No rate from half the data."""
        one = vllm({"speculative_decoding": {**SPECULATIVE, key: None}})
        assert one.inconsistencies == (Inconsistency.HALF_REPORTED,)
        assert one.generated == 129


class TestUsage:
    """Three shapes of token counts."""

    def test_anthropic_counts_the_cache_apart(self) -> None:
        """The whole prompt is what was read plus what was found in the cache and written to it."""
        start = {"message": {"usage": {"input_tokens": 1, "cache_read_input_tokens": 31}}}
        usage = find_usage([start, {"usage": {"output_tokens": 24}}])
        assert usage is not None
        assert (usage.generated, usage.prompt, usage.cached_prompt) == (24, 32, 31)

    def test_cached_tokens_of_the_other_two(self) -> None:
        """OpenAI's counts include what was cached."""
        chat = find_usage([{"usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 7}}}])
        assert chat is not None
        assert (chat.generated, chat.prompt, chat.cached_prompt) == (129, 41, 7)

    def test_predictions_are_no_drafts(self) -> None:
        """OpenAI's predicted outputs are not speculation."""
        details = {"accepted_prediction_tokens": 5, "rejected_prediction_tokens": 1}
        body = {"usage": {**USAGE, "completion_tokens_details": details}}
        (numbers,) = OpenAI().extract([body]).numbers
        assert check(numbers).speculation is Speculation.NOT_REPORTED

    @pytest.mark.parametrize("parts", [{"input_tokens": "x"}, {"input_tokens": True}])
    def test_odd_counts_are_found_by_the_checks(self, parts: dict[str, Any]) -> None:
        """What is no number is not added up, but named."""
        usage = find_usage([{"usage": {**parts, "cache_read_input_tokens": 3}}])
        assert usage is not None
        assert usage.prompt == parts["input_tokens"]

    @pytest.mark.parametrize("body", [{}, {"usage": None}, {"usage": []}, {"response": 5}])
    def test_no_usage(self, body: dict[str, Any]) -> None:
        """Nothing is made up."""
        assert find_usage([body]) is None


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ({"timings": {}}, "llama_cpp"),
        ({"system_fingerprint": "b11434-abc1234"}, "llama_cpp"),
        ({"system_fingerprint": "b0-unknown"}, "llama_cpp"),
        ({"owned_by": "llamacpp"}, "llama_cpp"),
        ({"system_fingerprint": "vllm-0.32.0-1adf2225"}, "vllm"),
        ({"metrics": {"speculative_decoding": None}}, "vllm"),
        ({"response": {"metrics": {"speculative_decoding": None}}}, "vllm"),
        ({"owned_by": "vllm"}, "vllm"),
        ({"system_fingerprint": "fp_44709d6fcb"}, None),
        ({"system_fingerprint": 5, "timings": None, "metrics": 3}, None),
        ({}, None),
    ],
)
def test_the_kind_is_found_out_from_answers(message: dict[str, Any], name: str | None) -> None:
    """Fingerprint, shape or owner tell; nothing else does."""
    found = recognise([message])
    assert (found.name if found else None) == name


def test_kinds_by_name() -> None:
    """Each kind has its own name; `auto` is none."""
    assert [by_name(backend.name) for backend in BACKENDS] == list(BACKENDS)
    assert by_name("auto") is None
    with pytest.raises(KeyError):
        by_name("nope")
