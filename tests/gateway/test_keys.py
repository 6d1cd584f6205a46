"""Where keys are asked for, nobody gets in without one, and they stay here."""

import base64
import logging
from pathlib import Path
from typing import Any

import pytest

from specmeter.config import Settings, Upstream
from specmeter.errors import StartupError
from specmeter.keys import Keys, key_of
from specmeter.service import Service
from tests.gateway.client import Client, ask, chat, request
from tests.gateway.proxy import running
from tests.scripted import ScriptedUpstream, answer, response

OK = answer(response(b"{}"))
KEYS = "# of the team\nsk-one\n\n  sk-two  \n"


@pytest.fixture
def keys(tmp_path: Path) -> str:
    path = tmp_path / "keys"
    path.write_text(KEYS)
    return str(path)


def bearer(key: str) -> tuple[bytes, bytes]:
    return b"Authorization", b"Bearer " + key.encode()


@pytest.mark.parametrize(
    "field", [bearer("sk-one"), bearer("sk-two"), (b"x-api-key", b"sk-two")], ids=repr
)
async def test_a_key_lets_in_and_is_not_passed_on(
    upstream: ScriptedUpstream, keys: str, field: tuple[bytes, bytes]
) -> None:
    """Each of the file does, in either header; the server sees none of them."""
    upstream.script = OK
    async with running(upstream.url, client_keys_file=keys) as proxy:
        assert (await chat(proxy.url, b"{}", field)).status == 200
    (got,) = upstream.requests
    assert not got.all(b"authorization")
    assert not got.all(b"x-api-key")


async def test_the_server_gets_its_own_key(
    upstream: ScriptedUpstream, keys: str, tmp_path: Path
) -> None:
    """With lend_key, that of api_key_file."""
    (tmp_path / "server").write_text("sk-server")
    upstream.script = OK
    options: dict[str, Any] = {"api_key_file": str(tmp_path / "server"), "lend_key": True}
    async with running(upstream.url, client_keys_file=keys, **options) as proxy:
        await chat(proxy.url, b"{}", bearer("sk-one"))
    assert upstream.requests[0].all(b"authorization") == [b"Bearer sk-server"]


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [bearer("sk-three")],
        [bearer("")],
        [bearer("sk-one x")],
        [(b"Authorization", b"sk-one")],
        [(b"Authorization", b"Basic !!!")],
        [(b"x-api-key", b"# of the team")],
        [bearer("wrong"), bearer("sk-one")],
    ],
    ids=repr,
)
async def test_without_one_nothing_passes(
    upstream: ScriptedUpstream,
    keys: str,
    fields: list[tuple[bytes, bytes]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """401 in OpenAI's shape, for any path; it counts; and the key is in no log."""
    caplog.set_level(logging.DEBUG)
    upstream.script = OK
    async with running(upstream.url, client_keys_file=keys) as proxy:
        for target in ("/v1/chat/completions", "/metrics"):
            got = await ask(proxy.url, "POST", target, *fields, body=b"{}")
            assert got.status == 401
            assert got.error["code"] == "invalid_api_key"
        metrics = await proxy.metrics()
        assert metrics.by("requests_total", "code") == {"401": 2.0}
    assert upstream.requests == []
    assert "sk-" not in caplog.text


async def test_a_second_request_on_a_connection_needs_one_too(
    upstream: ScriptedUpstream, keys: str
) -> None:
    """What was let in once does not vouch for what follows."""
    upstream.script = OK
    async with (
        running(upstream.url, client_keys_file=keys) as proxy,
        await Client.connect(proxy.url) as client,
    ):
        for field, status in ((bearer("sk-one"), 200), (bearer("sk-xxx"), 401)):
            await client.send(request("POST", "/v1/chat/completions", field, body=b"{}"))
            assert (await client.answer()).status == status


async def test_the_admin_listener_asks_as_browsers_understand(
    upstream: ScriptedUpstream, keys: str
) -> None:
    """A bearer token, or a password of any user; whether it is alive may be asked by anybody."""
    settings = Settings(
        upstream=(Upstream(url=upstream.url),),
        listen="127.0.0.1:0",
        admin="127.0.0.1:0",
        admin_keys_file=keys,
    )
    service = Service(settings)
    await service.start()
    try:
        basic = (b"Authorization", b"Basic " + base64.b64encode(b"me:sk-two"))
        for target in ("/metrics", "/", "/api/summary"):
            refused = await ask(service.admin_url, "GET", target)
            assert refused.status == 401
            assert b"Basic" in refused.all(b"www-authenticate")[0]
            for field in (basic, bearer("sk-one")):
                assert (await ask(service.admin_url, "GET", target, field)).status == 200
        assert (await ask(service.admin_url, "GET", "/healthz")).status == 200
    finally:
        await service.stop()


@pytest.mark.parametrize(("content", "text"), [(None, "cannot be read"), ("# no key\n", "no key")])
def test_a_file_that_lets_nobody_in_is_refused(
    content: str | None, text: str, tmp_path: Path
) -> None:
    """At start, with what is wrong; never is everybody let in instead."""
    path = tmp_path / "keys"
    if content is not None:
        path.write_text(content)
    with pytest.raises(StartupError, match=rf"client_keys_file {path}.*{text}"):
        Keys.read(str(path), "client_keys_file")


def test_no_file_asks_for_no_key() -> None:
    """The default."""
    assert Keys.read("", "client_keys_file") is None


@pytest.mark.parametrize(
    ("authorization", "key"),
    [
        (b"Bearer  k ", b"k"),
        (b"bearer k", b"k"),
        (b"Basic " + base64.b64encode(b"u:a:b"), b"a:b"),
        (b"Basic " + base64.b64encode(b"nothing"), None),
        (b"Digest k", None),
        (b"", None),
    ],
)
def test_where_a_key_is_found(authorization: bytes, key: bytes | None) -> None:
    """In what browsers, clients and Prometheus send."""
    assert key_of(authorization, None) == key
