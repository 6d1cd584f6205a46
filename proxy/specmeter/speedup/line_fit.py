"""Fits y = a·s + b·d to positive numbers with relative noise and outliers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import msgspec

_ROUNDS = 5
_FAR = 2.5
"""Standard deviations from which on a point counts for less."""


class Row(msgspec.Struct, frozen=True):
    """One observation."""

    y: float
    s: float
    d: float


class LineFit(msgspec.Struct, frozen=True):
    """Both coefficients with the covariance of their errors."""

    a: float
    b: float
    a_variance: float
    b_variance: float
    covariance: float

    def at(self, d: float) -> tuple[float, float]:
        """Return a + b·d and its standard error."""
        variance = self.a_variance + 2 * d * self.covariance + d * d * self.b_variance
        return self.a + self.b * d, math.sqrt(max(variance, 0.0))


def fit(rows: Sequence[Row]) -> LineFit | None:
    """Fit by least squares of the relative errors, points far off counting for less.

    Args:
        rows: y > 0, s > 0, d >= 0; at least three.

    Returns:
        `None` where a and b cannot be told apart, or no line of positive values fits.
    """
    weights = [1 / row.s**2 for row in rows]
    a = b = 0.0
    for _ in range(_ROUNDS):
        solved = _solve(rows, weights)
        if solved is None:
            return None
        a, b = solved
        expected = [a * row.s + b * row.d for row in rows]
        if min(expected) <= 0:
            return None
        off = [row.y / one - 1 for row, one in zip(rows, expected, strict=True)]
        far = _FAR * 1.4826 * median(abs(one) for one in off)
        weights = [
            (far / abs(one) if abs(one) > far else 1.0) / of_row**2
            for one, of_row in zip(off, expected, strict=True)
        ]
    return _with_errors(rows, weights, a, b)


def _solve(rows: Sequence[Row], weights: Sequence[float]) -> tuple[float, float] | None:
    ss, sd, dd = _products(rows, weights)
    sy = sum(w * row.s * row.y for row, w in zip(rows, weights, strict=True))
    dy = sum(w * row.d * row.y for row, w in zip(rows, weights, strict=True))
    determinant = ss * dd - sd * sd
    if determinant <= 1e-9 * ss * dd:
        return None
    return (dd * sy - sd * dy) / determinant, (ss * dy - sd * sy) / determinant


def _with_errors(rows: Sequence[Row], weights: Sequence[float], a: float, b: float) -> LineFit:
    """Take the errors from the residuals themselves, whatever their spread depends on."""
    ss, sd, dd = _products(rows, weights)
    determinant = ss * dd - sd * sd
    squares = [
        (w * (row.y - a * row.s - b * row.d)) ** 2 for row, w in zip(rows, weights, strict=True)
    ]
    es, ed, em = _products(rows, squares)
    few = len(rows) / (len(rows) - 2) / determinant**2
    return LineFit(
        a=a,
        b=b,
        a_variance=few * (dd * dd * es - 2 * dd * sd * ed + sd * sd * em),
        b_variance=few * (sd * sd * es - 2 * ss * sd * ed + ss * ss * em),
        covariance=few * (-dd * sd * es + (dd * ss + sd * sd) * ed - sd * ss * em),
    )


def _products(rows: Sequence[Row], weights: Sequence[float]) -> tuple[float, float, float]:
    ss = sd = dd = 0.0
    for row, w in zip(rows, weights, strict=True):
        ss += w * row.s * row.s
        sd += w * row.s * row.d
        dd += w * row.d * row.d
    return ss, sd, dd
