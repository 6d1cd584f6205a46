"""A proxy that meters speculative decoding live."""

__version__ = "0.1.0"
