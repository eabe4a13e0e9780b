"""Searches settings that shorten wakeup delays, and tries them with seeds that the search has not seen.

Run it in the repository's folder: ``python python/benchmarks/tuning.py [PROGRAM]``, where PROGRAM is a
``scx_bpfland``. docs/explanation/tuning.md has what it printed.
"""

from __future__ import annotations

import sys
from statistics import mean
from typing import Any

import evenkeel
from evenkeel import Choices, Range, Scheduler, sweep

SCENE: dict[str, Any] = {
    "workload": "tests/twin/churn.json",
    "machine": "tests/twin/guest.toml",
    "duration": "10s",
}
SEARCHED = [1, 2, 3]
HELD_OUT = 1000
RUNS = 20

SPACES: dict[str, dict[str, Any]] = {
    "cfs": {
        "latency_ns": Range(750_000, 96_000_000, log=True, steps=8),
        "min_granularity_ns": Range(187_500, 24_000_000, log=True, steps=8),
        "wakeup_granularity_ns": [0, 1_000_000, 8_000_000],
    },
    "ule": {
        "greatest_slice_ns": Range(10_000_000, 160_000_000, log=True, steps=5),
        "push_ns": Range(31_250_000, 500_000_000, log=True, steps=5),
    },
}


def try_out(schedulers: dict[str, Scheduler | str]) -> None:
    """Compares them over the held-out seeds, and prints a row for each."""
    scene = SCENE["workload"], SCENE["machine"]
    held_out = evenkeel.compare(list(schedulers.values()), *scene, runs=RUNS, seed=HELD_OUT, duration=SCENE["duration"])
    for name, runs in zip(schedulers, batched(held_out.runs), strict=True):
        delays = [run.wakeup_delay_ns.p99 / 1e6 for run in runs]
        busy_share = mean(run.busy_share for run in runs)
        spread = f"{min(delays):.1f} to {max(delays):.1f}"
        print(f"  {name}: p99 of wakeup delay {mean(delays):.1f} ms ({spread}), CPUs {busy_share:.0%} busy")


def batched(runs: list[evenkeel.Run]) -> list[list[evenkeel.Run]]:
    """The runs of each scheduler."""
    return [runs[at : at + RUNS] for at in range(0, len(runs), RUNS)]


def tuned(name: str) -> None:
    """Searches the settings of a built-in scheduler."""
    found = sweep(SPACES[name], "wakeup_delay_p99_ns", scheduler=name, seeds=SEARCHED, keep=0.3, **SCENE)
    best = found.best().point
    print(f"{name}: {len(found)} runs of {len(found.tried())} points; best: {best}")
    try_out({"as it is": name, "found": Scheduler(name, best)})


def tuned_program(program: str) -> None:
    """Searches the options of scx_bpfland."""
    commands = [
        f"{program} --slice-us {slice_us} --slice-us-lag {lag_us}"
        for slice_us in (125, 250, 500, 1000, 2000, 4000, 8000, 16000)
        for lag_us in (0, 4000, 20000, 40000, 80000)
    ]
    found = sweep({"scheduler": Choices(tuple(commands))}, "wakeup_delay_p99_ns", seeds=SEARCHED, keep=0.3, **SCENE)
    best = str(found.best().point["scheduler"])
    print(f"scx_bpfland: {len(found)} runs of {len(commands)} points; best:{best.removeprefix(program)}")
    try_out({"as it is": f"{program} --slice-us 1000", "found": best})


if __name__ == "__main__":
    for name in SPACES:
        tuned(name)
    for program in sys.argv[1:2]:
        tuned_program(program)
