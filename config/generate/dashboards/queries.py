"""PromQL of the panels. Names come from the families, so that none can be mistyped."""

from __future__ import annotations

from specmeter.meter.families import Family

JOB = 'job=~"$job"'
UPSTREAM = f'{JOB},instance=~"$instance",upstream=~"$upstream"'
MODEL = f'{UPSTREAM},model_name=~"$model"'
RECORDED_UPSTREAM = f'{JOB},upstream=~"$upstream"'
RECORDED = f'{RECORDED_UPSTREAM},model_name=~"$model"'
"""What is recorded adds up over instances."""

BY_MODEL = "upstream, model_name"
NAME = "{{upstream}} {{model_name}}"


def selector(family: Family, more: str = "", suffix: str = "") -> str:
    """Return a family's series of the chosen job, instances, upstreams and models."""
    labels = MODEL if "model_name" in family.labels else UPSTREAM
    if not family.labels or "upstream" not in family.labels:
        labels = f'{JOB},instance=~"$instance"'
    return f"{family.full_name}{suffix}{{{labels}{',' if more else ''}{more}}}"


def rate(family: Family, by: str = BY_MODEL, more: str = "", suffix: str = "") -> str:
    """Return a counter's rate, summed over instances."""
    return f"sum by ({by}) (rate({selector(family, more, suffix)}[$__rate_interval]))"


def total(family: Family, by: str = BY_MODEL, more: str = "", suffix: str = "") -> str:
    """Return a counter's increase over the whole time shown, summed over instances."""
    return f"sum by ({by}) (increase({selector(family, more, suffix)}[$__range]))"


def server_rate(family: Family, by: str = BY_MODEL) -> str:
    """Return the rate of a counter of the server's own page.

    Each proxy in front of a server reads the same page, so that replicas must not be added up.
    """
    inner = by if by == BY_MODEL else f"{BY_MODEL}, {by}"
    greatest = f"max by ({inner}) (rate({selector(family)}[$__rate_interval]))"
    return greatest if by == BY_MODEL else f"sum by ({by}) ({greatest})"


def per(numerator: str, denominator: str, matching: str = "") -> str:
    """Return a ratio, absent where the denominator is 0."""
    return f"{numerator} / {matching}({denominator} > 0)"


def gauge(family: Family, by: str, more: str = "", how: str = "max") -> str:
    """Return a gauge, the greatest over instances."""
    return f"{how} by ({by}) ({selector(family, more)})"


def quantile(share: float, family: Family, by: str) -> str:
    """Return a quantile of a histogram, over instances."""
    buckets = rate(family, f"{by}, le", suffix="_bucket")
    return f"histogram_quantile({share:g}, {buckets})"


def recorded(name: str, window: str = "5m", more: str = "") -> str:
    """Return what a rule recorded for a model, as `speedup` or `completions:increase`."""
    metric, _, operation = name.partition(":")
    level = "model_baseline" if metric == "compared_decode_seconds_by_baseline" else "model"
    metric = metric.removesuffix("_by_baseline")
    comma = "," if more else ""
    return (
        f"{level}:specmeter_{metric}:{operation or 'ratio_rate'}{window}{{{RECORDED}{comma}{more}}}"
    )


def recorded_upstream(name: str, window: str = "5m") -> str:
    """Return what a rule recorded for an upstream."""
    metric, _, operation = name.partition(":")
    return f"upstream:specmeter_{metric}:{operation or 'ratio_rate'}{window}{{{RECORDED_UPSTREAM}}}"
