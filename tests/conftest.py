"""Fixtures of the whole suite: the real llama.cpp servers are started once."""

import signal

from hypothesis import settings

from tests.llama import draft_simple_llama, llama_model, ngram_mod_llama, plain_llama

__all__ = ["draft_simple_llama", "llama_model", "ngram_mod_llama", "plain_llama"]


def pytest_configure() -> None:
    """Make the suite independent of who runs it, and on what."""
    # A shell lets what it runs in the background ignore Ctrl-C, and so what the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # A deadline measures how busy the machine is.
    settings.register_profile("specmeter", deadline=None)
    settings.load_profile("specmeter")
