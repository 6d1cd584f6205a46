"""What the files say that the configuration of an upstream names."""

from __future__ import annotations

import ssl
from pathlib import Path

import msgspec

from specmeter import config
from specmeter.discreet import Discreet
from specmeter.errors import StartupError


class Files(Discreet, msgspec.Struct, frozen=True):
    """Read once at the start; what changes later takes effect with the next one."""

    key: str = ""
    """For specmeter's own requests to the server; empty for none."""
    certificates: str = ""
    """Of authorities that it is verified by, as PEM; empty for the system's own."""


def read_files(settings: config.Upstream) -> Files:
    """Read them.

    Raises:
        StartupError: One cannot be read.
    """
    return Files(key=_key(settings), certificates=_certificates(settings))


def tls_of(settings: config.Upstream, files: Files) -> ssl.SSLContext | None:
    """Return how a server is verified; `None` without TLS.

    Raises:
        StartupError: The certificates are none.
    """
    if not settings.target.is_tls:
        return None
    try:
        return ssl.create_default_context(cadata=files.certificates or None)
    except (OSError, ValueError) as error:
        raise _unusable(settings, getattr(error, "reason", None) or str(error)) from None


def _certificates(settings: config.Upstream) -> str:
    if not (settings.ca_file and settings.target.is_tls):
        return ""
    try:
        found = Path(settings.ca_file).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise _unusable(settings, error.strerror or str(error)) from None
    if "-----BEGIN" not in found:
        raise _unusable(settings, "there is no certificate in it")
    return found.replace("\ufffd", "?")


def _unusable(settings: config.Upstream, reason: str) -> StartupError:
    return StartupError(
        f'upstream "{settings.name}": ca_file {settings.ca_file} cannot be used: {reason}. '
        "It has to be a readable file of PEM certificates"
    )


def _key(settings: config.Upstream) -> str:
    path = settings.api_key_file
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise StartupError(
            f'upstream "{settings.name}": api_key_file {path} cannot be read: {reason}'
        ) from None
