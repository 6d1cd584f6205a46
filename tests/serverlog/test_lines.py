"""What other programs put around a server's lines."""

import json
from collections.abc import Callable

import pytest

from specmeter.serverlog.lines import origin, plain
from tests.serverlog import test_ollama, test_sglang, test_tabby, test_vllm
from tests.serverlog.logs import UPTIME, lines, new_form, old_form, read

OLD_DRAFT = "draft acceptance rate = 0.33333 (   64 accepted /   192 generated)"
Wrap = Callable[[str], str]


def as_json(**more: object) -> Wrap:
    """Make a logger that puts the line under the key that has `None`."""
    key = next(name for name, value in more.items() if value is None)
    return lambda text: json.dumps({**more, key: f"{text}\n"}, separators=(",", ":"))


LLAMA_JSONL = as_json(type="log", time=72_345_678, level="info", msg=None)

WRAPPERS: dict[str, tuple[Wrap, str | None, str | None]] = {
    "nothing": (lambda text: text, None, None),
    "llama.cpp's clock": (lambda text: UPTIME + text, None, "0.12.345.678"),
    "docker compose": (lambda text: f"llama-1  | {text}", "llama-1", None),
    "compose and clock": (lambda text: f"llama-1  | {UPTIME}{text}", "llama-1", "0.12.345.678"),
    "docker --timestamps": (
        lambda text: f"2026-11-29T10:00:00.123456789Z {text}",
        None,
        "2026-11-29T10:00:00.123456789Z",
    ),
    "compose --timestamps": (
        lambda text: f"llama-1  | 2026-11-29T10:00:00.12Z {UPTIME}{text}",
        "llama-1",
        "2026-11-29T10:00:00.12Z",
    ),
    "llama-swap": (
        lambda text: f"2026-05-17 11:04:29.854 | {UPTIME}{text}",
        None,
        "2026-05-17 11:04:29.854",
    ),
    "journald": (
        lambda text: f"Nov 29 10:00:00 host llama-server[123]: {text}",
        "host llama-server",
        "Nov 29 10:00:00",
    ),
    "journald -o short-iso": (
        lambda text: f"2026-11-29T10:00:00+0100 host ollama[9]: {text}",
        "host ollama",
        "2026-11-29T10:00:00+0100",
    ),
    "router": (lambda text: f"[54321] {UPTIME}{text}", "54321", "0.12.345.678"),
    "router in compose": (
        lambda text: f"llama-1  | [54321] {UPTIME}{text}",
        "llama-1/54321",
        "0.12.345.678",
    ),
    "kubectl --prefix": (
        lambda text: f"[pod/llama-0/server] {text}",
        "pod/llama-0/server",
        None,
    ),
    "containerd": (
        lambda text: f"2026-11-29T10:00:00.1Z stderr F {text}",
        None,
        "2026-11-29T10:00:00.1Z",
    ),
    "another logger": (lambda text: f"INFO:     {text}", None, None),
    "llama.cpp --log-jsonl": (LLAMA_JSONL, None, "1.12.345.678"),
    "jsonl in compose": (lambda text: f"llama-1  | {LLAMA_JSONL(text)}", "llama-1", "1.12.345.678"),
    "docker json-file": (
        as_json(log=None, stream="stderr", time="2026-11-29T10:00:00.1Z"),
        None,
        "2026-11-29T10:00:00.1Z",
    ),
    "jsonl in json-file": (
        lambda text: json.dumps({"log": LLAMA_JSONL(text) + "\n", "stream": "stderr"}),
        None,
        "1.12.345.678",
    ),
    "journalctl -o json": (
        as_json(
            MESSAGE=None, _SYSTEMD_UNIT="llama.service", __REALTIME_TIMESTAMP="1795960000123456"
        ),
        "llama.service",
        "2026-11-29T13:46:40.123Z",
    ),
    "journald's bytes": (
        lambda text: json.dumps({"MESSAGE": list(text.encode())}),
        None,
        None,
    ),
    "pino": (as_json(level=30, time=1_795_960_000_123, msg=None), None, "2026-11-29T13:46:40.123Z"),
    "zap": (as_json(ts=1_795_960_000.5, msg=None), None, "2026-11-29T13:46:40.500Z"),
}


@pytest.fixture(params=WRAPPERS)
def wrapper(request: pytest.FixtureRequest) -> tuple[Wrap, str | None, str | None]:
    """Give each of them: the wrapping, and the source and time it tells."""
    return WRAPPERS[request.param]


