"""Which requests are not forwarded, although they are HTTP."""

from __future__ import annotations

from specmeter.gateway.answers import RefusedError
from specmeter.gateway.incoming import HTTP_1_0, Request
from specmeter.gateway.upload import Upload
from specmeter.keys import Keys, key_of

_VERSIONS = ("1.1", HTTP_1_0)


def refusal_of(request: Request, upload: Upload, keys: Keys | None) -> RefusedError | None:
    """Return why a request is not forwarded; `None` if it is.

    Args:
        request: Its head.
        upload: Its body.
        keys: Of which it has to bring one; `None` if it need not.
    """
    target, headers = request.target, request.headers
    if keys is not None and not keys.admit(
        key_of(headers.get(b"authorization"), headers.get(b"x-api-key"))
    ):
        return RefusedError(
            401,
            'bring one of specmeter\'s keys, as "Authorization: Bearer KEY" or "x-api-key: KEY"',
            "invalid_api_key",
        )
    if not (target.startswith("/") or target == "*") or request.method == "CONNECT":
        return RefusedError(
            400,
            "this is no forward proxy: send requests to it as to the server itself "
            "(base URL http://HOST:PORT/v1), not through HTTP_PROXY",
            "not_a_forward_proxy",
        )
    if request.version not in _VERSIONS:
        return RefusedError(505, "send the request in HTTP/1.1 or HTTP/1.0", "http_version")
    if b"upgrade" in headers and headers[b"upgrade"].lower() == b"websocket":
        return RefusedError(501, "WebSocket connections are not forwarded", "no_websocket")
    if upload.chunked and not _is_chunked_alone(request):
        return RefusedError(
            501, "the only transfer coding that is forwarded is chunked", "transfer_coding"
        )
    return None


def _is_chunked_alone(request: Request) -> bool:
    codings = [value for name, value in request.fields if name.lower() == b"transfer-encoding"]
    return len(codings) == 1 and codings[0].lower() == b"chunked"
