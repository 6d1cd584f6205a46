"""A server that drafts, a plain one, and traffic: what an estimate of speedup has to stand.

A target step takes `step` seconds, more with each token in the cache, and each drafted token
`draft` seconds; both grow with the load. Every completion is off by log-normal noise, as far as
real ones are: the slowest of five repeats took 1.26 times as long as the fastest. Requests differ
in how well they can be drafted: the speedup of one of them varies by 0.24, where 0.22 was measured
on a real server that drafts by n-grams, with mixed prompts.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

NOISE = math.log(1.26) / 2.326
"""Five draws of a normal distribution span 2.326 standard deviations on average."""

HOUR = 3600.0
DAY = 24 * HOUR
DRAFT_LENGTH = 3

Drift = Callable[[float], float]
"""How slow the machine is at a time (seconds), relative to its usual speed."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for, and how well it can be drafted."""

    context: float
    tokens: int
    """Decoded after the first one."""
    in_flight: int
    acceptance: float
    """Of a drafted token whose predecessors were accepted; 0 if nothing is drafted."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Both servers; seconds per step and per drafted token at an empty cache and no other load."""

    step: float = 0.02
    draft: float = 0.0024
    undrafted: float = 0.0
    """Share of requests in which the drafter finds nothing."""
    spread: float = 0.6
    """Standard deviation of the acceptance's log odds between requests."""
    lengths: float = 0.8
    """Standard deviation of the output length's logarithm."""
    slowdown: float = 1.0
    """Factor on the time of requests with drafts, to get the speedup that is wanted."""

    def request(self, draw: Random) -> Request:
        """Draw a request: contexts of 16 to 60 000 tokens, outputs of 8 to 4000."""
        generated = round(min(max(math.exp(draw.gauss(5.0, self.lengths)), 8), 4000))
        prompt = min(max(math.exp(draw.gauss(6.9, 1.3)), 16), 60000)
        acceptance = 1 / (1 + math.exp(-draw.gauss(0.4, self.spread)))
        if self.undrafted and draw.random() < self.undrafted:
            acceptance = 0.0
        return Request(prompt + generated / 2, generated - 1, draw.choice((1, 2, 4)), acceptance)

    def plain_token(self, context: float, in_flight: int) -> float:
        """Seconds per token of the plain server, before noise."""
        return self.step * (1 + context / 16000) * (0.9 + 0.1 * in_flight)

    def plain_seconds(self, request: Request) -> float:
        """What a request takes on the plain server, before noise."""
        return request.tokens * self.plain_token(request.context, request.in_flight)

    def spent_seconds(self, request: Request, draw: Random) -> float:
        """What a request takes on the server that drafts, before noise."""
        p = request.acceptance
        if not p:
            return self.plain_seconds(request)
        per_step = 1 + p + p * p + p**3
        luck = math.exp(draw.gauss(0, 0.5 * math.sqrt(per_step / request.tokens)))
        steps = max(request.tokens / (per_step * luck), request.tokens / (DRAFT_LENGTH + 1))
        step = self.plain_token(request.context, request.in_flight)
        drafts = DRAFT_LENGTH * self.draft * (0.9 + 0.1 * request.in_flight)
        return self.slowdown * steps * (step + drafts)

    def mean_plain_token(self) -> float:
        """Seconds per token of the plain server, over all requests there may be, before noise."""
        return _mean_plain_token(self)

    def with_speedup(self, wanted: float) -> "Servers":
        """Return servers whose true speedup, over all requests there may be, is this."""
        draw = Random(20260101)
        plain = drafted = undrafted = 0.0
        for _ in range(100_000):
            request = self.request(draw)
            plain += self.plain_seconds(request)
            spent = self.spent_seconds(request, draw)
            if request.acceptance:
                drafted += spent
            else:
                undrafted += spent
        return replace(self, slowdown=self.slowdown * (plain / wanted - undrafted) / drafted)


@lru_cache
def _mean_plain_token(servers: Servers) -> float:
    draw = Random(20260102)
    requests = [servers.request(draw) for _ in range(100_000)]
    seconds = sum(servers.plain_seconds(request) for request in requests)
    return seconds / sum(request.tokens for request in requests)


def noise(draw: Random) -> float:
    """Return a factor of mean 1."""
    return math.exp(draw.gauss(-NOISE * NOISE / 2, NOISE))


def steady(_draw: Random) -> Drift:
    """Return no drift."""
    return lambda _at: 1.0


def daily(draw: Random) -> Drift:
    """Return ±10 % over the day, from a random phase."""
    phase = draw.uniform(0, 2 * math.pi)
    return lambda at: 1 + 0.1 * math.sin(2 * math.pi * at / DAY + phase)


def sudden(draw: Random) -> Drift:
    """Return 10 % up or down, at some time of the second half of the first day or after it."""
    when = draw.uniform(0.5 * DAY, 1.5 * DAY)
    before, after = draw.choice(((1.0, 1.1), (1.1, 1.0)))
    return lambda at: before if at < when else after


DRIFTS: dict[str, Callable[[Random], Drift]] = {
    "none": steady,
    "±10 % daily": daily,
    "10 % at once": sudden,
}
