"""The file that `specmeter baseline` writes: a table, and what whoever reads it wants to know.

What the estimate needs are the members of `Table`; all others are for people, and are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from specmeter.errors import ConfigError
from specmeter.speedup.table import Repeat, Table

VERSION: Literal[1] = 1
"""Of the format."""

MAX_BYTES = 4 * 1024 * 1024
"""A larger file was not written by specmeter."""

_MAX_SECONDS_PER_TOKEN = 3600.0
_REMEDY = "measure again with specmeter baseline, or name the file that it wrote"


class _Versioned(Table, frozen=True, kw_only=True):
    version: Literal[1]


def encode_table(
    table: Table,
    repeats: Mapping[tuple[float, int], Sequence[Repeat]],
    facts: Mapping[str, str],
) -> bytes:
    """Return the content of a baseline file, readable by people.

    Args:
        table: What was measured.
        repeats: The measurements behind each point, by its context and load.
        facts: More to know, by name, such as the version that measured.
    """
    content: dict[str, Any] = {
        "version": VERSION,
        **facts,
        "measured": datetime.fromtimestamp(table.measured_at, UTC).isoformat(timespec="seconds"),
        **msgspec.to_builtins(table),
        "points": [
            {**msgspec.to_builtins(point), **_spread(repeats[point.context, point.in_flight])}
            for point in table.points
        ],
    }
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def load_table(path: Path) -> Table:
    """Read a baseline file. Blocks.

    Raises:
        ConfigError: It cannot be read, or holds no table whose numbers can be true; names the
            file, the fault and the remedy.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(f"{path}: the baseline cannot be read: {reason}: {_REMEDY}") from None
    try:
        return decode_table(content)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def decode_table(content: bytes) -> Table:
    """Read the content of a baseline file.

    Raises:
        ConfigError: It holds no table whose numbers can be true.
    """
    if len(content) > MAX_BYTES:
        raise ConfigError(f"is larger than {MAX_BYTES >> 20} MiB, so it is no baseline: {_REMEDY}")
    try:
        read = msgspec.json.decode(content, type=_Versioned)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"is no baseline: {error}: {_REMEDY}") from None
    seen = set()
    for point in read.points:
        where = (point.context, point.in_flight)
        if where in seen:
            raise ConfigError(
                f"is no baseline: context {point.context:g} with {point.in_flight} in flight is "
                f"there twice: {_REMEDY}"
            )
        seen.add(where)
        if point.seconds_per_token > _MAX_SECONDS_PER_TOKEN:
            raise ConfigError(
                f"is no baseline: {point.seconds_per_token:g} seconds per token: {_REMEDY}"
            )
    return Table(
        points=read.points, measured_at=read.measured_at, build=read.build, model=read.model
    )


def _spread(repeats: Sequence[Repeat]) -> dict[str, Any]:
    speeds = [one.tokens / one.seconds for one in repeats]
    return {
        "tokens_per_second": [round(speed, 3) for speed in speeds],
        "range_ratio": round(max(speeds) / min(speeds), 4),
    }
