"""Published experiments: keel's results next to the published ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from . import _native
from ._errors import InputError
from ._fields import Fields, many, some
from ._progress import over


@dataclass(frozen=True, slots=True)
class Values(Fields):
    """The values of an arm's runs, in the measure's unit."""

    mean: float
    """Their mean."""
    low: float
    """The least."""
    high: float
    """The greatest."""


@dataclass(frozen=True, slots=True)
class Trend(Fields):
    """The order of published and our ratios."""

    rank_correlation: float | None
    """Spearman's, over all claims that compare arms."""
    least: float
    """What it must be at least."""
    cells: int
    """How many ratios were measured."""
    holds: bool
    """Is it as claimed?"""


@dataclass(frozen=True, slots=True)
class Claim(Fields):
    """Something that was published about two arms, or one."""

    says: str
    """What it says."""
    measure: str
    """What is measured, such as ``units_per_s``."""
    tasks: list[str]
    """Of which tasks together; of all where there are none."""
    of: str
    """The arm that is divided."""
    to: str | None
    """The arm that it is divided by."""
    published: float
    """As published."""
    ours: float | None
    """Ours."""
    spread: tuple[float, float] | None
    """What two runs of the same scheduler differ by."""
    band: tuple[float, float]
    """Where ours must lie."""
    off: float | None
    """Ours with the mechanism switched off."""
    verdict: str
    """``reproduced``, ``not_reached``, ``undecidable`` or ``calibrated``."""
    why: str
    """Why, in one line."""
    of_values: Values | None = some(Values)
    """The values of the arm that is divided."""
    to_values: Values | None = some(Values)
    """The values of the arm that it is divided by."""


@dataclass(frozen=True, slots=True)
class Arm(Fields):
    """What was run."""

    label: str
    """What claims call it."""
    scheduler: str
    """The scheduler."""
    settings: Mapping[str, str]
    """Its global variables that were set."""
    workload: str
    """The workload."""
    machine: str
    """The machine."""
    runs: int
    """How many runs were made."""
    failed: int
    """How many of them failed."""
    switches_per_s: float
    """Context switches a second, on average."""
    migrations_per_s: float
    """Migrations a second."""
    busy_share: float
    """Time that tasks ran, of the time that CPUs were online."""
    callback_share: float
    """Time in the scheduler's callbacks, of the time that CPUs were online."""
    lock_wait_share: float
    """Time that CPUs waited for locks, of the time that they were online."""


@dataclass(frozen=True, slots=True)
class Experiment(Fields):
    """One experiment, with the fields that ``keel lab --json`` prints."""

    id: str
    """Its name."""
    title: str
    """What it is."""
    source: str
    """Where it was published."""
    published: float
    """The first claim's published ratio or value."""
    ours: float | None
    """Ours."""
    spread: tuple[float, float] | None
    """What two runs of the same scheduler differ by."""
    reproduced: bool
    """Is every claim reproduced?"""
    verdict: str
    """``reproduced``, ``not_reached``, ``undecidable`` or ``calibrated``."""
    why: str
    """Why, in one line."""
    trend: Trend | None = some(Trend)
    """The trend over all claims, where one is claimed."""
    claims: list[Claim] = many(Claim)
    """All that was claimed."""
    arms: list[Arm] = many(Arm)
    """All that was run."""


class Lab(Sequence[Experiment]):
    """Experiments that were run, in their order."""

    def __init__(self, data: list[dict[str, Any]]) -> None:
        self._data = data
        self._experiments = [Experiment.read(each) for each in data]

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, str):
            return next(each for each in self._experiments if each.id == at)
        return self._experiments[at]

    def __len__(self) -> int:
        return len(self._experiments)

    def __iter__(self) -> Iterator[Experiment]:
        return iter(self._experiments)

    def to_dicts(self) -> list[dict[str, Any]]:
        """All of it, as the ``experiments`` of ``keel lab --json``."""
        return self._data

    def __repr__(self) -> str:
        reproduced = sum(each.reproduced for each in self)
        return f"<Lab: {reproduced} of {len(self)} reproduced>"


def lab(
    experiments: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    *,
    runs: int | None = None,
    costs: str = "bpf",
    jobs: int | None = None,
    programs: str | PathLike[str] = ".cache/programs",
    progress: bool = False,
) -> Lab:
    """Runs published experiments and judges them, as ``keel lab`` does.

    Args:
        experiments: built-in names (see ``built_in("experiments")``) or files; all built-in ones by default.
        runs: of each arm, with consecutive seeds; by default as the experiment says, or 5, and 20 where a verdict is close.
        costs: what a scheduler's instruction costs: ``bpf``, or ``native`` for what compiled C would execute.
        jobs: runs at a time; as many as the host has CPUs by default.
        programs: where programs are that experiments name with a version: ``PROGRAMS/NAME-VERSION/bin/NAME``.
        progress: show a progress bar (tqdm).

    Raises:
        InputError: a name, file or value is wrong, or a named experiment's program is missing.
    """
    if costs not in ("bpf", "native"):
        raise InputError("costs must be 'bpf' or 'native'")
    if runs is not None and not 1 <= runs <= 1000:
        raise InputError("runs is 1 to 1000")
    if jobs is not None and jobs < 1:
        raise InputError("jobs is at least 1")
    given = [experiments] if isinstance(experiments, (str, PathLike)) else experiments
    names = [fspath(each) for each in given]
    with ExitStack() as stack:
        reached: _native.Progress = None

        def total(ns: int) -> None:
            nonlocal reached
            reached = stack.enter_context(over(ns, progress))

        def advance(ns: int) -> None:
            if reached is not None:
                reached(ns)

        data = _native.lab(
            names,
            runs=runs,
            native=costs == "native",
            jobs=jobs,
            programs=fspath(programs),
            total=total,
            progress=advance,
        )
    return Lab(json.loads(data))

