"""Fixtures of the whole suite: the real llama.cpp servers are started once."""

from hypothesis import settings

from tests.llama import draft_simple_llama, llama_model, ngram_mod_llama, plain_llama

__all__ = ["draft_simple_llama", "llama_model", "ngram_mod_llama", "plain_llama"]


def pytest_configure() -> None:
    """Let hypothesis take its time: a deadline measures how busy the machine is."""
    settings.register_profile("specmeter", deadline=None)
    settings.load_profile("specmeter")
