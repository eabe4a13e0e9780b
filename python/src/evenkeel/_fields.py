"""Data classes that are read from JSON objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, TypeVar, cast

F = TypeVar("F", bound="Fields")
Reader = Callable[[Any], Any]


class Fields:
    """What is read from a JSON object: members that are not fields are left out."""

    __slots__ = ()

    @classmethod
    def read(cls: type[F], data: Mapping[str, Any]) -> F:
        """The data class of a JSON object."""
        return cls(**{name: read(data[name]) if read else data[name] for name, read in _readers(cast(Hashable, cls)) if name in data})


@lru_cache(maxsize=None)
def _readers(cls: Hashable) -> tuple[tuple[str, Reader | None], ...]:
    return tuple((each.name, each.metadata.get("read")) for each in dataclasses.fields(cast(Any, cls)))


def one(of: type[Fields]) -> Any:
    """A member that is an object."""
    return dataclasses.field(default=None, metadata={"read": of.read})


def some(of: type[Fields]) -> Any:
    """A member that is an object or null."""
    return dataclasses.field(default=None, metadata={"read": lambda data: None if data is None else of.read(data)})


def many(of: type[Fields]) -> Any:
    """A member that is a list of objects."""
    return dataclasses.field(default_factory=list, metadata={"read": lambda data: [of.read(each) for each in data]})


def table_of(of: type[Fields]) -> Any:
    """A member that is an object of objects."""
    read = {"read": lambda data: {name: of.read(each) for name, each in data.items()}}
    return dataclasses.field(default_factory=dict, metadata=read)
