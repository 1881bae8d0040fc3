"""Scenarios: built-in ones, files and text, which can be changed before they are run."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from pathweave import _arguments as arguments
from pathweave import _native
from pathweave._errors import ArgumentError, InputError, ScenarioError, hint

Setting = str | int | float | bool | timedelta
"""A setting's value: text with its unit, such as ``"60KB"``, a truth value, a `datetime.timedelta`, or a number.

A number is in seconds if the setting is a time (``duration=12``), and as written if the setting takes a plain number (``loss=0.01``).
Other numbers need their unit at the end of the name: ``delay_ms=30``, ``rate_mbps=8``, ``receive_buffer_kb=200``.
"""

UNITS = {
    "s": "s",
    "ms": "ms",
    "us": "us",
    "kbps": "kbps",
    "mbps": "Mbps",
    "gbps": "Gbps",
    "bytes": "B",
    "kb": "KB",
    "mb": "MB",
    "packets": "packets",
    "percent": "%",
}
"""The unit at the end of a setting's name, and the same unit in a scenario file."""

_TAKES = "text, a finite number, True, False, a list or datetime.timedelta"


def without_unit(word: str, settings: Collection[str]) -> tuple[str, str]:
    """A setting's name without the unit at its end, and the unit as a scenario file has it; empty if there is none."""
    name, _, unit = word.rpartition("_")
    return (name, UNITS[unit]) if unit in UNITS and word not in settings and name in settings else (word, "")


def put(document: _native.Document, key: str, value: Setting, given: str | None = None) -> None:
    """Sets a setting, as `Setting` says. `given` is the name by which the caller called it, for errors."""
    *place, word = arguments.text("key", key, "a setting's name such as 'path.lte.loss'").split(".")
    settings = _native.Document.settings(place[0] if place else "")
    word, unit = without_unit(word, settings)
    full, given = ".".join([*place, word]), given or key
    number = isinstance(value, Real) and not isinstance(value, bool)
    if unit and not number:
        raise arguments.wrong(given, value, f"a number, in {unit}")
    try:
        text = written(key, value)
    except ArgumentError:
        raise arguments.wrong(given, value, _takes(document, full)) from None
    try:
        document.set(full, text + unit)
    except ScenarioError as error:
        # The engine's own words say which settings are times.
        if unit or not number or not error.allowed.startswith("a time"):
            raise _called(error, f"{full} = {text}{unit}", f"{given} = {text}") from None
        document.set(full, text + "s")


def _takes(document: _native.Document, key: str) -> str:
    """What a setting takes, in the engine's words, and in Python's for a time."""
    try:
        document.copy().set(key, "no such value")
    except ScenarioError as error:
        if error.problem != "value":
            return _TAKES
        numbers = ", a number of seconds or datetime.timedelta" if error.allowed.startswith("a time") else ""
        return f"{error.allowed}{numbers}"
    return "text"


def _called(error: ScenarioError, engines: str, callers: str) -> ScenarioError:
    """An error with the setting and its value as the caller wrote them."""
    text = str(error)
    if not text.startswith(engines):
        return error
    about = {name: getattr(error, name) for name in ("problem", "file", "line", "columns", "key", "value", "allowed")}
    return ScenarioError(callers + text.removeprefix(engines), **about)


def written(key: str, value: Setting) -> str:
    """A value as it is written in a scenario file."""
    if isinstance(value, str):
        return value
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    if type(value).__name__ in ("bool", "bool_"):
        return "true" if value else "false"
    if isinstance(value, Real) and math.isfinite(value):
        whole = isinstance(value, Integral)
        return str(int(value)) if whole else f"{Decimal(repr(float(value))).normalize():f}"
    if isinstance(value, os.PathLike):
        return str(value)
    if isinstance(value, list | tuple) and value and all(isinstance(one, str | int) for one in value):
        return str(list(value))
    raise arguments.wrong(key, value, _TAKES)