class TestWrappers:
    """A request reads the same in whatever its lines are wrapped."""

    def test_new_form(self, wrapper: tuple[Wrap, str | None, str | None]) -> None:
        """The new form, whole and again after the wrapping is known."""
        wrap, source, time = wrapper
        log = lines(*(wrap(text) for text in new_form()))
        first, second = read(log, log).entries
        assert first == second
        assert (first.source, first.time) == (source, time)
        assert (first.steps, first.reading.drafted, first.prompt_processed) == (65, 192, 41)

    def test_old_form(self, wrapper: tuple[Wrap, str | None, str | None]) -> None:
        """The old form, whose lines behind the head are wrapped too."""
        wrap, source, _ = wrapper
        log = lines(*(wrap(text) for text in old_form(slot=3, drafts=OLD_DRAFT)))
        first, second = read(log, log).entries
        assert first == second
        assert (first.source, first.slot, first.steps) == (source, 3, 65)

    def test_windows_line_ends_and_colours(
        self, wrapper: tuple[Wrap, str | None, str | None]
    ) -> None:
        """Carriage returns, colours and zero bytes do not matter."""
        wrap, _, _ = wrapper
        texts = [f"\x1b[34m{text[:4]}\x1b[0m{text[4:]}\x1b[0m" for text in new_form()]
        log = lines(*(f"\x1b[36m{wrap(text)}\x1b[0m\r" for text in texts))
        assert read(b"\0\0" + log).only.reading.drafted == 192


def test_router_children_are_apart() -> None:
    """Two models of one router have the same slots and tasks, and nothing else in common."""
    draft = "draft acceptance = 0.50000 (    5 accepted /    10 generated), mean len =  2.00"
    first = [f"[54321] {UPTIME}{text}" for text in new_form()]
    second = [f"[54322] {UPTIME}{text}" for text in new_form(drafts=draft)]
    mixed = [text for pair in zip(first, second, strict=True) for text in pair]
    entries = read(lines(*mixed)).entries
    assert [(entry.source, entry.reading.drafted) for entry in entries] == [
        ("54321", 192),
        ("54322", 10),
    ]


def test_old_form_of_two_containers() -> None:
    """Lines without a head belong to the head that their own container wrote."""
    first = [f"a  | {text}" for text in old_form(slot=0, task=1, drafts=OLD_DRAFT)]
    second = [f"b  | {text}" for text in old_form(slot=0, task=2)]
    mixed = [text for pair in zip(first, second, strict=False) for text in pair]
    entries = read(lines(*mixed, *first[len(second) :], *second[len(first) :])).entries
    by_source = {entry.source: entry for entry in entries}
    assert by_source["a"].reading.drafted == 192
    assert by_source["b"].reading.drafted is None
    assert by_source["b"].task == 2


def test_a_broken_object_stays_a_line() -> None:
    """A JSON line that was cut off is left alone, and the lines after it are read."""
    cut = LLAMA_JSONL(new_form()[0])[:-4]
    assert read(lines(cut, *new_form())).only.reading.drafted == 192


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '{"msg": 5}',
        '{"msg": null, "time": true}',
        '{"time": {}, "msg": "x"}',
        '{"MESSAGE": [1, 900]}',
        '{"msg": "x", "time": 1e300}',
        '{"msg": "x", "time": -5, "type": "log"}',
        '{"msg": "\\ud800"}',
        "{" * 5000,
        '{"msg": ' * 500,
    ],
)
def test_odd_objects(text: str) -> None:
    """Objects of any shape do no harm."""
    assert read(lines(text, *new_form())).only.reading.drafted == 192


def test_plain_leaves_other_lines_alone() -> None:
    """A block that needs nothing taken off is the same object as before."""
    block = lines(*new_form())
    assert plain(block) is block


def test_origin_of_text() -> None:
    """What is no prefix is left over as the line's own words."""
    assert origin(b"srv  update: ").rest == b"srv  update:"
    assert origin(b"").rest == b""
    assert origin(b"x" * 5000).rest == b"x" * 5000


def test_names_are_fit_for_a_terminal() -> None:
    """A name with control characters in it, or without end, does not reach the terminal."""
    prefix = b"Nov 29 10:00:00 host \x1bctitle\x07" + b"x" * 200 + b"[1]: "
    name = origin(prefix).source
    assert name is not None
    assert name.isprintable()
    assert len(name) < 80


@pytest.mark.parametrize(
    "line",
    [
        *new_form()[:2],
        test_ollama.STATS,
        test_vllm.PREFIX + test_vllm.WINDOW,
        test_sglang.DECODE,
        test_tabby.METRICS,
    ],
)
def test_a_log_inside_of_a_prompt(line: str) -> None:
    """A server that logs its requests logs what they quote, too: that is not read."""
    for request in (
        f"INFO: request: {json.dumps({'content': line})}",
        f"INFO: request: {json.dumps({'content': f'my log: {line}'})}",
        f"DEBUG {'x' * 400} {line}",
        f"prompt: first line\\n{line}",
    ):
        log = read(lines(request))
        assert (log.entries, log.reader.unreadable) == ([], 0)


def test_a_long_line_of_heads() -> None:
    """A line of a megabyte that is full of heads is somebody's text, and soon done with."""
    head = "slot print_timing: id  0 | task 12 | stop processing "
    log = read(lines("x" * 500 + head * 15_000))
    assert (log.entries, log.reader.untimed) == ([], 0)
