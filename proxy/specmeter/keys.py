"""Keys that clients have to bring, where the configuration asks for any."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from specmeter.errors import StartupError


class Keys:
    """The keys that let in. They are kept as digests, and compared in constant time.

    Args:
        digests: SHA-256 of each; at least one.
    """

    def __init__(self, digests: Sequence[bytes]) -> None:
        self.digests = tuple(digests)

    @classmethod
    def read(cls, path: str, option: str) -> Keys | None:
        """Read a file with a key a line; lines that begin with `#` are none.

        Args:
            path: Of the file; empty for none.
            option: What the configuration calls it.

        Returns:
            `None` if no file is named: then no key is needed.

        Raises:
            StartupError: It cannot be read, or holds no key.
        """
        if not path:
            return None
        try:
            lines = Path(path).read_bytes().splitlines()
        except OSError as error:
            raise StartupError(f"{option} {path} cannot be read: {error.strerror}") from None
        keys = [key for line in lines if (key := line.strip()) and not key.startswith(b"#")]
        if not keys:
            raise StartupError(
                f"{option} {path} holds no key, so that nobody could be let in: write one a line, "
                "or take the option out"
            )
        return cls([sha256(key).digest() for key in keys])

    def admit(self, key: bytes | None) -> bool:
        """Whether this key is one of them. Takes as long for a wrong one as for a right one."""
        if key is None:
            return False
        digest = sha256(key).digest()
        found = False
        for known in self.digests:
            found |= hmac.compare_digest(known, digest)
        return found


def key_of(authorization: bytes | None, api_key: bytes | None) -> bytes | None:
    """Return the key that a request brings.

    Args:
        authorization: `Bearer KEY`, or `Basic` with the key as the password of any user, which is
            how browsers send one.
        api_key: The header `x-api-key`, as Anthropic's clients send it.
    """
    scheme, _, value = (authorization or b"").partition(b" ")
    value = value.strip()
    if scheme.lower() == b"bearer" and value:
        return value
    if scheme.lower() == b"basic":
        try:
            _, separator, password = base64.b64decode(value, validate=True).partition(b":")
        except binascii.Error:
            return api_key
        return password if separator else api_key
    return api_key
