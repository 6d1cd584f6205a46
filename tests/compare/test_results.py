"""From runs to cells, the whole, drafting and outputs."""

import pytest

from specmeter.compare.results import Results, drafting
from specmeter.compare.samples import Cell, Drafting, Outputs, outputs
from specmeter.reading import Reading
from specmeter.speedup.interval import Verdict
from tests.compare.runs import reading, results, run

CELL = Cell("code", 100)


class TestDrafting:
    def test_each_ratio_has_its_own_denominator(self) -> None:
        """Acceptance is of drafts, output per step of all steps, the mean length of rounds."""
        found = Drafting.of(
            [
                Reading(generated=100, drafted=80, accepted=60, rounds=20),
                Reading(generated=50, drafted=0, accepted=0),
                Reading(generated=40),
            ]
        )
        assert (found.acceptance.above, found.acceptance.below) == (60, 80)
        assert (found.output_per_step.above, found.output_per_step.below) == (150, 40 + 50)
        assert (found.accepted_per_round.above, found.accepted_per_round.below) == (60, 20)
        assert (found.completions, found.reporting, found.drafted) == (3, 2, 1)

    def test_unknown_is_absent(self) -> None:
        """Where nothing is reported there is no ratio, rather than 0."""
        found = Drafting.of([Reading(generated=40)])
        assert found.acceptance.value is None
        assert found.output_per_step.value is None
        assert found.accepted_per_round.value is None


class TestOutputs:
    @pytest.mark.parametrize(
        ("spec", "plain", "expected"),
        [
            ("aa", "aa", Outputs.IDENTICAL),
            ("bb", "aa", Outputs.DIFFERENT),
            ("ab", "aa", Outputs.DIFFERENT),
            ("aa", "ab", Outputs.VARYING),
            ("bb", "ab", Outputs.VARYING),
        ],
    )
    def test_texts_are_compared_by_hash(self, spec: str, plain: str, expected: Outputs) -> None:
        """The same, different, or not to be told as the plain server's own differ."""
        ours, theirs = ([run(CELL, reading(), one) for one in texts] for texts in (spec, plain))
        assert outputs(ours, theirs) is expected

    def test_a_text_that_cannot_be_read_is_unknown(self) -> None:
        """One is enough."""
        ours = [run(CELL, reading(), "a"), run(CELL, reading(), None)]
        assert outputs(ours, [run(CELL, reading(), "a")]) is Outputs.UNKNOWN


class TestResults:
    def test_speed_is_decoded_tokens_per_decode_second(self) -> None:
        """The first token comes from the prompt pass: 101 tokens in 2 s are 50 a second."""
        one = run(CELL, Reading(generated=101, decode_seconds=2.0))
        assert one.speed == 50

    def test_overall_weighs_cells_by_the_plain_servers_tokens(self) -> None:
        """100 tokens at 100/s and 300 at 50/s take 7 s, at 50/s and 100/s 5 s."""
        found = results(
            {("a", 100): [50.0] * 3, ("b", 300): [100.0] * 3},
            {("a", 100): [100.0] * 3, ("b", 300): [50.0] * 3},
        ).overall
        assert found is not None
        assert found.plain.median == pytest.approx(400 / 7)
        assert found.spec.median == pytest.approx(400 / 5)
        assert found.speedup == pytest.approx(7 / 5)

    def test_overall_is_taken_repeat_by_repeat(self) -> None:
        """Its range is that of whole repeats, not of single cells."""
        found = results(
            {("a", 100): [50.0, 100.0], ("b", 100): [100.0, 50.0]},
            {("a", 100): [50.0, 50.0], ("b", 100): [50.0, 50.0]},
        ).overall
        assert found is not None
        assert found.spec.range_ratio == pytest.approx(1.0)

    def test_a_cell_with_too_short_an_answer_is_left_out_and_told(self) -> None:
        """Less than eight tokens say more about the clock."""
        found = Results.of([CELL], [run(CELL, reading(tokens=3))], [run(CELL, reading(tokens=100))])
        assert found.cells == ()
        assert found.too_short == ((CELL, 3),)
        assert found.overall is None

    def test_a_cell_of_one_server_is_left_out(self) -> None:
        """As happens where a comparison is broken off."""
        assert Results.of([CELL], [run(CELL, reading())], []).cells == ()

    def test_the_usual_noise_is_shared(self) -> None:
        """A cell whose range is narrow by luck is not believed beside noisy ones."""
        noisy = [40.0, 50.0, 60.0]
        found = results(
            {("a", 9): [51.0, 51.1, 51.2], ("b", 9): noisy, ("c", 9): noisy},
            {("a", 9): [49.0, 49.1, 49.2], ("b", 9): noisy, ("c", 9): noisy},
        )
        assert {one.comparison.verdict for one in found.cells} == {Verdict.CANNOT_TELL}


class TestNewPrompts:
    def test_a_drafter_that_remembers_is_noticed(self) -> None:
        """Output per step rises after a prompt's first time, and the first times are told."""
        cells = [Cell(name, 100) for name in "abcdef"]
        spec = []
        for cell in cells:
            spec.append(run(cell, reading(45.0, drafted=10, accepted=1), is_new=True))
            spec += [run(cell, reading(200.0, drafted=80, accepted=75))] * 2
        plain = [run(cell, reading(50.0)) for cell in cells for _ in range(3)]
        found = Results.of(cells, spec, plain)
        overall, new = found.overall, found.new_prompts()
        assert overall is not None
        assert overall.speedup == pytest.approx(4.0)
        assert new is not None
        assert new.is_remembered
        assert new.prompts == 6
        assert new.speedup.ratio == pytest.approx(0.9)
        assert new.speedup.verdict is Verdict.SLOWER

    def test_one_that_does_not_is_not_suspected(self) -> None:
        """The same output per step each time."""
        found = results({("a", 100): [50.0] * 3}, {("a", 100): [50.0] * 3}).new_prompts()
        assert found is not None
        assert not found.is_remembered

    def test_few_prompts_have_no_interval(self) -> None:
        """Three prompts are too few to tell."""
        speeds = {(name, 100): [50.0] for name in "abc"}
        found = results(speeds, speeds).new_prompts()
        assert found is not None
        assert found.speedup.interval is None
        assert found.speedup.verdict is Verdict.CANNOT_TELL


def test_drafting_adds_up_over_runs() -> None:
    """All requests of all runs."""
    runs = [run(CELL, reading(drafted=10, accepted=5)) for _ in range(4)]
    assert drafting(runs).acceptance.below == 40
