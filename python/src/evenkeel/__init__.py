"""Evenkeel: a lab for Linux CPU schedulers.

``sim`` runs a compiled sched_ext scheduler on a simulated machine, ``compare`` several of them, ``check`` judges a
recording, and ``replay`` runs what a recording holds under another scheduler. ``evenkeel.sweep`` searches settings.
"""

from ._check import Check, check, explain, read_events, replay
from ._errors import InputError, InternalError, KeelError, KeelWarning, SchedulerError, UnsupportedError
from ._given import Machine, Scheduler, Workload, built_in
from ._native import version as _version
from ._run import Comparison, Decision, Events, Exit, Finding, FindingSums, LookedAt, Overhead, Replay, Run, Spread
from ._sim import compare, events, sim
from ._table import Table
from .sweeps import Choices, Objective, Range, Sweep, sweep

__version__ = _version()

__all__ = [
    "Check",
    "Choices",
    "Comparison",
    "Decision",
    "Events",
    "Exit",
    "Finding",
    "FindingSums",
    "InputError",
    "InternalError",
    "KeelError",
    "KeelWarning",
    "LookedAt",
    "Machine",
    "Objective",
    "Overhead",
    "Range",
    "Replay",
    "Run",
    "Scheduler",
    "SchedulerError",
    "Spread",
    "Sweep",
    "Table",
    "UnsupportedError",
    "Workload",
    "built_in",
    "check",
    "compare",
    "events",
    "explain",
    "read_events",
    "replay",
    "sim",
    "sweep",
]
