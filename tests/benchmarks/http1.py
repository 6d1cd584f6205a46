"""A reader of HTTP/1.1 messages, just enough of it to be cheap."""

import re
from collections.abc import Callable

_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:\s*chunked", re.IGNORECASE)


class MessageReader:
    """Splits the bytes of a connection into messages: head, pieces of body, end.

    Reads bodies with a length and chunked ones; a message with neither has no body.
    """

    def __init__(
        self,
        on_head: Callable[[bytes], None],
        on_body: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self._on_head = on_head
        self._on_body = on_body
        self._on_end = on_end
        self._buffer = bytearray()
        self._missing = 0
        self._step = self._head

    def feed(self, data: bytes) -> None:
        """Take what arrived.

        Raises:
            ValueError: a chunk's size is no number.
        """
        self._buffer += data
        while self._step():
            pass

    def _head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = self._take(end + 4)
        self._on_head(head)
        if _CHUNKED.search(head):
            self._step = self._chunk_size
        elif (length := _LENGTH.search(head)) and int(length[1]):
            self._missing = int(length[1])
            self._step = self._fixed
        else:
            self._on_end()
        return True

    def _fixed(self) -> bool:
        if not self._buffer:
            return False
        piece = self._take(min(self._missing, len(self._buffer)))
        self._missing -= len(piece)
        self._on_body(piece)
        if not self._missing:
            self._step = self._head
            self._on_end()
        return True

    def _chunk_size(self) -> bool:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            return False
        size = int(self._take(end + 2).split(b";")[0], 16)
        self._missing = size + 2  # the line end that follows the data
        self._step = self._chunk if size else self._trailer
        return True

    def _chunk(self) -> bool:
        if len(self._buffer) < self._missing:
            return False
        self._on_body(self._take(self._missing)[:-2])
        self._step = self._chunk_size
        return True

    def _trailer(self) -> bool:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            return False
        self._take(end + 2)
        if not end:
            self._step = self._head
            self._on_end()
        return True

    def _take(self, length: int) -> bytes:
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken
