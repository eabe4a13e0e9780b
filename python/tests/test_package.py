"""Inputs, tables, events, errors and interruptions."""

from __future__ import annotations

import gc
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

import evenkeel
from evenkeel import InputError, Machine, Scheduler, UnsupportedError, Workload

SMALL = {"workload": "mix:20:90", "machine": 4, "duration": "100ms"}


def small(scheduler: object = "fifo", **more: object) -> evenkeel.Run:
    return evenkeel.sim(scheduler, **{**SMALL, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"scheduler": "nobody"}, InputError, "no built-in scheduler"),
        ({"workload": "mix:0:80"}, InputError, "mix:0:80"),
        ({"machine": "0"}, InputError, "CPUs"),
        ({"machine": Machine("m", "cpus = 'x'")}, InputError, "m"),
        ({"workload": Workload("w", "no JSON")}, InputError, "w"),
        ({"duration": "-1s"}, InputError, "-1s"),
        ({"duration": 0}, InputError, "more than none"),
        ({"seed": -1}, InputError, "seed"),
        ({"noise": "loud"}, InputError, "noise"),
        ({"engine": "steam"}, InputError, "engine"),
        ({"settings": {"no_such": 1}}, InputError, "no_such"),
        ({"scheduler": Scheduler("x", object=b"no object")}, InputError, "x"),
    ],
)
def test_bad_input_says_what_is_wrong(more: dict[str, object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as raised:
        small(**more)
    assert isinstance(raised.value, evenkeel.KeelError)
    assert raised.value.exit_code == {InputError: 2, UnsupportedError: 4}[error]  # type: ignore[index]


def test_inputs_may_be_names_numbers_text_or_bytes(root: Path) -> None:
    plain = small().to_dict()
    machine = root / "machines" / "opteron-6272.toml"
    machine = machine if machine.exists() else next((root / "machines").glob("*.toml"))
    same = [
        (small(machine="4"), small(machine=Machine(4))),
        (small(machine=str(machine)), small(machine=Machine.read(machine))),
        (small(settings={"fifo": 1}), small(Scheduler("fifo", {"fifo": True}))),
    ]
    for one, other in same:
        differ = {"wall_ns", "peak_rss_bytes", "scheduler"}
        assert {k: v for k, v in one.to_dict().items() if k not in differ} == {
            k: v for k, v in other.to_dict().items() if k not in differ
        }
    assert small().to_dict().keys() == plain.keys()


def test_a_profile_counts_what_the_run_counts(tmp_path: Path) -> None:
    made = evenkeel.profile("fifo", **SMALL)  # type: ignore[arg-type]
    run = small()
    assert made.failed is None
    assert made.totals["instructions"] == run.overhead.instructions
    rows = made.lines.to_dicts()
    assert sum(row["instructions"] for row in rows) == run.overhead.instructions
    parts = ("instructions_ps", "entry_ps", "calls_ps", "cache_lines_ps")
    assert all(row["total_ps"] == sum(row[part] for part in parts) for row in rows)
    for name in ("p.json", "p.pb.gz", "p.folded", "p.info", "p.txt"):
        made.write(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 0
    again = evenkeel.Profile.read(tmp_path / "p.json")
    assert again.to_dict() == made.to_dict()
    assert "instructions" in made.text() and made.diff(again)


def test_what_cannot_be_profiled_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no BPF code"):
        evenkeel.profile("eevdf")
    (tmp_path / "p.json").write_text("{}")
    with pytest.raises(InputError, match="not a profile"):
        evenkeel.Profile.read(tmp_path / "p.json")


def test_bad_experiments_say_what_is_wrong(tmp_path: Path) -> None:
    def check(says: str, *names: str, **more: object) -> None:
        with pytest.raises(InputError, match=says):
            evenkeel.lab(list(names), **more)  # type: ignore[arg-type]

    check("unknown experiment 'nobody'", "nobody")
    check("costs", "yield-8", costs="gold")
    check("runs is 1 to 1000", "yield-8", runs=0)
    check("jobs", "yield-8", jobs=0)
    check("cargo install", "scx-3303", programs=tmp_path)


def test_workloads_can_be_built() -> None:
    work = Workload.rt_app("two", {"worker": {"instance": 2, "loop": -1, "run": 1000, "sleep": 3000}})
    run = evenkeel.sim("fifo", work, 2, duration="100ms", noise="none")
    names = run.names.to_dicts()
    assert run.workload == "two" and run.forks == 2
    assert sum(row["tasks"] for row in names) == 2
    assert 0.2 < run.busy_share < 0.3, "a quarter of the time, with what scheduling takes"


def test_tables_go_into_every_library() -> None:
    run = small()
    rows = run.to_dict()["tasks"]
    pandas = run.tasks.to_pandas()
    assert list(pandas["cpu_ns"]) == [row["cpu_ns"] for row in rows]
    polars = run.tasks.to_polars()
    assert polars["wait_ns"].to_list() == [row["wait_ns"] for row in rows]
    import duckdb
    import pyarrow as pa

    tasks = pa.table(run.tasks)
    summed = duckdb.connect().sql("select sum(switches) from tasks").fetchall()
    assert summed == [(sum(row["switches"] for row in rows),)]
    assert dict(tasks["cpus"][0].as_py()) == {int(cpu): ns for cpu, ns in rows[0]["cpus"].items()}
    assert pa.record_batch(run.locks).schema == pa.schema(run.locks)


def test_a_table_outlives_its_run() -> None:
    table = small().tasks
    arrow = table.to_arrow()
    total = sum(arrow["cpu_ns"].to_pylist())
    del table
    gc.collect()
    assert sum(arrow["cpu_ns"].to_pylist()) == total > 0


def test_events_stream_and_count_what_the_run_counts() -> None:
    events = evenkeel.events("fifo", "mix:20:90", 4, duration="2s")
    assert events.run is None
    counts: dict[str, int] = {}
    last = 0
    for batch in events:
        assert batch.num_rows <= 65_536
        times = batch.column("at_ns").to_pylist()
        assert times == sorted(times) and times[0] >= last
        last = times[-1]
        for what in batch.column("event").to_pylist():
            counts[what] = counts.get(what, 0) + 1
    run = events.run
    assert run is not None
    assert (counts["switch"], counts["wakeup"], counts["fork"]) == (run.switches, run.wakeups, run.forks)
    with pytest.raises(RuntimeError, match="already"):
        events.__arrow_c_stream__()


def test_events_that_nobody_reads_end_their_run() -> None:
    before = threading.active_count()
    for batch in evenkeel.events("fifo", "mix:400:90", 64, duration="100s"):
        assert batch.num_rows > 0
        break
    gc.collect()
    assert threading.active_count() == before


def test_a_failing_run_of_events_says_why() -> None:
    events = evenkeel.events("fifo", "mix", 4, duration="10ms", settings={"no_such": 1})
    with pytest.raises(ValueError, match="no_such"):
        list(events)
    with pytest.raises(InputError, match="no_such"):
        _ = events.run


def test_ctrl_c_ends_a_run() -> None:
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        evenkeel.sim("fifo", "mix:4000:90", 64, duration="1000s")
    # Nothing is left of the stop.
    assert not small().partial


def test_other_threads_run_meanwhile() -> None:
    ticks = []
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    evenkeel.sim("fifo", "mix:400:90", 16, duration="2s")
    done.set()
    counter.join()
    assert len(ticks) > 10, "the run holds the interpreter's lock"


def test_progress_reaches_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    small(progress=True)
    assert "0.10/0.1 virtual s" in capsys.readouterr().err


def test_results_show_themselves() -> None:
    import matplotlib

    matplotlib.use("Agg")
    run = small()
    assert run.sentence in str(run)
    assert run._repr_html_().startswith("<pre>") and run.picture().startswith("<svg")
    assert "<table>" in run.tasks._repr_html_()
    cells = run.map().to_pandas()
    assert cells.groupby("cpu")["for_ns"].sum().tolist() == [run.duration_ns] * 4
    assert run.plot().get_ylabel() == "CPU"
    assert run.plot("delays").get_xlabel() == "wakeup delay (us)"
    ours = evenkeel.compare(["fifo", "eevdf"], "mix:20:90", 4, duration="50ms", runs=2)
    assert len(ours.plot().axes) == 3
    assert ours.schedulers == ["fifo", "eevdf"] and len(ours["eevdf"]) == 2
    with pytest.raises(ValueError, match="kind"):
        run.plot("pie")


def test_remarks_are_warnings() -> None:
    tasks = {"a": {"run": 1000, "sleep": 1000, "loop": -1}}
    text = json.dumps({"tasks": tasks, "global": {"gnuplot": True}})
    with pytest.warns(evenkeel.KeelWarning):
        evenkeel.sim("fifo", Workload("w", text), 1, duration="10ms")
