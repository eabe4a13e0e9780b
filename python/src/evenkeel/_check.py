"""Recordings: judged, explained, replayed, read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _given, _native
from ._fields import Fields, many, one, table_of
from ._given import Duration, SchedulerLike, Settings, duration_ns
from ._progress import over
from ._run import Events, Finding, FindingSums, Replay, Spread, _preformatted


@dataclass(frozen=True)
class Check(Fields):
    """The judgement of a recording, with the fields that ``keel check --json`` prints. Times are in nanoseconds."""

    format: str
    """What kind of recording it is: ``keel``, ``perf.data``, ``trace.dat``, ``text``."""
    notes: list[str]
    """What was wrong with it, and what it lacks: a sentence each."""
    affinity_known: bool
    """Does it say which CPUs tasks may use?"""
    throttling_known: bool
    """Does it say when tasks are throttled?"""
    findings_total: Mapping[str, int]
    """For each kind, how many findings there were."""
    findings_of_programs: int
    """How many of these are a program's own doing."""
    findings_unsure: int
    """How many rest on what the recording lacks."""
    events: int
    """Events in it."""
    lost_events: int
    """Events that did not fit."""
    duration_ns: int
    """How long it is."""
    cpus: int
    """How many CPUs the machine has."""
    wasted_core_ns: int
    """Core time in which a core idled while a task that may run there waited."""
    wasted_share: float
    """The same, of the time that CPUs were online."""
    wasted_transient_ns: int
    """Waste that was too short to be a finding."""
    wasted_where: Mapping[str, Any]
    """Which cores were wasted, and what waited where."""
    scheduler: str
    """The scheduler that ran."""
    workload: str
    """What ran."""
    switches: int
    """Context switches."""
    wakeups: int
    """Wakeups."""
    migrations: int
    """Tasks that started on another CPU than they last ran on."""
    preemptions: int
    """Tasks that lost their CPU while they wanted it."""
    busy_share: float
    """Time that tasks ran, of the time that CPUs were online."""
    names: list[Mapping[str, Any]]
    """Tasks by name, those with the most CPU time first."""
    tasks: list[Mapping[str, Any]]
    """The tasks."""
    online_ns: int
    """Time that CPUs were online, summed over them."""
    wakeup_delay_ns: Spread = one(Spread)
    """From a wakeup or fork until the task runs."""
    findings: list[Finding] = many(Finding)
    """The longest of each kind."""
    findings_sums: Mapping[str, FindingSums] = table_of(FindingSums)
    """For each kind, without a program's own doing."""
    clock_start_ns: int | None = None
    """What the recorder's clock said at time 0."""
    _text: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return _preformatted(self._text)


def check(
    trace: str | os.PathLike[str],
    *,
    start: str | None = None,
    until: str | None = None,
    delay: Duration | None = None,
    assume_unrestricted: bool = False,
) -> Check:
    """Judges a recording made by keel, perf or trace-cmd, as ``keel check`` does.

    Args:
        trace: the recording.
        start: judge only events after this time: ``"2s"``, or by the recorder's clock ``"7654.19s"``.
        until: judge only events before this time.
        delay: report each wakeup after which the task waited longer than this.
        assume_unrestricted: count findings that pinned or throttled tasks could explain, too.

    Raises:
        InputError: it cannot be read, or is no recording.
    """
    data, text = _native.check(
        os.fspath(trace),
        from_time=start,
        until=until,
        delay_ns=None if delay is None else duration_ns(delay),
        assume_unrestricted=assume_unrestricted,
    )
    return Check.read({**json.loads(data), "_text": text})


def explain(
    trace: str | os.PathLike[str],
    task: str | int,
    *,
    top: int = 10,
    start: str | None = None,
    until: str | None = None,
) -> Mapping[str, Any]:
    """Why the tasks of this name or pid waited, as ``keel check --task --json`` prints it.

    Args:
        trace: the recording.
        task: a name or a pid.
        top: how many waits are listed.
        start: consider only events after this time.
        until: consider only events before this time.
    """
    data, _ = _native.why_waits(os.fspath(trace), str(task), top, from_time=start, until=until)
    explained: Mapping[str, Any] = json.loads(data)
    return explained


def replay(
    trace: str | os.PathLike[str],
    scheduler: SchedulerLike,
    *,
    machine: str | int | None = None,
    keep: Sequence[str | int] = (),
    scale: int = 1,
    duration: Duration | None = None,
    seed: int | None = None,
    settings: Settings | None = None,
    progress: bool = False,
) -> Replay:
    """Runs what a recording holds under another scheduler, as ``keel replay`` does.

    Args:
        trace: the recording.
        scheduler: as for ``sim``.
        machine: a built-in name, a number of CPUs, or a path; the recording's shape by default.
        keep: only tasks with these names or pids.
        scale: each task so many times.
        duration: in virtual time; as long as the recording by default.
        seed: of what is not in the recording.
        settings: global variables of the scheduler.
        progress: show a progress bar.
    """
    own = _given.scheduler(scheduler)
    more = _given.pairs(own.settings) if own.object is not None else []
    with over(0 if duration is None else duration_ns(duration), progress and duration is not None) as reached:
        spec, report, confidence, notes = _native.replay(
            os.fspath(trace),
            own._native(),
            machine=None if machine is None else str(machine),
            keep=[str(task) for task in keep],
            scale=scale,
            duration_ns=None if duration is None else duration_ns(duration),
            seed=seed,
            settings=_given.pairs(settings) + more,
            progress=reached,
        )
    made = Replay.of(report, spec, confidence=confidence, notes=tuple(notes))
    assert isinstance(made, Replay)
    return made


def read_events(trace: str | os.PathLike[str], classes: Sequence[str] = ("core",)) -> Events:
    """The events of a recording, in Arrow record batches of bounded memory."""
    return Events(_native.recorded_events(os.fspath(trace), list(classes)), None)
