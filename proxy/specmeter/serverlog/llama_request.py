"""What llama.cpp's lines have said so far of a request that has not ended."""

from __future__ import annotations

from functools import lru_cache

from specmeter.serverlog.entry import Entry, Found
from specmeter.serverlog.lines import Origin
from specmeter.serverlog.numbers import Printed, milliseconds, number, printed, ratios

Tokens = tuple[bytes | None, ...]
"""Numbers of one line, as they stand there."""

_LONGEST_DRAFT = 4096


class Trace:
    """The rounds of a request, which `LLAMA_TRACE=1` prints one by one."""

    def __init__(self) -> None:
        self.rounds = 0
        self.drafted = 0
        self.accepted = 0
        self.counts: list[int] = []

    def add(self, accepted: int, drafted: int) -> None:
        """Count one round."""
        self.rounds += 1
        self.drafted += drafted
        self.accepted += accepted
        self.counts += [0] * (accepted - len(self.counts))
        for position in range(accepted):
            self.counts[position] += 1


class Request:
    """A request of one slot. Each line's numbers are kept as text until it ends."""

    __slots__ = (
        "_debug",
        "_trace",
        "draft",
        "eval",
        "is_damaged",
        "is_old",
        "is_replayed",
        "origin",
        "positions",
        "prompt",
        "slot",
        "task",
    )

    def __init__(self, origin: Origin, slot: bytes | None, task: bytes | None) -> None:
        self.origin = origin
        self.slot = slot
        self.task = task
        self.prompt: Tokens | None = None
        """Milliseconds, tokens."""
        self.eval: Tokens | None = None
        """Milliseconds, tokens."""
        self.draft: Tokens | None = None
        """Ratio, accepted, drafted, mean length, rates."""
        self.positions: bytes | None = None
        self.is_damaged = False
        """Whether its draft line cannot be read."""
        self.is_old = False
        """Whether its lines came without a head of their own."""
        self.is_replayed = False
        """Whether a round ran twice, with a shorter draft the second time."""
        self._trace: Trace | None = None
        self._debug: Trace | None = None

    @property
    def is_timed(self) -> bool:
        """Whether a line of the end of a request was seen."""
        return self.eval is not None or self.prompt is not None or self.draft is not None

    def is_taken(self, name: str, tokens: Tokens, origin: Origin) -> bool:
        """Tell whether a line's numbers must be another request's: this one has such a line.

        The same line once more, with the same time, only came twice.
        """
        known = getattr(self, name)
        if known is None:
            return name == "prompt" and self.is_timed
        return bool(known != tokens) or origin.time is None

    def add_round(self, accepted: bytes, drafted: bytes, rest: bytes) -> bool:
        """Take in a round's line; tell whether it could be read.

        The debug log prints each round a second time, with the number of tokens behind it.
        """
        if b"restore checkpoint" in rest:
            self.is_replayed = True
            return True
        right, guesses = number(accepted), number(drafted)
        if type(right) is not int or type(guesses) is not int:
            return False
        if not 0 <= right <= guesses <= _LONGEST_DRAFT:
            return False
        if b"new n_tokens" in rest:
            self._debug = self._debug or Trace()
            self._debug.add(right, guesses)
        else:
            self._trace = self._trace or Trace()
            self._trace.add(right, guesses)
        return True

    def entry(self, server: str, *, reports_drafts: bool) -> Entry | None:
        """Make the record.

        Args:
            server: The kind of server.
            reports_drafts: Whether a missing draft line means that nothing was drafted.

        Returns:
            `None` if nothing is known of the request but that it was there.
        """
        trace = self._trace or self._debug
        if not self.is_timed and (trace is None or self.is_replayed):
            return None
        found = Found(server=server, origin=self.origin)
        if self.slot is not None and self.task is not None:
            found.slot, found.task = int(self.slot), int(self.task)
        if self.prompt is not None:
            found.prompt_processed = number(self.prompt[1])
        if self.eval is not None:
            found.decode_milliseconds = milliseconds(self.eval[0])
            found.generated = number(self.eval[1])
        if self.draft is not None:
            ratio, accepted, drafted, mean, rates = self.draft
            found.accepted, found.drafted = number(accepted), number(drafted)
            found.ratio, found.mean = printed(ratio), mean_length(mean)
            found.rates = ratios(rates or self.positions)
            if trace is not None and trace.accepted == found.accepted:
                found.rounds, found.counts = trace.rounds, trace.counts
        elif trace is not None and not self.is_replayed:
            found.accepted, found.drafted = trace.accepted, trace.drafted
            found.rounds, found.counts = trace.rounds, trace.counts
        elif reports_drafts and trace is None and not self.is_damaged:
            found.accepted = found.drafted = 0
        return found.entry()


def whole(server: str, origin: Origin, groups: Tokens, *, reports_drafts: bool) -> Entry:
    """Make the record of a request whose lines stand together and end it.

    Args:
        server: The kind of server.
        origin: Where the first line comes from.
        groups: Slot and task; a mark; the prompt's milliseconds and tokens; the decoding's; of the
            draft line, `None` if there is none, the ratio, accepted and drafted tokens, the mean
            length and the rates of the positions; these once more, of the line behind it.
        reports_drafts: Whether a missing draft line means that nothing was drafted.
    """
    slot, task, _, _, prompt, time, tokens = groups[:7]
    ratio, accepted, drafted, mean, rates, positions = groups[7:13]
    found = Found(
        server=server,
        origin=origin,
        slot=number(slot),
        task=number(task),
        prompt_processed=number(prompt),
        generated=number(tokens),
        decode_milliseconds=milliseconds(time),
    )
    if drafted is not None:
        found.accepted, found.drafted = number(accepted), number(drafted)
        found.ratio, found.mean = printed(ratio), mean_length(mean)
        if rates is not None or positions is not None:
            found.rates = ratios(rates or positions)
    elif reports_drafts:
        found.accepted = found.drafted = 0
    return found.entry()


@lru_cache(maxsize=4096)
def mean_length(token: bytes | None) -> Printed | None:
    """Read a mean length; few different ones are printed."""
    return printed(token)
