"""KoboldCpp tells of drafting on a page of its own, and only of the last generation."""

from __future__ import annotations

import logging

import aiohttp
import msgspec
import orjson

from specmeter.backends.koboldcpp import PERF_PATH, KoboldCpp, read_perf
from specmeter.reading import Reading, check
from specmeter.upstream.probe import Probe
from specmeter.upstream.upstreams import Upstream

_log = logging.getLogger("specmeter")


class SidePages:
    """Asks for the page after an answer, and says whether it speaks of that answer.

    It does if exactly one generation ended since the page was last seen, and it counts the same
    tokens. With several at a time it mostly does not, and the answer stands alone.
    """

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._generations: dict[str, int] = {}
        """By upstream: how many had ended when its page was last seen."""

    def has_one(self, upstream: Upstream) -> bool:
        """Whether this server has such a page."""
        return isinstance(upstream.backend, KoboldCpp)

    async def complete(self, upstream: Upstream, reading: Reading) -> Reading:
        """Return the reading with what the page adds; as it is if the page does not fit."""
        try:
            page = orjson.loads(await self._probe.fetch(upstream, PERF_PATH))
        except (aiohttp.ClientError, OSError, TimeoutError, orjson.JSONDecodeError) as error:
            kind = type(error).__name__
            _log.debug("upstream %s: %s cannot be read: %s", upstream.name, PERF_PATH, kind)
            return reading
        if not isinstance(page, dict) or type(count := page.get("total_gens")) is not int:
            return reading
        before = self._generations.get(upstream.name)
        self._generations[upstream.name] = count
        raw = read_perf(page)
        if raw is None or before is None or count != before + 1:
            return reading
        told = check(raw)
        if told.generated is None or told.generated != reading.generated:
            return reading
        return msgspec.structs.replace(
            reading,
            drafted=told.drafted,
            accepted=told.accepted,
            decode_seconds=told.decode_seconds or reading.decode_seconds,
            clock=told.clock or reading.clock,
            inconsistencies=(*reading.inconsistencies, *told.inconsistencies),
        )
