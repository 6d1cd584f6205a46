"""The admin listener's JSON, CSV and events."""

from __future__ import annotations

import asyncio
import csv
import io
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from specmeter.api.events import MOST_PAGES
from specmeter.api.routes import add_api
from specmeter.api.rows import COLUMNS
from tests.page.fake import OUTPUT, PROMPT, before, fake_llama, send
from tests.page.states import Shown
from tests.real.proxy import until
from tests.scripted import limit_buffers


@asynccontextmanager
async def metered(times: int = 1, **what: Any) -> AsyncIterator[tuple[Shown, Client]]:
    """Run a proxy that has metered so many completions, and a client of its API."""
    async with (
        fake_llama(**what) as fake,
        before(fake) as shown,
        aiohttp.ClientSession(shown.admin_url) as session,
    ):
        if times:
            await send(shown, times)
        yield shown, Client(session)


class Client:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def get(self, path: str, status: int = 200) -> Any:
        """Return a page's JSON."""
        async with self.session.get(path) as response:
            assert response.status == status
            assert response.headers["Cache-Control"] == "no-store"
            assert response.content_type == "application/json"
            return orjson.loads(await response.read())

    async def text(self, path: str) -> str:
        async with self.session.get(path) as response:
            assert response.status == 200
            return await response.text()


async def events(response: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, Any, str]]:
    """Yield name, data and id of each event of a stream."""
    found: dict[str, str] = {}
    async for line in response.content:
        text = line.decode().rstrip("\n")
        if text:
            key, _, value = text.partition(": ")
            found[key] = value
        elif "data" in found:
            yield found["event"], orjson.loads(found["data"]), found.get("id", "")
            found = {}


async def test_summary_has_upstream_verdict_and_fractions() -> None:
    """Six completions of 100 tokens a second against 60: faster, each ratio with its two parts."""
    async with metered(6) as (shown, client):
        summary = await client.get("/api/summary")
        assert (summary["version"], summary["range"]) == (1, "1h")
        assert summary["data_url"] == shown.service.data_url
        (upstream,) = summary["upstreams"]
        assert (upstream["name"], upstream["up"], upstream["kind"]) == ("fake", True, "llama_cpp")
        assert (upstream["build"], upstream["drafting"]) == ("b1234-abcdef0", "drafting")
        (model,) = summary["models"]
        numbers = model["numbers"]
        assert numbers["acceptance"] == {"value": 0.75, "over": 360, "under": 480}
        assert numbers["output_per_step"] == {"value": 2.5, "over": 600, "under": 240}
        assert "mean_acceptance_length" not in numbers
        speedup = numbers["speedup"]
        assert speedup["value"] == pytest.approx(99 / 60, rel=1e-3)
        assert speedup["low"] < speedup["value"] < speedup["high"]
        assert (speedup["completions"], speedup["baselines"]) == (6, {"fixed": 6})
        assert model["verdict"]["kind"] == "faster"
        assert "over 6 completions" in model["verdict"]["sentence"]
        assert model["baselines"][0]["source"] == "fixed"


async def test_series_ends_now_and_sums_up() -> None:
    """The last point holds what has just come, and slices are of the whole range."""
    async with metered(3) as (_, client):
        series = await client.get("/api/series?upstream=fake&model=m&range=5m")
        assert len(series["points"]) == 60
        assert sum(point.get("completions", 0) for point in series["points"]) == 3
        last = series["points"][-1]
        assert last["at"] <= series["at"]
        assert last["trailing"]["completions"] == 3
        saved = sum(point.get("saved_seconds", 0) for point in series["points"])
        assert saved == pytest.approx(3 * (99 / 60 - 1), abs=0.01)
        (bucket,) = series["slices"]["output"]
        assert (bucket["bucket"], bucket["numbers"]["completions"]) == ("64-256", 3)


