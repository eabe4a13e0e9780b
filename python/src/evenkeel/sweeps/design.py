"""Which points of a space are tried. A design and its seed give the same points anywhere."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping

from .._errors import InputError
from .space import Dimension, Point


def grid(space: Mapping[str, Dimension]) -> list[Point]:
    """Every combination."""
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*(d.grid() for d in space.values()))]


def at_random(space: Mapping[str, Dimension], points: int, seed: int) -> list[Point]:
    """Independent points."""
    draw = random.Random(seed)
    return [{name: dimension.at(draw.random()) for name, dimension in space.items()} for _ in range(points)]


def latin_hypercube(space: Mapping[str, Dimension], points: int, seed: int) -> list[Point]:
    """Points of which each dimension's values are spread evenly: one in each of as many equal parts as there are points."""
    draw = random.Random(seed)
    columns = {}
    for name, dimension in space.items():
        parts = list(range(points))
        draw.shuffle(parts)
        columns[name] = [dimension.at((part + draw.random()) / points) for part in parts]
    return [{name: column[at] for name, column in columns.items()} for at in range(points)]


def points(design: str, space: Mapping[str, Dimension], trials: int | None, seed: int) -> list[Point]:
    """The points of a design."""
    if design == "grid":
        if trials is not None:
            raise InputError("a grid has as many points as it has combinations; leave trials out")
        return grid(space)
    if trials is None or trials < 1:
        raise InputError(f"design '{design}' needs a number of trials")
    if design == "random":
        return at_random(space, trials, seed)
    if design == "lhs":
        return latin_hypercube(space, trials, seed)
    raise InputError(f"design is 'grid', 'random', 'lhs' or a sampler of Optuna, not '{design}'")
