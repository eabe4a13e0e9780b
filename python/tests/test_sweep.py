"""Sweeps: designs, objectives, and that nothing is lost or done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import evenkeel
from evenkeel import Choices, InputError, Objective, Range, Sweep, sweep
from evenkeel.sweeps import design
from evenkeel.sweeps.objective import ranks
from evenkeel.sweeps.space import read

SCENE: dict[str, Any] = {"workload": "mix:12:90", "machine": 2, "duration": "20ms", "noise": "quiet"}
SPACE = {"slice_ns": Range(100_000, 20_000_000, log=True, steps=4), "fifo": [0, 1]}


def small(out: Path | None = None, **more: Any) -> Sweep:
    given = {"space": SPACE, "objective": "wakeup_delay_p99_ns", "seeds": 2, "jobs": 2, **SCENE, **more}
    return sweep(given.pop("space"), given.pop("objective"), out=out, **given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Range(1, 5, steps=3), [1, 3, 5]),
        (Range(1, 2, steps=5), [1, 2]),
        (Range(1, 10_000, log=True, steps=3), [1, 100, 10_000]),
        (Range(0.0, 1.0, steps=3), [0.0, 0.5, 1.0]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_a_grid_takes_steps(given: Any, expected: list[Any]) -> None:
    assert read({"x": given})["x"].grid() == expected


def test_a_latin_hypercube_has_a_point_in_each_part() -> None:
    points = design.latin_hypercube(read({"x": Range(0.0, 1.0), "y": Range(0.0, 1.0)}), 20, 3)
    for name in ("x", "y"):
        assert sorted(int(float(point[name]) * 20) for point in points) == list(range(20))
    assert points != design.latin_hypercube(read({"x": Range(0.0, 1.0), "y": Range(0.0, 1.0)}), 20, 4)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([[1], [2], [2], [3]], [0, 1, 1, 2]),
        ([[1, 2], [2, 1], [2, 2], [3, 3]], [0, 0, 1, 2]),
        ([], []),
    ],
)
def test_fronts(losses: list[list[float]], expected: list[int]) -> None:
    assert ranks(losses) == expected


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"space": {}}, "empty"),
        ({"space": {"x": "text"}}, "x"),
        ({"space": {"no_such_variable": [1]}}, "no_such_variable"),
        ({"objective": "switches"}, "which way"),
        ({"objective": {"no_such_figure": "min"}}, "no_such_figure"),
        ({"objective": {"switches": "up"}}, "direction"),
        ({"design": "lhs"}, "trials"),
        ({"design": "spiral", "trials": 2}, "spiral"),
        ({"seeds": 0}, "seeds"),
        ({"keep": 0}, "keep"),
    ],
)
def test_bad_arguments_say_what_is_wrong(more: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        small(**more)


def test_every_point_gets_every_seed_and_the_run_that_sim_makes() -> None:
    found = small()
    table = found.table().to_pylist()
    assert [(row["point"], row["seed"]) for row in table] == [(point, seed) for point in range(8) for seed in (1, 2)]
    row = table[5]
    settings = {"slice_ns": row["param_slice_ns"], "fifo": row["param_fifo"]}
    run = evenkeel.sim("fifo", settings=settings, seed=row["seed"], **SCENE)
    assert row["objective_wakeup_delay_p99_ns"] == run.wakeup_delay_ns.p99
    assert row["switches"] == run.switches
    best = found.best()
    assert best.means["wakeup_delay_p99_ns"] == min(each.means["wakeup_delay_p99_ns"] for each in found.tried())
    assert "16 runs of 8 points" in str(found)


def test_the_table_depends_on_no_number_of_jobs() -> None:
    assert small(jobs=1).digest() == small(jobs=3).digest() != small(seeds=[1, 3]).digest()


def test_parts_of_the_scene_can_be_swept(root: Path) -> None:
    machine = next((root / "machines").glob("*.toml"))
    space = {"machine": [1, str(machine)], "scheduler": Choices(("fifo", "eevdf"))}
    rows = small(space=space, seeds=1).table().to_pylist()
    assert [row["scheduler"] for row in rows] == ["fifo", "eevdf"] * 2
    assert rows[0]["cpus"] == 1 and rows[2]["cpus"] == evenkeel.Machine(str(machine)).cpus


def test_several_objectives_have_a_front() -> None:
    energy = Objective("core_ns_per_unit", "min")
    found = small(objective=["throughput", "wakeup_delay_p99_ns", energy, Objective("own", "max", lambda run: run.switches)])
    front = found.front()
    assert 1 <= len(front) <= 8 and set(front[0].means) == {"throughput", "wakeup_delay_p99_ns", "core_ns_per_unit", "own"}


def test_hopeless_points_get_fewer_seeds() -> None:
    found = small(seeds=6, keep=0.5)
    runs = sorted(each.runs for each in found.tried())
    assert runs == [1] * 4 + [2] * 2 + [6] * 2
    assert found.best().runs == 6


def test_samplers_of_optuna_are_asked_and_told(tmp_path: Path) -> None:
    import optuna

    def search(out: Path) -> Sweep:
        sampler = optuna.samplers.TPESampler(seed=4, n_startup_trials=4)
        return small(out, design=sampler, trials=12, generation=4)

    first = search(tmp_path / "a")
    assert len(first.tried()) == 12 and len(first) == 24
    assert search(tmp_path / "b").digest() == first.digest()


def test_a_folder_of_another_sweep_is_refused(tmp_path: Path) -> None:
    small(tmp_path)
    with pytest.raises(InputError, match="another sweep"):
        small(tmp_path, seeds=3)


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_sweep import long
long(Path(sys.argv[1]))
"""


def long(out: Path, jobs: int = 2) -> Sweep:
    slices = Range(100_000, 20_000_000, log=True, steps=60)
    return small(out, space={"slice_ns": slices}, seeds=10, duration="100ms", jobs=jobs)


def files(folder: Path) -> list[Path]:
    return list(folder.glob("points=*/*.parquet"))


def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    out = tmp_path / "killed"
    kept: set[str] = set()
    for _ in range(2):
        before = len(files(out))
        made = subprocess.Popen([sys.executable, "-c", SCRIPT, str(out), str(Path(__file__).parent)])
        # The first batches hold a run each, whichever pool does them.
        while len(files(out)) < before + 7 and made.poll() is None:
            time.sleep(0.01)
        os.kill(made.pid, signal.SIGKILL)
        assert made.wait() == -signal.SIGKILL, "it was over before it was killed"
        now = {path.name for path in files(out)}
        assert now > kept, "what was written stays"
        kept = now
    # With other batches, so that a run that is done twice is in two files.
    resumed = long(out, jobs=3)
    assert len(resumed) == 600
    assert {path.name for path in files(out)} > kept
    # Each run is in one file alone.
    import pyarrow.parquet as pq

    rows = sum(pq.ParquetFile(path).metadata.num_rows for path in files(out))
    assert rows == 600
    assert resumed.digest() == long(tmp_path / "whole").digest()
