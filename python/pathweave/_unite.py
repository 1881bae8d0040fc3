"""Puts the parts of a finished sweep together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pathweave._errors import PathweaveError
from pathweave._work import parquet

if TYPE_CHECKING:
    import pyarrow

UNITED_ROWS = 50_000
"""So many runs are put in order at once, so that memory does not grow with the sweep."""


def unite(folder: Path, runs: int) -> None:
    """Writes all runs in their order, each once. The result does not depend on the size of tasks or parts."""
    import pyarrow

    path = folder / "runs.parquet"
    if path.exists():
        return
    parts: list[tuple[int, int, Path]] = []
    schemas: dict[str, pyarrow.Schema] = {}
    for part in sorted((folder / "parts").glob("part-*.parquet")):
        with parquet().ParquetFile(part) as opened:
            groups = [opened.metadata.row_group(i) for i in range(opened.metadata.num_row_groups)]
            spans = [group.column(0).statistics for group in groups]
            parts.append((min(span.min for span in spans), max(span.max for span in spans), part))
            # Not every part has every metric, and parts number their words differently.
            schemas.setdefault(str(opened.schema_arrow), _without_dictionaries(opened.schema_arrow))
    schema = pyarrow.unify_schemas([*schemas.values()])
    fixed = ["run", "scenario", "variant", "seed", "status", "reason", "digest"]
    fixed += [name for name in schema.names if name.startswith("at_")]
    names = [*fixed, *sorted(name for name in schema.names if name not in fixed)]
    schema = pyarrow.schema([schema.field(name) for name in names])
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    with parquet().ParquetWriter(new, schema, compression="zstd") as file:
        for first in range(0, runs, UNITED_ROWS):
            end = min(first + UNITED_ROWS, runs)
            file.write_table(_rows(parts, first, end, schema), row_group_size=UNITED_ROWS)
    os.replace(new, path)


def _rows(parts: Iterable[tuple[int, int, Path]], first: int, end: int, schema: pyarrow.Schema) -> pyarrow.Table:
    """The runs from `first` up to `end`, each once."""
    import pyarrow
    import pyarrow.compute

    found = []
    for least, most, part in parts:
        if most < first or least >= end:
            continue
        rows = parquet().read_table(part, partitioning=None)
        run = pyarrow.compute.field("run")
        rows = rows.filter((run >= first) & (run < end))
        rows = rows.cast(_without_dictionaries(rows.schema))
        found.append(rows.select([name for name in schema.names if name in rows.column_names]))
    rows = pyarrow.concat_tables(found, promote_options="default").sort_by("run")
    numbers = rows.column("run").to_numpy()
    once = [i == 0 or numbers[i] != numbers[i - 1] for i in range(len(numbers))]
    rows = rows.filter(pyarrow.array(once))
    if rows.num_rows != end - first:
        raise PathweaveError(f"there are {rows.num_rows} runs in the place of {end - first}")
    for name in schema.names:
        if name not in rows.column_names:
            rows = rows.append_column(schema.field(name), pyarrow.nulls(rows.num_rows, schema.field(name).type))
    return rows.select(schema.names).cast(schema).combine_chunks()


def _without_dictionaries(schema: pyarrow.Schema) -> pyarrow.Schema:
    """A schema in which words are plain text instead of entries of a dictionary."""
    import pyarrow

    fields = [
        field.with_type(field.type.value_type) if pyarrow.types.is_dictionary(field.type) else field for field in schema
    ]
    return pyarrow.schema(fields)
