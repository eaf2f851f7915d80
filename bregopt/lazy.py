"""Attributes that are computed when they are first read."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, final, overload

T = TypeVar("T")


@final
class lazy(Generic[T]):  # noqa: N801  (it is used as a decorator, as ``property`` is)
    """``functools.cached_property`` without the lock that it takes before Python 3.12.

    An iteration on a small matrix reads some ten of them, and has no time for it. Two threads that read one at once may
    both compute it.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "lazy[T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> "T | lazy[T]":
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.compute(instance)
        return value
