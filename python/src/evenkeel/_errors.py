"""Exceptions by the exit code that ``keel`` would end with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence


class KeelError(Exception):
    """Something could not be done.

    Attributes:
        exit_code: what ``keel`` would exit with.
        help: what to do about it, if anything can be done.
    """

    exit_code: int = 70

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message if help is None else f"{message}\nhelp: {help}")
        self.message = message
        self.help = help


class InputError(KeelError, ValueError):
    """Bad input: a name, a file, a value (exit code 2)."""

    exit_code = 2


class SchedulerError(KeelError):
    """The scheduler's own program could not continue (exit code 3).

    A scheduler that fails within a run raises nothing: ``Run.exit`` says how it ended.
    """

    exit_code = 3


class UnsupportedError(KeelError):
    """The object or workload needs something that keel does not support (exit code 4)."""

    exit_code = 4


class InternalError(KeelError):
    """An internal error of keel (exit code 70)."""

    exit_code = 70


class KeelWarning(UserWarning):
    """A remark that comes with a result, such as an ignored field of a workload file."""


_CLASSES: dict[int, type[KeelError]] = {
    cls.exit_code: cls for cls in (InputError, SchedulerError, UnsupportedError, InternalError)
}


def of(exit_code: int, message: str, help: str | None) -> KeelError:
    """The exception of a failure with this exit code."""
    return _CLASSES.get(exit_code, KeelError)(message, help)


def warn(notes: Sequence[str]) -> None:
    """Passes remarks on as warnings."""
    for note in notes:
        warnings.warn(note, KeelWarning, stacklevel=3)
