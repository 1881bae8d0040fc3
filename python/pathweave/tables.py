"""Tables, which lists, pandas, polars and pyarrow all read."""

from __future__ import annotations

import html
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol, overload

from pathweave import _native
from pathweave._arguments import one_of, whole, wrong
from pathweave._errors import InputError, hint, needed

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

SHOWN_ROWS = 10
"""Number of rows that ``repr`` shows."""


class Tabular(ABC):
    """What `Table` and `Sweep` have in common: named columns of equal length."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The columns' names, with their units at the end."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows."""

    @abstractmethod
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's stream of the rows."""

    @abstractmethod
    def _cells(self, name: str, rows: range) -> list[Any]:
        """Some rows of a column that exists."""

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and the number of columns."""
        return len(self), len(self.columns)

    def column(self, name: str) -> list[Any]:
        """A column as a list.

        Raises:
            KeyError: If no column has this name; the text has the nearest name and lists all names.
        """
        return self._cells(self._known(name), range(len(self)))

    def rows(self) -> list[dict[str, Any]]:
        """Each row as a dictionary."""
        return list(self)

    def head(self, n: int = 5) -> Table:
        """The first rows, as a table."""
        return self[: whole("n", n, "a whole number from 0", 0)]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each row as a dictionary, in order. ``pandas.DataFrame(table)`` reads them."""
        columns = self.columns
        for values in zip(*(self.column(name) for name in columns), strict=True):
            yield dict(zip(columns, values, strict=True))

    @overload
    def __getitem__(self, which: str) -> list[Any]: ...
    @overload
    def __getitem__(self, which: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, which: slice | list[str]) -> Table: ...
    def __getitem__(self, which: str | int | slice | list[str]) -> Any:
        """A column by its name, a row by its number, rows by a slice, or columns by a list of names."""
        every = range(len(self))
        if isinstance(which, str):
            return self.column(which)
        if isinstance(which, slice):
            return Table(_Part(self, every[which], self.columns))
        if isinstance(which, list):
            return Table(_Part(self, every, [self._known(name) for name in which]))
        if isinstance(which, bool) or not isinstance(which, Integral):
            raise wrong("[]", which, "a column's name, a row's number, a slice or a list of names")
        try:
            row = every[int(which)]
        except IndexError:
            raise IndexError(f"row {which}: this table has {_native.counted(len(self), 'row')}") from None
        return {name: self._cells(name, range(row, row + 1))[0] for name in self.columns}

    def __getattr__(self, name: str) -> Any:
        """Nothing: says where a column, or what data frames have, is."""
        if not name.startswith("_") and name != "columns":
            if name in self._column_names():
                raise AttributeError(f"a column is in brackets: [{name!r}]")
            names = [one for one in dir(type(self)) if not one.startswith("_")]
            frames = "to_pandas() and to_polars() make data frames, which have more"
            raise AttributeError(f"{type(self).__name__} has no {name}{hint(name, names)}; {frames}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _column_names(self) -> list[str]:
        """The columns' names; empty for a sweep that is not finished."""
        try:
            return self.columns
        except InputError:
            return []

    def _known(self, name: object) -> str:
        columns = self.columns
        try:
            return one_of("column", name, columns)
        except ValueError as error:
            raise (error if isinstance(error, TypeError) else KeyError(str(error))) from None

    def to_polars(self) -> polars.DataFrame:
        """The rows as a data frame of polars (``pip install polars``)."""
        needed("polars", "to_polars needs polars", "polars")
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas, made by pyarrow (``pip install pandas pyarrow``)."""
        for module in ("pandas", "pyarrow"):
            needed(module, "to_pandas needs pandas and pyarrow", "pandas pyarrow")
        return self.to_arrow().to_pandas()

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a table of pyarrow (``pip install pyarrow``)."""
        needed("pyarrow", "to_arrow needs pyarrow", "pyarrow")
        import pyarrow

        return pyarrow.table(self)

    def __repr__(self) -> str:
        """The size and the first rows, as wide as the terminal."""
        return f"{self._title()}\n{_text(self)}" if len(self) else self._title()

    def _title(self) -> str:
        rows, columns = self.shape
        return f"{_native.counted(rows, 'row')}, {_native.counted(columns, 'column')}"

    def _repr_html_(self) -> str:
        """The first rows."""
        return html_table(self.columns, self[:20].rows(), len(self))


class _Source(Protocol):
    """What a `Table` reads: a table of the native module, or a part of another table."""

    @property
    def columns(self) -> list[str]: ...
    def column(self, name: str) -> list[Any]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Table(Tabular):
    """A table of columns, which other libraries take over without a copy.

    The table has Arrow's interface for Python, so ``polars.DataFrame(table)``, ``pyarrow.table(table)``, DuckDB and
    pandas read it. None of these is required: rows and columns are also plain Python values.

    >>> import pathweave
    >>> runs = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=2, duration="12s").runs
    >>> len(runs), runs.shape[0], runs["seed"]
    (6, 6, [1, 2, 1, 2, 1, 2])
    >>> runs[0]["scheduler"], runs[-1]["scheduler"]
    ('minrtt', 'tcp-path1')
    >>> runs[["scheduler", "seed"]].head(1).rows()
    [{'scheduler': 'minrtt', 'seed': 1}]
    """

    def __init__(self, source: _Source) -> None:
        """Objects are made by `Results`, `Sweep` and other tables."""
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's stream of the rows."""
        return self._source.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._source)

    @property
    def columns(self) -> list[str]:
        """The columns' names, with their units at the end."""
        return self._source.columns

    def _cells(self, name: str, rows: range) -> list[Any]:
        if isinstance(self._source, _Part):
            return self._source.cells(name, rows)
        found = self._source.column(name)
        return found if len(rows) == len(found) and rows.step == 1 else [found[row] for row in rows]


