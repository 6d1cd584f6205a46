"""The arithmetic: three numbers, their denominators, and what cannot be true."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter.reading import Inconsistency, RawNumbers, Reading, Speculation, check

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
plausible = st.none() | st.integers(-3, 200) | st.floats(-5, 500) | json_values


def reading(generated: int, drafted: int, accepted: int, **more: Any) -> Reading:
    return check(RawNumbers(generated=generated, drafted=drafted, accepted=accepted, **more))


class TestDefinitions:
    """The checks that the design demands."""

    def test_iterations_of_a_log(self) -> None:
        """57 steps with 70 of 108 drafted tokens accepted: 0.648 and 2.23."""
        one = reading(57 + 70, 108, 70)
        assert one.target_steps == 57
        assert one.acceptance == pytest.approx(0.648, abs=5e-4)
        assert one.output_per_step == pytest.approx(2.23, abs=5e-3)

    @pytest.mark.parametrize(
        ("steps", "drafted_per_step", "acceptance", "output"),
        [(100, 1.37, 1.0, 2.37), (10_000, 2.94, 0.94, 3.76)],
    )
    def test_output_per_step_is_one_plus_accepted_per_step(
        self, steps: int, drafted_per_step: float, acceptance: float, output: float
    ) -> None:
        """Output per step follows from draft length and acceptance together."""
        drafted = round(steps * drafted_per_step)
        accepted = round(drafted * acceptance)
        one = reading(steps + accepted, drafted, accepted)
        assert one.output_per_step == pytest.approx(output, abs=5e-3)

    @pytest.mark.parametrize(("accepted", "output"), [(476, 14.22), (447, 7.88)])
    def test_output_per_step_of_512_tokens(self, accepted: int, output: float) -> None:
        """Long n-gram drafts: a few more misses halve the output per step."""
        assert reading(512, 512, accepted).output_per_step == pytest.approx(output, abs=5e-3)

    def test_mean_acceptance_length_counts_only_rounds_with_a_draft(self) -> None:
        """141 accepted in 68 rounds are 3.07, whatever the plain steps."""
        one = reading(1000, 204, 141, rounds=68)
        assert one.mean_acceptance_length == pytest.approx(3.07, abs=5e-3)
        assert one.output_per_step == pytest.approx(1000 / 859)

    def test_mean_acceptance_length_is_unknown_without_rounds(self) -> None:
        """It is never derived from other steps."""
        assert reading(100, 50, 40).mean_acceptance_length is None

    def test_seconds_per_token_leave_out_the_first_token(self) -> None:
        """The first token comes from the prompt pass: 1.6 s for 129 tokens are 12.5 ms each."""
        one = check(RawNumbers(generated=129, decode_milliseconds=1600.0))
        assert one.seconds_per_token == pytest.approx(0.0125)
        assert one.decoded == 128

    def test_several_sequences_have_several_first_tokens(self) -> None:
        """Two outputs summed up in one number have two tokens from prompt passes."""
        one = check(RawNumbers(generated=20, decode_milliseconds=900.0, sequences=2))
        assert one.decoded == 18

    def test_one_token_has_no_seconds_per_token(self) -> None:
        """What was not decoded took no time."""
        one = check(RawNumbers(generated=1, decode_milliseconds=0.001))
        assert one.seconds_per_token is None
        assert one.decoded is None


class TestStepsOfTheServer:
    """A server that counts the target's runs itself."""

    def test_they_are_the_target_steps(self) -> None:
        """Also where tokens minus accepted would say otherwise, after a stop within a round."""
        assert reading(128, 192, 64, steps=65).target_steps == 65
        assert reading(128, 192, 64).target_steps == 64

    def test_they_need_no_drafts(self) -> None:
        """Output per step is known, drafting is not."""
        one = check(RawNumbers(generated=129, steps=65))
        assert one.output_per_step == pytest.approx(129 / 65)
        assert one.speculation is Speculation.NOT_REPORTED

    @pytest.mark.parametrize("steps", [0, 64, 130])
    def test_they_cannot_be(self, steps: int) -> None:
        """None at all, more than tokens, or too few for the tokens that no draft brought."""
        one = reading(129, 192, 64, steps=steps)
        assert one.inconsistencies == (Inconsistency.STEPS_DISAGREE,)
        assert (one.steps, one.target_steps) == (None, 65)

    def test_they_tell_nothing_without_tokens(self) -> None:
        """What they brought back is unknown."""
        one = check(RawNumbers(steps=65))
        assert (one.steps, one.target_steps, one.inconsistencies) == (None, None, ())


class TestStates:
    """Three states of a completion."""

    def test_drafted(self) -> None:
        """Something was drafted, even if nothing of it was right."""
        one = reading(10, 5, 0)
        assert one.speculation is Speculation.DRAFTED
        assert one.acceptance == 0.0
        assert one.output_per_step == 1.0

    def test_nothing_drafted(self) -> None:
        """No draft is no acceptance of 0: it has none."""
        one = reading(10, 0, 0)
        assert one.speculation is Speculation.NOT_DRAFTED
        assert one.acceptance is None
        assert one.output_per_step == 1.0

    def test_not_reported(self) -> None:
        """Without draft numbers there are no steps either."""
        one = check(RawNumbers(generated=10))
        assert one.speculation is Speculation.NOT_REPORTED
        assert one.target_steps is None
        assert one.output_per_step is None

    def test_nothing_at_all(self) -> None:
        """An empty reading has nothing to say and does not fail."""
        one = check(RawNumbers())
        assert one == Reading()
        assert one.target_steps is None
        assert one.seconds_per_token is None

    def test_no_tokens(self) -> None:
        """An answer of no tokens took no steps that could be counted."""
        assert reading(0, 0, 0).target_steps is None


