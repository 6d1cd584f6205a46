"""The data path: bytes in, bytes out; ends by handing over what it copied."""
