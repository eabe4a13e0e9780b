"""What a sweep of 10,000 runs takes beside its runs: in one thread, on all cores, on Ray, and killed in the middle.

Run it on an idle machine. docs/explanation/tuning.md has what it printed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from evenkeel import Range, Sweep, sweep
from evenkeel.sweeps import pools

POINTS, SEEDS = 1000, 10


def swept(out: Path, **how: Any) -> Sweep:
    """The sweep: each run takes a millisecond or so."""
    slices = Range(100_000, 20_000_000, log=True, steps=POINTS)
    scene: dict[str, Any] = {"workload": "mix:12:90", "machine": 2, "duration": "20ms", "noise": "quiet"}
    return sweep({"slice_ns": slices}, "wakeup_delay_p99_ns", seeds=SEEDS, out=out, **scene, **how)


def rows(out: Path) -> int:
    """How many files of rows there are."""
    return len(list(out.glob("points=*/*.parquet")))


def workers() -> list[int]:
    """Ray's processes that do batches."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().startswith(b"ray::batch"):
                found.append(int(process.name))
        except OSError:
            pass  # It has ended.
    return found


def killed(out: Path) -> int:
    """Begins the sweep in another process, kills a worker of Ray and then that process; gives how many files are there."""
    driver = subprocess.Popen([sys.executable, __file__, str(out)])
    for victims in (workers, lambda: [driver.pid]):
        before = rows(out)
        while rows(out) < before + 6 and driver.poll() is None:
            time.sleep(0.01)
        os.kill(victims()[0], signal.SIGKILL)
    driver.wait()
    return rows(out)


def main() -> None:
    digests = set()
    ways: dict[str, dict[str, Any]] = {
        "one thread": {"jobs": 1},
        "all cores": {},
        "Ray, 2 workers": {"ray": "local", "jobs": 2},
        "Ray, 4 workers": {"ray": "local", "jobs": 4},
        "Ray, 2 workers, batches of one run": {"ray": "local", "jobs": 2},
    }
    for name, how in ways.items():
        with tempfile.TemporaryDirectory() as out:
            pools.BATCH_S = 0 if "batches" in name else 1.0
            begun, used = time.perf_counter(), time.process_time()
            made = swept(Path(out), **how)
            took_s, used_s = time.perf_counter() - begun, time.process_time() - used
            digests.add(made.digest())
            print(f"{name}: {len(made)} runs in {took_s:.1f} s; this process took {used_s:.1f} s", flush=True)
        if "ray" in how:
            import ray

            ray.shutdown()
    with tempfile.TemporaryDirectory() as out:
        files = killed(Path(out))
        made = swept(Path(out), jobs=2)
        digests.add(made.digest())
        print(f"killed with {files} files and gone on: {len(made)} runs")
    print("all tables are the same" if len(digests) == 1 else "TABLES DIFFER")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        swept(Path(sys.argv[1]), ray="local", jobs=2)
    else:
        main()
