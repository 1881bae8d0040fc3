"""Schedulers that are written in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from pathweave import _arguments as arguments
from pathweave import _native
from pathweave._errors import InputError
from pathweave._native import Assign, Event, SubflowView, View, Wait

__all__ = [
    "Assign",
    "Event",
    "Parameter",
    "Scheduler",
    "SubflowView",
    "View",
    "Wait",
    "register",
    "registered",
    "scheduler",
    "unregister",
]


@runtime_checkable
class Scheduler(Protocol):
    """The interface of a scheduler.

    `decide` is called again and again until it waits: after each acknowledgement, when data is written, when a subflow comes up,
    and when the time of a wait has come. The engine checks its answers as it checks those of schedulers in Rust, and
    lets the default scheduler decide in place of an impossible answer.

    A class may also have

    - ``on_event(event, view)``: called for events on the connection. A view is made for each event, which costs as
      much as a decision;
    - ``quantities()``: a dictionary of the rule's internal values; they become series of the results;
    - ``parameters``: a list of `Parameter`, which are arguments of the class: ``my-rule:most=3``;
    - ``queues = True``: the rule fills subflows beyond their congestion windows by design;
    - ``duplicates = True``: the rule sends bytes on more than one subflow by design, so it is also asked while nothing is
      unassigned;
    - ``sees_carried = True``: views have `View.carried`, which is copied for each decision.

    Each connection of each run has an object of its own, so runs are independent. An exception ends only its own run,
    whose ``reason`` then has the traceback.
    """

    def decide(self, view: View, /) -> SubflowView | Assign | Wait | None:
        """Decides what to send next: a subflow (its next segment), an `Assign`, a `Wait`, or ``None`` to wait for
        more room."""
        ...


@dataclass(frozen=True)
class Parameter:
    """A parameter of a scheduler, which its class takes as an argument.

    Attributes:
        name: Its name, in scheduler entries too.
        default: Its value if none is given; its type is the parameter's type.
        min: The smallest number allowed.
        max: The largest number allowed.
        choices: The words allowed, if the default is a word.
        unit: The unit, if the parameter has one.
        description: The effect of the parameter, in one line.
    """

    name: str
    default: float | int | bool | str
    min: float = 0.0
    max: float = 1e9
    choices: tuple[str, ...] = ()
    unit: str = ""
    description: str = ""


@dataclass(frozen=True)
class _NativeParameter:
    """A parameter as the native module reads it."""

    name: str
    kind: str
    min: float
    max: float
    choices: str
    unit: str
    default: str
    description: str


@dataclass(frozen=True)
class Description:
    """A scheduler as the native module reads it."""

    name: str
    factory: Callable[..., Any]
    source: str
    summary: str
    parameters: tuple[_NativeParameter, ...]
    queues: bool
    duplicates: bool
    sees_carried: bool


_registered: dict[str, Description] = {}

T = TypeVar("T", bound=type)


def scheduler(name: str) -> Callable[[T], T]:
    """Registers a class as the scheduler `name`.

    >>> import pathweave
    >>> @pathweave.scheduler("shortest-rtt")
    ... class ShortestRtt:
    ...     def decide(self, view):
    ...         free = [s for s in view.candidates if s.has_space]
    ...         return min(free, key=lambda s: s.srtt_ms, default=None)
    >>> results = pathweave.compare("wifi-lte", schedulers=["shortest-rtt", "minrtt"], seeds=5, duration="12s")
    >>> of = lambda name: sum(run["goodput_mbps"] for run in results.where(scheduler=name)) / 5
    >>> abs(of("shortest-rtt") - of("minrtt")) < 2
    True
    """
    arguments.text("name", name, 'a name, as in @pathweave.scheduler("shortest-rtt")')

    def add(cls: T) -> T:
        register(cls, name)
        return cls

    return add


def register(cls: Callable[..., Any], name: str) -> None:
    """Registers a class, or any function that makes a scheduler, under a name. An earlier one with this name is
    replaced.

    Raises:
        InputError: If the name is not a valid name or that of a built-in scheduler, or if there is no method
            ``decide``.
    """
    _registered[name] = describe(cls, name)


def unregister(name: str) -> None:
    """Removes a registered scheduler."""
    _registered.pop(arguments.text("name", name), None)


def registered() -> list[str]:
    """The names of the registered schedulers."""
    return list(_registered)


def descriptions() -> list[Description]:
    """The registered schedulers as the native module reads them."""
    return list(_registered.values())


def describe(cls: Callable[..., Any], name: str) -> Description:
    """Describes a class for the native module."""
    arguments.text("name", name, "a scheduler's name: letters, digits, - and _")
    if not name or not all(c.isascii() and (c.isalnum() or c in "-_") for c in name):
        raise InputError(f"scheduler {name!r}: allowed: letters, digits, - and _")
    if (
        name == "all"
        or name.startswith("tcp-path")
        or any(name == one["name"] for one in _native.listing("schedulers"))
    ):
        raise InputError(f"scheduler {name!r}: a built-in one has this name; choose another")
    if not callable(getattr(cls, "decide", None)):
        raise arguments.wrong(f"scheduler {name!r}", cls, "a class with a method decide(self, view)")
    parameters = getattr(cls, "parameters", ())
    if not isinstance(parameters, list | tuple) or not all(isinstance(one, Parameter) for one in parameters):
        raise arguments.wrong(f"scheduler {name!r}: parameters", parameters, "a list of pathweave.Parameter")
    about = (cls.__doc__ or "").strip().splitlines()
    return Description(
        name=name,
        factory=cls,
        source=f"Python: {getattr(cls, '__module__', '')}",
        summary=about[0] if about else "A scheduler in Python",
        parameters=tuple(_parameter(name, one) for one in parameters),
        queues=bool(getattr(cls, "queues", False)),
        duplicates=bool(getattr(cls, "duplicates", False)),
        sees_carried=bool(getattr(cls, "sees_carried", False)),
    )


def _parameter(scheduler: str, one: Parameter) -> _NativeParameter:
    place = f"scheduler {scheduler!r}: parameter"
    arguments.text(f"{place}: name", one.name, "letters, digits, - and _")
    default = one.default
    if isinstance(default, bool):
        kind, text = "bool", "true" if default else "false"
    elif isinstance(default, int):
        kind, text = "integer", str(default)
    elif isinstance(default, float):
        kind, text = "number", repr(default)
    else:
        kind = "choice" if one.choices else "text"
        text = arguments.text(f"{place} {one.name}: default", default, "a number, True, False or a word")
    for bound in ("min", "max"):
        value = getattr(one, bound)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise arguments.wrong(f"{place} {one.name}: {bound}", value, "a number")
    return _NativeParameter(one.name, kind, one.min, one.max, " ".join(one.choices), one.unit, text, one.description)


_ENTRIES = "names, classes with a method decide(self, view), a dictionary of names and classes, or None: the default"


def entries(
    wanted: str | type | Iterable[str | type] | Mapping[str, type] | None,
) -> tuple[str | None, list[Description]]:
    """Scheduler entries in the command's form, and the descriptions of those written in Python."""
    own = dict(_registered)
    if wanted is None or isinstance(wanted, str):
        return wanted, list(own.values())
    if isinstance(wanted, type):
        wanted = [wanted]
    if isinstance(wanted, Mapping):
        named: Mapping[Any, type] = wanted
        own |= {name: describe(cls, name) for name, cls in named.items()}
        return ",".join(named), list(own.values())
    names: list[str] = []
    for entry in arguments.listed("schedulers", wanted, _ENTRIES):
        if isinstance(entry, str):
            names.append(entry)
            continue
        if not callable(entry):
            raise arguments.wrong("schedulers", entry, _ENTRIES)
        known = [name for name, description in own.items() if description.factory is entry]
        if not known:
            name = _name_of(entry)
            own[name] = describe(entry, name)
            known = [name]
        names.append(known[0])
    return ",".join(names), list(own.values())


def _name_of(cls: Callable[..., object]) -> str:
    """The name made from a class's name: ``ShortestRtt`` becomes ``shortest-rtt``."""
    name = getattr(cls, "__name__", type(cls).__name__)
    return "".join(f"-{c.lower()}" if c.isupper() and i > 0 else c.lower() for i, c in enumerate(name))
