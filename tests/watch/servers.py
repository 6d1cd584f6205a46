"""A real Prometheus and a real Alertmanager, and who they tell."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import yaml
from aiohttp import web

from config.generate.files import THRESHOLDS, rule_files
from config.generate.thresholds import load
from tests.ports import free_port
from tests.programs import REPOSITORY, program
from tests.real.proxy import until

_START_SECONDS = 20.0

QUICK: dict[str, Any] = {
    "rules_every": "1s",
    "slow_rules_every": "2s",
    "slower_for": "2s",
    "slower_keep": "1s",
    "speedup_completions": 6,
    "upstream_down_for": "1s",
}
"""The test's thresholds, where they are not the real ones: the rules are the real ones."""


@dataclass
class Webhook:
    """What Alertmanager has sent."""

    url: str = ""
    alerts: list[dict[str, Any]] = field(default_factory=list)
    """In the order in which they came, each time anew."""

    def seen(self, alertname: str, status: str, **labels: str) -> list[dict[str, Any]]:
        """Return the messages on an alert with these labels."""
        wanted = {"alertname": alertname, **labels}
        return [
            alert
            for alert in self.alerts
            if alert["status"] == status and wanted.items() <= alert["labels"].items()
        ]


@asynccontextmanager
async def running_webhook() -> AsyncIterator[Webhook]:
    """Listen for Alertmanager."""
    webhook = Webhook()

    async def take(request: web.Request) -> web.Response:
        webhook.alerts += (await request.json())["alerts"]
        return web.Response()

    app = web.Application()
    app.router.add_post("/", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port := free_port())
    await site.start()
    webhook.url = f"http://127.0.0.1:{port}/"
    try:
        yield webhook
    finally:
        await runner.cleanup()


@asynccontextmanager
async def running_alertmanager(folder: Path, webhook: Webhook) -> AsyncIterator[str]:
    """Run Alertmanager with the repository's configuration, at once and with a receiver.

    Args:
        folder: Where its files go.
        webhook: Is told everything.
    """
    config = yaml.safe_load((REPOSITORY / "config/alertmanager/alertmanager.yml").read_text())
    told = [{"url": webhook.url, "send_resolved": True}]
    config["receivers"] = [{**one, "webhook_configs": told} for one in config["receivers"]]
    config["route"] |= {"group_wait": "0s", "group_interval": "1s"}
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    arguments = (
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    )
    async with _running("prometheus-alertmanager", arguments, folder, f"http://{address}"):
        yield address


@asynccontextmanager
async def running_prometheus(
    folder: Path, proxies: list[str], alertmanager: str | None = None, every: str = "1s"
) -> AsyncIterator[str]:
    """Run Prometheus with the repository's rules, and give its address.

    Args:
        folder: Where its files go.
        proxies: Host and port of what it scrapes.
        alertmanager: Host and port; `None` for none.
        every: How often it scrapes.
    """
    rules = folder / "rules"
    rules.mkdir()
    for name, text in rule_files(msgspec.structs.replace(load(THRESHOLDS), **QUICK)).items():
        (rules / name).write_text(text)
    config = yaml.safe_load((REPOSITORY / "config/prometheus/prometheus.yml").read_text())
    config["global"] |= {"scrape_interval": every, "scrape_timeout": every}
    config["scrape_configs"] = [
        {**one, "static_configs": [{"targets": proxies}]}
        for one in config["scrape_configs"]
        if one["job_name"] == "specmeter"
    ]
    config["alerting"]["alertmanagers"] = (
        [{"static_configs": [{"targets": [alertmanager]}]}] if alertmanager else []
    )
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    url = f"http://127.0.0.1:{free_port()}"
    arguments = (
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={url.removeprefix('http://')}",
        "--rules.alert.resend-delay=1s",
        "--log.level=warn",
    )
    async with _running("prometheus", arguments, folder, url):
        yield url


@asynccontextmanager
async def _running(
    name: str, arguments: tuple[str, ...], folder: Path, url: str
) -> AsyncIterator[None]:
    with (folder / f"{name}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program(name), *arguments, stdout=log, stderr=log
        )
    try:
        async with aiohttp.ClientSession() as client:

            async def ready() -> bool:
                if process.returncode is not None:
                    said = (folder / f"{name}.log").read_text()
                    raise RuntimeError(f"{name} ended with {process.returncode}: {said}")
                try:
                    async with client.get(f"{url}/-/ready") as response:
                        return response.status == 200
                except aiohttp.ClientError:
                    return False

            await until(ready, _START_SECONDS)
        yield
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
