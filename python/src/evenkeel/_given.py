"""What a run is made of: a scheduler, a workload, a machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from . import _native
from ._errors import InputError

Settings = Mapping[str, object]
Duration = str | int | float | timedelta


def duration_ns(duration: Duration) -> int:
    """A duration in nanoseconds: text such as ``"10s"``, a ``timedelta``, or a number of seconds."""
    if isinstance(duration, str):
        return _native.duration_ns(duration)
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    ns = round(seconds * 1_000_000_000)
    if ns <= 0:
        raise InputError(f"a duration of {duration!r} is not more than none")
    return ns


def written(value: object) -> str:
    """A setting's value as ``--set NAME=VALUE`` takes it."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def pairs(settings: Settings | None) -> list[tuple[str, str]]:
    """Settings as ``--set`` takes them."""
    return [(name, written(value)) for name, value in (settings or {}).items()]


@dataclass(frozen=True)
class Scheduler:
    """A scheduler, and settings of its own.

    Attributes:
        given: ``eevdf``, a built-in name, the path of a ``.bpf.o`` or of a binary that carries one,
            or a command line of the scheduler's own program (``"scx_lavd --performance"``).
        settings: global variables to set before it is loaded.
        recipe: the path of its recipe; by default ``NAME.keel.toml`` beside ``NAME.bpf.o``.
        object: the object's bytes, where it is no file; ``given`` is then its name, ``recipe`` the
            recipe's text.
    """

    given: str
    settings: Settings = field(default_factory=dict)
    recipe: str | None = None
    object: bytes | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str], settings: Settings | None = None) -> Scheduler:
        """An object as bytes, with its recipe, so that other machines can run it, too."""
        path = Path(path)
        try:
            content = path.read_bytes()
            beside = path.with_name(path.name.removesuffix(".bpf.o") + ".keel.toml")
            recipe = beside.read_text() if beside.exists() else None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from error
        return cls(path.name, settings or {}, recipe, content)

    @property
    def suffix(self) -> str:
        """What stands behind the name: ``:kick=1:slice_ns=5000``."""
        return "".join(f":{name}={value}" for name, value in pairs(self.settings))

    def _native(self) -> _native.GivenScheduler:
        if self.object is not None:
            return (self.given + self.suffix, self.object, self.recipe or "")
        given = self.given + self.suffix
        return given if self.recipe is None else (given, self.recipe)


@dataclass(frozen=True)
class Machine:
    """A simulated machine.

    Attributes:
        given: a built-in name, a number of CPUs, or the path of a machine file.
        text: the text of a machine file, where it is no file; ``given`` is then its name.
    """

    given: str | int
    text: str | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Machine:
        """A machine file as text: what other machines can run, too."""
        try:
            return cls(Path(path).name, Path(path).read_text())
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from error

    @property
    def facts(self) -> Mapping[str, Any]:
        """``name``, ``cpus``, ``nodes``, ``smt``, ``hz`` and ``node_of_cpu``, a list by CPU."""
        return _native.machine_facts(self._native())

    @property
    def cpus(self) -> int:
        """How many CPUs it has."""
        return cast(int, self.facts["cpus"])

    def _native(self) -> _native.Given:
        return str(self.given) if self.text is None else (str(self.given), self.text)

    def _repr_html_(self) -> str:
        facts = self.facts
        smt = ", SMT" if facts["smt"] else ""
        name = _escaped(str(facts["name"]))
        return f"<b>Machine {name}</b>: {facts['cpus']} CPUs, {facts['nodes']} nodes{smt}"


@dataclass(frozen=True)
class Workload:
    """What is scheduled.

    Attributes:
        given: a built-in name, a generator such as ``mix:1000:80``, several joined by ``+``, the path
            of an rt-app JSON file, or a recording.
        text: the text of an rt-app file, where it is no file; ``given`` is then its name.
    """

    given: str
    text: str | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Workload:
        """An rt-app file as text: what other machines can run, too."""
        try:
            return cls(Path(path).name, Path(path).read_text())
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from error

    @classmethod
    def rt_app(
        cls,
        name: str,
        tasks: Mapping[str, Mapping[str, Any]],
        **more: Any,
    ) -> Workload:
        """A workload of rt-app's tasks, as its JSON files have them; times in microseconds.

        ``Workload.rt_app("two", {"worker": {"instance": 2, "run": 1000, "sleep": 3000}})``

        Args:
            name: what it is called.
            tasks: by name, what each task does.
            more: the file's other members, such as ``resources``; a member ``global_`` is rt-app's
                ``global``.
        """
        members = {key.removesuffix("_"): value for key, value in more.items()}
        return cls(name, json.dumps({"tasks": tasks, **members}))

    def __add__(self, other: Workload | str) -> Workload:
        """Both at once."""
        other = other if isinstance(other, Workload) else Workload(other)
        if self.text is not None or other.text is not None:
            raise InputError("only workloads by name or path can be joined; write the text to a file first")
        return Workload(f"{self.given}+{other.given}")

    def _native(self) -> _native.Given:
        return self.given if self.text is None else (self.given, self.text)


SchedulerLike = Scheduler | str
MachineLike = Machine | str | int
WorkloadLike = Workload | str


def scheduler(given: SchedulerLike) -> Scheduler:
    """A scheduler as a ``Scheduler``."""
    return given if isinstance(given, Scheduler) else Scheduler(given)


def machine(given: MachineLike | None) -> Machine | None:
    """A machine as a ``Machine``."""
    return given if given is None or isinstance(given, Machine) else Machine(given)


def workload(given: WorkloadLike | None) -> Workload | None:
    """A workload as a ``Workload``."""
    return given if given is None or isinstance(given, Workload) else Workload(given)


def spec(
    of: SchedulerLike,
    on: MachineLike | None,
    work: WorkloadLike | None,
    *,
    duration: Duration | None = None,
    seed: int = 1,
    noise: str = "quiet",
    settings: Settings | None = None,
    checked: bool = False,
    engine: str = "native",
) -> _native.Spec:
    """All that one run is a function of, read."""
    if not 0 <= seed < 1 << 64:
        raise InputError(f"seed {seed} is not between 0 and 2**64 - 1")
    own = scheduler(of)
    given_machine, given_workload = machine(on), workload(work)
    # The object's own settings are not in a name that is looked up.
    more = pairs(own.settings) if own.object is not None else []
    return _native.spec(
        own._native(),
        None if given_machine is None else given_machine._native(),
        None if given_workload is None else given_workload._native(),
        duration_ns=None if duration is None else duration_ns(duration),
        seed=seed,
        noise=noise,
        settings=pairs(settings) + more,
        checked=checked,
        engine=engine,
    )


def built_in(what: str) -> Sequence[tuple[str, str]]:
    """The built-in ``schedulers``, ``machines`` or ``workloads``: name, and one line on what it is."""
    return _native.built_in(what)


def _escaped(text: str) -> str:
    import html

    return html.escape(text)
