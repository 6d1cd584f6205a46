"""Settings: everything that can be configured, with its default and its range.

The values are frozen and checked when they are made, so whoever gets them need not look again.
"""

import json
from typing import Annotated

from specmeter.config import rules
from specmeter.config.address import Address, parse_address
from specmeter.config.checked import Checked
from specmeter.config.upstream import Upstream
from specmeter.errors import ConfigError

LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")

_DAY = 86400
_MIB = 1024 * 1024


class Settings(Checked, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that `specmeter serve` can be told.

    Attributes:
        upstream: the servers to forward to, at least one.
        listen: HOST:PORT that clients connect to.
        admin: HOST:PORT of /metrics, /healthz and /readyz.
        client_keys_file: path of a file with the keys of which clients have to bring one; empty
            asks for none.
        admin_keys_file: the same for /metrics and the live page.
        workers: how many processes share the data listener; with 1 there is none but the main one.
        drain_seconds: how long running responses may go on after SIGTERM.
        log_level: the least that is logged, one of LOG_LEVELS.
        log_format: one of LOG_FORMATS.
        position_limit: the most values of the `position` label.
        event_bytes: the largest event of a stream that is read.
        body_bytes: the largest body, not streamed, that is read.
        probe_seconds: how often an upstream's /v1/models is asked.
        state_file: path of the file that keeps what was learned about plain speed across restarts;
            empty forgets it.
        scrape_seconds: how often the metrics page of an upstream with `scrape` is read.

    Raises:
        ConfigError: a value is out of its range, two values do not go together, or there is no
            upstream.
    """

    upstream: tuple[Upstream, ...]
    listen: Annotated[str, rules.address] = "127.0.0.1:8088"
    admin: Annotated[str, rules.address] = "127.0.0.1:9108"
    client_keys_file: Annotated[str, rules.key_file] = ""
    admin_keys_file: Annotated[str, rules.key_file] = ""
    workers: Annotated[int, rules.whole(1, 64)] = 1
    drain_seconds: Annotated[float, rules.seconds(0, _DAY)] = 30.0
    log_level: Annotated[str, rules.choice(LOG_LEVELS)] = "info"
    log_format: Annotated[str, rules.choice(LOG_FORMATS)] = "text"
    position_limit: Annotated[int, rules.whole(1, 64)] = 16
    event_bytes: Annotated[int, rules.whole(1024, 1024 * _MIB)] = _MIB
    body_bytes: Annotated[int, rules.whole(1024, 1024 * _MIB)] = 8 * _MIB
    probe_seconds: Annotated[float, rules.seconds(0.01, _DAY)] = 15.0
    state_file: Annotated[str, rules.text] = ""
    scrape_seconds: Annotated[float, rules.seconds(0.01, _DAY)] = 15.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_addresses(self)
        _check_names(self)
        _check_plain(self)

    @property
    def listen_address(self) -> Address:
        """The data listener's host and port."""
        return parse_address(self.listen)

    @property
    def admin_address(self) -> Address:
        """The admin listener's host and port."""
        return parse_address(self.admin)


def scalar_keys() -> tuple[str, ...]:
    """Name the settings that are one value each, so that one variable or flag can set them."""
    return tuple(key for key in Settings.__struct_fields__ if key != "upstream")


def as_toml(settings: Settings) -> str:
    """Write settings as a file that loads as the same settings."""
    lines = [f"{key} = {_toml(getattr(settings, key))}" for key in scalar_keys()]
    for upstream in settings.upstream:
        lines += ["", "[[upstream]]"]
        lines += [f"{key} = {_toml(getattr(upstream, key))}" for key in upstream.__struct_fields__]
    return "\n".join(lines) + "\n"


def _check_addresses(settings: Settings) -> None:
    listen, admin = settings.listen_address, settings.admin_address
    if listen.overlaps(admin.host, admin.port):
        raise ConfigError(f'admin: "{admin}" is the listen address too: give each its own port')
    for index, upstream in enumerate(settings.upstream):
        target = upstream.target
        if listen.overlaps(target.host, target.port) or admin.overlaps(target.host, target.port):
            raise ConfigError(
                f'upstream[{index}].url: "{upstream.url}" is where specmeter itself listens: '
                "write the server's address, or listen elsewhere"
            )


def _check_names(settings: Settings) -> None:
    if not settings.upstream:
        raise ConfigError(
            "upstream: none is given, so there is nothing to meter: type "
            "`specmeter serve --upstream http://127.0.0.1:8080`, or put [[upstream]] and "
            'url = "http://127.0.0.1:8080" into the file'
        )
    names: dict[str, int] = {}
    models: dict[str, int] = {}
    for index, upstream in enumerate(settings.upstream):
        first = names.setdefault(upstream.name, index)
        if first != index:
            raise ConfigError(
                f'upstream[{index}].name: "{upstream.name}" is upstream[{first}]\'s name too: '
                "give each its own"
            )
        for model in upstream.models:
            first = models.setdefault(model, index)
            if first != index:
                raise ConfigError(
                    f"upstream[{index}].models: {rules.shown(model)} is listed in "
                    f"upstream[{first}] too: let it route to one of them"
                )


def _check_plain(settings: Settings) -> None:
    known = {upstream.name: upstream for upstream in settings.upstream}
    for index, upstream in enumerate(settings.upstream):
        if not upstream.plain:
            continue
        where = f"upstream[{index}].plain: {rules.shown(upstream.plain)}"
        if upstream.plain not in known:
            hint = rules.did_you_mean(upstream.plain, known)
            raise ConfigError(f"{where} is no upstream's name{hint}")
        if known[upstream.plain].plain:
            raise ConfigError(
                f"{where} has a plain upstream itself: name one that does not speculate"
            )


def _toml(value: object) -> str:
    # JSON's strings, numbers, lists and booleans are TOML's, once control characters are refused.
    return json.dumps(value, ensure_ascii=False)
