"""Requests as clients send them: parsed by llhttp, and what it lets pass that is not let through.

llhttp (in httptools, as uvicorn has it) is strict about what could make one request run into
another: two lengths, a length beside chunks, folded headers, bare CR or LF, NUL, blanks before a
colon, odd chunk sizes. It knows no limits, and takes what follows an offered upgrade for another
protocol; both are seen to here.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser

from specmeter.discreet import Discreet
from specmeter.gateway.endpoints import endpoint_of, is_completion
from specmeter.gateway.http1 import (
    MAX_HEAD_BYTES,
    ChunkedBody,
    Field,
    LengthBody,
    ProtocolError,
)
from specmeter.gateway.last_head import LastHead
from specmeter.gateway.upload import BrokenUploadError, Source, Upload

MAX_FIELD_BYTES = 64 * 1024
"""The longest target, or single header."""

MAX_FIELDS = 128
"""The most headers."""

HTTP_1_0 = "1.0"


class BadRequestError(Exception):
    """What came is no request; the text says why, without the client's bytes."""


@dataclass(slots=True, repr=False)
class Request(Discreet):
    """The head of a request; but for the length, one may stand for others that are the same."""

    method: str
    target: str
    """Verbatim."""
    version: str
    """`1.1`, `1.0` or something else."""
    fields: list[Field]
    """All headers in order: names as sent, values without blanks around."""
    headers: dict[bytes, bytes]
    """The first value of each, by its name in lower case."""
    keep_alive: bool
    """Whether the client may want to send another request on this connection."""
    endpoint: str
    """As labels have it."""
    is_completion: bool
    """Whether it asks for generated text, so that its answer is metered."""
    outgoing: tuple[object, bytes] | None = None
    """An upstream, and what begins the request that it gets: the same for all that are the same."""


