"""Names for the page: of bounded length, whatever a server calls its models."""

from __future__ import annotations

import hashlib

LONGEST = 200
"""Characters of a name that is shown."""


def short(name: str) -> str:
    """Return a name as it is, or cut; two that are cut remain different."""
    if len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:8]
    return f"{name[: LONGEST - 10]}… {digest}"
