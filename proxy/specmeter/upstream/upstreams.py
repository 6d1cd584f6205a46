"""The upstreams: what is known of each, and which one serves a model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from fnmatch import fnmatchcase

from specmeter import config
from specmeter.backends import Backend, by_name, is_told_better
from specmeter.backends.injection import Habits, Injection
from specmeter.gateway.pool import Pool
from specmeter.reading import Speculation
from specmeter.upstream.drafting import Drafting, DraftingWatch
from specmeter.upstream.files import Files, read_files, tls_of
from specmeter.upstream.load import Load
from specmeter.upstream.shared_load import SharedLoad

OTHER_MODEL = "other"
"""The `model_name` of whatever is not on the list, so that clients mint no series."""

_TOLD = {
    Drafting.CONFIGURED: "configured; no completion has shown it yet",
    Drafting.DRAFTING: "drafting",
    Drafting.NO_CANDIDATE: "on, but nothing could be drafted in the last completions",
    Drafting.OFF: "off",
    Drafting.UNKNOWN: "unknown",
}

_log = logging.getLogger("specmeter")


class Upstream:
    """One server behind the proxy, and what its answers told of it.

    Args:
        settings: What the configuration says of it.
        loop: The loop it is used in.
        load: Where completions are counted if other processes send it some too.
        files: What the files say that the settings name, if they were read already.

    Raises:
        StartupError: One of these files cannot be used.
    """

    def __init__(
        self,
        settings: config.Upstream,
        loop: asyncio.AbstractEventLoop,
        load: SharedLoad | None = None,
        files: Files | None = None,
    ) -> None:
        self.settings = settings
        self.loop = loop
        self.name = settings.name
        self.method = settings.method
        """How it drafts, as the configuration says."""
        self.target = settings.target
        self.files = read_files(settings) if files is None else files
        self.tls = tls_of(settings, self.files)
        self.key = self.files.key
        """For specmeter's own requests; empty for none."""
        self.lent_key = self.key if settings.lend_key else ""
        """For requests of clients that bring none; empty for none."""
        self.keeps_keys = False
        """Whether the keys that clients bring are specmeter's own, and not for this server."""
        self.pool = Pool(
            loop,
            self.target,
            connect_seconds=settings.connect_seconds,
            keepalive_seconds=settings.keepalive_seconds,
            tls=self.tls,
        )
        self.configured: Backend | None = by_name(settings.backend)
        """Its kind if the configuration says it."""
        self.backend = self.configured
        """Its kind: as configured, else found out from its answers, else unknown."""
        self.build = ""
        """Its build as its last answer said; empty if unknown."""
        self._patterns = tuple(name for name in settings.models if is_pattern(name))
        self._named = frozenset(settings.models).difference(self._patterns)
        self.models = self._named
        """The model names that may be labels, as configured or as it lists them."""
        self.load: Load | SharedLoad = load or Load()
        """Completions that it works on."""
        self.drafting = DraftingWatch()
        self._drafting_told = self.drafting.state
        self.last_drafted: dict[str, float] = {}
        """By model label: when a completion last had something drafted (Unix time)."""
        self.up: bool | None = None
        """Whether it answered when last asked; `None` before the first time."""
        self.usage_unasked: bool | None = None
        """Whether its streams end with usage also where nobody asked; `None` if not yet known."""
        self.compresses = False
        """Whether it compresses although it is asked not to."""

    @property
    def kind(self) -> str:
        """The name of its kind; empty if unknown."""
        return self.backend.name if self.backend else ""

    @property
    def injection(self) -> Injection | None:
        """What its requests may be asked for in addition."""
        if self.backend is None or self.compresses or not self.settings.inject:
            return None
        return self.backend.injection

    @property
    def habits(self) -> Habits:
        """What a request is asked for depends on this."""
        settings = self.settings
        return Habits(settings.continuous_usage, self.usage_unasked, settings.meter_cancelled)

    def ask_no_more(self) -> None:
        """Add nothing to requests any more: it cannot be taken out of compressed answers."""
        if self.compresses:
            return
        self.compresses = True
        _log.warning(
            "upstream %s compresses answers although it is asked not to: they cannot be read, and "
            "from now on nothing is added to its requests. Turn its compression off, also in what "
            "stands in front of it, and restart specmeter",
            self.name,
        )

    def learn(self, backend: Backend | None, build: str | None) -> None:
        """Remember what an answer told of the server's kind and build."""
        if backend and self.configured is None and is_told_better(self.backend, backend):
            _log.info("upstream %s is %s", self.name, backend.name)
            self.backend = backend
            self.usage_unasked = None
        if build and build != self.build:
            self.build = build

    def saw(self, speculation: Speculation, model_name: str, finished_at: float) -> None:
        """Take note of a completion's drafting."""
        self.drafting.saw(speculation)
        if speculation is Speculation.DRAFTED:
            self.last_drafted[model_name] = finished_at
        self._tell_drafting()

    def tell_configured(self, configured: bool) -> None:
        """Take note of what the server says about its own speculation."""
        self.drafting.configured = configured
        self._tell_drafting()

    def _tell_drafting(self) -> None:
        """Log what is known of its speculation, if that has changed."""
        if (state := self.drafting.state) is not self._drafting_told:
            self._drafting_told = state
            _log.info("upstream %s: speculation is %s", self.name, _TOLD[state])

    @property
    def lists_models(self) -> bool:
        """Whether what it lists decides on labels, and not the configuration alone."""
        return bool(self._patterns) or not self.settings.models

    def list_models(self, names: Sequence[str]) -> None:
        """Take note of the models it lists."""
        if not self.settings.models:
            self.models = frozenset(names)
        elif self._patterns:
            self.models = self._named.union(name for name in names if self.serves(name))

    def serves(self, model: str) -> bool:
        """Whether requests for a model go here."""
        return model in self.models or any(fnmatchcase(model, one) for one in self._patterns)

    def label_of(self, model: str | None) -> str:
        """Return the `model_name` label of a model.

        An answer that names none belongs to the only model, if there is only one.
        """
        if model in self.models:
            return model or OTHER_MODEL
        if model is None and len(self.models) == 1:
            return next(iter(self.models))
        return OTHER_MODEL


def is_pattern(model: str) -> bool:
    """Whether an entry of `models` is a pattern of names: with `*`, `?` or `[`."""
    return any(mark in model for mark in "*?[")


class Upstreams:
    """All upstreams, in the order of the configuration (at least one)."""

    def __init__(self, upstreams: Sequence[Upstream]) -> None:
        self.all = tuple(upstreams)
        plain = {one.settings.plain for one in self.all}
        self.routed = tuple(one for one in self.all if one.name not in plain or one.settings.models)
        """Those that clients' requests go to: not the ones that only others compare with."""
        self.first = self.routed[0]

    @property
    def route_by_model(self) -> bool:
        """Whether a request's model decides where it goes."""
        return len(self.routed) > 1

    def named(self, name: str) -> Upstream:
        """Return the upstream of that name.

        Raises:
            KeyError: There is none.
        """
        found = {one.name: one for one in self.all}
        return found[name]

    def serving(self, model: str | None) -> Upstream | None:
        """Return the upstream that serves a model, the first one for a request without."""
        if model is None or not self.route_by_model:
            return self.first
        return next((one for one in self.routed if one.serves(model)), None)

    def models(self) -> list[str]:
        """Return every known model name."""
        return sorted({model for one in self.routed for model in one.models})

    def close(self) -> None:
        """Close all idle connections."""
        for one in self.all:
            one.pool.close()
