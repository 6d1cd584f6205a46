"""Environment variables: SPECMETER_ and a setting's name in capitals."""

import re
from collections.abc import Iterator, Mapping

from specmeter.config.rules import did_you_mean
from specmeter.config.settings import scalar_keys

PREFIX = "SPECMETER_"
CONFIG = "SPECMETER_CONFIG"

# Kubernetes tells every pod about each Service like this, so a Service called specmeter, or
# specmeter-something, brings variables that look like ours.
_SERVICE = re.compile(r"SPECMETER_(\w+?_)??SERVICE_(HOST|PORT(_\w+)?)")
_SERVICE_PORT = re.compile(r"SPECMETER_(\w+?_)??PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?")
_SERVICE_URL = re.compile(r"(tcp|udp|sctp)://")


def from_environment(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Collect what variables set: each key with the variable's name and text.

    An empty variable counts as not set, as compose files leave them so.
    """
    return {
        key: (variable, environ[variable])
        for key, variable in _variables().items()
        if environ.get(variable)
    }


def stray_variables(environ: Mapping[str, str]) -> Iterator[str]:
    """Warn of each SPECMETER_ variable that sets nothing, without showing its value."""
    known = {CONFIG, *_variables().values()}
    names = [variable.removeprefix(PREFIX) for variable in sorted(known)]
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable in known:
            continue
        if not _is_kubernetes(variable, environ[variable]):
            hint = did_you_mean(variable.removeprefix(PREFIX), names, prefix=PREFIX)
            yield f"{variable}: sets nothing and is ignored{hint}"


def _variables() -> dict[str, str]:
    return {key: PREFIX + key.upper() for key in (*scalar_keys(), "upstream", "backend")}


def _is_kubernetes(variable: str, value: str) -> bool:
    if _SERVICE.fullmatch(variable):
        return True
    match = _SERVICE_PORT.fullmatch(variable)
    # The bare SPECMETER_PORT could be someone's attempt to set a port: its value tells.
    return bool(match and (match[2] or _SERVICE_URL.match(value)))
