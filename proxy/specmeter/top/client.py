"""Asks a running proxy for its summary."""

from __future__ import annotations

import http.client
from typing import Any

import orjson

from specmeter.api import VERSION
from specmeter.config import Address
from specmeter.errors import StartupError

_SECONDS = 5.0
_OK = 200
_UNAUTHORIZED = 401


def summary_of(address: Address, range_: str, key: str = "") -> dict[str, Any]:
    """Return `/api/summary` of the proxy whose admin listener is there.

    Args:
        address: The admin listener's.
        range_: How far to look back.
        key: One of `admin_keys_file`; empty for none.

    Raises:
        StartupError: Nothing answers there, or something else does.
    """
    where = f"http://{address}"
    connection = http.client.HTTPConnection(address.host, address.port, timeout=_SECONDS)
    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        connection.request("GET", f"/api/summary?range={range_}", headers=headers)
        response = connection.getresponse()
        body, status = response.read(), response.status
    except (OSError, http.client.HTTPException) as error:
        told = error.strerror if isinstance(error, OSError) else None
        reason = (told or str(error) or type(error).__name__).lower()
        raise StartupError(
            f"{where} does not answer: {reason}. Is the proxy running? "
            "--admin HOST:PORT says where its admin listener is"
        ) from None
    finally:
        connection.close()
    return _checked(where, body, status)


def _checked(where: str, body: bytes, status: int) -> dict[str, Any]:
    if status == _UNAUTHORIZED:
        raise StartupError(
            f"{where} wants a key: --admin-key-file FILE names a file with one of admin_keys_file"
        )
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        found = None
    if status != _OK or not isinstance(found, dict) or found.get("version") != VERSION:
        raise StartupError(
            f"{where} is no admin listener of this version of specmeter (HTTP {status}): "
            "--admin HOST:PORT says where it is"
        )
    return found
