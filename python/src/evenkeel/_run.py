"""Results: a run and what is in it, with the fields that ``keel sim --json`` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _native, _plot
from ._fields import Fields, many, one, some, table_of
from ._table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Spread(Fields):
    """Three numbers that summarise many."""

    p50: int
    """The median; off by less than 1 %."""
    p99: int
    """The 99th percentile; off by less than 1 %."""
    max: int
    """The greatest, exactly."""


@dataclass(frozen=True, slots=True)
class Overhead(Fields):
    """What the scheduler itself took."""

    callback_ns: int
    """Core time in callbacks, with waiting for locks inside them."""
    lock_wait_ns: int
    """Core time waiting for locks."""
    instructions: int
    """BPF instructions."""


@dataclass(frozen=True, slots=True)
class Exit(Fields):
    """How the scheduler ended."""

    kind: str
    """``none``, ``done``, ``unreg``, ``unreg_bpf``, ``unreg_kern``, ``error``, ``error_bpf``, ``error_stall``."""
    reason: str
    """In the kernel's words."""
    place: str | None = None
    """Which callback's call ended it, and where that is in the object."""


@dataclass(frozen=True, slots=True)
class Decision(Fields):
    """A placement or balancing decision about a task."""

    task: int | None
    """Its pid."""
    act: str
    """``woken``, ``forked``, ``pulled``, ``pushed``, ``moved``, ``dispatched``, ``queued``."""
    at_ns: int
    """When."""
    by_cpu: int
    """The CPU that decided."""
    from_cpu: int | None
    """Where the task was or had run before."""
    to_cpu: int
    """Where it was put."""
    chooser: str | None
    """``select_cpu``, ``default``, ``fallback``, ``only_one``."""
    waker: int | None
    """The pid of the task that woke or created it; None for an interrupt."""
    text: str
    """The same in words."""


@dataclass(frozen=True, slots=True)
class LookedAt(Fields):
    """Decisions of one kind, at one level, by or for one CPU, with one outcome."""

    first_ns: int
    """When the first of them was made."""
    times: int
    """How many there were."""
    cpu: int
    """The CPU that decided, or on whose behalf another did."""
    considered: list[int]
    """The CPUs that any of them looked at."""
    text: str
    """The last of them as a sentence."""


@dataclass(frozen=True, slots=True)
class Finding(Fields):
    """Something that should not be; times in nanoseconds."""

    kind: str
    """Its kind, such as ``wasted_core``."""
    blame: str
    """``scheduler``, or ``program`` for what no scheduler is to blame for."""
    start_ns: int
    """When it began."""
    duration_ns: int
    """How long it lasted."""
    threshold_ns: int
    """What it was measured against."""
    cpus: list[int]
    """The CPUs that it is about."""
    tasks: list[int]
    """Pids, the task that suffers first."""
    events_ns: list[int]
    """When the events happened that show it."""
    decision: Decision | None = some(Decision)
    """The decision that had put the first task there."""
    looked_at: list[LookedAt] = many(LookedAt)
    """What was decided in its first 20 ms; only with policy events."""
    text: str = ""
    """One sentence."""


@dataclass(frozen=True, slots=True)
class FindingSums(Fields):
    """All findings of one kind that are not a program's own doing."""

    count: int
    """How many."""
    total_ns: int
    """How long in all; of wasted cores the core time."""
    longest_ns: int
    """The longest."""


