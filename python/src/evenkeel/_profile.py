"""Where a scheduler's time goes."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from . import _given, _native
from ._given import Duration, MachineLike, SchedulerLike, Settings, WorkloadLike
from ._progress import over
from ._table import Table


class Profile:
    """Where one run's time went, by callback, function and source line. Its sums are the run's own counts."""

    def __init__(self, native: _native.Profile, failed: str | None = None) -> None:
        self._native = native
        self.failed = failed
        """Why the scheduler failed, where it did: the profile ends there."""

    @property
    def lines(self) -> Table:
        """A row for each source line, what cost most first.

        Columns: ``function``, ``file``, ``line`` (0 stands for entering a callback), ``text``, ``hits`` (times it was
        reached), ``instructions``, ``total_ps`` and its parts ``instructions_ps``, ``entry_ps``, ``calls_ps``,
        ``cache_lines_ps`` in virtual picoseconds, and ``lock_waits_ns``, which is in ``calls_ps``, too.
        """
        return Table(self._native.lines())

    @property
    def totals(self) -> dict[str, int]:
        """The run's own counts: ``callbacks``, ``instructions``, ``callback_ns``, ``lock_wait_ns``, ``line_moves``, ``line_ps``."""
        totals: dict[str, int] = self.to_dict()["totals"]
        return totals

    def to_dict(self) -> dict[str, Any]:
        """All of it, as ``keel profile --json`` prints it."""
        data: dict[str, Any] = json.loads(self._native.json())
        return data

    def text(self, top: int = 20) -> str:
        """The tables that ``keel profile`` prints, ``top`` lines of each."""
        return self._native.summary(top)

    def annotated(self) -> str:
        """The source with the cost of each line, for files that exist on this machine."""
        return self._native.annotated()

    def diff(self, after: Profile, top: int = 20) -> str:
        """A table of how ``after`` differs, line by line."""
        return self._native.diff(after._native, top)

    def write(self, path: str | PathLike[str]) -> None:
        """Writes it; the extension sets the format: ``.json``, ``.pb.gz`` (pprof), ``.folded``, ``.info`` (lcov), or tables."""
        name = Path(path).name.lower()
        if name.endswith(".json"):
            data = self._native.json()
        elif name.endswith((".pb.gz", ".pprof", ".pb")):
            data = self._native.pprof()
        elif name.endswith((".folded", ".collapsed")):
            data = self._native.folded()
        elif name.endswith((".info", ".lcov")):
            data = self._native.lcov()
        else:
            data = f"{self.text()}\n{self.annotated()}".encode()
        Path(path).write_bytes(data)

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Profile:
        """A profile that was written as ``.json``.

        Raises:
            InputError: the file is not a profile.
        """
        return cls(_native.read_profile(Path(path).read_bytes()))

    def __repr__(self) -> str:
        about = self.to_dict()["about"]
        return f"<Profile of {about['scheduler']}: {self.totals['instructions']} instructions>"


def profile(
    scheduler: SchedulerLike,
    workload: WorkloadLike | None = None,
    machine: MachineLike | None = None,
    *,
    duration: Duration | None = None,
    seed: int = 1,
    noise: str = "quiet",
    settings: Settings | None = None,
    progress: bool = False,
) -> Profile:
    """Runs a scheduler as ``sim`` does and counts what each of its instructions costs, as ``keel profile`` does.

    Args:
        scheduler: an object or a program; ``"eevdf"`` has no BPF code to profile.

    Returns:
        The profile. Where the scheduler failed, it ends there, and ``Profile.failed`` says why.

    Raises:
        InputError: a name, file or value is wrong, or the scheduler has no BPF code.
        SchedulerError: the kernel refused the scheduler.
    """
    spec = _given.spec(
        scheduler, machine, workload, duration=duration, seed=seed, noise=noise, settings=settings
    )
    with over(spec.duration_ns, progress) as reached:
        return Profile(*_native.profile(spec, reached))
