"""Buckets hold what their labels say."""

import pytest

from specmeter.speedup.strata import (
    ANY,
    CONTEXT,
    IN_FLIGHT,
    OUTPUT,
    Axis,
    Stratum,
    context_tokens,
)


@pytest.mark.parametrize(
    ("axis", "value", "label"),
    [
        (CONTEXT, 0, "0-512"),
        (CONTEXT, 511.5, "0-512"),
        (CONTEXT, 512, "512-2k"),
        (CONTEXT, 2048, "2k-8k"),
        (CONTEXT, 131071, "32k-128k"),
        (CONTEXT, 131072, "128k+"),
        (OUTPUT, 8, "0-64"),
        (OUTPUT, 64, "64-256"),
        (OUTPUT, 4096, "4k+"),
        (IN_FLIGHT, 1, "1"),
        (IN_FLIGHT, 2, "2"),
        (IN_FLIGHT, 3, "3-4"),
        (IN_FLIGHT, 4, "3-4"),
        (IN_FLIGHT, 5, "5-8"),
        (IN_FLIGHT, 64, "33-64"),
        (IN_FLIGHT, 65, "65+"),
        (IN_FLIGHT, None, ANY),
    ],
)
def test_a_bound_belongs_to_the_bucket_above(axis: Axis, value: float | None, label: str) -> None:
    """A value falls into the bucket whose label includes it; an unknown one into any."""
    assert axis.bucket(value) == label


@pytest.mark.parametrize("axis", [CONTEXT, OUTPUT, IN_FLIGHT])
def test_every_bucket_has_a_label_of_its_own(axis: Axis) -> None:
    """There is one more bucket than bounds, and bounds ascend."""
    assert len(set(axis.labels)) == len(axis.bounds) + 1
    assert list(axis.bounds) == sorted(set(axis.bounds))


def test_context_is_that_of_mid_generation() -> None:
    """Prompt and half the output are in the cache on average; unknown stays unknown."""
    assert context_tokens(400, 300) == 550
    assert context_tokens(None, 300) is None
    assert context_tokens(400, None) is None


def test_coarser_strata_give_up_load_before_context() -> None:
    """What the cache holds says more of plain speed than the load."""
    assert list(Stratum.of(550, 3).chain()) == [
        Stratum("512-2k", "3-4"),
        Stratum("512-2k", ANY),
        Stratum(ANY, ANY),
    ]


@pytest.mark.parametrize(
    ("stratum", "coarser"),
    [
        (Stratum.of(550, None), [Stratum()]),
        (Stratum.of(None, 3), [Stratum()]),
        (Stratum.of(None, None), []),
    ],
)
def test_no_stratum_comes_twice(stratum: Stratum, coarser: list[Stratum]) -> None:
    """A stratum with an unknown part is as coarse as that in the first place."""
    assert list(stratum.chain()) == [stratum, *coarser]