class Scenario:
    """A network, the connections over it, and what is measured.

    Settings are attributes, written as in a scenario file (docs/scenarios.md): ``scenario.name`` too, which results carry. A wrong
    name or value raises `ScenarioError` at once, with the text that the command has. Two settings that do not fit each other, such as
    ``duration`` and ``measure_from``, raise it before the first run, or in `check`: either can be set first.

    Values are text with a unit, or Python's own: a number is in seconds if the setting is a time, or in the unit at the end of the
    name (``_s``, ``_ms``, ``_us``, ``_kbps``, ``_mbps``, ``_gbps``, ``_bytes``, ``_kb``, ``_mb``, ``_packets``, ``_percent``); a
    `datetime.timedelta` is a time.

    >>> import pathweave
    >>> scenario = pathweave.Scenario.builtin("wifi-lte")
    >>> scenario.path["lte"].loss = "1%"
    >>> scenario.connection.receive_buffer = "60KB"
    >>> scenario.duration = "12s"
    >>> scenario.path["lte"].loss
    '1%'
    >>> scenario.overrides
    [('path.lte.loss', '1%'), ('connection.receive_buffer', '60KB'), ('duration', '12s')]
    >>> scenario.path["lte"].delay_ms = 30
    >>> scenario.duration = 15
    >>> scenario.path["lte"].delay, scenario.duration
    ('30ms', '15s')
    """

    _document: _native.Document

    def __init__(self, document: _native.Document) -> None:
        """Use `from_file`, `from_toml` or `builtin`."""
        if not isinstance(document, _native.Document):
            name = document if isinstance(document, str) and not arguments.is_text(document) else "NAME"
            use = f"Scenario.builtin({name!r})" if name in builtin_scenarios() else "Scenario.builtin(NAME)"
            allowed = f"use {use}, Scenario.from_file(PATH) or Scenario.from_toml(TEXT)"
            raise arguments.wrong("document", document, allowed)
        object.__setattr__(self, "_document", document)

    @classmethod
    def from_file(cls, path: str | Path) -> Scenario:
        """Reads a scenario file. Traces that the file names are looked for in its folder."""
        # With a folder in front the name cannot be taken for a built-in scenario's.
        path = arguments.existing("path", path, "pathweave.Scenario.from_toml")
        text = str(path)
        return cls(_native.Document.open(text if path.parent != Path() else str(Path.cwd() / path)))

    @classmethod
    def from_toml(cls, text: str, *, name: str = "scenario.toml", folder: str | Path | None = None) -> Scenario:
        """Reads the text of a scenario file. Errors call the file `name`. Traces that the text names are looked for in
        `folder`."""
        where = arguments.file("folder", folder) if folder is not None else None
        text = arguments.text("text", text, "the text of a scenario file")
        if text.endswith(".toml") and not arguments.is_text(text):
            raise InputError(f"text = {text}: this is a file's name; Scenario.from_file reads files")
        return cls(_native.Document.parse(arguments.text("name", name), text, where))

    @classmethod
    def builtin(cls, name: str) -> Scenario:
        """A scenario that comes with Pathweave; `builtin_scenarios` lists them.

        >>> import pathweave
        >>> pathweave.Scenario.builtin("wlan-3g").name
        'wlan-3g'
        """
        return cls(_native.Document.open(arguments.one_of("name", name, builtin_scenarios())))

    def copy(self) -> Scenario:
        """A copy, which can be changed independently."""
        return Scenario(self._document.copy())

    @property
    def name(self) -> str:
        """The scenario's name, which results carry. It can be set: ``scenario.name = "lossy"``."""
        return self._document.name()

    @property
    def overrides(self) -> list[tuple[str, str]]:
        """The settings changed since the scenario was opened, as `set` takes them."""
        return self._document.overrides()

    @property
    def path(self) -> Elements:
        """The paths, by name or number. Setting an attribute of this collection sets it for every path."""
        return Elements(self, "path")

    @property
    def link(self) -> Elements:
        """The links of a scenario in long form, by name or number."""
        return Elements(self, "link")

    @property
    def connection(self) -> Elements:
        """The connections, by name or number. Setting an attribute of this collection sets it for every connection
        and for plain TCP."""
        return Elements(self, "connection")

    def set(self, key: str, value: Setting) -> Scenario:
        """Sets a setting by its full name, such as ``path.lte.loss``, and returns the scenario.

        >>> import pathweave
        >>> pathweave.Scenario.builtin("wifi-lte").set("path.lte.down.rate", "2Mbps").overrides
        [('path.lte.down.rate', '2Mbps')]
        """
        put(self._document, key, value)
        return self

    def check(self) -> None:
        """Raises `ScenarioError` if the scenario has a mistake. `compare` does the same before the first run."""
        self._document.check()

    def to_toml(self) -> str:
        """The text of a scenario file with every setting, defaults and overrides included."""
        return self._document.to_toml()

    def __getattr__(self, key: str) -> Any:
        """A setting of the scenario itself."""
        if key.startswith("_") or key not in _native.Document.settings(""):
            raise AttributeError(
                f"a scenario has no setting {key}{hint(key, dir(self))}; it has {', '.join(dir(self))}"
            )
        tree = self._document.tree()
        return tree[key] if key in tree else tomllib.loads(self.to_toml()).get(key)

    def __setattr__(self, key: str, value: Setting) -> None:
        """Sets a setting of the scenario itself."""
        put(self._document, key, value)

    def __dir__(self) -> list[str]:
        """The settings beside the methods."""
        return sorted({*super().__dir__(), *_native.Document.settings("")} - {"format", "node", "traffic", "scheduler"})

    def __repr__(self) -> str:
        """The name and what was changed."""
        changes = "".join(f", {key}={value}" for key, value in self.overrides)
        return f"<Scenario {self.name}{changes}>"

    def __getstate__(self) -> dict[str, Any]:
        """The scenario's text and overrides, for another process."""
        return {"toml": self.to_toml(), "name": self.name, "folder": self._document.folder()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Restores a scenario that comes from another process."""
        document = _native.Document.parse(f"{state['name']}.toml", state["toml"], state["folder"])
        object.__setattr__(self, "_document", document)


class Elements:
    """All paths, links or connections of a scenario: ``scenario.path["lte"]``, ``scenario.path[0]``."""

    _scenario: Scenario
    _list: str

    def __init__(self, scenario: Scenario, kind: str) -> None:
        """Takes the kind of the elements, such as ``path``."""
        object.__setattr__(self, "_scenario", scenario)
        object.__setattr__(self, "_list", kind)

    def _tables(self) -> list[dict[str, Any]]:
        found = self._scenario._document.tree().get(self._list, [])
        return found if isinstance(found, list) else []

    @property
    def names(self) -> list[str]:
        """The names of the elements, in the scenario's order."""
        found = tomllib.loads(self._scenario.to_toml()).get(self._list, [])
        return [table["name"] for table in found]

    def __getitem__(self, which: str | int) -> Element:
        """The element with this name or number."""
        if isinstance(which, bool) or not isinstance(which, int | str):
            raise arguments.wrong(self._list, which, f"a number, or one of {', '.join(self.names)}")
        if (isinstance(which, int) and not 0 <= which < len(self)) or (
            isinstance(which, str) and which not in self.names
        ):
            raise KeyError(f"{which!r}{hint(str(which), self.names)}; there are: {', '.join(self.names)}")
        return Element(self._scenario, self._list, str(which))

    def __len__(self) -> int:
        """The number of elements."""
        return len(self.names)

    def __iter__(self) -> Iterator[Element]:
        """The elements in the scenario's order."""
        return (Element(self._scenario, self._list, name) for name in self.names)

    def __getattr__(self, key: str) -> Any:
        """Nothing: a setting is read from one element."""
        if key.startswith("_"):
            raise AttributeError(key)
        first = repr(self.names[0]) if self.names else "0"
        if key in {"name", *_native.Document.settings(self._list)}:
            raise AttributeError(f"{key} may differ: read scenario.{self._list}[{first}].{key}")
        if key in self.names:
            raise AttributeError(f"a {self._list} is named in brackets: scenario.{self._list}[{key!r}]")
        raise AttributeError(
            f"a {self._list} has no setting {key}{hint(key, dir(self))}; names are in brackets: scenario.{self._list}[{first}]"
        )

    def __setattr__(self, key: str, value: Setting) -> None:
        """Sets a setting of every element."""
        put(self._scenario._document, f"{self._list}.{key}", value)

    def __dir__(self) -> list[str]:
        """The settings."""
        return sorted({"names", *_native.Document.settings(self._list)})

    def __repr__(self) -> str:
        """The names of the elements."""
        return f"<{self._list}s {', '.join(self.names)}>"


class Element:
    """One path, link or connection, or a table within it such as ``down``."""

    _scenario: Scenario
    _list: str
    _keys: str

    def __init__(self, scenario: Scenario, kind: str, keys: str) -> None:
        """Takes the element's place in the scenario."""
        object.__setattr__(self, "_scenario", scenario)
        object.__setattr__(self, "_list", kind)
        object.__setattr__(self, "_keys", keys)

    @property
    def up(self) -> Element:
        """The settings of the direction from the client."""
        return Element(self._scenario, self._list, f"{self._keys}.up")

    @property
    def down(self) -> Element:
        """The settings of the direction to the client."""
        return Element(self._scenario, self._list, f"{self._keys}.down")

    def __getattr__(self, key: str) -> Any:
        """A setting as it is written; its default if the scenario does not have it."""
        if key.startswith("_") or key not in {"name", *_native.Document.settings(self._list)}:
            raise AttributeError(
                f"a {self._list} has no setting {key}{hint(key, dir(self))}; it has {', '.join(dir(self))}"
            )
        which, *inner = self._keys.split(".")
        table = _named(self._scenario._document.tree().get(self._list, []), which)
        for word in inner:
            # What is not different there is as it is on both ways.
            nested = table.get(word, {})
            table = {**table, **nested} if isinstance(nested, dict) else table
        return table[key] if key in table else self._default(which, inner, key)

    def _default(self, which: str, inner: list[str], key: str) -> Any:
        """The default of a setting, from the scenario with every setting written out."""
        everything = tomllib.loads(self._scenario.to_toml())
        table = _named(everything.get(self._list, []), which)
        if key not in table and self._list == "path":
            table = _named(everything.get("link", []), table["links"][0])
        direction = inner[0] if inner else "up"
        return {**table, **table.get(direction, {})}.get(key)

    def __setattr__(self, key: str, value: Setting) -> None:
        """Sets a setting."""
        put(self._scenario._document, f"{self._list}.{self._keys}.{key}", value)

    def __dir__(self) -> list[str]:
        """The settings."""
        return sorted({"name", "up", "down", *_native.Document.settings(self._list)})

    def __repr__(self) -> str:
        """The element's place in the scenario."""
        return f"<{self._list} {self._keys}>"


def _named(tables: Any, which: str) -> dict[str, Any]:
    """The table with this name or number."""
    if isinstance(tables, list):
        for table in tables:
            if table.get("name") == which:
                return dict(table)
        if which.isdigit() and int(which) < len(tables):
            return dict(tables[int(which)])
    return {}


def builtin_scenarios() -> list[str]:
    """The names of the scenarios that come with Pathweave; the first is the default.

    >>> import pathweave
    >>> pathweave.builtin_scenarios()[0]
    'wifi-lte'
    """
    return [name for name, _ in _native.Document.builtin()]
