"""llama.cpp's `llama-server`, its forks, its router's children, and Ollama's GGUF runner.

Since May 2026 every line has the slot's head; a request is

    slot print_timing: id  0 | task 12 | prompt eval time =     120.50 ms /    41 tokens (…
    slot print_timing: id  0 | task 12 |        eval time =    1600.00 ms /   129 tokens (…
    slot print_timing: id  0 | task 12 | draft acceptance = 0.33333 (   64 accepted /   192 …
    slot print_timing: id  0 | task 12 |      acc per pos = (0.625, 0.266, 0.109)
    slot      release: id  0 | task 12 | stop processing: n_tokens = 169, truncated = 0

with other slots' lines in between. Before, the head had a line of its own, and the others came
without one behind it. Source: tools/server/server-context.cpp (`print_timing`).

Target steps are not printed: generated - accepted, since every step yields one token of the
target's own. `statistics …` lines are not read: they sum up all slots since the start.
"""

from __future__ import annotations

import re

from specmeter.serverlog.entry import Entry
from specmeter.serverlog.lines import (
    Origin,
    Shape,
    before,
    end_of_line,
    origin,
    shape,
)
from specmeter.serverlog.llama_lines import (
    BARE_DRAFT,
    BARE_EVAL,
    DAMAGED_BARE_DRAFT,
    DAMAGED_DRAFT,
    DAMAGED_TIME,
    DRAFT_ACCEPTANCE,
    DRAFT_NUMBERS,
    DRAFT_TOO_NUMBERS,
    DRAFTED_TOO,
    DRAFTS,
    EVAL,
    EVAL_NUMBERS,
    EVAL_TIME,
    EVAL_TOO_NUMBERS,
    HEAD_BEFORE,
    NEVER,
    POSITIONS,
    POSITIONS_TOO,
    PROMPT,
    PROMPT_NUMBERS,
    PROMPT_WORD,
    PROMPTS,
    ROUND,
    ROUND_NUMBERS,
    SLOT,
    STOP,
    STOP_TOO,
    TASK,
    headed,
    lines_in,
    place,
    unwrapped,
    wrapped,
)
from specmeter.serverlog.llama_request import Request, Tokens, whole

SERVER = "llama.cpp"

_MOST_OPEN = 4096  # slots with a request that has not ended, over all sources
_BARE = (DAMAGED_BARE_DRAFT, BARE_DRAFT, BARE_EVAL)  # of two at one place the later one counts

_Key = tuple[str | None, bytes | None]
_Ended = list[tuple[int, Entry]]


