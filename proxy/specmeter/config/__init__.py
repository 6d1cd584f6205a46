"""The configuration: frozen settings from a file, the environment and flags."""

from specmeter.config.address import Address, Target, parse_address
from specmeter.config.loader import Loaded, load
from specmeter.config.settings import LOG_FORMATS, LOG_LEVELS, Settings, as_toml
from specmeter.config.upstream import BACKENDS, Upstream

__all__ = [
    "BACKENDS",
    "LOG_FORMATS",
    "LOG_LEVELS",
    "Address",
    "Loaded",
    "Settings",
    "Target",
    "Upstream",
    "as_toml",
    "load",
    "parse_address",
]
