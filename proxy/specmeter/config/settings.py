"""Settings: everything that can be configured, with its default and its range.

The values are frozen and checked when they are made, so whoever gets them need not look again.
"""

import json
import typing
from typing import Annotated, Any

import msgspec

from specmeter.config import rules
from specmeter.config.address import Address, Target, parse_address, parse_target
from specmeter.errors import ConfigError

BACKENDS = (
    *("auto", "llama_cpp", "ik_llama", "vllm", "sglang", "ollama", "lm_studio", "mlx_vlm"),
    *("tabby", "trtllm", "koboldcpp", "openai"),
)
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")

_DAY = 86400
_MIB = 1024 * 1024


class _Checked(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A struct whose fields carry the rule that their values obey."""

    def __post_init__(self) -> None:
        for key in self.__struct_fields__:
            try:
                clean(type(self), key, getattr(self, key))
            except ConfigError as error:
                raise ConfigError(f"{key}: {error}") from None


class Upstream(_Checked, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One server to forward to.

    Attributes:
        url: http or https, host, port and maybe a path; see `target`.
        name: the `upstream` label of its series; unique.
        backend: its kind, one of BACKENDS; `auto` finds out.
        models: the names that route here and may be `model_name` labels, or patterns of them with
            * ? [ ], of which those are labels that its /v1/models lists; empty takes all it lists.
        method: how it drafts, for the label of specmeter_upstream_info.
        inject: whether numbers may be asked for that are taken out of the answer again.
        meter_cancelled: whether llama.cpp's streams are asked for timings on every chunk, so that
            a stream its client leaves is metered up to there.
        continuous_usage: whether its streams are also asked for usage on every chunk.
        log: path of the server's log, which completes what its answers do not say; empty for none.
        scrape: whether its own metrics page is read and shown as `specmeter_upstream_…`.
        connect_seconds: longest wait for a connection.
        idle_seconds: longest silence within a response; 0 waits forever.
        keepalive_seconds: how long an idle connection is used again.
        api_key_file: path of the key for specmeter's own requests; empty for none.
        lend_key: whether clients that bring no key use that one.
        ca_file: path of the certificates to trust instead of the system's; empty for the system's.

    Raises:
        ConfigError: a value is out of its range, or ca_file comes with an http url.
    """

    url: Annotated[str, rules.url]
    name: Annotated[str, rules.name] = "default"
    backend: Annotated[str, rules.choice(BACKENDS)] = "auto"
    models: Annotated[tuple[str, ...], rules.names] = ()
    method: Annotated[str, rules.text] = ""
    inject: Annotated[bool, rules.switch] = True
    continuous_usage: Annotated[bool, rules.switch] = False
    meter_cancelled: Annotated[bool, rules.switch] = False
    log: Annotated[str, rules.text] = ""
    scrape: Annotated[bool, rules.switch] = False
    connect_seconds: Annotated[float, rules.seconds(0.01, 3600)] = 5.0
    idle_seconds: Annotated[float, rules.seconds(0, _DAY)] = 0.0
    keepalive_seconds: Annotated[float, rules.seconds(0, 3600)] = 4.0
    api_key_file: Annotated[str, rules.key_file] = ""
    lend_key: Annotated[bool, rules.switch] = False
    ca_file: Annotated[str, rules.text] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ca_file and not self.target.is_tls:
            raise ConfigError(
                f"ca_file: {rules.shown(self.ca_file)} has no use with an http url: "
                "write https, or take it out"
            )

    @property
    def target(self) -> Target:
        """The url taken apart. It is parsed at each call, so keep it."""
        return parse_target(self.url)


class Settings(_Checked, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that `specmeter serve` can be told.

    Attributes:
        upstream: the servers to forward to, at least one.
        listen: HOST:PORT that clients connect to.
        admin: HOST:PORT of /metrics, /healthz and /readyz.
        drain_seconds: how long running responses may go on after SIGTERM.
        log_level: the least that is logged, one of LOG_LEVELS.
        log_format: one of LOG_FORMATS.
        position_limit: the most values of the `position` label.
        tail_bytes: how much of a stream's end is kept for reading.
        body_bytes: the largest body, not streamed, that is read.
        probe_seconds: how often an upstream's /v1/models is asked.
        scrape_seconds: how often the metrics page of an upstream with `scrape` is read.

    Raises:
        ConfigError: a value is out of its range, two values do not go together, or there is no
            upstream.
    """

    upstream: tuple[Upstream, ...]
    listen: Annotated[str, rules.address] = "127.0.0.1:8088"
    admin: Annotated[str, rules.address] = "127.0.0.1:9108"
    drain_seconds: Annotated[float, rules.seconds(0, _DAY)] = 30.0
    log_level: Annotated[str, rules.choice(LOG_LEVELS)] = "info"
    log_format: Annotated[str, rules.choice(LOG_FORMATS)] = "text"
    position_limit: Annotated[int, rules.whole(1, 64)] = 16
    tail_bytes: Annotated[int, rules.whole(1024, 1024 * _MIB)] = _MIB
    body_bytes: Annotated[int, rules.whole(1024, 1024 * _MIB)] = 8 * _MIB
    probe_seconds: Annotated[float, rules.seconds(0.01, _DAY)] = 15.0
    scrape_seconds: Annotated[float, rules.seconds(0.01, _DAY)] = 15.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_addresses(self)
        _check_names(self)

    @property
    def listen_address(self) -> Address:
        """The data listener's host and port."""
        return parse_address(self.listen)

    @property
    def admin_address(self) -> Address:
        """The admin listener's host and port."""
        return parse_address(self.admin)


def clean(kind: type[msgspec.Struct], key: str, value: object) -> Any:
    """Check one value of Settings or Upstream, and give it back in its proper type.

    Raises:
        ConfigError: names value and remedy, not the key.
    """
    hint = _hint(kind, key)
    return hint.__metadata__[0](value) if typing.get_origin(hint) is Annotated else value


def value_type(kind: type[msgspec.Struct], key: str) -> Any:
    """Give the type of one value of Settings or Upstream."""
    hint = _hint(kind, key)
    return hint.__origin__ if typing.get_origin(hint) is Annotated else hint


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


def _hint(kind: type[msgspec.Struct], key: str) -> Any:
    return typing.get_type_hints(kind, include_extras=True)[key]


def _toml(value: object) -> str:
    # JSON's strings, numbers, lists and booleans are TOML's, once control characters are refused.
    return json.dumps(value, ensure_ascii=False)
