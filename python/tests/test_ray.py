"""Sweeps on Ray: the same table as on one machine, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel import Range, Sweep, sweep

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20)
    yield
    ray.shutdown()


def swept(out: Path | None = None, **more: Any) -> Sweep:
    slices = Range(100_000, 20_000_000, log=True, steps=20)
    given = {"machine": 2, "duration": "100ms", "noise": "quiet", "seeds": 10, **more}
    return sweep({"slice_ns": slices}, "wakeup_delay_p99_ns", workload="mix:12:90", out=out, **given)


def workers() -> list[int]:
    """The processes of this machine that do batches."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().startswith(b"ray::batch"):
                found.append(int(process.name))
        except OSError:
            pass  # It has ended.
    return found


def test_results_are_those_of_one_machine() -> None:
    assert swept(ray="auto").digest() == swept(jobs=1).digest()


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        until = time.monotonic() + 60
        while not killed and time.monotonic() < until:
            # Some batches are written, others are under way.
            if list(tmp_path.glob("points=*/*.parquet")):
                for worker in workers()[:1]:
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
            time.sleep(0.001)

    killer = threading.Thread(target=kill)
    killer.start()
    made = swept(tmp_path, ray="auto", duration="400ms")
    killer.join()
    assert killed, "the sweep was over before a worker could be killed"
    assert len(made) == 200
    assert made.digest() == swept(jobs=2, duration="400ms").digest()
