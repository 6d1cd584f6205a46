"""The configuration: frozen settings from a file, the environment and flags."""

from specmeter.config.address import Address, Target, parse_address
from specmeter.config.loader import Loaded, load
from specmeter.config.settings import (
    BACKENDS,
    LOG_FORMATS,
    LOG_LEVELS,
    Settings,
    Upstream,
    as_toml,
)

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
