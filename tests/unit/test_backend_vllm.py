"""vLLM: the per-request metrics, in each shape they had."""

from typing import Any

import pytest

from specmeter.backends.injection import CHAT, COMPLETIONS, Habits, Undo
from specmeter.backends.vllm import Vllm
from specmeter.reading import Inconsistency, Reading, Speculation, check
from specmeter.unread import Unread
from tests.answers import chat
from tests.examples.example import USAGE
from tests.examples.vllm import SPARSE, SPECULATIVE, STATS, running


def read(metrics: Any, **more: Any) -> Reading:
    body = {"usage": USAGE, "metrics": metrics, **more}
    (numbers,) = Vllm().extract([body]).numbers
    return check(numbers)


def speculative(**changed: Any) -> Reading:
    return read({"speculative_decoding": {**SPECULATIVE, **changed}})


def test_numbers_of_a_body() -> None:
    """All numbers of the format's own example; positions follow from the histogram."""
    one = read({"generation_time_ms": 1600.0, "speculative_decoding": SPECULATIVE})
    assert (one.generated, one.drafted, one.accepted, one.rounds) == (129, 192, 64, 64)
    assert one.accepted_per_position == (40, 17, 7)
    assert one.mean_acceptance_length == 2.0
    assert one.decode_seconds == 1.6
    assert one.target_steps == 65


DOCUMENTED = {
    "acceptance_histogram": [39, 1, 0, 3],
    "num_spec_steps": 43,
    "num_accepted_draft_tokens": 10,
    "num_draft_tokens": 129,
}


@pytest.mark.parametrize("histogram", [[39, 1, 0, 3], {"0": 39, "1": 1, "3": 3}])
def test_the_documented_sample(histogram: Any) -> None:
    """43 rounds, 129 drafted, 10 accepted: 7.75 % and 1.2326, in both forms of the histogram."""
    one = speculative(**{**DOCUMENTED, "acceptance_histogram": histogram})
    assert one.acceptance == pytest.approx(0.0775, abs=5e-5)
    assert one.mean_acceptance_length == pytest.approx(1.2326, abs=5e-5)
    assert one.accepted_per_position == (4, 3, 3)
    assert one.inconsistencies == ()


def test_numbers_that_people_posted() -> None:
    """20 rounds of one token each, 14 of them right: 70 % and 1.70."""
    usage = {"prompt_tokens": 11742, "completion_tokens": 35, "total_tokens": 11777}
    counts = {"num_spec_steps": 20, "num_draft_tokens": 20, "num_accepted_draft_tokens": 14}
    metrics = {"speculative_decoding": {**counts, "acceptance_histogram": [6, 14]}}
    one = read(metrics, usage=usage)
    assert one.acceptance == pytest.approx(0.7)
    assert one.mean_acceptance_length == pytest.approx(1.7)
    assert one.target_steps == 21


@pytest.mark.parametrize("metrics", [None, {}, {"speculative_decoding": None}, "x", []])
def test_null_is_not_reported(metrics: Any) -> None:
    """Off, several choices and an older server look the same: tokens only."""
    one = read(metrics)
    assert one.speculation is Speculation.NOT_REPORTED
    assert one.generated == 129


@pytest.mark.parametrize("histogram", [[0, 0, 0], {}, []])
def test_nothing_drafted(histogram: Any) -> None:
    """An all-zero histogram is a server that reports, and did not draft."""
    counts = dict.fromkeys(("num_spec_steps", "num_accepted_draft_tokens", "num_draft_tokens"), 0)
    one = speculative(**counts, acceptance_histogram=histogram)
    assert one.speculation is Speculation.NOT_DRAFTED
    assert one.inconsistencies == ()


def test_usage_of_several_choices_is_one_sum() -> None:
    """Two outputs have two first tokens that no decode time covers."""
    assert read({"generation_time_ms": 1000.0}, choices=[{}, {}]).decoded == 127


def test_stats_of_several_choices_are_added_up() -> None:
    """Each choice has its own drafts; the usage is their sum."""
    choice = {"speculative_decoding_stats": SPARSE}
    usage = {"prompt_tokens": 41, "completion_tokens": 258}
    extract = Vllm().extract([chat(choice, choice, usage=usage)])
    one = check(extract.numbers[0])
    assert extract.unread is None
    assert (one.generated, one.drafted, one.accepted, one.rounds) == (258, 384, 128, 128)
    assert one.accepted_per_position == (80, 34, 14)
    assert one.sequences == 2


@pytest.mark.parametrize("key", ["num_draft_tokens", "num_accepted_draft_tokens"])
def test_what_one_choice_does_not_say_is_not_known_of_all(key: str) -> None:
    """No rate from one choice's drafted and two choices' accepted tokens."""
    whole = {"speculative_decoding_stats": SPARSE}
    half = {"speculative_decoding_stats": {**SPARSE, key: None}}
    (numbers,) = Vllm().extract([chat(whole, half, usage=USAGE)]).numbers
    assert check(numbers).inconsistencies == (Inconsistency.HALF_REPORTED,)


def test_stats_of_some_choices_are_no_stats() -> None:
    """Their drafts do not go with the tokens of all."""
    extract = Vllm().extract([chat({"speculative_decoding_stats": SPARSE}, {}, usage=USAGE)])
    assert extract.unread is Unread.OTHER_CHOICES
    assert check(extract.numbers[0]).speculation is Speculation.NOT_REPORTED