@dataclass(frozen=True)
class Run(Fields):
    """One run. Times are in virtual nanoseconds, except ``wall_ns``; shares lie between 0 and 1."""

    scheduler: str
    """The scheduler's name, with its settings."""
    workload: str
    """The workload's name."""
    machine: str
    """The machine's name."""
    cpus: int
    """How many CPUs the machine has."""
    seed: int
    """With object, workload, machine and noise it determines the run, bit for bit."""
    noise: str
    """The background activity: ``none``, ``quiet`` or ``busy``."""
    duration_ns: int
    """From the run's start to its end."""
    wall_ns: int
    """Time that the simulation took on the host."""
    peak_rss_bytes: int
    """The most memory that the process had."""
    bad_accesses: int
    """Invalid memory accesses of the scheduler."""
    bypass_ns: int
    """Time in which the kernel itself scheduled the tasks."""
    restarts: int
    """How often the scheduler was loaded again."""
    switches: int
    """Changes of the task on a CPU."""
    wakeups: int
    """Blocked tasks that became runnable."""
    forks: int
    """New tasks."""
    migrations: int
    """Tasks that started on another CPU than they last ran on."""
    preemptions: int
    """Tasks that lost their CPU while they wanted it."""
    throughput: float
    """Units of the workload a second of virtual time."""
    throughput_total: int
    """Units in all."""
    throughput_unit: str
    """What a unit is."""
    busy_share: float
    """Time that tasks ran, of the time that CPUs were online."""
    wasted_core_ns: int
    """Core time in which a core idled while a task that may run there waited."""
    wasted_share: float
    """The same, of the time that CPUs were online."""
    wasted_transient_ns: int
    """Waste that was too short to be a finding."""
    wasted_lower_bound: bool
    """The waste is at least this much."""
    wasted_where: Mapping[str, Any]
    """Which cores were wasted, and what waited where: as in the JSON."""
    tasks_left_out: int
    """Ended tasks that are in no table."""
    findings_total: Mapping[str, int]
    """For each kind, how many findings there were."""
    findings_of_programs: int
    """How many of these are a program's own doing."""
    online_ns: int
    """Time that CPUs were online, summed over them."""
    wakeup_delay_ns: Spread = one(Spread)
    """From a wakeup or fork until the task runs."""
    overhead: Overhead = one(Overhead)
    """What the scheduler itself took."""
    findings: list[Finding] = many(Finding)
    """The longest of each kind, at most 20."""
    findings_sums: Mapping[str, FindingSums] = table_of(FindingSums)
    """For each kind, without a program's own doing."""
    exit: Exit = one(Exit)
    """How the scheduler ended."""
    partial: bool = False
    """It was stopped before its end."""
    _report: Any = field(default=None, repr=False, compare=False)
    _spec: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, report: _native.Report, spec: _native.Spec | None, **more: object) -> Run:
        """A run from its report; ``spec`` makes it again."""
        return cls.read({**json.loads(report.facts()), **more, "_report": report, "_spec": spec})

    @property
    def tasks(self) -> Table:
        """A row for each task: name, pid, first_run_ns, cpu_ns, wait_ns, switches, migrations, preemptions, cpus."""
        return Table(self._report.table("tasks"))

    @property
    def names(self) -> Table:
        """A row for each of the first 64 names of tasks: tasks, woken, wakeup_delay_p50_ns, ..._p99_ns, ..._max_ns."""
        return Table(self._report.table("names"))

    @property
    def lines(self) -> Table:
        """A row for each variable whose lines of memory CPUs waited for: lines, moves, stall_ns, ..."""
        return Table(self._report.table("lines"))

    @property
    def locks(self) -> Table:
        """A row for each lock: taken, contended, wait_ns, held_ns, most_waiters."""
        return Table(self._report.table("locks"))

    @property
    def failed(self) -> bool:
        """Did the scheduler fail?"""
        failed: bool = self._report.failed
        return failed

    @property
    def sentence(self) -> str:
        """The run in one sentence."""
        sentence: str = self._report.sentence()
        return sentence

    def map(self) -> Table:
        """What each CPU did in each bucket of time; makes the run again.

        Columns: cpu, at_ns, for_ns (the bucket), runnable_ns (tasks times time), wasted_ns.
        """
        return Table(self._again().map())

    def events(self, classes: tuple[str, ...] = ("core",)) -> Events:
        """The run's events as they come; makes the run again."""
        return Events(self._again().events(classes), self._spec)

    def picture(self) -> str:
        """The run as an SVG document, as ``keel sim --report OUT.svg`` draws it; makes the run again."""
        return self._again().picture()

    def plot(self, kind: str = "map", ax: Axes | None = None) -> Axes:
        """Draws the run with matplotlib.

        Args:
            kind: ``map`` (what each CPU did; makes the run again) or ``delays`` (wakeup delays by name).
            ax: where to draw; a new figure by default.
        """
        match kind:
            case "map":
                return _plot.run_map(self.map().to_arrow(), self.cpus, self.sentence, ax)
            case "delays":
                return _plot.delays(self.names.to_arrow(), self.scheduler, ax)
        raise ValueError(f"kind is 'map' or 'delays', not {kind!r}")

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that ``keel sim --json`` prints."""
        whole: dict[str, Any] = json.loads(self._report.json())
        return whole

    def _again(self) -> _native.Spec:
        if self._spec is None:
            raise ValueError("this run was not made here, so it cannot be made again")
        spec: _native.Spec = self._spec
        return spec

    def __str__(self) -> str:
        text: str = self._report.text()
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a Run holds its run's report; pickle run.to_dict() instead")

    def _repr_html_(self) -> str:
        return _preformatted(str(self))


@dataclass(frozen=True)
class Replay(Run):
    """A recording under another scheduler."""

    confidence: str = ""
    """How far it can be trusted: ``high``, ``medium`` or ``low``."""
    notes: tuple[str, ...] = ()
    """Why: a sentence each."""


class Events:
    """A stream of events, in Arrow record batches of bounded memory. It can be read once.

    Columns: at_ns, cpu, event, pid, comm, other_pid, from_cpu, to_cpu, detail, value, queue.
    """

    def __init__(self, stream: _native.EventStream, spec: _native.Spec | None) -> None:
        self._stream, self._spec = stream, spec

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._stream.__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Any:
        """The record batches, as pyarrow has them."""
        from ._optional import needs

        return iter(needs("pyarrow", "arrow").RecordBatchReader.from_stream(self))

    @property
    def run(self) -> Run | None:
        """The run once all events are read; None before, and of a recording."""
        report = self._stream.report()
        return None if report is None else Run.of(report, self._spec)


class Comparison:
    """Runs of several schedulers on the same machine and workload."""

    def __init__(self, runs: list[Run]) -> None:
        self.runs = runs
        text, seedless = _native.comparison([run._report for run in runs])
        self._text = text
        self.seedless: list[str] = seedless
        """Schedulers whose runs are identical whatever the seed."""

    @property
    def schedulers(self) -> list[str]:
        """The schedulers, in the order in which they were given; the first is the baseline."""
        return list(dict.fromkeys(run.scheduler for run in self.runs))

    def __getitem__(self, scheduler: str) -> list[Run]:
        """The runs of a scheduler, by seed."""
        runs = [run for run in self.runs if run.scheduler == scheduler]
        if not runs:
            raise KeyError(scheduler)
        return runs

    def __iter__(self) -> Any:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A row for each run: scheduler, seed, and the figures that are plain numbers."""
        return [flat(run) for run in self.runs]

    def to_pandas(self) -> Any:
        """The same as a pandas data frame."""
        from ._optional import needs

        return needs("pandas", None).DataFrame(self.to_dicts())

    def plot(self, *figures: str) -> Any:
        """Draws figures side by side, a point for each run.

        Args:
            figures: names of figures as in ``to_dicts``; throughput, wakeup_delay_p99_ns and wasted_share by default.
        """
        chosen = figures or ("throughput", "wakeup_delay_p99_ns", "wasted_share")
        return _plot.comparison(self.to_dicts(), self.schedulers, chosen)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return _preformatted(str(self))




def flat(run: Run) -> dict[str, Any]:
    """A run's figures that are plain numbers, with those of its parts behind an underscore."""
    row: dict[str, Any] = {
        name: getattr(run, name)
        for name in run.__dataclass_fields__
        if isinstance(getattr(run, name), str | int | float) and not name.startswith("_")
    }
    for part, value in (("wakeup_delay", run.wakeup_delay_ns), ("overhead", run.overhead)):
        for name in value.__dataclass_fields__:
            row[f"{part}_{name}" + ("_ns" if part == "wakeup_delay" else "")] = getattr(value, name)
    row["exit"] = run.exit.kind
    row["failed"] = run.failed
    return row


def _preformatted(text: str) -> str:
    import html

    return f"<pre>{html.escape(text)}</pre>"
