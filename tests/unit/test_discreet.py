"""Prompts, outputs and keys get into no log by way of what holds them."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re

import msgspec
import pytest

import specmeter
from specmeter.backends.injection import Undo
from specmeter.config import Upstream as UpstreamSettings
from specmeter.discreet import Discreet
from specmeter.gateway.comparisons import Comparisons
from specmeter.gateway.exchange import Exchange, Replayable
from specmeter.gateway.forward import Call
from specmeter.gateway.incoming import Request
from specmeter.gateway.upload import Upload

SECRET = b"sk-hunter2"

_HELD = re.compile(r"\b(bytes|Copied|CopiedBody|Exchange|Replayable|Request|Transcript|Upload)\b")
"""Types by which a record comes to hold what was sent."""

_HOLDS_NOTHING = (Comparisons, Undo)
"""Functions that take a request; what specmeter itself adds to one."""


def records() -> list[type]:
    """Every record of the package that holds what was sent."""
    found = []
    for module in pkgutil.walk_packages(specmeter.__path__, "specmeter."):
        if module.name.endswith("__main__"):
            continue
        for made in vars(importlib.import_module(module.name)).values():
            if not isinstance(made, type) or made.__module__ != module.name:
                continue
            if issubclass(made, msgspec.Struct) or dataclasses.is_dataclass(made):
                fields = inspect.get_annotations(made)
                sent = _HELD.search(" ".join(map(str, fields.values())))
                if (sent or "key" in fields) and made not in _HOLDS_NOTHING:
                    found.append(made)
    return found


@pytest.mark.parametrize("record", records(), ids=lambda one: f"{one.__module__}.{one.__name__}")
def test_what_was_sent_is_not_shown(record: type) -> None:
    """Whoever adds a record that holds bytes has to make it discreet."""
    assert issubclass(record, Discreet)
    assert record.__repr__ is Discreet.__repr__


def test_a_request_under_way_shows_its_name() -> None:
    """Neither its key nor its prompt."""
    nobody: object = None
    fields = [(b"Authorization", SECRET)]
    request = Request(
        *("POST", "/v1/completions", "1.1", fields, dict(fields), True),
        endpoint="/v1/completions",
        is_completion=True,
    )
    upload = Upload.whole(nobody, 10, SECRET)  # type: ignore[arg-type]
    kept = Replayable("/v1/completions", SECRET)
    exchange = Exchange("/v1/completions", completion=True, received_at=0.0, replayable=kept)
    call = Call(request, nobody, upload, exchange, keep_alive=True)  # type: ignore[arg-type]
    shown = f"{call} {request} {upload} {exchange} {kept}"
    assert shown == "<Call> <Request> <Upload> <Exchange> <Replayable>"


def test_a_key_of_the_configuration_is_a_path() -> None:
    """So that settings can be shown."""
    assert "api_key_file" in UpstreamSettings.__struct_fields__
    assert "api_key" not in UpstreamSettings.__struct_fields__
