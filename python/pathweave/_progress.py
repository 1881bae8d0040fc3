"""The bar that shows how many runs are done."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from pathweave._arguments import truth
from pathweave._errors import warn


class Bar:
    """Counts finished runs; with tqdm it shows them."""

    def __init__(self, shown: Any, show: bool, what: str) -> None:
        """`shown` makes the bar once the number of runs is known."""
        self._make, self._show, self._what = shown, show, what
        self._bar: Any = None
        self._total = 0

    @property
    def total(self) -> int:
        """How many runs there are."""
        return self._total

    @total.setter
    def total(self, runs: int) -> None:
        self._total = runs
        if self._show and self._make is not None and runs > 1:
            self._bar = self._make(total=runs, unit=" runs", desc=self._what, leave=False)

    def __call__(self, finished: int, /) -> None:
        """Counts `finished` more runs."""
        if self._bar is not None and finished:
            self._bar.update(finished)

    def close(self) -> None:
        """Shows the last state and removes the bar. A quick sweep ends before the bar's next update is due."""
        if self._bar is not None:
            self._bar.refresh()
            self._bar.close()


@contextmanager
def bar(wanted: bool | None, what: str) -> Generator[Bar, None, None]:
    """A bar. By default it is shown on a terminal if tqdm is installed, and in a notebook if ipywidgets is installed too."""
    if wanted is not None:
        wanted = truth("progress", wanted)
    make: Any = None
    notebook = "ipykernel" in sys.modules
    # Without its widgets a notebook would get a line for each step.
    widgets = notebook and importlib.util.find_spec("ipywidgets") is not None
    show = wanted if wanted is not None else widgets or (sys.stderr.isatty() and not notebook)
    if show:
        try:
            from tqdm.notebook import tqdm as in_notebook
            from tqdm.std import tqdm
        except ImportError:
            if wanted:
                warn("progress = True", ["a bar needs tqdm: pip install 'pathweave[progress]'"])
        else:
            make = in_notebook if widgets else tqdm
    shown = Bar(make, show, what)
    try:
        yield shown
    finally:
        shown.close()
