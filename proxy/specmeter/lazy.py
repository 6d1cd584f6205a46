"""Attributes that are worked out when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, overload

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class lazy(Generic[Owner, Value]):  # noqa: N801 - a decorator, like `property`
    """As `functools.cached_property` of Python 3.12: the one of 3.11 takes a lock each time.

    The owner needs a `__dict__`; what is found there is what the attribute is from then on.
    """

    def __init__(self, make: Callable[[Owner], Value]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, one: None, owner: type[Owner]) -> lazy[Owner, Value]: ...
    @overload
    def __get__(self, one: Owner, owner: type[Owner]) -> Value: ...
    def __get__(self, one: Owner | None, owner: type[Owner]) -> lazy[Owner, Value] | Value:
        """Work it out; called only as long as it is not in the owner's `__dict__`."""
        if one is None:
            return self
        value = one.__dict__[self._name] = self._make(one)
        return value
