"""Prompts from a file."""

from pathlib import Path

import pytest

from specmeter.compare.prompts import WARM_UP, built_in, read_prompts
from specmeter.errors import ConfigError

SECRET = "the moon is a balloon"


def written(folder: Path, text: str) -> Path:
    path = folder / "prompts.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_prompt_a_line(tmp_path: Path) -> None:
    """Blank lines do not count; other separators belong to the prompt; lines give names."""
    found = read_prompts(written(tmp_path, "one\n\n  two\u2028 more \r\n"))
    assert [(one.name, one.messages[0]["content"]) for one in found] == [
        ("line 1", "one"),
        ("line 3", "two\u2028 more"),
    ]


def test_json_lines(tmp_path: Path) -> None:
    """With a prompt or messages, and maybe a name; both kinds of line may be mixed."""
    text = (
        '{"prompt": "a\\nb", "name": "first"}\n'
        '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]}\n'
        "plain\n"
    )
    first, second, third = read_prompts(written(tmp_path, text))
    assert (first.name, first.messages) == ("first", ({"role": "user", "content": "a\nb"},))
    assert [one["role"] for one in second.messages] == ["system", "user"]
    assert (second.name, third.name) == ("line 2", "line 3")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "holds no prompt"),
        ('{"prompt": "' + SECRET, "is no JSON object"),
        ('{"text": "' + SECRET + '"}', "unknown field"),
        ('{"name": "x"}', "needs one of prompt and messages"),
        ('{"prompt": "' + SECRET + '", "messages": []}', "needs one of prompt and messages"),
        ('{"messages": []}', "messages is empty"),
        ('{"messages": "' + SECRET + '"}', "Expected `array"),
        ('{"prompt": "' + SECRET + '", "name": "a\\nb"}', "printable"),
        ('{"prompt": "a", "name": "x"}\n{"prompt": "b", "name": "x"}', "two prompts have the name"),
    ],
)
def test_a_fault_is_told_without_the_prompt(tmp_path: Path, text: str, fault: str) -> None:
    """The error names the file and what is wrong, and never what a prompt says."""
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_prompts(path)
    assert str(path) in str(caught.value)
    assert fault in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The error names it."""
    with pytest.raises(ConfigError, match=r"none\.txt: cannot be read: No such file"):
        read_prompts(tmp_path / "none.txt")


def test_a_file_of_another_encoding(tmp_path: Path) -> None:
    """The error says what to do."""
    path = tmp_path / "latin.txt"
    path.write_bytes("übrig".encode("latin-1"))
    with pytest.raises(ConfigError, match="is not UTF-8: save it as UTF-8"):
        read_prompts(path)


def test_the_built_in_set_has_names_of_its_own() -> None:
    """And the warm-up is none of them."""
    prompts = built_in()
    assert len({one.name for one in prompts}) == len(prompts) >= 3
    assert WARM_UP.messages not in [one.messages for one in prompts]
