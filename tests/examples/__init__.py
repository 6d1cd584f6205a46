"""An answer of every format that is known, with numbers of its own, and what it says.

Made by the servers' sources and documentation; real answers are in `captures`.
"""

from tests.examples.example import Example, Path
from tests.examples.local import LM_STUDIO, OLLAMA
from tests.examples.others import KOBOLDCPP, OPENAI, TRTLLM
from tests.examples.sglang import SGLANG
from tests.examples.timings import IK_LLAMA, LLAMA_CPP, MLX_VLM, TABBY
from tests.examples.vllm import VLLM

__all__ = ["EXAMPLES", "Example", "Path"]

EXAMPLES = (
    *(*LLAMA_CPP, *IK_LLAMA, *MLX_VLM, *VLLM, *SGLANG, *OLLAMA),
    *(*LM_STUDIO, *TABBY, *TRTLLM, *KOBOLDCPP, *OPENAI),
)
