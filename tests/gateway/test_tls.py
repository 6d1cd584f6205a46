"""Servers behind https."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.gateway.checks import numbers_counted, told
from tests.gateway.client import CHAT, STREAM_BODY, Client, chat, request
from tests.gateway.expected import EXPECTED
from tests.gateway.proxy import running, until
from tests.replay import capture, model_list
from tests.scripted import (
    CHUNKED,
    EVENTS,
    Call,
    ScriptedUpstream,
    answer,
    answer_and_close,
    answer_and_reset,
    chunk,
    chunked,
    cut,
    head,
    response,
)

NAME = "llama_cpp/ngram-mod/chat_stop_word"


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate of this machine's loopback address, with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.fail("openssl is not installed: apt-get install openssl")
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    words = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN=specmeter.test -addext subjectAltName=IP:127.0.0.1"
    )
    files = ["-keyout", str(path), "-out", str(path.with_suffix(".crt"))]
    subprocess.run([*words.split(), *files], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + path.with_suffix(".crt").read_bytes())
    return path


@pytest_asyncio.fixture
async def secure(certificate: Path) -> AsyncIterator[ScriptedUpstream]:
    """Give a server that speaks TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    async with ScriptedUpstream(tls=context) as server:
        yield server


@pytest.fixture
def ca_file(certificate: Path) -> str:
    return str(certificate.with_suffix(".crt"))


@pytest.mark.parametrize("how", ["bytes", "random", "whole"])
async def test_stream(secure: ScriptedUpstream, ca_file: str, how: str) -> None:
    """A real stream passes byte for byte and is counted."""
    body = capture(NAME).body
    secure.models = model_list(NAME)
    secure.script = answer(head("200 OK", EVENTS, CHUNKED), *chunked(cut(body, how)))
    async with running(secure.url, ca_file=ca_file) as proxy:
        got = await chat(proxy.url, STREAM_BODY)
        numbers_counted(await proxy.metrics(), EXPECTED[NAME])
        assert (await chat(proxy.url, STREAM_BODY)).body == body
    assert got.body == body


async def test_large(secure: ScriptedUpstream, ca_file: str) -> None:
    """5 MB go both ways."""
    body = bytes(range(256)) * 20_000

    async def echo(call: Call) -> None:
        await call.send(response(await call.body()))

    secure.script = echo
    async with running(secure.url, ca_file=ca_file) as proxy:
        got = await chat(proxy.url, body)
    assert got.body == body


async def test_ended_by_closing(secure: ScriptedUpstream, ca_file: str) -> None:
    """A body may end with the connection here as well."""
    secure.script = answer_and_close(head("200 OK"), b"one", b"two")
    async with running(secure.url, ca_file=ca_file) as proxy:
        got = await chat(proxy.url)
    assert got.complete
    assert got.raw == b"onetwo"


@pytest.mark.parametrize("how", ["closes", "resets"])
async def test_broken_off(secure: ScriptedUpstream, ca_file: str, how: str) -> None:
    """A stream that breaks off breaks off for the client."""
    script = answer_and_close if how == "closes" else answer_and_reset
    secure.script = script(head("200 OK", EVENTS, CHUNKED), chunk(b"part"))
    async with running(secure.url, ca_file=ca_file) as proxy:
        got = await chat(proxy.url)
        metrics = await proxy.metrics()
    assert not got.complete
    assert got.body == b"part"
    assert metrics.by("upstream_failures_total", "reason") == {"broken_off": 1}


async def test_client_leaves(secure: ScriptedUpstream, ca_file: str) -> None:
    """A client that leaves ends the server's connection at once."""
    left = asyncio.Event()

    async def script(call: Call) -> None:
        await call.body()
        await call.send(head("200 OK", EVENTS, CHUNKED), chunk(b"data: 1\n\n"))
        await call.gone()
        left.set()

    secure.script = script
    async with running(secure.url, ca_file=ca_file) as proxy:
        async with await Client.connect(proxy.url) as client:
            await client.send(request("POST", CHAT, body=STREAM_BODY))
            await client.read_until(b"data: 1\n\n")
        async with asyncio.timeout(1):
            await left.wait()
        await until(lambda: secure.open == 0)


async def test_certificate_that_is_not_trusted(secure: ScriptedUpstream) -> None:
    """A certificate of an unknown issuer is refused, and the client is told why."""
    async with running(secure.url) as proxy:
        got = await chat(proxy.url)
    told(got, secure.url, 502, "cannot_connect")
    assert "certificate" in got.error["message"]
    assert secure.requests == []


async def test_certificate_of_another_name(secure: ScriptedUpstream, ca_file: str) -> None:
    """A certificate that is not this host's is refused."""
    url = secure.url.replace("127.0.0.1", "localhost")
    async with running(url, ca_file=ca_file) as proxy:
        got = await chat(proxy.url)
    told(got, url, 502, "cannot_connect")
    assert secure.requests == []


async def test_no_tls_there(ca_file: str) -> None:
    """Https in front of a server that speaks plain HTTP is told as such."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(response(b"", "400 Bad Request"))
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as plain:
        url = f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}"
        async with running(url, ca_file=ca_file) as proxy:
            got = await chat(proxy.url)
    told(got, url, 502, "cannot_connect")
    assert "TLS failed" in got.error["message"]
