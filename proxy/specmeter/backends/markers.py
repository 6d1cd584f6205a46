"""Which bytes tell that an event may carry numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

from specmeter.backends import BACKENDS, Backend


def _any_of(markers: Iterable[bytes]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(re.escape(marker) for marker in sorted(set(markers))))


ALL_MARKERS = tuple(sorted({marker for backend in BACKENDS for marker in backend.markers}))
ANY_MARKER = _any_of(ALL_MARKERS)
_MARKERS = {backend.name: _any_of(backend.markers) for backend in BACKENDS}


def markers_of(backend: Backend | None) -> re.Pattern[bytes]:
    """Return what is in every event with numbers of this kind, or of any kind for `None`."""
    return ANY_MARKER if backend is None else _MARKERS[backend.name]
