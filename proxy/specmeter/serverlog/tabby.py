"""TabbyAPI: one line a request.

    Metrics (ID: 3f…): 50 tokens generated in 1.2 seconds (Queue: 0.0 s, Process: 900 cached tokens
    and 100 new tokens at 500.0 T/s, Generate: 41.7 T/s, Context: 1000 tokens, Draft: 40 / 48 tokens
    accepted (83.33%))

The draft part is there since June 2026, and only with a drafter. The time is that of the whole
request, so decode seconds are unknown.
"""

from __future__ import annotations

import re

from specmeter.serverlog.continued import Continued
from specmeter.serverlog.entry import Entry, Found
from specmeter.serverlog.lines import Origin, shown
from specmeter.serverlog.numbers import number, printed

SERVER = "TabbyAPI"

_HEAD = re.compile(rb"\(ID: ([^)\s]*)\): +(\S+) +tokens +generated +in +\S+ +seconds")
_PROMPT = re.compile(rb"(\S+) +cached +tokens +and +(\S+) +new +tokens")
_DRAFT = re.compile(rb"Draft: +(\S+) +/ +(\S+) +tokens +accepted(?: +\(([^)%\s]+)%\))?")
_PER_CENT = 0.01


class Tabby:
    """Reads blocks of lines, and gives out a record a request."""

    def __init__(self) -> None:
        self.unreadable = 0
        """Records without their numbers."""
        self._records = Continued(b"Metrics (ID:", _is_complete)

    def read(self, block: bytes) -> list[tuple[int, Entry]]:
        """Return the requests that end in this block, each with its position."""
        found = ((at, self._entry(where, text)) for at, where, text in self._records.read(block))
        return [(at, entry) for at, entry in found if entry is not None]

    def close(self) -> list[Entry]:
        """Return a request whose last line was not known to be it."""
        found = (self._entry(where, text) for where, text in self._records.close())
        return [entry for entry in found if entry is not None]

    def _entry(self, where: Origin, text: bytes) -> Entry | None:
        head, draft, prompt = _HEAD.search(text), _DRAFT.search(text), _PROMPT.search(text)
        if head is None or (draft is None and b"Draft:" in text):
            self.unreadable += 1
        if head is None:
            return None
        return Found(
            server=SERVER,
            origin=where,
            request=shown(head[1]),
            generated=number(head[2]),
            prompt_processed=number(prompt[2]) if prompt else None,
            accepted=number(draft[1]) if draft else None,
            drafted=number(draft[2]) if draft else None,
            ratio=printed(draft[3], _PER_CENT) if draft else None,
        ).entry()


def _is_complete(text: bytes) -> bool:
    """Tell whether every bracket behind the head is closed."""
    details = text.partition(b" seconds ")[2]
    return bool(details) and details.count(b"(") <= details.count(b")")
