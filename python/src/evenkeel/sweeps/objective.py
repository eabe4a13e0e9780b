"""What a sweep looks for: one or several figures, each to be small or large."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .._errors import InputError
from .._run import Run, flat

Figure = Callable[[Run], float]

KNOWN: Mapping[str, str] = {
    "throughput": "max",
    "wakeup_delay_p50_ns": "min",
    "wakeup_delay_p99_ns": "min",
    "wakeup_delay_max_ns": "min",
    "wasted_share": "min",
    "wasted_core_ns": "min",
    "migrations": "min",
    "overhead_callback_ns": "min",
    "core_ns_per_unit": "min",
}


@dataclass(frozen=True)
class Objective:
    """A figure, and which way it is to go.

    Attributes:
        name: a figure of ``Comparison.to_dicts``; ``core_ns_per_unit``, a proxy of energy: core time that was busy for
            each unit of the workload's throughput; or any name where ``of`` is given.
        direction: ``min`` or ``max``.
        of: computes the figure of a run.
    """

    name: str
    direction: str
    of: Figure | None = None

    def __post_init__(self) -> None:
        if self.direction not in ("min", "max"):
            raise InputError(f"objective {self.name}: the direction is 'min' or 'max', not {self.direction!r}")

    def value(self, run: Run) -> float | None:
        """The figure of a run; None where it has none, as of a scheduler that failed."""
        if run.failed:
            return None
        if self.of is not None:
            return float(self.of(run))
        if self.name == "core_ns_per_unit":
            return run.busy_share * run.online_ns / run.throughput_total if run.throughput_total else None
        try:
            return float(flat(run)[self.name])
        except KeyError:
            raise InputError(f"objective: there is no figure '{self.name}'") from None

    def loss(self, value: float) -> float:
        """The figure as something that is better where it is smaller."""
        return value if self.direction == "min" else -value


Given = str | Objective | Figure | Mapping[str, str] | Sequence["str | Objective"]


def read(given: Given) -> list[Objective]:
    """Objectives as they may be written."""
    if isinstance(given, Mapping):
        return [Objective(name, direction) for name, direction in given.items()]
    if isinstance(given, str | Objective) or callable(given):
        return [_one(given)]
    objectives = [_one(each) for each in given]
    if not objectives:
        raise InputError("there is no objective")
    return objectives


def _one(given: str | Objective | Figure) -> Objective:
    if isinstance(given, Objective):
        return given
    if isinstance(given, str):
        if given not in KNOWN:
            raise InputError(f"objective {given}: say which way: {{'{given}': 'min'}}")
        return Objective(given, KNOWN[given])
    return Objective(getattr(given, "__name__", "objective"), "min", given)


def dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Is the first of these losses nowhere worse, and somewhere better?"""
    return all(a <= b for a, b in zip(one, other, strict=True)) and any(
        a < b for a, b in zip(one, other, strict=True)
    )


def ranks(losses: Sequence[Sequence[float]]) -> list[int]:
    """The front that each is in: 0 where none dominates it, 1 where only those of front 0 do, ..."""
    left, rank, found = set(range(len(losses))), 0, [0] * len(losses)
    while left:
        front = {at for at in left if not any(dominates(losses[other], losses[at]) for other in left)}
        for at in front:
            found[at] = rank
        left -= front
        rank += 1
    return found
