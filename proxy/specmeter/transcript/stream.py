"""The copy of a stream: of what passes, only what is needed to read it."""

from __future__ import annotations

from specmeter import sse
from specmeter.fault import Fault
from specmeter.transcript.arrived import Arrived
from specmeter.transcript.content import brings_text
from specmeter.transcript.copied import CopiedStream
from specmeter.transcript.findings import Findings
from specmeter.transcript.framing import Framing
from specmeter.transcript.plain_pieces import PlainPieces

PENDING_BYTES = 32 * 1024
"""How much memory pieces take that wait to be looked through: many at once are cheaper."""

_PER_PIECE = 72
"""Bytes of memory that a piece takes beside its own."""

_CUT_END = 3
"""So many bytes at the end of a piece may be the beginning of what ends an event."""


class StreamTranscript:
    """Looks through a stream as it passes, and keeps the events that may be read later.

    Appending costs the same however long the stream is, and so does what is kept. Most pieces are
    plain: whole events that bring content and nothing else. Of these only the latest is kept, as
    content came last with it: keeping more costs several times what looking at them does, since it
    is never in the processor's cache. All else waits until enough has come.

    Args:
        limit: The most bytes that are kept of events, and of one that has not ended.
        framing: How it is cut into events.
        keeps_everything: Whether all events are kept, up to `limit` bytes.
    """

    __slots__ = (
        "_before",
        "_copied",
        "_everything",
        "_findings",
        "_framing",
        "_is_skipping",
        "_latest",
        "_latest_at",
        "_limit",
        "_may_be_plain",
        "_pieces",
        "_plain",
        "_rest",
        "_room",
        "_seen",
        "_times",
    )

    def __init__(
        self, limit: int, framing: Framing = sse, *, keeps_everything: bool = False
    ) -> None:
        self._limit = limit
        self._framing = framing
        self._pieces: list[bytes] = []
        """Not yet looked through."""
        self._plain = PlainPieces(framing.END)
        self._latest = b""
        """The latest plain piece; all that came before is looked through or forgotten."""
        self._latest_at = 0.0
        self._may_be_plain = False
        """Whether the next piece may be plain: nothing waits, and no first content is awaited."""
        self._room = PENDING_BYTES
        self._times: list[float] = []
        """When each of these came; no pairs, which would give the garbage collector work."""
        self._seen = 0
        """Bytes that were looked through."""
        self._before = 0.0
        """When the last piece came before those that wait."""
        self._rest = bytearray()
        """Of an event that has not ended."""
        self._is_skipping = False
        """Whether that event is too large to be kept."""
        self._findings = Findings(limit, framing)
        self._everything: bytearray | None = bytearray() if keeps_everything else None
        self._copied: CopiedStream | Fault | None = None

    def append(self, piece: bytes, now: float) -> None:
        """Copy one piece of the stream that arrived at `now` (seconds, monotonic)."""
        if self._may_be_plain and self._plain.include(piece):
            self._latest = piece
            self._latest_at = now
            return
        self._may_be_plain = False
        self._let_latest_wait()
        self._pieces.append(piece)
        self._times.append(now)
        self._room -= len(piece) + _PER_PIECE
        if self._room < 0 or (self._findings.looks_for_first_content and brings_text(piece)):
            self._look_through()

    def copied(self) -> CopiedStream | Fault:
        """Return what was kept; what follows the last event's end counts as one more event."""
        self._let_latest_wait()
        if self._pieces:
            self._look_through()
        if self._copied is None:
            try:
                self._take_rest()
                self._copied = self._result()
            except Exception as error:  # noqa: BLE001 - as in `_look_through`
                self._copied = Fault.of(error)
        return self._copied

    def _let_latest_wait(self) -> None:
        """Have the latest plain piece looked through with what comes next."""
        if self._latest:
            self._pieces.append(self._latest)
            self._times.append(self._latest_at)
            self._latest = b""

    def _take_rest(self) -> None:
        if self._rest and not self._is_skipping:
            rest = bytes(self._rest)
            self._findings.take(
                rest, self._seen - len(rest), Arrived((), (), self._seen, self._before)
            )

    def _result(self) -> CopiedStream:
        data, everything, found = self._framing.data, self._everything, self._findings
        return CopiedStream(
            numbers=tuple(data(event) for event in found.numbers.in_order()),
            last=None if found.last is None else data(found.last),
            is_incomplete=found.numbers.is_incomplete,
            first_content_at=found.first_content_at,
            last_content_at=found.last_content_at,
            has_other_choices=found.has_other_choices,
            everything=(
                None
                if everything is None
                else tuple(data(event) for event in self._framing.raw_events(bytes(everything)))
            ),
        )

    def _look_through(self) -> None:
        """Keep of what has come what is to be kept; a fault in that must not stop the stream."""
        pieces, self._pieces = self._pieces, []
        times, self._times = self._times, []
        self._room = PENDING_BYTES
        if self._copied is not None:
            return  # it has failed
        try:
            self._take_ended(pieces, times)
        except Exception as error:  # noqa: BLE001 - whatever it is, the stream goes on
            self._copied = Fault.of(error)
        self._may_be_plain = not (
            self._rest or self._everything is not None or self._findings.looks_for_first_content
        )

    def _take_ended(self, pieces: list[bytes], times: list[float]) -> None:
        """Keep of the events that have ended what is to be kept."""
        arrived = b"".join(pieces)
        rest, start = self._rest, self._seen - len(self._rest)
        self._seen += len(arrived)
        new = Arrived(pieces, times, self._seen, self._before)
        self._before = times[-1]
        if self._everything is not None:
            self._everything += arrived
            if len(self._everything) > self._limit:
                self._everything = None
        overlap = bytes(rest[-_CUT_END:])
        end = self._framing.end_of_last_event(overlap + arrived) - len(overlap)
        if end <= 0:
            rest += arrived
            if len(rest) > self._limit:
                self._skip()
            return
        ended = bytes(rest) + arrived[:end] if rest else arrived[:end]
        self._rest = bytearray(arrived[end:])
        if self._is_skipping:
            self._is_skipping = False
            skipped = self._framing.end_of_first_event(ended)
            if skipped < 0:
                return
            ended, start = ended[skipped:], start + skipped
        self._findings.take(ended, start, new)
        if len(self._rest) > self._limit:
            self._skip()

    def _skip(self) -> None:
        """Let go of an event that is too large."""
        del self._rest[:-_CUT_END]
        self._is_skipping = True
        self._findings.numbers.is_incomplete = True
