"""Fixtures of the whole suite: the real llama.cpp servers are started once."""

from tests.llama import draft_simple_llama, llama_model, ngram_mod_llama, plain_llama

__all__ = ["draft_simple_llama", "llama_model", "ngram_mod_llama", "plain_llama"]