async def test_completions_newest_first() -> None:
    """Rows hold what was metered; `limit` and the filters leave some out."""
    async with metered(3) as (_, client):
        found = await client.get("/api/completions")
        assert [row["number"] for row in found["rows"]] == [3, 2, 1]
        row = found["rows"][0]
        assert (row["tokens"], row["drafted"], row["accepted"]) == (100, 80, 60)
        assert (row["outcome"], row["source"], row["endpoint"]) == (
            "complete",
            "response",
            "/v1/chat/completions",
        )
        assert row["speedup"] == pytest.approx(1.65)
        assert "first_token_ms" not in row
        assert len((await client.get("/api/completions?limit=2"))["rows"]) == 2
        assert (await client.get("/api/completions?model=other"))["rows"] == []


async def test_csv_has_the_same_columns() -> None:
    """CSV has a heading, and a spreadsheet takes no name for a formula."""
    name = "=HYPERLINK(1)"
    async with metered(1, models=(name,)) as (_, client):
        text = await client.text("/api/completions?format=csv")
        heading, row = csv.reader(io.StringIO(text))
        assert tuple(heading) == COLUMNS
        found = dict(zip(heading, row, strict=True))
        assert found["model"] == f"'{name}"
        assert found["tokens"] == "100"
        assert found["first_token_ms"] == ""
        assert found["at"].startswith("20")


async def test_requests_without_numbers_are_rows_too() -> None:
    """An error of the server is listed with its status, and told as a blind spot."""
    async with metered(2, status=500) as (_, client):
        (row, _) = (await client.get("/api/completions"))["rows"]
        assert (row["outcome"], row["source"], row["code"]) == ("http_500", "none", 500)
        assert "tokens" not in row
        (upstream,) = (await client.get("/api/summary"))["upstreams"]
        (spot,) = upstream["blind_spots"]
        assert spot == "2 requests brought no numbers since the start: the answer was HTTP 500."


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("summary?range=2d", 400, 'range: "2d" is none of 5m, 1h, 24h'),
        ("series", 400, "upstream and model: missing; /api/summary lists them"),
        ("series?upstream=fake&model=gone", 404, "unknown"),
        ("completions?limit=0", 400, 'limit: "0" is no number from 1 to 500'),
        ("completions?limit=1e3", 400, 'limit: "1e3"'),
        ("completions?format=xml", 400, 'format: "xml" is neither json nor csv'),
        ("events?range=%3Cscript%3E", 400, 'range: "<script>"'),
    ],
)
async def test_faults_are_told(path: str, status: int, told: str) -> None:
    """A parameter at fault gets its name, its value and what it may be, as JSON."""
    async with metered(0) as (_, client):
        found = await client.get(f"/api/{path}", status)
        assert told in found["error"]


async def test_no_text_of_a_prompt_or_an_output() -> None:
    """Neither is in anything that the admin listener tells."""
    async with metered(3) as (_, client):
        for path in (
            "/api/summary",
            "/api/series?upstream=fake&model=m",
            "/api/completions",
            "/api/completions?format=csv",
            "/metrics",
        ):
            text = await client.text(path)
            assert OUTPUT not in text
            assert PROMPT not in text


async def test_events_bring_state_and_rows_then_what_is_new() -> None:
    """A page gets everything once, then the state and the rows that came."""
    async with metered(2) as (shown, client), client.session.get("/api/events") as response:
        assert response.content_type == "text/event-stream"
        assert response.headers["Cache-Control"] == "no-store"
        stream = events(response)
        name, state, _ = await anext(stream)
        assert name == "state"
        assert state["series"]["model"] == "m"
        assert state["summary"]["models"][0]["numbers"]["completions"] == 2
        name, rows, last = await anext(stream)
        assert (name, rows["start_over"]) == ("rows", True)
        assert [row["number"] for row in rows["rows"]] == [1, 2]
        await send(shown)
        async for name, data, _ in stream:
            if name == "rows":
                assert data["start_over"] is False
                assert [row["number"] for row in data["rows"]] == [3]
                break
        async with client.session.get("/api/events", headers={"Last-Event-ID": last}) as again:
            async for name, data, _ in events(again):
                if name == "rows":
                    assert [row["number"] for row in data["rows"]] == [3]
                    assert data["start_over"] is False
                    break


