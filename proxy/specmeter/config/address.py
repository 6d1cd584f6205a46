"""Addresses: HOST:PORT to listen on, and the URL of an upstream."""

import ipaddress
import json
import re
from urllib.parse import SplitResult, urlsplit

import msgspec

from specmeter.errors import ConfigError

_HOST_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")
_LONGEST_HOST_NAME = 253
_HIGHEST_PORT = 65535
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PATH = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@%/-]*")
_PRINTABLE = re.compile(r"[!-~]+")
_ON_LOOPBACK = {
    "localhost": {"127.0.0.1", "::1"},
    "0.0.0.0": {"127.0.0.1"},  # noqa: S104 - recognised, not bound
    "::": {"::1"},
}


class Address(msgspec.Struct, frozen=True):
    """A place to listen on: a host without brackets, and a port (0 lets the system choose)."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{_bracketed(self.host)}:{self.port}"

    def overlaps(self, host: str, port: int) -> bool:
        """Tell whether host and port lead to this address, as far as can be told without DNS."""
        own, other = (_ON_LOOPBACK.get(name, {name}) for name in (self.host.lower(), host))
        return self.port == port != 0 and bool(own & other)

    def reachable(self) -> "Address":
        """Give the address that a client on this machine connects to."""
        substitutes = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
        return Address(substitutes.get(self.host, self.host), self.port)


class Target(msgspec.Struct, frozen=True):
    """Where an upstream is: what its URL says, taken apart.

    `host` is lower case and without brackets, `port` is 1 to 65535, and `prefix` is the path that
    goes before each request's own: empty, or starting but not ending with a slash.
    """

    is_tls: bool
    host: str
    port: int
    prefix: str

    @property
    def authority(self) -> str:
        """The host and, unless it is the scheme's own, the port: the value of a Host header."""
        is_default = self.port == _DEFAULT_PORTS[self._scheme]
        return _bracketed(self.host) + ("" if is_default else f":{self.port}")

    @property
    def base_url(self) -> str:
        """What a request's path is put behind, as in http://127.0.0.1:8080."""
        return f"{self._scheme}://{self.authority}{self.prefix}"

    @property
    def _scheme(self) -> str:
        return "https" if self.is_tls else "http"


def parse_address(text: str) -> Address:
    """Read HOST:PORT, where an IPv6 host stands in brackets.

    Raises:
        ConfigError: names the text and the remedy.
    """
    shown = json.dumps(redacted(text), ensure_ascii=False)
    if "://" in text:
        raise ConfigError(f"{shown} is a URL: write HOST:PORT without scheme and path")
    host, colon, port = text.rpartition(":")
    if text.isdecimal():
        raise ConfigError(f"{shown} has no host: write 127.0.0.1:{text}")
    if not colon or text.endswith("]"):
        raise ConfigError(f"{shown} has no port: write HOST:PORT, such as 127.0.0.1:8088")
    if host in {"", "*"}:
        raise ConfigError(f"{shown} has no host: write 0.0.0.0:{port} for every interface")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ConfigError(f"{shown} is not HOST:PORT: write an IPv6 host as [::1]:8088")
    if not (re.fullmatch(r"[0-9]{1,5}", port) and int(port) <= _HIGHEST_PORT):
        raise ConfigError(f"{shown} has no valid port: write a number from 0 to {_HIGHEST_PORT}")
    if not _is_host(host):
        raise ConfigError(f"{shown} has no valid host: write a name or an IP address")
    return Address(host.strip("[]"), int(port))


def parse_target(text: str) -> Target:
    """Read the URL of an upstream.

    A trailing /v1 is dropped, because clients send it themselves.

    Raises:
        ConfigError: names the URL, without what may be secret in it, and the remedy.
    """
    shown = json.dumps(redacted(text), ensure_ascii=False)
    if not _PRINTABLE.fullmatch(text):
        raise ConfigError(
            f"{shown} is no URL: write printable ASCII without blanks, the rest percent-encoded"
        )
    scheme = text.partition("://")[0].lower()
    if "://" not in text or scheme not in _DEFAULT_PORTS:
        raise ConfigError(f"{shown} must start with http:// or https://")
    try:
        parts = urlsplit(text)
    except ValueError:
        raise ConfigError(f"{shown} has no valid host: write http://HOST:PORT") from None
    if "@" in parts.netloc:
        raise ConfigError(
            f"{shown} holds a user name or password: take it out; clients send their own key, "
            "and api_key_file holds the one for specmeter's own requests"
        )
    if "?" in text or "#" in text:
        raise ConfigError(f"{shown} has a query or fragment: end it before the ? or #")
    host, port = _host_and_port(parts, shown)
    return Target(scheme == "https", host, port, _prefix(parts.path, shown))


def with_scheme(text: str) -> str:
    """Put http:// before an address that was typed without a scheme, such as localhost:8080."""
    return text if re.match(r"https?:|.*://", text, re.IGNORECASE) else f"http://{text}"


def redacted(url: str) -> str:
    """Take out of a URL what may be secret: user name, password, query and fragment."""
    if "@" in url:
        start, scheme_end, _ = url.partition("://")
        scheme = start + scheme_end if scheme_end and start.isalpha() else ""
        url = f"{scheme}***@{url.rpartition('@')[2]}"
    return re.sub(r"([?#]).*", r"\1***", url, count=1, flags=re.DOTALL)


def _host_and_port(parts: SplitResult, shown: str) -> tuple[str, int]:
    host = parts.hostname or ""
    if not _is_host(_bracketed(host)):
        raise ConfigError(f"{shown} has no valid host: write http://HOST:PORT")
    try:
        port = _DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
    except ValueError:
        port = 0
    if port == 0 or parts.netloc.endswith(":"):
        raise ConfigError(f"{shown} has no valid port: write a number from 1 to {_HIGHEST_PORT}")
    return host, port


def _prefix(path: str, shown: str) -> str:
    if not _PATH.fullmatch(path):
        raise ConfigError(f"{shown} has a path with unusual characters: percent-encode them")
    prefix = path.rstrip("/")
    if prefix.endswith("/completions"):
        raise ConfigError(f"{shown} is one endpoint's address: end it before /v1")
    return prefix.removesuffix("/v1").rstrip("/")


def _is_host(text: str) -> bool:
    """Tell whether text can be a host; IPv6 addresses in brackets."""
    try:
        if text.startswith("["):
            ipaddress.IPv6Address(text[1:-1])
        elif re.fullmatch(r"[0-9.]+", text):
            ipaddress.IPv4Address(text)
        else:
            return len(text) <= _LONGEST_HOST_NAME and bool(_HOST_NAME.fullmatch(text))
    except ValueError:
        return False
    return True


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
