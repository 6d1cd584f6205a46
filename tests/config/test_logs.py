"""Logs: what a line looks like, and which records pass."""

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from specmeter.logs import configure

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Put back what configure replaces, which belongs to pytest."""
    root, own = logging.getLogger(), logging.getLogger("specmeter")
    handlers, levels = root.handlers[:], (root.level, own.level)
    root.handlers.clear()
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    own.setLevel(levels[1])


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def fail() -> None:
    try:
        int("not\nthis")
    except ValueError:
        logging.getLogger("specmeter.gateway").exception("broken")


class TestText:
    def test_line(self, stream: io.StringIO) -> None:
        """A record is one line: time in UTC, level, logger, message."""
        configure("info", "text", stream)
        logging.getLogger("specmeter").info("listening on %s", "127.0.0.1:8088")
        line = rf"{TIME} INFO specmeter: listening on 127\.0\.0\.1:8088\n"
        assert re.fullmatch(line, stream.getvalue())

    def test_time_is_that_of_the_record(self, stream: io.StringIO) -> None:
        """The time is when the record was made, to the millisecond."""
        configure("info", "text", stream)
        record = logging.makeLogRecord(
            {"name": "specmeter", "levelno": 20, "levelname": "INFO", "created": 1.5}
        )
        logging.getLogger("specmeter").handle(record)
        assert stream.getvalue().startswith("1970-01-01T00:00:01.500Z INFO specmeter: ")

    def test_line_break_in_a_message_is_escaped(self, stream: io.StringIO) -> None:
        """A message cannot pretend to be two."""
        configure("info", "text", stream)
        logging.getLogger("specmeter").info("model %s", "a\r\n2026 ERROR b\x1b[2J")
        assert stream.getvalue().endswith("model a\\x0d\\x0a2026 ERROR b\\x1b[2J\n")
        assert stream.getvalue().count("\n") == 1

    def test_exception_follows(self, stream: io.StringIO) -> None:
        """A traceback stands below its line."""
        configure("info", "text", stream)
        fail()
        first, second, *_ = stream.getvalue().splitlines()
        assert first.endswith(" ERROR specmeter.gateway: broken")
        assert second == "Traceback (most recent call last):"


class TestJson:
    def test_line(self, stream: io.StringIO) -> None:
        """A record is one object with time, level, logger and message, and nothing else."""
        configure("debug", "json", stream)
        logging.getLogger("specmeter").debug("a\n%s", "é\udcff")
        text = stream.getvalue()
        assert text.isascii()
        assert text.count("\n") == 1
        fields = json.loads(text)
        assert re.fullmatch(TIME, fields.pop("time"))
        assert fields == {"level": "debug", "logger": "specmeter", "message": "a\né\udcff"}

    def test_exception_is_in_the_object(self, stream: io.StringIO) -> None:
        """A traceback is a field, so the record stays one line."""
        configure("info", "json", stream)
        fail()
        assert stream.getvalue().count("\n") == 1
        exception = json.loads(stream.getvalue())["exception"]
        assert exception.startswith("Traceback (most recent call last):\n")
        assert exception.endswith("'not\\nthis'\n")


class TestLevels:
    @pytest.mark.parametrize(
        ("level", "passing"),
        [
            ("debug", ["own debug", "own info", "own warning", "own error"]),
            ("info", ["own info", "own warning", "own error"]),
            ("warning", ["own warning", "own error"]),
            ("error", ["own error"]),
        ],
    )
    def test_own_records(self, stream: io.StringIO, level: str, passing: list[str]) -> None:
        """Records of specmeter itself pass from the level upwards."""
        configure(level, "json", stream)
        logger = logging.getLogger("specmeter.x")
        for name in ("debug", "info", "warning", "error"):
            getattr(logger, name)("own %s", name)
        messages = [json.loads(line)["message"] for line in stream.getvalue().splitlines()]
        assert messages == passing

    @pytest.mark.parametrize(("level", "count"), [("debug", 1), ("warning", 1), ("error", 0)])
    def test_libraries_records(self, stream: io.StringIO, level: str, count: int) -> None:
        """A library's records pass from warning upwards, even if specmeter debugs itself."""
        configure(level, "text", stream)
        logging.getLogger("aiohttp.access").info("GET /")
        logging.getLogger("asyncio").warning("slow")
        assert len(stream.getvalue().splitlines()) == count

    def test_configured_again(self, stream: io.StringIO) -> None:
        """The last call counts, and no line is written twice."""
        configure("debug", "json", io.StringIO())
        configure("info", "text", stream)
        logging.getLogger("specmeter").debug("no")
        logging.getLogger("specmeter").info("yes")
        assert stream.getvalue().count("yes") == 1
        assert "no" not in stream.getvalue()
