"""What a sweep may choose: settings of the scheduler, and parts of the scene."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._errors import InputError

Value = str | int | float | bool
Point = Mapping[str, Value]

SCENE = ("scheduler", "workload", "machine", "duration", "noise")
"""Names that stand for a part of the scene; all others are settings of the scheduler."""


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included.

    Attributes:
        low, high: whole numbers give whole numbers.
        log: evenly spread over the orders of magnitude.
        steps: how many values a grid takes of it.
    """

    low: float
    high: float
    log: bool = False
    steps: int = 5

    def __post_init__(self) -> None:
        if not self.low < self.high or (self.log and self.low <= 0) or self.steps < 2:
            raise InputError(f"{self} is no range: low < high, and more than 0 where it is logarithmic")

    @property
    def whole(self) -> bool:
        """Are its values whole numbers?"""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def at(self, share: float) -> Value:
        """The value at this share of the range, 0 to 1."""
        if self.log:
            value = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + share * (self.high - self.low)
        return min(max(round(value), int(self.low)), int(self.high)) if self.whole else value

    def grid(self) -> list[Value]:
        """Its values in a grid, without repeating one."""
        return list(dict.fromkeys(self.at(step / (self.steps - 1)) for step in range(self.steps)))


@dataclass(frozen=True)
class Choices:
    """One of these values."""

    values: tuple[Value, ...]

    def at(self, share: float) -> Value:
        """The value at this share of the list, 0 to 1."""
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]

    def grid(self) -> list[Value]:
        """All of them."""
        return list(self.values)


Dimension = Range | Choices
Given = Mapping[str, Dimension | Sequence[Value] | tuple[float, float]]


def read(space: Given) -> dict[str, Dimension]:
    """A space as it may be written: a list is one of its values."""
    dimensions: dict[str, Dimension] = {}
    for name, given in space.items():
        if isinstance(given, Range | Choices):
            dimensions[name] = given
        elif isinstance(given, Sequence) and not isinstance(given, str) and given:
            dimensions[name] = Choices(tuple(given))
        else:
            raise InputError(f"space: {name} is a Range or a list of values, not {given!r}")
    if not dimensions:
        raise InputError("the space is empty")
    return dimensions
