"""Structs whose fields carry the rule that their values obey."""

import typing
from typing import Annotated, Any

import msgspec

from specmeter.errors import ConfigError


class Checked(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A struct whose values are checked when it is made.

    Raises:
        ConfigError: a value is out of its range; names the key.
    """

    def __post_init__(self) -> None:
        for key in self.__struct_fields__:
            try:
                clean(type(self), key, getattr(self, key))
            except ConfigError as error:
                raise ConfigError(f"{key}: {error}") from None


def clean(kind: type[msgspec.Struct], key: str, value: object) -> Any:
    """Check one value of such a struct, and give it back in its proper type.

    Raises:
        ConfigError: names value and remedy, not the key.
    """
    hint = _hint(kind, key)
    return hint.__metadata__[0](value) if typing.get_origin(hint) is Annotated else value


def value_type(kind: type[msgspec.Struct], key: str) -> Any:
    """Give the type of one value of such a struct."""
    hint = _hint(kind, key)
    return hint.__origin__ if typing.get_origin(hint) is Annotated else hint


def _hint(kind: type[msgspec.Struct], key: str) -> Any:
    return typing.get_type_hints(kind, include_extras=True)[key]
