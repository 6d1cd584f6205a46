"""The rounds behind rounded ratios."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter.serverlog.numbers import Printed, fits, number, printed, ratios
from specmeter.serverlog.rounds import accepted_per_position, recover


@st.composite
def rounds_of_a_server(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Make rounds, each with its drafted and accepted tokens."""
    longest = draw(st.integers(1, 6))
    drafted = st.integers(1, longest)
    pairs = drafted.flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size)))
    return draw(st.lists(pairs, min_size=1, max_size=120))


def as_printed(value: float, digits: int) -> Printed:
    read = printed(f"{value:.{digits}f}".encode())
    assert read is not None
    return read


class TestRecover:
    """From what a server prints to the number of rounds."""

    @given(rounds_of_a_server(), st.booleans(), st.booleans())
    def test_the_truth_is_among_them(
        self, pairs: list[tuple[int, int]], with_mean: bool, with_longest: bool
    ) -> None:
        """Whatever the rounds were, their number is one that is found possible."""
        drafted, accepted = (sum(column) for column in zip(*pairs, strict=True))
        longest = max(size for size, _ in pairs)
        counts = [sum(right > place for _, right in pairs) for place in range(longest)]
        rates = tuple(as_printed(count / len(pairs), 3) for count in counts)
        mean = as_printed(1 + accepted / len(pairs), 2) if with_mean else None
        found = recover(drafted, accepted, mean, rates, longest if with_longest else None)
        assert found is not None
        assert found.low <= len(pairs) <= found.high
        if found.exact is not None:
            assert accepted_per_position(found.exact, accepted, rates) in (tuple(counts), None)

    @given(rounds_of_a_server())
    def test_a_mean_alone(self, pairs: list[tuple[int, int]]) -> None:
        """Also without the rates of the positions."""
        drafted, accepted = (sum(column) for column in zip(*pairs, strict=True))
        found = recover(drafted, accepted, as_printed(1 + accepted / len(pairs), 2))
        assert found is not None
        assert found.low <= len(pairs) <= found.high

    @pytest.mark.parametrize(
        ("drafted", "accepted", "mean", "rounds"),
        [
            (204, 141, "3.07", (68, 68)),
            (1717, 1093, "3.33", (469, 470)),
            (98, 98, "50.00", (2, 2)),
            (670, 0, "1.00", (1, 670)),
        ],
    )
    def test_of_real_logs(
        self, drafted: int, accepted: int, mean: str, rounds: tuple[int, int]
    ) -> None:
        """Numbers that servers printed."""
        found = recover(drafted, accepted, printed(mean.encode()))
        assert found is not None
        assert (found.low, found.high) == rounds

    @pytest.mark.parametrize(
        ("drafted", "accepted", "mean"),
        [(10, 5, "0.50"), (10, 5, "9.00"), (10, 0, "2.00"), (10, 10, "1.50"), (0, 0, "1.00")],
    )
    def test_that_no_rounds_give(self, drafted: int, accepted: int, mean: str) -> None:
        """A mean that is not of these counts finds none."""
        assert recover(drafted, accepted, printed(mean.encode())) is None

    def test_huge_counts_take_no_time(self) -> None:
        """A window of a hundred million tokens is answered with a span, not with a search."""
        rates = ratios(b"0.5, 0.25")
        found = recover(100_000_000, 40_000_000, printed(b"1.80"), rates)
        assert found is not None
        assert found.low < 50_000_000 < found.high


class TestNumbers:
    """The text of a number."""

    @pytest.mark.parametrize(
        ("token", "value"),
        [(b"5", 5), (b"-5", -5), (b"5.5", 5.5), (b"null", None), (b"x5", "x5"), (None, None)],
    )
    def test_counts(self, token: bytes | None, value: object) -> None:
        """A number is a number, and anything else stays what it is for the check to refuse."""
        assert number(token) == value

    @pytest.mark.parametrize("token", [b"nan", b"inf", b"-1", b"x", b"", b"1e40", None])
    def test_ratios_that_are_none(self, token: bytes | None) -> None:
        """What is no plain ratio is unknown."""
        assert printed(token) is None

    def test_lists(self) -> None:
        """A list with something else in it is no list of ratios."""
        assert ratios(b"0.5, x") is ratios(b"") is ratios(None) is None
        assert [rate.value for rate in ratios(b"0.5, 0.25,") or ()] == [0.5, 0.25]

    def test_fits(self) -> None:
        """A ratio of two digits fits what it may have been rounded or cut from."""
        ratio = printed(b"0.65")
        assert ratio is not None
        assert fits(ratio, 70, 108)
        assert not fits(ratio, 70, 100)

    @given(st.integers(0, 10_000), st.integers(1, 10_000), st.integers(0, 5))
    def test_what_is_printed_fits(self, above: int, below: int, digits: int) -> None:
        """Every ratio fits its own counts."""
        assert fits(as_printed(above / below, digits), above, below)
