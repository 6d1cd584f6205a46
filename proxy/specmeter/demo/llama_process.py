"""The program inside the subprocess: one llama.cpp HTTP server, alive as long as its parent.

Run as `python -m specmeter.demo.llama_process`. It prints the address it listens on, one line,
once the model is loaded; everything llama.cpp says goes to standard error. It ends when its
standard input does, which the kernel closes however the parent dies.
"""

import argparse
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

Drafter: TypeAlias = Literal["none", "ngram-mod", "draft-simple"]


def main(arguments: Sequence[str]) -> None:
    """Serve until standard input ends; exit code 1 and the reason in the log if it cannot."""
    options = _parser().parse_args(arguments)
    announcement = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # llama.cpp's output must not fill the pipe
    threading.Thread(target=_exit_with_parent, daemon=True).start()

    import xllamacpp  # noqa: PLC0415 - 100 MB, and an optional dependency

    try:
        server = xllamacpp.Server(_parameters(xllamacpp, options))
    except RuntimeError as error:  # the reason is in the lines before
        sys.exit(str(error))
    with os.fdopen(announcement, "w") as pipe:
        pipe.write(f"{server.listening_address}\n")
    threading.Event().wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="specmeter.demo.llama_process")
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", required=True)
    parser.add_argument("--drafter", choices=get_args(Drafter), required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--threads", type=int)
    return parser


def _exit_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):  # not buffered: its lock would spoil a failed start
        pass
    os._exit(0)  # llama.cpp's own threads would hold up an orderly exit


def _parameters(xllamacpp: Any, options: argparse.Namespace) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = options.model
    parameters.model_alias = {options.alias}
    parameters.port = options.port
    parameters.n_ctx = options.context * options.slots  # llama.cpp divides it among the slots
    parameters.n_parallel = options.slots
    parameters.endpoint_metrics = True
    parameters.endpoint_slots = True
    if options.threads is not None:
        parameters.cpuparams.n_threads = options.threads
    kinds = xllamacpp.common_speculative_type
    if options.drafter == "ngram-mod":
        parameters.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_NGRAM_MOD]
    elif options.drafter == "draft-simple":
        parameters.speculative.types = [kinds.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
        parameters.speculative.draft.mparams.path = options.model  # it drafts for itself
    return parameters


if __name__ == "__main__":
    main(sys.argv[1:])
