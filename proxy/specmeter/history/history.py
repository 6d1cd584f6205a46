"""The past of all models, and their latest completions."""

from __future__ import annotations

from collections import OrderedDict, deque
from itertools import islice

import msgspec

from specmeter.history.names import short
from specmeter.history.timeline import Timeline
from specmeter.meter.completion import Completion

MOST_MODELS = 24
"""Models with a past: the one seen longest ago makes room for a new one."""

LATEST = 500
"""Completions that are listed one by one."""


class Model(msgspec.Struct, frozen=True, order=True):
    """Upstream and model name, cut to what is shown."""

    upstream: str
    name: str


class Missed(msgspec.Struct, frozen=True):
    """A request for a completion of which nothing could be metered."""

    upstream: str
    endpoint: str
    code: int
    """The HTTP status that its client got."""
    reason: str
    finished_at: float
    """Unix time."""


class Row(msgspec.Struct, frozen=True):
    """One of the latest, numbered from 1 in the order in which they ended."""

    number: int
    what: Completion | Missed


class History:
    """Bounded in time, models and completions."""

    def __init__(self) -> None:
        self._models: OrderedDict[Model, Timeline] = OrderedDict()
        self._latest: deque[Completion | Missed] = deque(maxlen=LATEST)
        self.last_completion: dict[Model, float] = {}
        """Unix time."""
        self.missed: dict[tuple[str, str], int] = {}
        """Requests of which nothing could be metered, by upstream and reason."""
        self.number = 0
        """Of the latest row: whatever happens raises it."""

    def take(self, completion: Completion) -> None:
        """Add a completion."""
        model = Model(completion.upstream, short(completion.model_name))
        timeline = self._models.get(model)
        if timeline is None:
            timeline = self._models[model] = Timeline()
            while len(self._models) > MOST_MODELS:
                gone, _ = self._models.popitem(last=False)
                self.last_completion.pop(gone, None)
        else:
            self._models.move_to_end(model)
        at = completion.finished_at
        timeline.add(at, completion.place, completion.numbers)
        self.last_completion[model] = at
        self._list(completion)

    def miss(self, missed: Missed) -> None:
        """Add a request of which nothing could be metered."""
        key = (missed.upstream, missed.reason)
        self.missed[key] = self.missed.get(key, 0) + 1
        self._list(missed)

    @property
    def models(self) -> list[Model]:
        """Those with a past."""
        return sorted(self._models)

    def of(self, model: Model) -> Timeline | None:
        """Return a model's past; `None` if it has none."""
        return self._models.get(model)

    def after(self, number: int) -> list[Row]:
        """Return the rows after that number, oldest first; those that are gone are missing."""
        first = max(number, self.number - len(self._latest)) + 1
        news = range(first, self.number + 1)
        return list(map(Row, news, islice(self._latest, len(self._latest) - len(news), None)))

    def _list(self, what: Completion | Missed) -> None:
        self.number += 1
        self._latest.append(what)
