"""What live baselines have learned, in one small file that outlives a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from specmeter.atomic_file import replace_file
from specmeter.speedup.baseline import Origin, Source
from specmeter.speedup.learned import Learned


class Entry(msgspec.Struct, frozen=True):
    """What one live source has learned for one model."""

    upstream: str
    model_name: str
    source: Source
    origin: Origin
    learned: Learned


class Learnings(msgspec.Struct, frozen=True):
    """The file."""

    version: Literal[1] = 1
    entries: tuple[Entry, ...] = ()


def encode(learnings: Learnings) -> bytes:
    """Return the content of the file."""
    return msgspec.json.encode(learnings)


def decode(content: bytes) -> Learnings:
    """Read the content of the file.

    Raises:
        msgspec.DecodeError: It is not such a file, or its numbers cannot be true.
    """
    learnings = msgspec.json.decode(content, type=Learnings)
    for entry in learnings.entries:
        if not entry.learned.is_sound:
            raise msgspec.ValidationError(f"the numbers of {entry.upstream} cannot be true")
    return learnings


class Store:
    """The file that learned baselines are kept in. Both methods block: call them from a thread.

    Args:
        path: Of the file; its folder has to exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> tuple[Learnings, str]:
        """Read the file.

        Returns:
            What it holds, and an empty text. If it cannot be read: nothing, and a warning that
            says why; a file that can be read but not understood is put aside. If there is no file:
            nothing, and no warning.
        """
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return Learnings(), ""
        except OSError as error:
            return Learnings(), (
                f"learned baselines {self._path} cannot be read: {_reason(error)}. "
                "Learning starts anew"
            )
        try:
            return decode(content), ""
        except msgspec.DecodeError as error:
            return Learnings(), (
                f"learned baselines {self._path} cannot be understood: {error}. "
                f"Learning starts anew; {self._put_aside()}"
            )

    def save(self, content: bytes) -> str:
        """Replace the file in one go, so that whoever reads it finds the former or the new one.

        Returns:
            An empty text, or why it cannot be written; then the former file is still there.
        """
        try:
            replace_file(self._path, content)
        except OSError as error:
            return (
                f"learned baselines {self._path} cannot be written: {_reason(error)}. "
                "Make room or give leave there, or set state_file elsewhere. "
                "After a restart learning goes on from the last ones that could be written"
            )
        return ""

    def _put_aside(self) -> str:
        aside = self._path.with_name(self._path.name + ".bad")
        try:
            self._path.replace(aside)
        except OSError as error:
            return f"it cannot be put aside either: {_reason(error)}"
        return f"the file is now {aside.name}"


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
