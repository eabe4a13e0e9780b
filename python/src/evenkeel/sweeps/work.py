"""What one worker does: a batch of runs, one after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _given
from .._errors import KeelError, SchedulerError, UnsupportedError
from .._given import Machine, Scheduler, Workload
from .._run import Run, flat
from .objective import Objective
from .space import SCENE, Point

OF_THE_HOST = ("wall_ns", "peak_rss_bytes")
"""Figures that differ from host to host, and are in no table."""

Task = tuple[int, int, Point]
"""The number of a point, a seed, and the point."""


@dataclass(frozen=True)
class Scene:
    """All that the runs of a sweep share. It is sent to each node once."""

    scheduler: Scheduler
    workload: Workload | None
    machine: Machine | None
    duration_ns: int | None
    noise: str
    objectives: tuple[Objective, ...]
    more: dict[tuple[str, Any], Any] = field(default_factory=dict)
    """Schedulers, workloads and machines that points name, by what they name."""


def portable(given: Any, kind: type[Scheduler] | type[Workload] | type[Machine]) -> Any:
    """The same with a file's content in place of its path, so that other nodes can run it."""
    if given is None:
        return None
    given = given if isinstance(given, kind) else kind(given)
    path = Path(str(given.given))
    is_file = isinstance(given.given, str) and "/" in given.given or path.suffix in (".o", ".toml", ".json")
    if not is_file or not path.is_file():
        return given
    if isinstance(given, Scheduler):
        return given if given.object else Scheduler.read(path, given.settings)
    return given if given.text else kind.read(path)


def one(scene: Scene, task: Task) -> dict[str, Any]:
    """Makes a run, and gives its row."""
    number, seed, point = task
    row: dict[str, Any] = {"point": number, "seed": seed}
    # A machine may be a number or a name; a column has one type.
    row |= {f"param_{name}": str(value) if name in SCENE else value for name, value in point.items()}
    try:
        run = _run(scene, seed, point)
    except (SchedulerError, UnsupportedError) as error:
        objectives = {f"objective_{each.name}": None for each in scene.objectives}
        return row | objectives | {"failed": True, "error": error.message}
    row |= {f"objective_{each.name}": each.value(run) for each in scene.objectives}
    figures = {name: value for name, value in flat(run).items() if name not in OF_THE_HOST and name != "seed"}
    return row | figures | {"error": None}


def _run(scene: Scene, seed: int, point: Point) -> Run:
    part = {name: value for name, value in point.items() if name in SCENE}
    settings = {name: value for name, value in point.items() if name not in SCENE}
    duration = part.get("duration")
    named = scene.more.get
    spec = _given.spec(
        named(("scheduler", part.get("scheduler")), scene.scheduler),
        named(("machine", part.get("machine")), scene.machine),
        named(("workload", part.get("workload")), scene.workload),
        duration=scene.duration_ns / 1e9 if duration is None and scene.duration_ns else _duration(duration),
        seed=seed,
        noise=str(part.get("noise", scene.noise)),
        settings=settings,
    )
    return Run.of(spec.run(None, False), spec)


def _duration(value: Any) -> _given.Duration | None:
    return value if value is None or isinstance(value, str | int | float) else None


def batch(
    scene: Scene, tasks: Sequence[Task], is_over: Callable[[], bool] = lambda: False
) -> tuple[list[dict[str, Any]], float]:
    """Makes runs until `is_over`; gives their rows, and how many seconds they took."""
    begun = time.monotonic()
    rows = []
    for task in tasks:
        if is_over():
            break
        rows.append(one(scene, task))
    return rows, time.monotonic() - begun


__all__ = ["KeelError", "Scene", "Task", "batch", "one", "portable"]
