"""Sweeps: many settings of a scheduler, each with several seeds, on all cores or on Ray."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from typing import Any

from .. import _given
from .._errors import InputError
from .._given import Duration, Machine, MachineLike, Scheduler, SchedulerLike, Workload, WorkloadLike
from .._native import version
from .._optional import needs
from . import design as designs
from . import objective as objectives_
from . import space as spaces
from .objective import Objective, ranks
from .pools import Pool, Ray, Threads, results
from .result import Sweep, Tried
from .space import Choices, Point, Range
from .store import Store
from .work import Scene, Task, portable

__all__ = ["Choices", "Objective", "Range", "Sweep", "Tried", "sweep"]


def sweep(
    space: spaces.Given,
    objective: objectives_.Given,
    *,
    scheduler: SchedulerLike = "fifo",
    workload: WorkloadLike | None = None,
    machine: MachineLike | None = None,
    duration: Duration | None = None,
    noise: str = "quiet",
    design: Any = "grid",
    trials: int | None = None,
    seeds: int | Sequence[int] = 3,
    keep: float = 1.0,
    generation: int = 16,
    seed: int = 1,
    out: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    ray: str | bool | None = None,
    progress: bool = False,
) -> Sweep:
    """Tries points of a space, each with several seeds.

    The same arguments give the same table, byte for byte, wherever the runs are made and however often the sweep was
    interrupted. A sweep whose folder ``out`` holds runs already goes on from there.

    Args:
        space: by name, a ``Range`` or a list of values. ``scheduler``, ``workload``, ``machine``, ``duration`` and
            ``noise`` stand for these arguments; all other names are global variables of the scheduler.
        objective: a figure, several with a direction each (``{"throughput": "max"}``), or a function of a ``Run``
            that is to be small.
        scheduler, workload, machine, duration, noise: as for ``sim``.
        design: ``grid``, ``random``, ``lhs`` (Latin hypercube), or a sampler of Optuna.
        trials: how many points; of a grid all.
        seeds: how many seeds each point gets, from 1 on, or which.
        keep: the share of points that gets further seeds: after the first seed, and after a third of them, only the best
            go on. 1 stops none.
        generation: how many points are asked of Optuna's sampler at a time.
        seed: of the design.
        out: the folder of the results; a temporary one by default.
        jobs: runs at a time; as many as there are CPUs by default.
        ray: the address of a Ray cluster, ``auto``, or ``local`` for one on this machine.
        progress: show a progress bar (tqdm).

    Raises:
        InputError: an argument is wrong, or ``out`` holds another sweep.
    """
    dimensions, objectives = spaces.read(space), objectives_.read(objective)
    if not 0 < keep <= 1:
        raise InputError(f"keep is a share, more than 0 and up to 1, not {keep}")
    scene = _scene(dimensions, objectives, scheduler, workload, machine, duration, noise)
    replicas = list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)
    if not replicas or len(set(replicas)) != len(replicas):
        raise InputError("seeds is a number of seeds, or a list of different ones")
    sampler = None if isinstance(design, str) else design
    points = [] if sampler else designs.points(design, dimensions, trials, seed)
    plan = _plan(scene, dimensions, objectives, replicas, keep, seed, trials, design, generation)
    store = Store(out or tempfile.mkdtemp(prefix="evenkeel-sweep-"), plan)
    pool: Pool = Threads(scene, jobs) if ray is None else Ray(scene, ray, jobs)
    try:
        search = _Search(store, pool, objectives, replicas, keep, progress)
        if sampler is None:
            search.points(list(enumerate(points)))
        else:
            if trials is None:
                raise InputError("a sampler of Optuna needs a number of trials")
            points = _sampled(search, sampler, dimensions, trials, generation)
    finally:
        pool.close()
    return Sweep(store, objectives, points)


class _Search:
    """Makes the runs of points that the store does not have."""

    def __init__(
        self, store: Store, pool: Pool, objectives: list[Objective], seeds: list[int], keep: float, progress: bool
    ) -> None:
        self._store, self._pool, self._objectives = store, pool, objectives
        self._seeds, self._keep = seeds, keep
        self._bar = needs("tqdm.auto", "progress").tqdm(unit="run") if progress else None

    def points(self, points: list[tuple[int, Point]]) -> None:
        """Runs points with all their seeds; the hopeless ones with fewer."""
        going = points
        for begin, end in self._rungs():
            tasks: list[Task] = [(number, seed, point) for number, point in going for seed in self._seeds[begin:end]]
            self._make([task for task in tasks if task[:2] not in self._store.rows])
            going = self._better(going, end)

    def _rungs(self) -> list[tuple[int, int]]:
        """Which seeds are tried before the hopeless points are left out."""
        count = len(self._seeds)
        if self._keep == 1:
            return [(0, count)]
        ends = sorted({1, max(1, count // 3), count})
        return list(zip([0, *ends], ends, strict=False))

    def _better(self, points: list[tuple[int, Point]], seeds: int) -> list[tuple[int, Point]]:
        if self._keep == 1 or seeds == len(self._seeds):
            return points
        losses = [self.losses(number, seeds) for number, _ in points]
        order = sorted(range(len(points)), key=lambda at: (ranked[at], losses[at], at)) if (
            ranked := ranks(losses)
        ) else []
        kept = set(order[: max(1, round(len(points) * self._keep))])
        return [point for at, point in enumerate(points) if at in kept]

    def losses(self, number: int, seeds: int) -> list[float]:
        """The mean loss of each objective over the first seeds; infinite where a run failed."""
        means = []
        for each in self._objectives:
            values = [self._store.rows[number, seed][f"objective_{each.name}"] for seed in self._seeds[:seeds]]
            means.append(float("inf") if None in values else each.loss(sum(values) / len(values)))
        return means

    @property
    def seeds(self) -> int:
        """How many seeds a point gets."""
        return len(self._seeds)

    def _make(self, tasks: list[Task]) -> None:
        for rows in results(self._pool, tasks):
            self._store.add(rows)
            if self._bar is not None:
                self._bar.update(len(rows))


def _sampled(search: _Search, sampler: Any, space: dict[str, Any], trials: int, generation: int) -> list[Point]:
    """Asks Optuna for points, a generation at a time, and reports what came of them in their order."""
    optuna = needs("optuna", "optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    directions = ["minimize"] * len(search._objectives)
    study = optuna.create_study(sampler=sampler, directions=directions)
    distributions = {name: _distribution(optuna, dimension) for name, dimension in space.items()}
    points: list[Point] = []
    while len(points) < trials:
        asked = [study.ask(distributions) for _ in range(min(generation, trials - len(points)))]
        first = len(points)
        points += [dict(trial.params) for trial in asked]
        search.points(list(enumerate(points))[first:])
        for number, trial in enumerate(asked, first):
            losses = _told(search, number)
            if losses is None:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, losses)
    return points


def _told(search: _Search, number: int) -> list[float] | None:
    made = sum((number, seed) in search._store.rows for seed in search._seeds)
    losses = search.losses(number, made)
    return None if float("inf") in losses else losses


def _distribution(optuna: Any, dimension: Range | Choices) -> Any:
    kinds = optuna.distributions
    if isinstance(dimension, Choices):
        return kinds.CategoricalDistribution(dimension.values)
    if dimension.whole:
        return kinds.IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
    return kinds.FloatDistribution(dimension.low, dimension.high, log=dimension.log)


def _scene(
    space: dict[str, Any],
    objectives: list[Objective],
    scheduler: SchedulerLike,
    workload: WorkloadLike | None,
    machine: MachineLike | None,
    duration: Duration | None,
    noise: str,
) -> Scene:
    more: dict[Any, Any] = {}
    kinds: dict[str, Any] = {"scheduler": Scheduler, "workload": Workload, "machine": Machine}
    for name, kind in kinds.items():
        if isinstance(space.get(name), Choices):
            more |= {(name, value): portable(value, kind) for value in space[name].values}
    return Scene(
        portable(scheduler, Scheduler),
        portable(workload, Workload),
        portable(machine, Machine),
        None if duration is None else _given.duration_ns(duration),
        noise,
        tuple(objectives),
        more,
    )


def _plan(
    scene: Scene,
    space: dict[str, Any],
    objectives: list[Objective],
    seeds: list[int],
    keep: float,
    seed: int,
    trials: int | None,
    design: Any,
    generation: int,
) -> dict[str, Any]:
    """What must be the same for a folder's runs to count."""
    scene_bytes = repr((scene.scheduler, scene.workload, scene.machine, scene.duration_ns, scene.noise, scene.more))
    return {
        "version": version(),
        "scene": hashlib.sha256(scene_bytes.encode()).hexdigest(),
        "space": {name: repr(dimension) for name, dimension in space.items()},
        "objectives": {each.name: each.direction for each in objectives},
        "seeds": seeds,
        "keep": keep,
        "seed": seed,
        "trials": trials,
        "design": design if isinstance(design, str) else type(design).__name__,
        "generation": generation,
    }
