"""The package and the command line give the same figures."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

import evenkeel

# What the host takes, and not the run.
OF_THE_HOST = {"wall_ns", "peak_rss_bytes"}


def printed(keel: str, *args: str) -> Any:
    """What keel prints as JSON, whatever its exit code."""
    made = subprocess.run([keel, *args, "--json"], capture_output=True, text=True, check=False)
    assert made.stdout, made.stderr
    return json.loads(made.stdout)


def without_host(run: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name not in OF_THE_HOST}


def drawn(number: int) -> dict[str, Any]:
    """A run at random; its number is its seed."""
    draw = random.Random(number)
    scheduler = draw.choice(["eevdf", "fifo", "fifo:fifo=1", "o1", "ule", "cfs", "goodness", "mq", "bsd", "percpu"])
    tasks, load = draw.randint(1, 60), draw.randint(20, 180)
    workload = draw.choice([f"mix:{tasks}:{load}", f"hogs:{tasks}", "typist+hogs:4", "typist"])
    return {
        "scheduler": scheduler,
        "workload": workload,
        "machine": str(draw.choice([1, 2, 3, 8, 16, 64])),
        "duration": f"{draw.randint(20, 300)}ms",
        "seed": draw.randrange(1 << 64),
        "noise": draw.choice(["none", "quiet", "busy"]),
    }


@pytest.mark.parametrize("number", range(50))
def test_a_run_has_the_same_figures(keel: str, number: int) -> None:
    of = drawn(number)
    args = [f"--{name}={of[name]}" for name in ("workload", "machine", "duration", "seed", "noise")]
    theirs = printed(keel, "compare", of["scheduler"], "--runs", "1", *args)["runs"][0]
    run = evenkeel.sim(**of)
    assert without_host(run.to_dict()) == without_host(theirs)
    # The typed result has the same fields.
    for name in ("throughput", "switches", "wasted_core_ns", "busy_share", "exit", "wakeup_delay_ns"):
        mine = getattr(run, name)
        if not isinstance(theirs[name], dict):
            assert mine == theirs[name]
        else:
            assert all(getattr(mine, part) == value for part, value in theirs[name].items())
    assert run.tasks.to_arrow()["cpu_ns"].to_pylist() == [task["cpu_ns"] for task in theirs["tasks"]]
    assert [finding.text for finding in run.findings] == [finding["text"] for finding in theirs["findings"]]


def test_a_comparison_has_the_same_table(keel: str) -> None:
    args = ["fifo,eevdf,fifo", "--workload=mix:20:90", "--machine=4", "--duration=100ms", "--runs=2"]
    theirs = printed(keel, "compare", *args)
    text = subprocess.run([keel, "compare", *args], capture_output=True, text=True, check=True).stdout
    ours = evenkeel.compare(["fifo", "eevdf", "fifo"], "mix:20:90", 4, duration="100ms", runs=2)
    assert [without_host(run.to_dict()) for run in ours] == [without_host(run) for run in theirs["runs"]]
    assert ours.seedless == theirs["seedless"]
    assert str(ours) == text


def test_recordings_are_judged_and_replayed_the_same(keel: str, tmp_path: Path) -> None:
    trace = tmp_path / "run.keel"
    scene = ["--workload=mix:20:90", "--machine=4", "--duration=200ms", "--seed=7"]
    printed(keel, "sim", "fifo", *scene, f"--trace={trace}")

    theirs = printed(keel, "check", str(trace))
    ours = evenkeel.check(trace)
    assert ours.events == theirs["events"] and ours.wasted_core_ns == theirs["wasted_core_ns"]
    assert [finding.text for finding in ours.findings] == [finding["text"] for finding in theirs["findings"]]
    assert [dict(task) for task in ours.tasks] == theirs["tasks"]
    text = subprocess.run([keel, "check", str(trace)], capture_output=True, text=True, check=True).stdout
    assert str(ours) == text

    theirs = printed(keel, "replay", str(trace), "eevdf")
    again = evenkeel.replay(trace, "eevdf")
    assert again.confidence == theirs.pop("confidence") and list(again.notes) == theirs.pop("notes")
    assert without_host(again.to_dict()) == without_host(theirs)

    waits = printed(keel, "check", str(trace), "--task", ours.names[0]["name"])
    assert evenkeel.explain(trace, ours.names[0]["name"]) == waits


def test_an_experiment_has_the_same_figures(keel: str) -> None:
    theirs = printed(keel, "lab", "yield-8", "--runs=2")["experiments"]
    ours = evenkeel.lab("yield-8", runs=2)
    assert ours.to_dicts() == theirs
    row = ours[0]
    assert (row.ours, row.verdict, row.claims[0].of_values) == (
        theirs[0]["ours"],
        theirs[0]["verdict"],
        evenkeel.Values(**theirs[0]["claims"][0]["of_values"]),
    )


def test_a_profile_has_the_same_figures(keel: str) -> None:
    args = ["--workload=mix:20:90", "--machine=4", "--duration=50ms"]
    theirs = printed(keel, "profile", "o1", *args)
    assert evenkeel.profile("o1", "mix:20:90", 4, duration="50ms").to_dict() == theirs
