"""What a worker of a sweep does: makes the runs of one task and writes them as a part."""

from __future__ import annotations

import functools
import hashlib
import inspect
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pathweave import _native
from pathweave._errors import InputError
from pathweave.schedulers import Description

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Task:
    """Some runs of a sweep.

    Attributes:
        folder: The sweep's folder, which all workers see.
        runs: Their numbers.
        plan_hash: Of the plan that the driver read.
        program: Of the program that the driver has.
        own: The schedulers in Python.
        jobs: How many runs at once.
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
        InputError: If it is not installed.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise InputError("a sweep writes Parquet by pyarrow: pip install 'pathweave[sweep]'") from None
    return pyarrow.parquet


@functools.cache
def program() -> str:
    """The version and the hash of the native module, which makes the runs."""
    return _native.program_of(Path(_native.__file__).read_bytes())


def code(description: Description) -> str:
    """A hash of a scheduler's source: of its class and of what it inherits."""
    texts = [description.name, repr(description.parameters), str(description.queues), str(description.duplicates)]
    factory = description.factory
    for part in inspect.getmro(factory) if inspect.isclass(factory) else (factory,):
        if part is object:
            continue
        try:
            texts.append(inspect.getsource(part))
        except (OSError, TypeError):
            # Without a source, its compiled methods.
            for name, value in sorted(vars(part).items()):
                compiled = getattr(value, "__code__", None)
                texts.append(f"{name} {compiled.co_code.hex()} {compiled.co_consts!r}" if compiled else name)
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


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
    table, interrupted = plan_of(task).run(list(task.runs), task.jobs, None)
    write_part(task.folder, table)
    if interrupted is not None:
        raise interrupted
    return len(table)


def write_part(folder: Path, table: _native.Table) -> None:
    """Writes rows as a part, which is there as a whole or not at all."""
    import pyarrow

    if not len(table):
        return
    rows = pyarrow.table(table)
    first, count = rows.column("run")[0].as_py(), rows.num_rows
    put(rows, folder / "parts" / f"part-{first:09d}-{count}-{os.getpid()}.parquet")


def put(rows: pyarrow.Table, path: Path) -> None:
    """Writes a file in one step."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    parquet().write_table(rows, new, compression="zstd")
    os.replace(new, path)