async def test_a_page_from_before_a_restart_starts_over() -> None:
    """An id of another run of the proxy stands for nothing."""
    async with metered(2) as (_, client):
        for id_ in ("1-1", "nonsense", "-", "1" * 5000):
            headers = {"Last-Event-ID": id_}
            async with client.session.get("/api/events", headers=headers) as response:
                stream = events(response)
                await anext(stream)
                _, rows, _ = await anext(stream)
                assert rows["start_over"] is True
                assert len(rows["rows"]) == 2


@asynccontextmanager
async def fast_events(shown: Shown) -> AsyncIterator[web.AppRunner]:
    """Serve the same proxy's API once more, with a hundred ticks a second."""
    app = web.Application()
    add_api(app, shown.service._teller, tick_seconds=0.01)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert site._server is not None
        for listener in site._server.sockets:  # type: ignore[attr-defined]
            limit_buffers(listener, send=4096, receive=4096)
        yield runner
    finally:
        await runner.cleanup()


async def test_a_page_that_does_not_read_holds_nothing_up() -> None:
    """It costs one event beyond its buffers however much happens, and others go on.

    Once it reads again, it gets the state of that moment, and not what it has missed.
    """
    names = tuple(f"{i}-{'m' * 150}" for i in range(90))
    async with (
        AsyncExitStack() as stack,
        metered(1, models=names) as (shown, _),
        fast_events(shown) as runner,
    ):
        host, port = runner.addresses[0]
        slow = socket.create_connection((host, port))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader, writer = await asyncio.open_connection(sock=slow, limit=1024)
        writer.write(b"GET /api/events HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readline()
        stack.callback(writer.close)
        async with (
            aiohttp.ClientSession(f"http://{host}:{port}") as session,
            session.get("/api/events", headers={"Accept-Encoding": "identity"}) as response,
        ):
            received = largest = 0
            stream = events(response)
            for _ in range(40):
                await send(shown, 2)
                async for name, data, _ in stream:
                    size = len(orjson.dumps(data))
                    received, largest = received + size, max(largest, size)
                    if (
                        name == "rows"
                        and data["rows"][-1]["number"] == shown.service.history.number
                    ):
                        break
        assert received > 20 * largest
        assert runner.server is not None
        transports = [one.transport for one in runner.server.connections]
        buffered = [one.get_write_buffer_size() for one in transports if one is not None]
        assert 0 < max(buffered) < 4 * largest
        caught_up = b'"number":%d,' % shown.service.history.number
        async with asyncio.timeout(10):
            seen = b""
            while caught_up not in seen:
                seen = seen[-100:] + await reader.read(65536)


async def test_too_many_pages_are_told_so() -> None:
    """One page more than there may be gets an error, and a place once another is gone."""
    async with metered(1) as (shown, _), fast_events(shown) as runner:
        host, port = runner.addresses[0]
        url = f"http://{host}:{port}/api/events"
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            pages = [await session.get(url) for _ in range(MOST_PAGES)]
            async with session.get(url) as response:
                assert response.status == 503
                assert "64 pages are open already" in await response.text()
            for page in pages:
                page.close()

            async def has_room() -> bool:
                await send(shown)  # who is gone is found out at the next write
                async with session.get(url) as response:
                    return response.status == 200

            await until(has_room)


async def test_stopping_does_not_wait_for_open_pages() -> None:
    """The proxy is gone in less than a second although a page is open."""
    async with metered(0) as (shown, client), client.session.get("/api/events") as response:
        await anext(events(response))
        async with asyncio.timeout(5):
            await shown.service.stop()
            async for _ in events(response):
                pass


async def test_the_page_is_locked_down() -> None:
    """It may load and ask only what comes from here, and hands no text to a markup parser."""
    async with metered(0) as (_, client):
        async with client.session.get("/") as response:
            policy = response.headers["Content-Security-Policy"]
            html = await response.text()
            etag = response.headers["ETag"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "style=" not in html
        assert "<style" not in html
        assert " on" not in html.replace(" one", "").replace(" only", "")
        async with client.session.get("/", headers={"If-None-Match": etag}) as response:
            assert response.status == 304
            assert "Content-Security-Policy" in response.headers
