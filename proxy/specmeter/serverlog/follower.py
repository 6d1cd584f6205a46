"""Follows an upstream's log while serving, for what its answers do not say.

Polling, because that works on every file system, and a log that is a quarter of a second late
does no harm.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO

from specmeter.serverlog.entry import Entry
from specmeter.serverlog.evidence import Sign
from specmeter.serverlog.matching import Logged
from specmeter.serverlog.ollama import SERVER as OLLAMA_MLX
from specmeter.serverlog.reader import LogReader

POLL_SECONDS = 0.25
_PIECE_BYTES = 256 * 1024

_log = logging.getLogger("specmeter")


class LogFile:
    """A growing file: gives out what is new, across rotation and truncation.

    It begins at the file's end; a file that appears later is read from its start.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._looked = False
        """Whether the file was looked for: one that was there before is not read from its start."""

    def read(self) -> bytes:
        """Return the next new bytes, empty if there are none now.

        Raises:
            OSError: The file cannot be opened or read, other than that it is not there.
        """
        file = self._file or self._open()
        data = file.read(_PIECE_BYTES) if file is not None else b""
        if file is None or data or not self._was_replaced(file):
            return data
        self.close()
        replacement = self._open()
        return replacement.read(_PIECE_BYTES) if replacement is not None else b""

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> BinaryIO | None:
        was_looked_for, self._looked = self._looked, True
        try:
            self._file = file = self._path.open("rb")
        except FileNotFoundError:
            return None
        if not was_looked_for:
            file.seek(0, os.SEEK_END)
        return file

    def _was_replaced(self, file: BinaryIO) -> bool:
        """Whether the path leads to another file now, or this one was cut."""
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False  # moved away; the new one has yet to come
        here = os.fstat(file.fileno())
        if (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino):
            return True
        return here.st_size < file.tell()


class LogFollower:
    """Reads one upstream's log and hands on what it says of each request.

    Args:
        name: The upstream's, for messages.
        path: Of the log.
        on_logged: Gets each request; must not raise.
        on_tick: Called at each look, so that what waits for lines can be let go.
        on_configured: Gets whether the server's start-up lines say that it speculates.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        on_logged: Callable[[Logged], None],
        on_tick: Callable[[], None],
        on_configured: Callable[[bool], None],
    ) -> None:
        self._name = name
        self._path = path
        self._on_logged = on_logged
        self._on_tick = on_tick
        self._on_configured = on_configured
        self._file = LogFile(path)
        self._reader = LogReader()
        self._is_told = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to follow."""
        self._look()
        self._task = asyncio.create_task(self._go_on(), name=f"specmeter-log-{self._name}")

    async def stop(self) -> None:
        """Look once more, and stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._look()
        self._file.close()

    async def _go_on(self) -> None:
        while True:  # noqa: ASYNC110 - a file tells nobody that it has grown
            await asyncio.sleep(0 if self._look() else POLL_SECONDS)

    def _look(self) -> bool:
        """Take one piece of what is new; return whether there may be more."""
        try:
            data = self._file.read()
        except OSError as error:
            if not self._is_told:
                self._is_told = True
                reason = (error.strerror or str(error)).lower()
                _log.warning(
                    "upstream %s: log %s cannot be read: %s. Until it can, answers alone count",
                    self._name,
                    self._path,
                    reason,
                )
            data = b""
        for entry in self._reader.feed(data):
            if not entry.is_window:
                self._on_logged(logged(entry))
        if data and (configured := _configured(self._reader.evidence.signs)) is not None:
            self._on_configured(configured)
        self._on_tick()
        return bool(data)


def _configured(signs: Collection[Sign]) -> bool | None:
    if Sign.ENABLED in signs:
        return True
    return False if {Sign.DISABLED, Sign.NO_IMPLEMENTATION} & set(signs) else None


def logged(entry: Entry) -> Logged:
    """Return what matters of a log's record."""
    return Logged(
        reading=entry.reading,
        prompt_processed=entry.prompt_processed,
        is_derived=entry.server == OLLAMA_MLX and entry.steps is not None,
    )