@pytest.mark.parametrize(
    "histogram",
    [
        *("9", -1, 1e300, True, [1, "x"], [-5, 1], [1e300, 0]),
        *({"x": 1}, {"-1": 1}, {"1": "x"}, {"1": -1}, {"99999999999999999999": 1}, {"4097": 1}),
        *({"²": 1}, {"": 1}),
    ],
)
def test_damaged_histograms(histogram: Any) -> None:
    """A histogram that is none is named, and takes no room."""
    one = speculative(acceptance_histogram=histogram)
    assert one.inconsistencies
    assert one.accepted_per_position is None
    assert (one.drafted, one.accepted) == (192, 64)


@pytest.mark.parametrize("key", ["num_draft_tokens", "num_accepted_draft_tokens"])
def test_truncated_numbers(key: str) -> None:
    """No rate from half the data."""
    one = speculative(**{key: None})
    assert one.inconsistencies == (Inconsistency.HALF_REPORTED,)
    assert one.generated == 129


@pytest.mark.parametrize(
    ("rates", "positions"),
    [
        ([0.625, 0.265625, 0.109375], (40, 17, 7)),
        ([0.625, 0.266, 0.109], None),  # rounded: not whole when multiplied
        ([0.625, "x", 0.1], None),
        ([0.625, -0.1, 1.5], None),
        ([0.625, None], None),
        ("x", None),
        (None, None),
    ],
)
def test_rates_per_position(rates: Any, positions: tuple[int, ...] | None) -> None:
    """Rates that tell their counts give positions; others are left out, and nothing is wrong."""
    stats = {**STATS, "per_position_acceptance_rates": rates}
    one = read(None, speculative_decoding_stats=stats)
    assert one.accepted_per_position == positions
    assert (one.rounds, one.drafted) == (64, 192)
    assert one.inconsistencies == ()


class TestRunningUsage:
    """Usage on every chunk."""

    def test_the_last_one_counts(self) -> None:
        """It is no count of steps, and nothing is said of drafts."""
        extract = Vllm().extract([running("x", 1), running("y", 9)])
        one = check(extract.numbers[0])
        assert one.generated == 9
        assert one.speculation is Speculation.NOT_REPORTED
        assert (one.steps, one.target_steps, one.output_per_step) == (None, None, None)


ASKED = {"stream_options": {"include_usage": True}}
ASKED_RUNNING = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}
ENDED = Undo(usage_chunk=True, fingerprint_moves=True)
RUNNING = Undo(usage_chunk=True, fingerprint_moves=True, running_usage=True)


class TestAsking:
    """What a request is asked in addition."""

    @pytest.mark.parametrize("endpoint", [CHAT, COMPLETIONS])
    @pytest.mark.parametrize(
        "request_", [{"stream": True}, {"stream": True, "stream_options": None}]
    )
    def test_a_stream_is_asked_for_usage(self, endpoint: str, request_: dict[str, Any]) -> None:
        """It reports only with the usage."""
        asked = Vllm().injection.ask(endpoint, request_, Habits())
        assert asked is not None
        assert (asked.members, asked.undo) == (ASKED, ENDED)

    def test_other_options_stay(self) -> None:
        """The member that is added repeats what else was in it."""
        request = {"stream": True, "stream_options": {"x": 5, "include_usage": False}}
        asked = Vllm().injection.ask(CHAT, request, Habits())
        assert asked is not None
        assert asked.members == {"stream_options": {"x": 5, "include_usage": True}}

    def test_usage_on_every_chunk_where_it_is_wanted(self) -> None:
        """Of chat completions, whose chunks have no usage otherwise in any version."""
        asked = Vllm().injection.ask(CHAT, {"stream": True}, Habits(running_usage=True))
        assert asked is not None
        assert (asked.members, asked.undo) == (ASKED_RUNNING, RUNNING)
        asked = Vllm().injection.ask(COMPLETIONS, {"stream": True}, Habits(running_usage=True))
        assert asked is not None
        assert (asked.members, asked.undo) == (ASKED, ENDED)

    def test_a_client_that_asks_itself_keeps_its_usage_chunk(self) -> None:
        """Only what is added to its chunks is taken out."""
        request = {"stream": True, **ASKED}
        assert Vllm().injection.ask(CHAT, request, Habits()) is None
        asked = Vllm().injection.ask(CHAT, request, Habits(running_usage=True))
        assert asked is not None
        assert (asked.members, asked.undo) == (ASKED_RUNNING, Undo(running_usage=True))

    @pytest.mark.parametrize(
        "request_",
        [
            {},
            {"stream": False},
            {"stream": "true"},
            {"stream": True, "n": 2},
            {"stream": True, "best_of": 2},
            {"stream": True, "prompt": ["a", "b"]},
            {"stream": True, "stream_options": []},
            {"stream": True, "stream_options": {"include_usage": "yes"}},
            {"stream": True, "stream_options": {"continuous_usage_stats": True}},
        ],
    )
    @pytest.mark.parametrize("running_usage", [False, True])
    def test_what_goes_out_as_it_is(self, request_: dict[str, Any], running_usage: bool) -> None:
        """Not a stream, several outputs, asked in a way of its own, or not understood."""
        assert Vllm().injection.ask(CHAT, request_, Habits(running_usage)) is None

    def test_token_prompts_are_one_prompt(self) -> None:
        """A list of numbers is a tokenised prompt."""
        request = {"stream": True, "prompt": [1, 2, 3]}
        assert Vllm().injection.ask(COMPLETIONS, request, Habits()) is not None