class TestImpossibleNumbers:
    """Impossible numbers are named, and never passed on."""

    def test_a_stop_in_the_middle_of_a_round(self) -> None:
        """A stop word leaves accepted tokens that were not emitted: counted, steps floored."""
        one = reading(10, 64, 22)
        assert one.inconsistencies == (Inconsistency.ACCEPTED_NOT_BELOW_GENERATED,)
        assert (one.generated, one.drafted, one.accepted) == (10, 64, 22)
        assert one.target_steps == 2

    def test_one_word_reply(self) -> None:
        """Accepted may exceed generated; the steps never turn negative."""
        one = reading(2, 7, 6)
        assert one.target_steps == 2
        assert one.output_per_step == 1.0

    def test_a_single_token_is_a_single_step(self) -> None:
        """With one token there was the prompt pass and nothing else that counts."""
        assert reading(1, 3, 2).target_steps == 1

    def test_prompt_pass_and_verification_are_two_steps(self) -> None:
        """All but one token accepted still took the prompt pass and a verification."""
        one = reading(10, 9, 9)
        assert one.target_steps == 2
        assert one.inconsistencies == ()

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("12", Inconsistency.WRONG_TYPE),
            (True, Inconsistency.WRONG_TYPE),
            ([], Inconsistency.WRONG_TYPE),
            (1.5, Inconsistency.WRONG_TYPE),
            (-1, Inconsistency.NEGATIVE),
            (math.nan, Inconsistency.NOT_FINITE),
            (math.inf, Inconsistency.NOT_FINITE),
            (10**12, Inconsistency.TOO_LARGE),
            (10**400, Inconsistency.TOO_LARGE),
        ],
    )
    @pytest.mark.parametrize("name", ["generated", "drafted", "prompt", "cached_prompt"])
    def test_a_count_that_is_none(self, name: str, value: object, reason: Inconsistency) -> None:
        """A number of the wrong kind is left out, and its reason kept."""
        raw: dict[str, Any] = {"generated": 10, "drafted": 4, "accepted": 2, name: value}
        one = check(RawNumbers(**raw))
        assert reason in one.inconsistencies
        assert getattr(one, name) is None

    def test_whole_floats_are_counts(self) -> None:
        """Some servers write 12.0."""
        assert check(RawNumbers(generated=12.0)).generated == 12

    @pytest.mark.parametrize("milliseconds", [-1, math.nan, "fast", 1e15])
    def test_a_time_that_is_none(self, milliseconds: object) -> None:
        """A time that cannot be is no time."""
        one = check(RawNumbers(generated=10, decode_milliseconds=milliseconds))
        assert one.decode_seconds is None
        assert len(one.inconsistencies) == 1

    @pytest.mark.parametrize("raw", [{"drafted": 5}, {"accepted": 5}])
    def test_half_the_numbers(self, raw: dict[str, Any]) -> None:
        """No rate is built from half the data."""
        one = check(RawNumbers(generated=10, **raw))
        assert one.speculation is Speculation.NOT_REPORTED
        assert one.inconsistencies == (Inconsistency.HALF_REPORTED,)

    def test_more_accepted_than_drafted(self) -> None:
        """Acceptance above 1 is left out, the tokens are kept."""
        one = reading(100, 10, 11)
        assert one.inconsistencies == (Inconsistency.ACCEPTED_EXCEEDS_DRAFTED,)
        assert (one.generated, one.drafted, one.accepted) == (100, None, None)

    def test_positions_that_do_not_add_up(self) -> None:
        """Positions are left out when they contradict the accepted tokens."""
        one = reading(100, 30, 10, rounds=10, accepted_per_position=[7, 2])
        assert one.inconsistencies == (Inconsistency.POSITIONS_DISAGREE,)
        assert one.accepted_per_position is None
        assert one.accepted == 10

    @pytest.mark.parametrize("positions", [[9, 1], None])
    def test_rounds_that_cannot_be(self, positions: list[int] | None) -> None:
        """No position is accepted in more rounds than there were, and none in no round."""
        rounds = 8 if positions else 0
        one = reading(100, 30, 10, rounds=rounds, accepted_per_position=positions)
        assert one.inconsistencies == (Inconsistency.ROUNDS_DISAGREE,)
        assert one.rounds is None


NAMES = (
    *("generated", "prompt", "cached_prompt", "drafted", "accepted", "rounds"),
    *("accepted_per_position", "steps", "decode_milliseconds"),
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, plausible)))
def test_whatever_a_server_sends_the_reading_is_possible(sent: dict[str, Any]) -> None:
    """0 <= accepted <= drafted, steps and output per step >= 1, nothing negative, no error."""
    one = check(RawNumbers(**sent))
    assert (one.drafted is None) == (one.accepted is None)
    if one.drafted is not None and one.accepted is not None:
        assert 0 <= one.accepted <= one.drafted
    if one.target_steps is not None:
        assert one.target_steps >= 1
        assert one.output_per_step is not None
        assert one.output_per_step >= 1
    numbers = (one.generated, one.prompt, one.cached_prompt, one.rounds, one.decode_seconds)
    assert all(number >= 0 for number in numbers if number is not None)
    assert all(count >= 0 for count in one.accepted_per_position or ())
    assert one.acceptance is None or 0 <= one.acceptance <= 1
    assert one.mean_acceptance_length is None or one.mean_acceptance_length >= 1
    assert one.seconds_per_token is None or one.seconds_per_token > 0
