"""Where batches are done: on threads of this process, or on Ray."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Protocol

from .._optional import needs
from .work import Scene, Task, batch

Done = tuple[list[dict[str, Any]], float]

BATCH_S = 1.0
"""How long a batch should take."""
AHEAD = 2
"""Batches for each worker that are begun or wait."""


class Pool(Protocol):
    """Does batches; yields the result of each as it is done, in any order."""

    workers: int

    def begin(self, tasks: Sequence[Task]) -> None: ...
    def done(self) -> Done: ...
    def close(self) -> None: ...


def results(pool: Pool, tasks: Sequence[Task]) -> Iterator[list[dict[str, Any]]]:
    """Does the tasks in batches of about a second, and yields the rows of each batch as it is done."""
    left, size, begun = 0, 1, 0
    seconds, made = 0.0, 0
    while begun < len(tasks) or left:
        while begun < len(tasks) and left < AHEAD * pool.workers:
            # The last batches are small, so that all workers end at about the same time.
            share = max(1, (len(tasks) - begun) // (2 * pool.workers))
            part = tasks[begun : begun + min(size, share)]
            pool.begin(part)
            begun += len(part)
            left += 1
        rows, took = pool.done()
        left -= 1
        seconds, made = seconds + took, made + len(rows)
        if seconds > 0:
            size = max(1, min(round(BATCH_S * made / seconds), 1000))
        yield rows


class Threads:
    """On threads of this process: a run holds no lock of the interpreter."""

    def __init__(self, scene: Scene, jobs: int | None) -> None:
        self.workers = jobs or len(os.sched_getaffinity(0))
        self._scene = scene
        self._is_over = threading.Event()
        self._pool = ThreadPoolExecutor(self.workers)
        self._begun: set[Future[Done]] = set()

    def begin(self, tasks: Sequence[Task]) -> None:
        self._begun.add(self._pool.submit(batch, self._scene, tasks, self._is_over.is_set))

    def done(self) -> Done:
        ready, _ = wait(self._begun, return_when=FIRST_COMPLETED)
        future = ready.pop()
        self._begun.remove(future)
        return future.result()

    def close(self) -> None:
        self._is_over.set()
        self._pool.shutdown(cancel_futures=True)


class Ray:
    """On a cluster of Ray: `address` is one, `auto`, or `local` for one on this machine."""

    def __init__(self, scene: Scene, address: str | bool, jobs: int | None) -> None:
        ray = needs("ray", "ray")
        self._ray = ray
        if not ray.is_initialized():
            here = {"num_cpus": jobs} if address in (True, "local") else {"address": address}
            ray.init(include_dashboard=False, log_to_driver=False, **here)
        self.workers = jobs or int(ray.cluster_resources().get("CPU", 1))
        # Once to each node.
        self._scene = ray.put(scene)
        # A worker that is lost takes nothing with it: its batch is done again, and its rows come once.
        self._batch = ray.remote(num_cpus=1, max_retries=5)(batch)
        self._begun: list[Any] = []

    def begin(self, tasks: Sequence[Task]) -> None:
        self._begun.append(self._batch.remote(self._scene, list(tasks)))

    def done(self) -> Done:
        ready, self._begun = self._ray.wait(self._begun, num_returns=1)
        done: Done = self._ray.get(ready[0])
        return done

    def close(self) -> None:
        for batch_ref in self._begun:
            self._ray.cancel(batch_ref)
