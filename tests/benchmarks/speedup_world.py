"""A server that drafts, a plain one, and requests: what an estimate of speedup has to stand.

A target step reads the weights once, which takes `step` seconds and a little more for each other
request in flight, and the caches of all requests in flight; each drafted token takes `draft`
seconds. Every completion is off by log-normal noise, as far as real ones are: the slowest of five
repeats took 1.26 times as long as the fastest. Requests differ in how well they can be drafted:
the speedup of one of them varies by 22 %, as was measured on a real server that drafts by n-grams,
with mixed prompts. Long answers are drafted a little better than short ones, which are
also those in which the drafter more often finds nothing.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

DRAFT_LENGTH = 3
LOADS = (1, 1, 2, 2, 3, 4, 6)
"""Requests in flight on a server, each as likely."""

_TYPICAL_TOKENS = 5.0
"""Mean of the logarithm."""
_GENERATED_BESIDE = 150.0
_POOL = 20_000
_CACHE = 32000.0
"""So many tokens take as long to read as the weights: of eight billion in four bits, about."""
_DRAWN_FOR_THE_TRUTH = 200_000


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for, what else the server works on, and how well it can be drafted."""

    context: float
    tokens: int
    """Decoded after the first one."""
    in_flight: int
    beside: float
    """Tokens in the caches of the other requests in flight."""
    acceptance: float
    """Of a drafted token whose predecessors were accepted; 0 if nothing is drafted."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Both servers; seconds per step and per drafted token at an empty cache and no other load."""

    step: float = 0.02
    draft: float = 0.0024
    crowd: float = 0.04
    """What another request in flight adds to a step (relative), more and more."""
    undrafted: float = 0.0
    """Share of requests in which the drafter finds nothing, about."""
    spread: float = 0.6
    """Standard deviation of the acceptance's log odds between requests."""
    lengths: float = 0.8
    """Standard deviation of the output length's logarithm."""
    slowdown: float = 1.0
    """Factor on the time of requests with drafts, to get the speedup that is wanted."""

    def request(self, draw: Random, in_flight: int) -> Request:
        """Draw a request: contexts of 16 to 60 000 tokens, outputs of 8 to 4000."""
        above = draw.gauss(0, 1)
        generated = round(min(max(math.exp(_TYPICAL_TOKENS + self.lengths * above), 8), 4000))
        acceptance = _logistic(0.4 + 0.2 * above + draw.gauss(0, self.spread))
        if self.undrafted and draw.random() < self.undrafted * math.exp(-0.5 * above - 0.125):
            acceptance = 0.0
        return Request(
            context=_prompt(draw) + generated / 2,
            tokens=generated - 1,
            in_flight=in_flight,
            beside=_beside(draw, in_flight),
            acceptance=acceptance,
        )

    def elsewhere(self, request: Request, in_flight: int, draw: Random) -> Request:
        """Return the same request on a server that is busy with others."""
        return replace(request, in_flight=in_flight, beside=_beside(draw, in_flight))

    def crowded(self, in_flight: int) -> float:
        """How much longer a step takes with so many requests in flight, caches left out."""
        return 1 + self.crowd * math.pow(in_flight - 1, 1.3)

    def plain_token(self, context: float, in_flight: int, beside: float) -> float:
        """Seconds per token of the plain server, before noise."""
        return self.step * (self.crowded(in_flight) + (context + beside) / _CACHE)

    def plain_seconds(self, request: Request) -> float:
        """What a request takes on the plain server, before noise."""
        per_token = self.plain_token(request.context, request.in_flight, request.beside)
        return request.tokens * per_token

    def spent_seconds(self, request: Request, draw: Random) -> float:
        """What a request takes on the server that drafts, before noise."""
        p = request.acceptance
        if not p:
            return self.plain_seconds(request)
        per_step = 1 + p + p * p + p**3
        luck = math.exp(draw.gauss(0, 0.5 * math.sqrt(per_step / request.tokens)))
        steps = max(request.tokens / (per_step * luck), request.tokens / (DRAFT_LENGTH + 1))
        step = self.plain_token(request.context, request.in_flight, request.beside)
        drafts = DRAFT_LENGTH * self.draft * self.crowded(request.in_flight)
        return self.slowdown * steps * (step + drafts)

    def mean_plain_token(self) -> float:
        """Seconds per token of the plain server, over all requests there may be, before noise."""
        return _totals(self).plain / _totals(self).tokens

    def with_speedup(self, wanted: float) -> "Servers":
        """Return servers whose true speedup, over all requests there may be, is this."""
        now = _totals(self)
        return replace(self, slowdown=(now.plain / wanted - now.undrafted) / now.drafted)


@dataclass
class _Totals:
    """Of all requests there may be, without slowdown."""

    tokens: float = 0.0
    plain: float = 0.0
    drafted: float = 0.0
    """Seconds spent on requests with drafts."""
    undrafted: float = 0.0


def _totals(servers: Servers) -> _Totals:
    return _totals_without_slowdown(replace(servers, slowdown=1.0))


@lru_cache
def _totals_without_slowdown(servers: Servers) -> _Totals:
    draw = Random(20260101)
    totals = _Totals()
    for _ in range(_DRAWN_FOR_THE_TRUTH):
        request = servers.request(draw, draw.choice(LOADS))
        totals.tokens += request.tokens
        totals.plain += servers.plain_seconds(request)
        spent = servers.spent_seconds(request, draw)
        if request.acceptance:
            totals.drafted += spent
        else:
            totals.undrafted += spent
    return totals


def _prompt(draw: Random) -> float:
    return min(max(math.exp(draw.gauss(6.9, 1.3)), 16), 60000)


def _beside(draw: Random, in_flight: int) -> float:
    """Draw what the other requests in flight have in the cache, each place taken by two in turn."""
    pool = _contexts_in_flight()
    return sum(pool[int(draw.random() * len(pool))] for _ in range(2 * (in_flight - 1))) / 2


@lru_cache
def _contexts_in_flight() -> list[float]:
    """Draw contexts that are in flight at a moment: long ones are, as they take longer, more."""
    draw = Random(20260102)
    contexts = [_prompt(draw) + _GENERATED_BESIDE for _ in range(_POOL)]
    return draw.choices(contexts, [1 + context / _CACHE for context in contexts], k=_POOL)


def _logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))
