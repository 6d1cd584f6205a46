"""Addresses: HOST:PORT and an upstream's URL, taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmeter.config import Address, Target, Upstream, parse_address
from specmeter.errors import ConfigError

SECRET = "hunter2"


class TestTarget:
    @pytest.mark.parametrize(
        ("url", "target", "base_url"),
        [
            (
                "http://127.0.0.1:8080",
                Target(False, "127.0.0.1", 8080, ""),
                "http://127.0.0.1:8080",
            ),
            (
                "http://127.0.0.1:8080/v1",
                Target(False, "127.0.0.1", 8080, ""),
                "http://127.0.0.1:8080",
            ),
            (
                "http://127.0.0.1:8080/v1/",
                Target(False, "127.0.0.1", 8080, ""),
                "http://127.0.0.1:8080",
            ),
            ("HTTPS://Box/", Target(True, "box", 443, ""), "https://box"),
            ("http://box", Target(False, "box", 80, ""), "http://box"),
            ("https://box:80", Target(True, "box", 80, ""), "https://box:80"),
            ("http://box/api/v1", Target(False, "box", 80, "/api"), "http://box/api"),
            (
                "http://box/v1/tenant",
                Target(False, "box", 80, "/v1/tenant"),
                "http://box/v1/tenant",
            ),
            ("http://box/v1beta", Target(False, "box", 80, "/v1beta"), "http://box/v1beta"),
            ("http://[::1]:8080", Target(False, "::1", 8080, ""), "http://[::1]:8080"),
        ],
    )
    def test_url_is_taken_apart(self, url: str, target: Target, base_url: str) -> None:
        """A URL gives host, port, TLS and prefix, without the /v1 that clients send."""
        assert Upstream(url=url).target == target
        assert target.base_url == base_url

    @pytest.mark.parametrize(
        "url",
        [
            f"http://user:{SECRET}@box",
            f"http://user:p/{SECRET}@box",
            f"http://user:p?{SECRET}@box",
            f"http://user:p#{SECRET}@box",
            f"http://user:@{SECRET}@box",
            f"ftp://user:{SECRET}@box",
            f"user:{SECRET}@box",
            f"http:/user:{SECRET}@box",
            f"http://user:{SECRET}@[::1",
            f"http://user:{SECRET}@box:99999",
            f"http://user: {SECRET}@box",
            f"http://box/#{SECRET}",
            f"http://box/?\n{SECRET}",
        ],
    )
    def test_secret_in_a_url_is_never_shown(self, url: str) -> None:
        """A URL with a password or query is refused, however broken, without showing either."""
        with pytest.raises(ConfigError) as caught:
            Upstream(url=url)
        assert SECRET not in str(caught.value)
        assert caught.value.__suppress_context__

    @given(st.text())
    def test_any_text_is_a_url_or_a_fault(self, text: str) -> None:
        """No text breaks the parser: it gives what can be connected to, or a fault."""
        try:
            target = Upstream(url=f"http://{text}").target
        except ConfigError:
            return
        assert target.host
        assert 1 <= target.port <= 65535
        assert Upstream(url=target.base_url + "/v1").target == target


class TestAddress:
    @pytest.mark.parametrize(
        ("text", "address"),
        [
            ("127.0.0.1:8088", Address("127.0.0.1", 8088)),
            ("[::1]:8088", Address("::1", 8088)),
            ("localhost:0", Address("localhost", 0)),
            ("my-box.example.:65535", Address("my-box.example.", 65535)),
        ],
    )
    def test_address_is_taken_apart(self, text: str, address: Address) -> None:
        """HOST:PORT gives host and port, and is written back as it was."""
        assert parse_address(text) == address
        assert str(address) == text

    @pytest.mark.parametrize(
        "text",
        [
            "",
            ":",
            "*:1",
            "[]:1",
            "[::1]",
            "[::g]:1",
            "::1",
            "a b:1",
            "a:-1",
            "a:٣",
            "a:1:2",
            "a:",
            "a:" + "1" * 5000,
        ],
    )
    def test_anything_else_is_refused(self, text: str) -> None:
        """What is not HOST:PORT is refused with the text itself."""
        with pytest.raises(ConfigError, match=r'^".*" (is|has)'):
            parse_address(text)

    @given(st.text())
    def test_any_text_is_an_address_or_a_fault(self, text: str) -> None:
        """No text breaks the parser."""
        try:
            address = parse_address(text)
        except ConfigError:
            return
        assert parse_address(str(address)) == address

    @pytest.mark.parametrize(
        ("own", "host", "is_same"),
        [
            ("127.0.0.1:1", "127.0.0.1", True),
            ("127.0.0.1:1", "localhost", True),
            ("0.0.0.0:1", "127.0.0.1", True),
            ("LOCALHOST:1", "::1", True),
            ("127.0.0.1:1", "::1", False),
            ("127.0.0.1:1", "127.0.0.2", False),
            ("127.0.0.1:2", "127.0.0.1", False),
        ],
    )
    def test_overlap(self, own: str, host: str, is_same: bool) -> None:
        """Two addresses overlap if one is reached through the other's name."""
        assert parse_address(own).overlaps(host, 1) is is_same

    def test_chosen_ports_never_overlap(self) -> None:
        """Port 0 is another port each time, so both listeners may ask for it."""
        assert not parse_address("127.0.0.1:0").overlaps("127.0.0.1", 0)
