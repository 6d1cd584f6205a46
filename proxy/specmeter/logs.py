"""Logs: one line a record, as text or as JSON, on one stream."""

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import TextIO

_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), 127)}


class TextFormatter(logging.Formatter):
    """Write `2026-11-29T14:43:01.123Z INFO specmeter: message`, and below it the traceback."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802 - logging's own
        """Write the time in UTC to the millisecond."""
        return _time(record)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own
        """Write the line; a line break inside the message cannot begin another one."""
        message = record.message.translate(_CONTROL)
        return f"{record.asctime} {record.levelname} {record.name}: {message}"

    def usesTime(self) -> bool:  # noqa: N802 - logging's own
        """Have the time written."""
        return True


class JsonFormatter(logging.Formatter):
    """Write one JSON object: time, level, logger, message and, if there is one, exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the object on one line, in ASCII."""
        fields = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1]:
            fields["exception"] = "".join(traceback.format_exception(record.exc_info[1]))
        return json.dumps(fields)


def configure(level: str, log_format: str, stream: TextIO) -> None:
    """Send all logs to one stream; earlier handlers are taken away.

    Libraries' records pass from warning upwards, because their info is about every request.

    Args:
        level: the least of specmeter's records that passes: debug, info, warning or error.
        log_format: text or json.
        stream: where to write, in the program sys.stderr.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    number = logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(level=max(number, logging.WARNING), handlers=[handler], force=True)
    logging.getLogger("specmeter").setLevel(number)


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
