from tests.llama import draft_simple_llama, llama_model, ngram_mod_llama, plain_llama

__all__ = ["draft_simple_llama", "llama_model", "ngram_mod_llama", "plain_llama"]