class RequestParser:
    """Makes requests of the bytes of one connection; its `on_…` are called back by llhttp."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._llhttp = HttpRequestParser(self)
        self._target = b""
        self._fields: list[Field] = []
        self._headers: dict[bytes, bytes] = {}
        self._upload: Upload | None = None
        """The body that is coming."""
        self._own_body: ChunkedBody | LengthBody | None = None
        """Finds the end of that body where llhttp does not."""
        self._unfinished = 0
        """Bytes since the last that were a whole head, or of a body."""
        self._is_over = False
        """Whether what comes is not looked at any more."""
        self._pass_bytes = 0
        """Of what is being looked at."""
        self._last_head: LastHead[Request] = LastHead()
        self.requests: deque[tuple[Request, Upload]] = deque()
        """Those that nobody has taken yet, in order; the body of the last may still be coming."""
        self.in_head = False
        """Whether a head has begun to come and is not there yet."""

    @property
    def is_between_requests(self) -> bool:
        """Whether all that came is whole requests, and nothing can have come behind them."""
        return self._upload is None and not (self.in_head or self.requests or self._is_over)

    def feed(self, data: bytes) -> None:
        """Take what came. Who reads a body that breaks off learns of it there.

        Raises:
            BadRequestError: It is no request; `requests` are those before it.
        """
        if self._is_over:
            return
        is_at_start = not (self.in_head or self._unfinished or self._upload)
        if is_at_start:
            data = self._take_known(data)
            if not data:
                return
        before = len(self.requests)
        self._pass_bytes = len(data)
        self._unfinished += len(data)
        try:
            self._feed(data)
            if is_at_start and len(self.requests) > before:
                self._keep_known(data, *self.requests[before])
        except HttpParserCallbackError as error:
            cause = error.__context__
            if not isinstance(cause, BadRequestError):
                raise
            self._stop(cause)
        except (HttpParserError, ProtocolError, BadRequestError) as error:
            self._stop(BadRequestError(str(error)))

    def _feed(self, data: bytes) -> None:
        while data:
            if (body := self._own_body) is not None:
                taken, payload = body.feed(data)
                self.on_body(payload)
                data = data[taken:]
                if body.ended:
                    self._own_body = None
                    self.on_message_complete()
                continue
            try:
                self._llhttp.feed_data(data)
            except HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
            else:
                break
        if self._unfinished > MAX_HEAD_BYTES:
            raise BadRequestError(f"there are more than {MAX_HEAD_BYTES} bytes of headers")

    def _take_known(self, data: bytes) -> bytes:
        """Take whole requests whose head was read before; return what follows them."""
        while data and (known := self._last_head.find(data)) is not None:
            behind = known.end + (known.length or 0)
            if behind > len(data):
                break
            upload = Upload.whole(self._source, known.length, data[known.end : behind])
            self.requests.append((known.made, upload))
            data = data[behind:]
        return data

    def _keep_known(self, data: bytes, request: Request, upload: Upload) -> None:
        """Keep the head that `data` begins with, if the next like it can be read without llhttp."""
        end = data.find(b"\r\n\r\n") + 4
        is_plain = not upload.chunked and b"upgrade" not in request.headers
        if is_plain and request.method != "CONNECT" and not data.startswith(b"\r\n"):
            self._last_head.keep(data[:end], request)

    def _stop(self, error: BadRequestError) -> None:
        self._is_over = True
        upload, self._upload = self._upload, None
        if upload is None:
            raise error from None
        if self.requests and self.requests[-1][1] is upload:
            self.requests.pop()
            raise error from None
        upload.fail(BrokenUploadError(str(error)))

    def on_message_begin(self) -> None:
        """A head begins."""
        self.in_head = True

    def on_url(self, piece: bytes) -> None:
        """Take a piece of the target."""
        self._target += piece

    def on_header(self, name: bytes, value: bytes | None) -> None:
        """Take a header, or a trailer."""
        value = value.strip(b" \t") if value else b""
        self._fields.append((name, value))
        self._headers.setdefault(name.lower(), value)

    def on_headers_complete(self) -> None:
        """The head is there: make a request of it."""
        llhttp = self._llhttp
        target, self._target = self._target, b""
        fields, self._fields = self._fields, []
        headers, self._headers = self._headers, {}
        self.in_head = False
        if len(fields) > MAX_FIELDS or self._unfinished + self._pass_bytes > MAX_FIELD_BYTES:
            _check_size(target, fields)
        self._unfinished = 0
        chunked = b"transfer-encoding" in headers
        version = llhttp.get_http_version()
        if chunked and version == HTTP_1_0:
            raise BadRequestError("HTTP/1.0 has no Transfer-Encoding")
        length = headers.get(b"content-length")
        self._upload = upload = Upload(
            self._source, chunked, None if length is None else int(length)
        )
        if b"expect" in headers and version != HTTP_1_0:
            upload.expects_continue = headers[b"expect"].lower() == b"100-continue"
        if upload.is_announced and llhttp.should_upgrade():
            self._own_body = ChunkedBody() if chunked else LengthBody(upload.length or 0)
        keep_alive = llhttp.should_keep_alive()
        method = llhttp.get_method().decode("ascii")
        text = target.decode("ascii")
        endpoint = endpoint_of(text)
        request = Request(
            *(method, text, version, fields, headers, keep_alive),
            endpoint=endpoint,
            is_completion=is_completion(method, endpoint),
        )
        self.requests.append((request, upload))

    def on_body(self, piece: bytes) -> None:
        """Take a piece of the body."""
        self._unfinished = 0
        if self._upload is not None:
            self._upload.feed(piece)

    def on_message_complete(self) -> None:
        """The request is whole."""
        if self._own_body is not None and not self._own_body.ended:
            return  # llhttp takes the rest for another protocol's
        if self._upload is not None:
            self._upload.end()
            self._upload = None
        self._unfinished = 0
        if self._fields:  # trailers
            self._fields = []
            self._headers = {}


def _check_size(target: bytes, fields: list[Field]) -> None:
    """Refuse what is too large."""
    if len(fields) > MAX_FIELDS:
        raise BadRequestError(f"there are more than {MAX_FIELDS} headers")
    if len(target) > MAX_FIELD_BYTES:
        raise BadRequestError(f"its target is longer than {MAX_FIELD_BYTES} bytes")
    sizes = [len(name) + len(value) for name, value in fields]
    if max(sizes, default=0) > MAX_FIELD_BYTES:
        raise BadRequestError(f"a header is longer than {MAX_FIELD_BYTES} bytes")
    if len(target) + sum(sizes) > MAX_HEAD_BYTES:
        raise BadRequestError(f"there are more than {MAX_HEAD_BYTES} bytes of headers")
