"""Adds to a request what makes a server report, where the client did not ask for it itself."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from specmeter.backends.injection import Habits, Injection, Undo
from specmeter.discreet import Discreet


class Injected(Discreet, msgspec.Struct, frozen=True):
    """A request as it goes out, and what its answer has to lose again."""

    body: bytes
    undo: Undo


def inject(body: bytes, injection: Injection, endpoint: str, habits: Habits) -> Injected | None:
    """Return the request with its additions; `None` where it should go out as it is.

    The client's bytes stay as they are: members are added at the end, where they override earlier
    ones of that name.
    """
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(request, dict) or not request:
        return None
    asked = injection.ask(endpoint, request, habits)
    if asked is None:
        return None
    return Injected(with_members(body, asked.members), asked.undo)


def with_members(body: bytes, members: dict[str, Any]) -> bytes:
    """Return a JSON object with more members at its end, where they override earlier ones.

    Args:
        body: An object that has a member.
        members: At least one.
    """
    end = body.rfind(b"}")
    return body[:end] + b"," + orjson.dumps(members)[1:-1] + body[end:]
