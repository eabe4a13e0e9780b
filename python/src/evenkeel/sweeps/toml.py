"""Sweeps as files: what `keel sweep FILE.toml` does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._errors import InputError
from .._optional import needs
from . import Sweep, sweep
from .space import Range

KEYS = {
    "scheduler", "workload", "machine", "duration", "noise", "design", "trials", "seeds", "keep", "generation", "seed",
    "out", "jobs", "ray",
}  # fmt: skip
SAMPLERS = ("tpe", "nsga2", "gp")


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The arguments of `sweep` that a file holds. Paths in it are relative to its folder."""
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    toml = _toml()
    try:
        given: dict[str, Any] = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from error
    space, objective = given.pop("space", None), given.pop("objective", None)
    if not isinstance(space, dict) or not isinstance(objective, dict):
        raise InputError(f"{path}: it needs a table [space] and a table [objective]")
    if unknown := sorted(given.keys() - KEYS):
        raise InputError(f"{path}: there is no '{unknown[0]}'; there are {', '.join(sorted(KEYS))}, [space], [objective]")
    folder = Path(path).resolve().parent
    given["space"] = {name: _dimension(name, value, folder, path) for name, value in space.items()}
    given["objective"] = objective
    for name in ("scheduler", "workload", "machine"):
        given |= {name: _beside(given[name], folder)} if name in given else {}
    given["out"] = str(folder / given.get("out", Path(path).stem + ".sweep"))
    if given.get("design") in SAMPLERS:
        given["design"] = _sampler(given["design"], given.get("seed", 1))
    return given


def run(path: str | os.PathLike[str], progress: bool, **more: Any) -> Sweep:
    """Makes the sweep of a file."""
    given: Mapping[str, Any] = {**read(path), **{name: value for name, value in more.items() if value is not None}}
    return sweep(**given, progress=progress)


def _dimension(name: str, value: Any, folder: Path, path: Any) -> Any:
    if isinstance(value, dict):
        try:
            return Range(**value)
        except TypeError as error:
            raise InputError(f"{path}: space.{name}: write {{ low = 1, high = 9, log = true, steps = 5 }}") from error
    return [_beside(each, folder) for each in value] if isinstance(value, list) else value


def _beside(given: Any, folder: Path) -> Any:
    """A path relative to the file; anything else unchanged."""
    if isinstance(given, str) and (folder / given).is_file():
        return str(folder / given)
    return given


def _sampler(name: str, seed: int) -> Any:
    samplers = needs("optuna", "optuna").samplers
    kinds = {"tpe": samplers.TPESampler, "nsga2": samplers.NSGAIISampler, "gp": samplers.GPSampler}
    return kinds[name](seed=seed)


def _toml() -> Any:
    try:
        return needs("tomllib", None)
    except ImportError:
        # Python 3.10 has none of its own.
        return needs("tomli", None)
