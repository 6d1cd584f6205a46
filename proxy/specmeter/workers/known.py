"""What the main process finds out about upstreams, and workers have to know."""

from __future__ import annotations

from specmeter.backends import by_name
from specmeter.upstream.upstreams import Upstream
from specmeter.workers.messages import Known


def known_of(upstream: Upstream, *, has_place: bool) -> Known:
    """Return what is known of an upstream.

    Args:
        upstream: Of which.
        has_place: Whether another one of its requests can be kept for a replay.
    """
    return Known(
        up=upstream.up,
        kind=upstream.kind,
        models=tuple(sorted(upstream.models)),
        usage_unasked=upstream.usage_unasked,
        compresses=upstream.compresses,
        has_place=has_place,
    )


def take_over(upstream: Upstream, known: Known) -> None:
    """Know the same of an upstream."""
    upstream.up = known.up
    upstream.backend = by_name(known.kind or "auto")
    upstream.models = frozenset(known.models)
    upstream.usage_unasked = known.usage_unasked
    upstream.compresses = known.compresses
