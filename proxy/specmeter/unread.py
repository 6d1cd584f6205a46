"""Why a completion could not be read."""

from __future__ import annotations

from enum import StrEnum


class Unread(StrEnum):
    """Why a completion, or a part of it, could not be read."""

    TOO_LARGE = "too_large"
    """Past the limit of what is copied, and what was copied holds no numbers."""
    COMPRESSED = "compressed"
    """The upstream compressed its answer although it was asked not to."""
    NOT_JSON = "not_json"
    NO_NUMBERS = "no_numbers"
    """Readable, but neither token counts nor timings in it."""
    ERROR_EVENT = "error_event"
    """The stream ended with an error of the upstream."""
    CUT_SHORT = "cut_short"
    """The upstream broke off before the numbers came."""
    OTHER_CHOICES = "other_choices"
    """Only one of several choices came with numbers; the others are missing."""
    READER_FAILED = "reader_failed"
    """A fault of specmeter itself; the log has it."""
    NOT_HANDED_OVER = "not_handed_over"
    """The process that reads did not keep up with the worker that carried it."""
