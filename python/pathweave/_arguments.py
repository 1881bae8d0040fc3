"""Checks of arguments: each error names the argument, its value and type, what is allowed, and the nearest name."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from pathweave._errors import ArgumentError, InputError, OutputError, hint

P = ParamSpec("P")
R = TypeVar("R")


def named(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose callers are told the arguments that there are, if they give too many, too few or others."""
    signature = inspect.signature(function)
    known = [one for name, one in signature.parameters.items() if name not in ("self", "cls")]
    has_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known)

    @functools.wraps(function)
    def call(*given: P.args, **by_name: P.kwargs) -> R:
        try:
            signature.bind(*given, **by_name)
        except TypeError as error:
            names = [one.name for one in known if one.kind is not inspect.Parameter.VAR_KEYWORD]
            wrong = [] if has_any else [name for name in by_name if name not in names]
            problem = f"has no argument {wrong[0]}{hint(wrong[0], names)}" if wrong else str(error)
            first = ", ".join(one.name for one in known if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD)
            rest = ", ".join(f"{one.name}=" for one in known if one.kind is inspect.Parameter.KEYWORD_ONLY)
            by_keyword = f"{', and ' if first else ''}by name {rest}" if rest else ""
            settings = ", and settings" if has_any else ""
            raise ArgumentError(f"{function.__name__}() {problem}; there are: {first}{by_keyword}{settings}") from None
        return function(*given, **by_name)

    return call


def shown(value: object) -> str:
    """A value and its type, for the text of an error."""
    text = repr(value)
    text = text if len(text) <= 60 else f"{text[:59]}…"
    return text if value is None or isinstance(value, bool) else f"{text} ({type(value).__name__})"


def wrong(argument: str, value: object, allowed: str) -> ArgumentError:
    """The error for an argument of a wrong type."""
    return ArgumentError(f"{argument} = {shown(value)}: allowed: {allowed}")


def text(argument: str, value: object, allowed: str = "a text") -> str:
    """A text; with a wrong type, `ArgumentError`."""
    if not isinstance(value, str):
        raise wrong(argument, value, allowed)
    return value


def optional_text(argument: str, value: object, allowed: str) -> str | None:
    """A text or ``None``."""
    return None if value is None else text(argument, value, f"{allowed}, or None")


def whole(argument: str, value: object, allowed: str, least: int = 1, most: int = 2**63 - 1) -> int:
    """A whole number in a range; numpy's are accepted, truth values are not."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise wrong(argument, value, allowed)
    number = int(value)
    if not least <= number <= most:
        raise InputError(f"{argument} = {number}: allowed: {allowed}")
    return number


def truth(argument: str, value: object) -> bool:
    """``True`` or ``False``; numpy's are accepted."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise wrong(argument, value, "True or False")
    return bool(value)


def file(argument: str, value: object) -> Path:
    """A path."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise wrong(argument, value, "a path (str or pathlib.Path)")
    return Path(value)


def is_text(value: object) -> bool:
    """Whether a value is the text of a file and not a file's name: it has several lines."""
    return isinstance(value, str) and "\n" in value


def existing(argument: str, value: object, takes_text: str = "") -> Path:
    """The path of a file that exists; the error names the nearest file of the folder. `takes_text` is what takes a file's text."""
    path = file(argument, value)
    if is_text(value):
        use = f"; {takes_text} takes a text" if takes_text else ""
        raise InputError(
            f"{argument} = {shown(value).removesuffix(' (str)')}: this is a text of several lines, not a file's name{use}"
        )
    if path.is_dir():
        raise InputError(f"{argument} = {path}: this is a folder; a file is needed")
    if not path.exists():
        there = os.listdir(path.parent) if path.parent.is_dir() else []
        folder = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise InputError(f"{argument} = {path}: there is no such file{folder}{hint(path.name, there)}")
    return path


def save(path: object, content: str) -> Path:
    """Writes a file and returns its path; `OutputError` if it cannot be written."""
    where = file("path", path)
    try:
        where.write_text(content, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{where}: {error.strerror}") from error
    return where


def listed(argument: str, value: object, allowed: str) -> list[Any]:
    """The elements of a list, tuple or other iterable, which is no text."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise wrong(argument, value, allowed)
    return list(value)


def one_of(argument: str, value: object, names: Collection[str]) -> str:
    """One of some names; the error lists them, the nearest one first."""
    there_are = ", ".join(names) or "nothing"
    if not isinstance(value, str):
        raise wrong(argument, value, there_are)
    if value not in names:
        raise InputError(f"{argument} = {value}{hint(value, names)}: allowed: {there_are}")
    return value
