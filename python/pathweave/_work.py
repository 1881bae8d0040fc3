"""What a worker of a sweep does: makes the runs of one task and writes them as a part."""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathweave import _native
from pathweave._errors import InputError, needed
from pathweave.schedulers import Description

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Task:
    """Some runs of a sweep.

    Attributes:
        folder: The sweep's folder, which all workers see.
        runs: Their numbers.
        plan_hash: Hash of the plan that the driver read.
        program: Version and hash of the driver's program.
        own: The schedulers in Python.
        jobs: Number of runs at once.
    """

    folder: Path
    runs: tuple[int, ...]
    plan_hash: str
    program: str
    own: tuple[Description, ...]
    jobs: int | None


def parquet() -> Any:
    """The module that writes tables.

    Raises:
        InputError: If pyarrow is not installed.
    """
    return needed("pyarrow.parquet", "a sweep writes Parquet by pyarrow", "'pathweave[sweep]'")


@functools.cache
def program() -> str:
    """The version and the hash of the native module, which makes the runs."""
    return _native.program_of(Path(_native.__file__).read_bytes())


def code(description: Description) -> str:
    """A hash of a scheduler's source.

    It covers the scheduler's class, the classes that this inherits from, and the functions, classes and values that these name.
    """
    texts = [description.name, repr(description.parameters), str(description.queues), str(description.duplicates)]
    found: dict[int, object] = {}
    _collect(description.factory, found)
    texts += [_text(thing) for thing in found.values()]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


def _collect(thing: object, found: dict[int, object]) -> None:
    """The sources of a class or function and of all that it names, in the order of the names; installed packages are left out."""
    if id(thing) in found or _is_installed(thing):
        return
    found[id(thing)] = thing
    if inspect.isclass(thing):
        for base in inspect.getmro(thing)[1:]:
            _collect(base, found)
        for member in vars(thing).values():
            inner = getattr(member, "__func__", getattr(member, "fget", member))
            if inspect.isfunction(inner):
                _collect_named(inner, found)
    elif inspect.isfunction(thing):
        _collect_named(thing, found)


def _collect_named(function: types.FunctionType, found: dict[int, object]) -> None:
    """The objects that a function names: globals, and variables of the functions around it."""
    compiled = [function.__code__]
    for one in compiled:
        compiled += [inner for inner in one.co_consts if isinstance(inner, types.CodeType)]
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in sorted({name for one in compiled for name in (*one.co_names, *one.co_freevars)}):
        if name in closed:
            try:
                value = closed[name].cell_contents
            except ValueError:
                continue
        elif name in function.__globals__:
            value = function.__globals__[name]
        else:
            continue
        if inspect.isclass(value) or inspect.isfunction(value):
            _collect(value, found)
        elif (text := _written(value)) is not None:
            named = f"{name} = {text}"
            found[id(named)] = named


def _written(value: object) -> str | None:
    """The text of a value, if every process writes that value alike; otherwise nothing."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return repr(value)
    if isinstance(value, tuple | list):
        parts = [_written(part) for part in value]
        return None if None in parts else f"[{', '.join(map(str, parts))}]"
    if isinstance(value, dict):
        return _written([*value.items()])
    array: Callable[[], bytes] | None = getattr(value, "tobytes", None)
    return array().hex() if callable(array) else None


def _is_installed(thing: object) -> bool:
    """Whether an object is from Python itself or from an installed package. A sweep does not compare their versions."""
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if file is None:
        return module is not None and module.__name__ == "builtins"
    return (
        any(part in Path(file).parts for part in ("site-packages", "dist-packages")) or _STANDARD in Path(file).parents
    )


_STANDARD = Path(os.__file__).parent


def _text(thing: object) -> str:
    if isinstance(thing, str):
        return thing
    try:
        return inspect.getsource(thing)  # type: ignore[arg-type]
    except (OSError, TypeError):
        # Without a source, what was compiled.
        texts = []
        for name, value in sorted(getattr(thing, "__dict__", {}).items()):
            compiled = getattr(value, "__code__", None)
            texts.append(f"{name} {compiled.co_code.hex()} {compiled.co_consts!r}" if compiled else name)
        compiled = getattr(thing, "__code__", None)
        return "\n".join(texts + ([f"{compiled.co_code.hex()} {compiled.co_consts!r}"] if compiled else []))


# A worker that makes many tasks of a sweep reads its plan once.
_plans: dict[tuple[Path, str], _native.Plan] = {}


def plan_of(task: Task) -> _native.Plan:
    """The plan, as the driver packed it into the folder."""
    key = (task.folder, task.plan_hash)
    if key not in _plans:
        _plans.clear()
        packed = (task.folder / "plan.json").read_text(encoding="utf-8")
        _plans[key] = _native.Plan.unpack(packed, task.own)
    plan = _plans[key]
    if plan.hash != task.plan_hash or program() != task.program:
        raise InputError(
            f"{task.folder}: this worker has another version of the program or of the plan than the driver"
        )
    return plan


def work(task: Task) -> int:
    """Makes the runs of a task and writes them; returns how many there are."""
    plan = plan_of(task)
    if part_of(task.folder, task.runs).exists():
        # A worker that was lost between writing them and saying so.
        return len(task.runs)
    table, interrupted = plan.run(list(task.runs), task.jobs, None)
    write_part(task.folder, table)
    if interrupted is not None:
        raise interrupted
    return len(table)


def part_of(folder: Path, runs: Sequence[int]) -> Path:
    """The file of these runs, which has the same name whichever worker makes them."""
    numbers = hashlib.sha256(",".join(map(str, runs)).encode()).hexdigest()[:12]
    return folder / "parts" / f"part-{runs[0]:09d}-{len(runs)}-{numbers}.parquet"


def write_part(folder: Path, table: _native.Table) -> None:
    """Writes rows as a part: the whole file or none."""
    import pyarrow

    if not len(table):
        return
    rows = pyarrow.table(table)
    put(rows, part_of(folder, rows.column("run").to_pylist()))


def put(rows: pyarrow.Table, path: Path) -> None:
    """Writes a file in one step: under another name, then renamed."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    parquet().write_table(rows, new, compression="zstd")
    os.replace(new, path)
