"""What can go wrong, as exceptions."""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from pathweave import _native

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pathweave.results import Results
    from pathweave.sweeps import Sweep


def hint(wanted: str, names: Iterable[str]) -> str:
    """The question for the names that were probably meant, for the text of an error; empty if no name is similar."""
    *first, last = _native.meant(wanted, list(names)) or [""]
    meant = f"{', '.join(first)} or {last}" if first else last
    return f" (did you mean {meant}?)" if meant else ""


_RENAMED = {"from": "start", "to": "end", "set": "set", "schedulers": "schedulers", "scheduler": "scheduler"}
_OPTIONS = _RENAMED | {
    name: name
    for name in ("against", "why", "seeds", "seed", "jobs", "out", "quick", "shard", "resume", "only", "points")
}
_OPTION = re.compile(rf"(?<![\w-])--({'|'.join(_OPTIONS)})\b(?!-)")


def in_python(text: str) -> str:
    """An error of the native module, with arguments in place of the command's options: ``start`` for ``--from``."""
    return _OPTION.sub(lambda found: _OPTIONS[found[1]], text.removeprefix("--set: "))


class PathweaveError(Exception):
    """Base class of all exceptions of this package."""


class InputError(PathweaveError, ValueError):
    """A mistake in a call. The text says what is allowed. Errors of the engine name arguments in place of the command's options."""


class PathweaveWarning(UserWarning):
    """A setting that is allowed but hardly intended, such as one that does not reach the measured data."""


_UNHEARD = re.compile(r"Set (path|link)\.([^.]+)\.(up|down)\.(\w+) too$")


def warn(about: str, sentences: Iterable[str]) -> None:
    """Warns the caller of this package about a scenario or plan, in Python's own names."""
    level, frame = 1, sys._getframe(1)
    ours = ("pathweave", "contextlib")
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in ours:
        level, frame = level + 1, frame.f_back
    for sentence in sentences:
        text = _UNHEARD.sub(r'\g<0>: scenario.\1["\2"].\3.\4', in_python(sentence))
        warnings.warn(f"{about}: {text}", PathweaveWarning, stacklevel=level + 1)


def needed(module: str, what: str, install: str) -> ModuleType:
    """A module of a package that is not always installed.

    Raises:
        InputError: If it is not installed; the text says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"{what} ({error}): pip install {install}") from None


class ArgumentError(InputError, TypeError):
    """An argument of a wrong type, or one that the function does not have. The text says what is allowed."""


class ScenarioError(InputError):
    """A mistake in a scenario, in an override or in a scheduler's entry.

    The text is ``FILE:LINE: key = value: allowed: ...``; for a setting in the call itself, it begins with the key.

    Attributes:
        problem: ``syntax``, ``unknown-key``, ``missing``, ``value``, or ``conflict``: two settings that do not fit each other.
        file: The scenario's file; ``None`` if the mistake is in the call itself, such as an override.
        line: The line in the file, from 1.
        columns: First and last column (exclusive) of the mistake in its line, from 1.
        key: The setting.
        value: The value as written; empty if there is none.
        allowed: The allowed values, in words.
    """

    def __init__(
        self,
        text: str,
        *,
        problem: Literal["syntax", "unknown-key", "missing", "value", "conflict"] = "value",
        file: str | None = None,
        line: int | None = None,
        columns: tuple[int, int] = (1, 1),
        key: str = "",
        value: str = "",
        allowed: str = "",
    ) -> None:
        """Takes the text and what is known of the mistake's place."""
        super().__init__(text)
        self.problem = problem
        self.file = file
        self.line = line
        self.columns = columns
        self.key = key
        self.value = value
        self.allowed = allowed


class OutputError(PathweaveError, OSError):
    """A file could not be written."""


class SchedulerError(PathweaveError, RuntimeError):
    """A scheduler failed in a call that makes a single run. The text has the traceback of a scheduler in Python.

    In comparisons and sweeps, the traceback is the run's ``reason`` instead, and the other runs continue.
    """


class InternalError(PathweaveError, RuntimeError):
    """A fault in Pathweave itself. The text names the file and the line."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or the notebook's stop button, while runs were made.

    Attributes:
        results: The runs that were finished: `Results`, or a `Sweep`. In an interactive session, ``sys.last_value.results`` is the same.
    """

    def __init__(self, text: str, results: Results | Sweep) -> None:
        """Takes the runs that were finished."""
        super().__init__(text)
        self.results = results