class _Part:
    """Some rows and columns of another table."""

    def __init__(self, whole: Tabular, rows: range, columns: list[str]) -> None:
        self._whole, self._rows, self.columns = whole, rows, columns

    def __len__(self) -> int:
        return len(self._rows)

    def cells(self, name: str, rows: range) -> list[Any]:
        if not rows:
            return []
        first, step = self._rows[rows.start], self._rows.step * rows.step
        return self._whole._cells(name, range(first, first + step * len(rows), step))

    def column(self, name: str) -> list[Any]:
        return self.cells(name, range(len(self)))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        part = self._whole.to_arrow().select(self.columns)
        return taken(part, self._rows).__arrow_c_stream__(requested_schema)


def taken(rows: Any, numbers: range) -> Any:
    """Some rows of a table or column of pyarrow."""
    needed("pyarrow", "parts of tables need pyarrow", "pyarrow")
    import pyarrow

    if numbers.step == 1:
        return rows.slice(numbers.start, len(numbers))
    # With its type, because an empty list has none.
    return rows.take(pyarrow.array(numbers, type=pyarrow.int64()))


class Columns:
    """Columns of plain Python values, for tables that are made in Python."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        """Takes lists of equal length."""
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        """The columns' names."""
        return list(self._columns)

    def column(self, name: str) -> list[Any]:
        """A copy of a column as a list."""
        return list(self._columns[name])

    def __len__(self) -> int:
        """The number of rows."""
        return len(next(iter(self._columns.values()), ()))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's stream, made by pyarrow."""
        needed("pyarrow", "other libraries read this table by pyarrow", "pyarrow")
        import pyarrow

        # Seeds go up to 2^64 - 1, in every table.
        types = {"seed": pyarrow.uint64()}
        columns = {name: pyarrow.array(values, types.get(name)) for name, values in self._columns.items()}
        return pyarrow.table(columns).__arrow_c_stream__(requested_schema)


def cell(value: Any) -> str:
    """A value as it is shown in a table."""
    if isinstance(value, list):
        return ", ".join(cell(one) for one in value)
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def _text(table: Tabular) -> str:
    """The first rows as aligned text; a last line names the columns that do not fit."""
    part = table[:SHOWN_ROWS]
    width, used = shutil.get_terminal_size((100, 24)).columns, 0
    lines = [""] * (len(part) + 1)
    names = part.columns
    more = []
    for number, name in enumerate(names):
        values = part.column(name)
        texts = [_cut(cell(value)) for value in values]
        wide = max(len(text) for text in (name, *texts))
        if number and used + wide > width:
            listed = f"more columns: {', '.join(names[number:])}"
            more = [listed if len(listed) <= 2 * width else f"{listed[: 2 * width]}…"]
            break
        right = any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        for i, text in enumerate((name, *texts)):
            lines[i] += f"{text:>{wide}}  " if right else f"{text:<{wide}}  "
        used += wide + 2
    return "\n".join([*(line.rstrip() for line in lines), *_rest(table, part), *more])


def _rest(table: Tabular, part: Tabular) -> list[str]:
    return [f"… {_native.counted(len(table) - len(part), 'more row')}"] if len(table) > len(part) else []


def _cut(text: str, most: int = 20) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def html_table(columns: Sequence[str], rows: Sequence[dict[str, Any]], total: int) -> str:
    """Rows as a table of HTML, and how many rows there are in all."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell(row[name]))}</td>" for name in columns) + "</tr>" for row in rows
    )
    more = f"<p><small>{len(rows)} of {_native.counted(total, 'row')}</small></p>" if total > len(rows) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
