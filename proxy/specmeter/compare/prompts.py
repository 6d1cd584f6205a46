"""The prompts that both servers are asked: a built-in set, or those of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import orjson

from specmeter.errors import ConfigError

MAX_BYTES = 64 * 1024 * 1024
"""A larger file is not read."""

_MAX_NAME = 40
_CODE = """class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def moved(self, dx, dy):
        return Point(self.x + dx, self.y + dy)
"""


class Prompt(msgspec.Struct, frozen=True):
    """One prompt, and what tables call it."""

    name: str
    messages: tuple[dict[str, Any], ...]


WARM_UP = Prompt("warm-up", ({"role": "user", "content": "Count from one to one hundred."},))
"""Unlike all others, so that a drafter with a memory learns nothing from it."""


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    name: str | None = None


def built_in() -> tuple[Prompt, ...]:
    """Return a few kinds, from what drafts well to what does not."""
    return (
        _asked("code", f"Repeat this code twenty times, without a comment:\n\n{_CODE}"),
        _asked("prose", "Write a long story about a lighthouse keeper and the first snow."),
        _asked("list", "List one hundred fruits and vegetables, separated by commas."),
    )


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read a file: a prompt a line, or a JSON object a line with `prompt` or `messages`.

    Raises:
        ConfigError: It cannot be read or holds no prompts; names the line, and never its text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ConfigError(f"{path}: is larger than {MAX_BYTES >> 20} MiB: name a smaller file")
        # Not splitlines: that ends lines at characters which a prompt may hold.
        lines = content.decode("utf-8-sig").split("\n")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8: save it as UTF-8") from None
    prompts: list[Prompt] = []
    for number, line in enumerate(lines, 1):
        if text := line.strip():
            try:
                prompts.append(_read(text, number))
            except ConfigError as error:
                raise ConfigError(f"{path}:{number}: {error}") from None
    if not prompts:
        raise ConfigError(f"{path}: holds no prompt: write one a line")
    names = [one.name for one in prompts]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f'{path}: two prompts have the name "{name}": give each its own')
    return tuple(prompts)


def _read(text: str, number: int) -> Prompt:
    if not text.startswith("{"):
        return _asked(f"line {number}", text)
    remedy = 'write {"name": "…", "prompt": "…"}, or "messages" in place of "prompt"'
    try:
        line = msgspec.convert(orjson.loads(text), _Line)
    except orjson.JSONDecodeError:
        raise ConfigError(f"is no JSON object: {remedy}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"{error}: {remedy}") from None
    name = f"line {number}" if line.name is None else line.name
    if not name.strip() or not name.isprintable() or len(name) > _MAX_NAME:
        raise ConfigError(f"the name has to be 1 to {_MAX_NAME} printable characters")
    if (line.prompt is None) is (line.messages is None):
        raise ConfigError(f"needs one of prompt and messages: {remedy}")
    if line.prompt is not None:
        return _asked(name, line.prompt)
    if not line.messages:
        raise ConfigError("messages is empty: write at least one")
    return Prompt(name, tuple(line.messages))


def _asked(name: str, text: str) -> Prompt:
    return Prompt(name, ({"role": "user", "content": text},))
