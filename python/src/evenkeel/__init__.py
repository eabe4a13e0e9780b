"""Evenkeel: a lab for Linux CPU schedulers.

``sim`` runs a compiled sched_ext scheduler on a simulated machine, ``compare`` several of them, ``check`` judges a
recording, and ``replay`` runs what a recording holds under another scheduler. ``profile`` shows where a scheduler's time
goes, ``lab`` re-runs published experiments, and ``sweep`` searches settings.
"""

from ._check import Check, check, explain, read_events, replay
from ._errors import InputError, InternalError, KeelError, KeelWarning, SchedulerError, UnsupportedError
from ._given import Machine, Scheduler, Workload, built_in
from ._lab import Arm, Claim, Experiment, Lab, Trend, Values, lab
from ._native import version as _version
from ._profile import Profile, profile
from ._run import Comparison, Decision, Events, Exit, Finding, FindingSums, LookedAt, Overhead, Replay, Run, Spread
from ._sim import compare, events, sim
from ._table import Table
from .sweeps import Choices, Objective, Range, Sweep, sweep

__version__ = _version()

__all__ = [
    "Arm",
    "Check",
    "Choices",
    "Claim",
    "Comparison",
    "Decision",
    "Events",
    "Exit",
    "Experiment",
    "Finding",
    "FindingSums",
    "InputError",
    "InternalError",
    "KeelError",
    "KeelWarning",
    "Lab",
    "LookedAt",
    "Machine",
    "Objective",
    "Overhead",
    "Profile",
    "Range",
    "Replay",
    "Run",
    "Scheduler",
    "SchedulerError",
    "Spread",
    "Sweep",
    "Table",
    "Trend",
    "UnsupportedError",
    "Values",
    "Workload",
    "built_in",
    "check",
    "compare",
    "events",
    "explain",
    "lab",
    "profile",
    "read_events",
    "replay",
    "sim",
    "sweep",
]
