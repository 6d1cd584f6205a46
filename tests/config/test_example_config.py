"""config/specmeter.toml: complete, loadable, equal to the defaults."""

import re
from pathlib import Path

import pytest

from specmeter.config import Settings, Upstream, load
from specmeter.errors import ConfigError

EXAMPLE = Path(__file__).parents[2] / "config" / "specmeter.toml"
TOP, _, BELOW = EXAMPLE.read_text(encoding="utf-8").partition("\n[[upstream]]\n")
KEYS = [
    *((TOP, key) for key in Settings.__struct_fields__ if key != "upstream"),
    *((BELOW, key) for key in Upstream.__struct_fields__),
]

_BOUND = ("memory_bandwidth_gb_s", "weights_gb")
"""One has no use without the other."""


def paragraph(text: str, key: str) -> str:
    """Give the comment above a key."""
    match = re.search(rf"((?:^#.*\n)+)^{key} = ", text, re.MULTILINE)
    assert match, f"{key} is not in the file, or not below a comment"
    return match[1]


def written(text: str, key: str) -> str:
    """Give a key's value as it stands in the file."""
    match = re.search(rf"^{key} = (.*)$", text, re.MULTILINE)
    assert match
    return match[1]


def changed(folder: Path, key: str, value: str) -> Path:
    """Write the example with one value changed."""
    text = EXAMPLE.read_text(encoding="utf-8")
    path = folder / "changed.toml"
    text = text.replace('\nplain = ""\n', '\nplain = "other"\n')
    if key in _BOUND:
        for one in _BOUND:
            text = text.replace(f"\n{one} = 0.0\n", f"\n{one} = {value}\n")
    text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
    path.write_text(f'{text}\n[[upstream]]\nurl = "http://other"\nname = "other"\n')
    return path


class TestExample:
    def test_it_loads_as_the_defaults(self) -> None:
        """The example equals the defaults with one llama-server, and brings no warning."""
        loaded = load(EXAMPLE, {}, {})
        assert loaded.settings == Settings(upstream=(Upstream(url="http://127.0.0.1:8080"),))
        assert loaded.warnings == ()

    @pytest.mark.parametrize(("text", "key"), KEYS)
    def test_each_key_is_explained(self, text: str, key: str) -> None:
        """Each key stands below a comment of its own that tells the default and a unit if any."""
        comment = paragraph(text, key)
        assert "default" in comment.lower()
        unit = re.search(r"_(seconds|bytes)$", key)
        assert unit is None or f"in {unit[1]}" in " ".join(comment.replace("#", "").split())

    @pytest.mark.parametrize(("text", "key"), KEYS)
    def test_each_default_is_told_truly(self, text: str, key: str) -> None:
        """The default that a comment tells is the value below it, which is the real default."""
        value = written(text, key)
        told = re.search(r"\b[Dd]efault (\[\]|\".*?\"|[\d.]*\d|\w+)", paragraph(text, key))
        assert key == "url" or (told and told[1] == value)

    @pytest.mark.parametrize(("text", "key"), KEYS)
    def test_each_range_is_told_truly(self, text: str, key: str, tmp_path: Path) -> None:
        """A range that a comment tells is accepted at both ends, and refused beyond."""
        told = re.search(r"([\d.]+) to (\d+(?:\.\d+)?)\b(?! letters)", paragraph(text, key))
        assert bool(told) == bool(re.fullmatch(r"[\d.]+", written(text, key)))
        if not told:
            return
        low, high = told[1], told[2]
        load(changed(tmp_path, key, low), {}, {})
        load(changed(tmp_path, key, high), {}, {})
        for beyond in (
            str(float(low) - 0.001),
            str(float(high) + 1 if "." in high else int(high) + 1),
        ):
            with pytest.raises(ConfigError, match=rf"{key}: "):
                load(changed(tmp_path, key, beyond), {}, {})