class LlamaCpp:
    """Reads blocks of lines, and gives each request out when it ends."""

    def __init__(self) -> None:
        self.unreadable = 0
        """Lines that name numbers which cannot be read."""
        self.repeated = 0
        """Lines that were there twice."""
        self.untimed = 0
        """Requests that ended without their numbers: cancelled, failed, or no completions."""
        self._ended: _Ended = []  # in the block that is being read
        self._is_learned = False  # how the lines are wrapped
        self._wrap(Shape(b"", has_uptime=False))
        self._single: bytes | None = None  # the prefix of a line that was matched alone
        self._open: dict[_Key, Request] = {}
        self._headers: dict[str | None, _Key] = {}  # whose lines follow without a head
        self._done: dict[_Key, bytes] = {}  # the task that a slot ended last
        self._reporting: set[str | None] = set()  # sources whose old-form lines tell of drafts

    def read(self, block: bytes) -> _Ended:
        """Return the requests that end in this block, each with the position of its end."""
        self._ended = []
        if not self._is_learned and (first := self._expression.search(block)):
            self._is_learned = True
            self._wrap(shape(before(block, first.start())))
        self._read_lines(block, self._expression, 0, len(block))
        if self._single is not None:
            # Look for requests wrapped like the last line that was no whole one.
            self._wrap(shape(self._single))
            self._single = None
        return self._ended

    def _wrap(self, wrap: Shape) -> None:
        self._is_wrapped = wrap.wrapper != b""
        self._expression, self._wrapped = headed(wrap), wrapped(wrap)

    def _read_lines(
        self, block: bytes, expression: re.Pattern[bytes], start: int, end: int
    ) -> None:
        matches = list(expression.finditer(block, start, end))
        evals, drafts = lines_in(matches)
        if (
            block.count(EVAL_TIME, start, end) == evals
            and block.count(DRAFT_ACCEPTANCE, start, end) == drafts
        ):
            for match in matches:
                self._headed(block, match)
            return
        done = start
        for match in matches:
            self._read_bare(block, done, match.start())
            self._headed(block, match)
            done = end_of_line(block, match.end())
        self._read_bare(block, done, end)

    def _read_bare(self, block: bytes, start: int, end: int) -> None:
        """Read the lines without a head that stand between lines with one."""
        if block.find(EVAL_TIME, start, end) < 0 and block.find(DRAFT_ACCEPTANCE, start, end) < 0:
            return
        bare: dict[int, re.Match[bytes]] = {}
        for known in _BARE:
            bare.update((match.start(), match) for match in known.finditer(block, start, end))
        for _, match in sorted(bare.items()):
            self._bare(block, match)

    def _read_apart(self, block: bytes, match: re.Match[bytes]) -> None:
        """Read the lines of a match each on its own: the first is not wrapped like the others."""
        end = end_of_line(block, match.end()) + 1
        self._read_lines(block, headed(NEVER), match.start(), end)

    def close(self) -> list[Entry]:
        """Return the requests whose end the log does not have."""
        self._ended = []
        self._flush(0)
        return [entry for _, entry in self._ended]

    def _headed(self, block: bytes, match: re.Match[bytes]) -> None:
        position, kind = match.start(), match.lastindex
        prefix = before(block, position)
        fit = self._wrapped.fullmatch(prefix)
        if fit is None and kind in PROMPTS and (kind != PROMPT or match[HEAD_BEFORE] is not None):
            self._read_apart(block, match)
            return
        where = place(prefix) if fit is None or self._is_wrapped else unwrapped(fit[1])
        if where is None:
            return
        slot, task = match.group(SLOT, TASK)
        key = (where.source, slot)
        if kind == STOP_TOO and key not in self._open:
            self._whole(key, match, where)
            return
        self._single = prefix
        if kind == STOP:
            self._stop(key, task, position)
            return
        request = self._open.get(key)
        if request is None or request.task != task:
            request = self._begin(key, task, where, position)
        if kind in PROMPTS:
            self._take_prompt(request, match, where)
        else:
            self._take(request, match, where)

    def _whole(self, key: _Key, match: re.Match[bytes], where: Origin) -> None:
        """Take in all lines of a request."""
        is_old = match[HEAD_BEFORE] is not None
        if is_old:
            self._headers.pop(where.source, None)
            if match[DRAFTED_TOO] is not None:
                self._note_reporting(where.source)
        reports = not is_old or where.source in self._reporting
        entry = whole(SERVER, where, match.groups(), reports_drafts=reports)
        self._ended.append((match.start(STOP_TOO), entry))
        self._note_done(key, match[TASK])

    def _take_prompt(self, request: Request, match: re.Match[bytes], where: Origin) -> None:
        """Take in the line of the prompt's time, and those that follow it directly."""
        kind, position = match.lastindex, match.start()
        is_old = match[HEAD_BEFORE] is not None
        if is_old:
            request = self._take_head(request, where, position)
        request = self._set(request, "prompt", match.group(*PROMPT_NUMBERS), where, position)
        request.is_old = request.is_old or is_old
        if kind == PROMPT:
            return
        request = self._set(request, "eval", match.group(*EVAL_TOO_NUMBERS), where, position)
        if match[DRAFTED_TOO] is not None:
            tokens = match.group(*DRAFT_TOO_NUMBERS)
            request = self._set(request, "draft", tokens, where, position)
            request.positions = match[POSITIONS_TOO] or request.positions
            if is_old:
                self._note_reporting(where.source)
        if kind == STOP_TOO:
            self._stop((where.source, match[SLOT]), match[TASK], match.start(STOP_TOO))

    def _take(self, request: Request, match: re.Match[bytes], where: Origin) -> None:
        """Take in one line."""
        kind, position = match.lastindex, match.start()
        if kind == EVAL:
            self._set(request, "eval", match.group(*EVAL_NUMBERS), where, position)
        elif kind in DRAFTS:
            self._set(request, "draft", match.group(*DRAFT_NUMBERS), where, position)
        elif kind == POSITIONS:
            request.positions = match[POSITIONS]
        elif kind == ROUND:
            self.unreadable += not request.add_round(*match.group(*ROUND_NUMBERS))
        elif kind in (DAMAGED_DRAFT, DAMAGED_TIME):
            self.unreadable += 1
            request.is_damaged = request.is_damaged or kind == DAMAGED_DRAFT
        else:
            self._take_head(request, where, position)

    def _take_head(self, request: Request, where: Origin, position: int) -> Request:
        """Take in a head whose lines follow without one."""
        key = (where.source, request.slot)
        if request.is_timed:
            request = self._begin(key, request.task, where, position)
        if len(self._headers) < _MOST_OPEN:
            self._headers[where.source] = key
        return request

    def _bare(self, block: bytes, match: re.Match[bytes]) -> None:
        """Take in a line that belongs to the head before it, if no words of its own say else."""
        position = match.start()
        prefix = before(block, position)
        is_prompt = match.re is BARE_EVAL and prefix.endswith(PROMPT_WORD)
        where = origin(prefix.removesuffix(PROMPT_WORD) if is_prompt else prefix)
        if where.rest:
            return
        name = "prompt" if is_prompt else "eval" if match.re is BARE_EVAL else "draft"
        tokens = match.groups()
        request = None
        for key in (self._headers.get(where.source), (where.source, None)):
            if key is not None and request is None:
                request = self._open.get(key)
                if request is not None and request.is_taken(name, tokens, where):
                    self._headers.pop(where.source, None)
                    request = None
        if request is None:
            request = self._begin((where.source, None), None, where, position)
        request.is_old = True
        if match.re is DAMAGED_BARE_DRAFT:
            self.unreadable += 1
            request.is_damaged = True
            return
        if match.re is BARE_DRAFT:
            self._note_reporting(where.source)
        self._set(request, name, tokens, where, position)

    def _begin(self, key: _Key, task: bytes | None, where: Origin, position: int) -> Request:
        self._end(key, position)
        if len(self._open) >= _MOST_OPEN:
            self._flush(position)
        request = self._open[key] = Request(where, key[1], task)
        return request

    def _set(
        self,
        request: Request,
        name: str,
        tokens: Tokens,
        where: Origin,
        position: int,
    ) -> Request:
        """Keep a line's numbers, and return whose they are.

        If such a line was there already, this one begins the slot's next request.
        """
        if request.is_taken(name, tokens, where):
            request = self._begin((where.source, request.slot), request.task, where, position)
        self.repeated += getattr(request, name) is not None
        setattr(request, name, tokens)
        return request

    def _stop(self, key: _Key, task: bytes, position: int) -> None:
        request = self._open.get(key)
        if request is not None and request.task == task and request.is_timed:
            self._end(key, position, is_stopped=True)
        elif self._done.get(key) != task:
            self._end(key, position)
            self.untimed += 1
        self._note_done(key, task)

    def _note_reporting(self, source: str | None) -> None:
        if len(self._reporting) < _MOST_OPEN:
            self._reporting.add(source)

    def _note_done(self, key: _Key, task: bytes) -> None:
        if len(self._done) >= _MOST_OPEN:
            self._done.clear()
        self._done[key] = task

    def _end(self, key: _Key, position: int, *, is_stopped: bool = False) -> None:
        request = self._open.pop(key, None)
        if request is None:
            return
        if self._headers.get(key[0]) == key:
            del self._headers[key[0]]
        # Without a draft line: the new form prints one whenever something was drafted.
        reports = is_stopped and (not request.is_old or key[0] in self._reporting)
        entry = request.entry(SERVER, reports_drafts=reports)
        if entry is not None:
            self._ended.append((position, entry))

    def _flush(self, position: int) -> None:
        for key in list(self._open):
            self._end(key, position)
        self._headers.clear()
