"""Simulated runs."""

from __future__ import annotations

from collections.abc import Sequence

from . import _given, _native
from ._given import Duration, MachineLike, SchedulerLike, Settings, WorkloadLike
from ._progress import over
from ._run import Comparison, Events, Run


def sim(
    scheduler: SchedulerLike,
    workload: WorkloadLike | None = None,
    machine: MachineLike | None = None,
    *,
    duration: Duration | None = None,
    seed: int = 1,
    noise: str = "quiet",
    settings: Settings | None = None,
    checked: bool = False,
    engine: str = "native",
    progress: bool = False,
) -> Run:
    """Runs a scheduler on a simulated machine and judges what it did, as ``keel sim`` does.

    Args:
        scheduler: a ``Scheduler``, or as on the command line: ``"fifo"``, ``"my.bpf.o:kick=1"``,
            ``"scx_lavd --performance"``.
        workload: a ``Workload``, or as on the command line: ``"mix:1000:80"``; ``mix`` by default.
        machine: a ``Machine``, a built-in name, a number of CPUs or a path; 8 CPUs by default, or the
            shape of a recording's machine.
        duration: in virtual time: ``"10s"``, a ``timedelta`` or seconds; the workload's own by default, or 10 s.
        seed: of all random numbers, 0 to 2**64 - 1.
        noise: what goes on beside the workload: ``none``, ``quiet`` or ``busy``.
        settings: global variables of the scheduler to set before it is loaded.
        checked: stop the scheduler at its first invalid memory access (slower).
        engine: ``native``, ``cranelift``, ``interpreter`` or ``frames``; all give the same results.
        progress: show a progress bar (tqdm).

    Returns:
        The run. A scheduler that fails raises nothing: see ``Run.failed`` and ``Run.exit``.

    Raises:
        InputError: a name, file or value is wrong.
        UnsupportedError: the object or workload needs what keel does not support.
    """
    spec = _given.spec(
        scheduler,
        machine,
        workload,
        duration=duration,
        seed=seed,
        noise=noise,
        settings=settings,
        checked=checked,
        engine=engine,
    )
    with over(spec.duration_ns, progress) as reached:
        return Run.of(spec.run(reached), spec)


def events(
    scheduler: SchedulerLike,
    workload: WorkloadLike | None = None,
    machine: MachineLike | None = None,
    *,
    classes: Sequence[str] = ("core",),
    duration: Duration | None = None,
    seed: int = 1,
    noise: str = "quiet",
    settings: Settings | None = None,
) -> Events:
    """Makes a run as ``sim`` does, and gives its events as they come, in Arrow record batches of bounded memory.

    Args:
        classes: which events: ``core`` (switches, wakeups, forks, migrations...), ``decisions``, ``queues``,
            ``costs``, ``counts``, ``locks``, ``acts``.
    """
    spec = _given.spec(
        scheduler, machine, workload, duration=duration, seed=seed, noise=noise, settings=settings
    )
    return Events(spec.events(list(classes)), spec)


def compare(
    schedulers: Sequence[SchedulerLike],
    workload: WorkloadLike | None = None,
    machine: MachineLike | None = None,
    *,
    runs: int = 3,
    duration: Duration | None = None,
    seed: int = 1,
    noise: str = "quiet",
    settings: Settings | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Runs several schedulers on the same machine and workload, as ``keel compare`` does.

    Args:
        schedulers: the first is the baseline.
        runs: of each scheduler, with consecutive seeds from ``seed`` on.
        jobs: runs at a time; as many as the host has CPUs by default.
    """
    specs = [
        _given.spec(each, machine, workload, duration=duration, seed=seed, noise=noise, settings=settings)
        for each in schedulers
    ]
    specs = _numbered(specs)
    with over(sum(spec.duration_ns for spec in specs) * runs, progress) as reached:
        reports = _native.compare(specs, runs, jobs, reached)
    made = [(spec, number) for spec in specs for number in range(runs)]
    seeded = [spec.with_seed((spec.seed + number) % (1 << 64)) for spec, number in made]
    return Comparison([Run.of(report, spec) for report, spec in zip(reports, seeded, strict=True)])


def _numbered(specs: list[_native.Spec]) -> list[_native.Spec]:
    """Schedulers of one name get numbers, so that their rows differ."""
    seen: dict[str, int] = {}
    numbered = []
    for spec in specs:
        name = spec.scheduler
        seen[name] = seen.get(name, 0) + 1
        numbered.append(spec if seen[name] == 1 else spec.named(f"{name}#{seen[name]}"))
    return numbered
