"""What a log says about speculation beside its numbers: the start-up lines."""

from __future__ import annotations

from enum import StrEnum


class Sign(StrEnum):
    """Something that a line says. Each kind of server has its own words for it."""

    LLAMA_CPP = "llama.cpp's server"
    VLLM = "vLLM"
    SGLANG = "SGLang"
    OLLAMA = "Ollama"
    ENABLED = "speculation was set up"
    DISABLED = "speculation is off"
    NO_IMPLEMENTATION = "no implementations specified for speculative decoding"
    DRAFT_MODEL = "a draft model was loaded"
    NOT_SUPPORTED = "speculative decoding not supported by this context"
    SYNTHETIC = "synthetic acceptance"


_SERVERS: dict[bytes, Sign] = {
    b"slot print_timing": Sign.LLAMA_CPP,
    b"slot      release": Sign.LLAMA_CPP,
    b"llama_server: ": Sign.LLAMA_CPP,
    b"server is listening": Sign.LLAMA_CPP,
    b"OLLAMA_": Sign.OLLAMA,
    b"mlx runner": Sign.OLLAMA,
    b"Avg generation throughput": Sign.VLLM,
    b"vLLM API server": Sign.VLLM,
    b"Decode batch": Sign.SGLANG,
    b"server_args=ServerArgs(": Sign.SGLANG,
}
_GATE = b"peculative"
_BEHIND_GATE: dict[bytes, Sign] = {
    b"adding speculative implementation": Sign.ENABLED,
    b"speculative decoding context initialized": Sign.ENABLED,
    b"auto-detected speculative type": Sign.ENABLED,
    b"no implementations specified for speculative": Sign.NO_IMPLEMENTATION,
    b"speculative decoding not supported": Sign.NOT_SUPPORTED,
    b"synthetic speculative acceptance is enabled": Sign.SYNTHETIC,
    b"speculative_config=None": Sign.DISABLED,
    b"speculative_config=Spec": Sign.ENABLED,
    b"speculative_algorithm=None": Sign.DISABLED,
    b"speculative_algorithm='": Sign.ENABLED,
}
_OTHERS: dict[bytes, Sign] = {
    b"loading draft model": Sign.DRAFT_MODEL,
    b"#gen drafts": Sign.ENABLED,
    b"MTP greedy decode enabled": Sign.ENABLED,
    b"MTP sample decode enabled": Sign.ENABLED,
}


class Evidence:
    """The signs seen so far; one that was seen is not looked for again, nor is a second server."""

    def __init__(self) -> None:
        self.signs: set[Sign] = set()
        self.server: Sign | None = None
        """The kind of server that wrote the log, by its first words."""
        self._behind_gate = dict(_BEHIND_GATE)
        self._others = dict(_OTHERS)

    def read(self, block: bytes) -> None:
        """Look for signs in a block of lines."""
        if self.server is None:
            found = [(block.find(words), sign) for words, sign in _SERVERS.items()]
            self.server = min(((at, sign) for at, sign in found if at >= 0), default=(0, None))[1]
        self._look(block, self._others)
        if self._behind_gate and _GATE in block:
            self._look(block, self._behind_gate)

    def _look(self, block: bytes, wanted: dict[bytes, Sign]) -> None:
        for words in [words for words in wanted if words in block]:
            self.signs.add(wanted.pop(words))
