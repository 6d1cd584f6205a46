"""The loader: file, then environment, then flags, each overriding the one before."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from specmeter.config import environment
from specmeter.config.address import with_scheme
from specmeter.config.checked import clean, value_type
from specmeter.config.rules import did_you_mean
from specmeter.config.settings import Settings
from specmeter.config.upstream import Upstream
from specmeter.errors import ConfigError

_LARGEST_FILE = 1024 * 1024

_WRITTEN = {int: re.compile(r"-?[0-9]+"), float: re.compile(r"[!-^`-~]+")}
"""What is read as a number: Python would also take 2_0, blanks around, and any script's digits."""


class Loaded(msgspec.Struct, frozen=True):
    """Settings, and what whoever wrote them should know though it is no error."""

    settings: Settings
    warnings: tuple[str, ...]


class _Said(NamedTuple):
    """A value, and where it was said: what an error about it begins with."""

    where: str
    value: object


_Table = dict[str, _Said]


class _File(NamedTuple):
    """What the file says, without its unknown keys."""

    where: str
    top: _Table
    upstreams: list[_Table]


def load(path: Path | None, environ: Mapping[str, str], flags: Mapping[str, object]) -> Loaded:
    """Load the settings.

    Args:
        path: the TOML file; None takes SPECMETER_CONFIG's, or no file at all.
        environ: the environment variables.
        flags: the keys of Settings that flags set, `upstream` (a URL) and `backend`; None is a
            flag that was not given.

    Raises:
        ConfigError: tells every faulty value, one a line.
    """
    faults: list[str] = []
    file = _from_file(path, environ, faults)
    said = {key: _Said(*item) for key, item in environment.from_environment(environ).items()}
    for key, value in flags.items():
        if value is not None:
            said[key] = _Said(f"--{key.replace('_', '-')}", value)
    _override_upstream(file.upstreams, said, faults)
    top = file.top | {key: _Said(where, _typed(key, value)) for key, (where, value) in said.items()}

    values = _clean_table(Settings, top, faults)
    tables = [_clean_upstream(file, index, faults) for index in range(len(file.upstreams))]
    if faults:
        raise ConfigError("\n".join(faults))
    settings = Settings(upstream=_make_upstreams(tables), **values)
    return Loaded(settings, tuple(environment.stray_variables(environ)))


def _from_file(path: Path | None, environ: Mapping[str, str], faults: list[str]) -> _File:
    where = ""
    if path is None and environ.get(environment.CONFIG):
        path = Path(environ[environment.CONFIG])
        where = f"{environment.CONFIG}: "
    if path is None:
        return _File(where, {}, [])
    where += f"{path}: "
    document = _parse(path, where)
    tables = document.pop("upstream", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        faults.append(
            f"{where}upstream: is not a list of tables: write [[upstream]], and url below"
        )
        tables = []
    top = _say(Settings, document, where, faults)
    upstreams = [
        _say(Upstream, table, f"{where}upstream[{index}].", faults)
        for index, table in enumerate(tables)
    ]
    return _File(where, top, upstreams)


def _parse(path: Path, where: str) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(f"{where}cannot be read: {error.strerror}") from None
    if len(data) > _LARGEST_FILE:
        raise ConfigError(f"{where}is larger than 1 MiB: name a specmeter configuration file")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{where}is not UTF-8 (at line {line}): save it as UTF-8") from None
    except ValueError as error:
        raise ConfigError(f"{where}is not TOML: {error}") from None
    except RecursionError:
        raise ConfigError(f"{where}is not TOML of this kind: it is nested too deep") from None


def _say(
    kind: type[Settings | Upstream], table: dict[str, Any], where: str, faults: list[str]
) -> _Table:
    known = kind.__struct_fields__
    faults += [f"{where}{key}: {_stray(kind, key)}" for key in table if key not in known]
    return {key: _Said(where + key, value) for key, value in table.items() if key in known}


def _stray(kind: type[Settings | Upstream], key: str) -> str:
    """Tell what to do about an unknown key, without its value, which may be a secret."""
    known = kind.__struct_fields__
    if kind is Upstream and key in Settings.__struct_fields__:
        return "is no key of an upstream: move it above the first [[upstream]]"
    if kind is Settings and key in Upstream.__struct_fields__:
        return "is a key of an upstream: move it below [[upstream]]"
    return "is unknown" + (did_you_mean(key, known) or f": the keys are {', '.join(known)}")


def _override_upstream(upstreams: list[_Table], said: _Table, faults: list[str]) -> None:
    """Take `upstream` and `backend` out of what was said, and put them into the one upstream."""
    url, backend = said.pop("upstream", None), said.pop("backend", None)
    if len(upstreams) > 1:
        faults += [
            f"{item.where}: the file has {len(upstreams)} upstreams, so it is unclear which one "
            "this is about: change it in the file"
            for item in (url, backend)
            if item
        ]
        return
    if url and not upstreams:
        upstreams.append({})
    if url:
        text = with_scheme(url.value) if isinstance(url.value, str) else url.value
        upstreams[0]["url"] = _Said(url.where, text)
    if backend and upstreams:
        upstreams[0]["backend"] = backend


def _typed(key: str, value: object) -> object:
    """Read a number out of a variable's or flag's text; what is none stays, for its rule."""
    kind = value_type(Settings, key)
    if isinstance(value, str) and kind in _WRITTEN and _WRITTEN[kind].fullmatch(value):
        try:
            return kind(value)
        except ValueError:  # more digits than Python reads
            return value
    return value


def _clean_upstream(file: _File, index: int, faults: list[str]) -> dict[str, Any]:
    table = file.upstreams[index]
    place = f"{file.where}upstream[{index}]"
    if "url" not in table:
        faults.append(f'{place}.url: is missing: write url = "http://127.0.0.1:8080"')
    if len(file.upstreams) > 1 and "name" not in table:
        faults.append(f'{place}.name: is missing: with several upstreams, write name = "…"')
    return _clean_table(Upstream, table, faults)


def _clean_table(
    kind: type[Settings | Upstream], table: _Table, faults: list[str]
) -> dict[str, Any]:
    values = {}
    for key, (where, value) in table.items():
        try:
            values[key] = clean(kind, key, value)
        except ConfigError as error:
            faults.append(f"{where}: {error}")
    return values


def _make_upstreams(tables: list[dict[str, Any]]) -> tuple[Upstream, ...]:
    made = []
    for index, table in enumerate(tables):
        try:
            made.append(Upstream(**table))
        except ConfigError as error:
            raise ConfigError(f"upstream[{index}].{error}") from None
    return tuple(made)
