"""What can go wrong with an upstream, and how a client is told.

UpstreamError
├── its reason is a label of `specmeter_upstream_failures_total`
└── its text names the upstream, what happened and what to do
"""

from __future__ import annotations

from enum import StrEnum

import orjson


class Reason(StrEnum):
    """Why an upstream failed a request."""

    CANNOT_CONNECT = "cannot_connect"
    CONNECT_TIMEOUT = "connect_timeout"
    OUT_OF_FILES = "out_of_files"
    """The system let this process open no more connections: not the upstream's fault."""
    CLOSED_EARLY = "closed_early"
    """It closed the connection before the head of its answer was there."""
    BROKEN_OFF = "broken_off"
    """It broke off in the middle of its answer."""
    PROTOCOL = "protocol"
    """It broke HTTP."""
    SILENT = "silent"
    """It was silent for longer than `idle_seconds`."""
    DECLINED = "declined"
    """It answered a held-out request with an error; another upstream answers it."""


FAILURES = tuple(reason for reason in Reason if reason is not Reason.DECLINED)
"""Those that a client can meet."""

TIMEOUTS = frozenset((Reason.CONNECT_TIMEOUT, Reason.SILENT))


class UpstreamError(Exception):
    """An upstream failed a request."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason

    @property
    def status(self) -> int:
        """The HTTP status that tells a client.

        504 for time that ran out, 503 for what specmeter itself has no room for, else 502.
        """
        if self.reason is Reason.OUT_OF_FILES:
            return 503
        return 504 if self.reason in TIMEOUTS else 502


def error_body(status: int, message: str, code: str, param: str | None = None) -> bytes:
    """Return an error in OpenAI's shape that says it is specmeter's own."""
    kind = "invalid_request_error" if status < 500 else "server_error"  # noqa: PLR2004
    return orjson.dumps(
        {
            "error": {
                "message": f"specmeter: {message}",
                "type": kind,
                "param": param,
                "code": code,
            }
        }
    )
