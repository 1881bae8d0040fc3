"""The arena: schedulers at many points, each scored against the best single path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pathweave import _arguments as arguments
from pathweave import _native
from pathweave import schedulers as _schedulers
from pathweave._progress import bar
from pathweave.comparison import checked_jobs
from pathweave.tables import Table

_POINTS = "a family, FAMILY/N or FAMILY/N-M, such as 'bulk-evaluation/1-3', or a list of these"


class Arena:
    """The scores of schedulers over points of the arena. 1 is the best single path of the same connection; more is better."""

    def __init__(self, native: _native.Arena) -> None:
        """Made by `arena`."""
        self._native = native

    @property
    def verdict(self) -> str:
        """Whether the first scheduler is better than the second one, by how much, and at how many points; empty without a second."""
        return self._native.answer()

    @property
    def points(self) -> Table:
        """A row for each scheduler and point: ``scheduler``, ``plan``, ``scenario``, ``point``, ``score``, ``bound_share``, ``settings``.

        ``score`` is ``None`` if a run has no value. ``bound_share`` is goodput as a fraction of the bound, if that is known. A plan and
        its scenario are a family; ``pathweave arena A,B --point PLAN/POINT --explain`` opens a point.
        """
        return Table(self._native.points())

    @property
    def problems(self) -> list[str]:
        """Runs that did not complete, with the reason of each."""
        return self._native.problems()

    def to_html(self, path: str | Path) -> Path:
        """Writes the arena's page, which works offline."""
        return arguments.save(path, self._native.page())

    def __str__(self) -> str:
        """The verdict and all tables, as the command prints them."""
        return self._native.text()

    def __repr__(self) -> str:
        """The size and the verdict."""
        return f"<Arena: {_native.counted(len(self.points), 'score')}> {self.verdict}".rstrip()


@arguments.named
def arena(
    schedulers: str | type | Iterable[str | type] | Mapping[str, type],
    *,
    against: str | Iterable[str] = "minrtt",
    points: str | Iterable[str] | None = None,
    only: str | None = None,
    seeds: int | None = None,
    quick: bool = False,
    source: str | Path | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Arena:
    """Scores schedulers at points of the arena: many links, windows, loss patterns, changes, workloads and competing flows.

    The first scheduler is compared with each other one. All points take hours, and longer with schedulers in Python: name some, or
    begin with ``quick=True``. The results are those of the command ``pathweave arena``.

    Args:
        schedulers: Names, classes, or a dictionary of names and classes, as in `compare`.
        against: Names of more schedulers; the verdict is about the first of them.
        points: A family, ``FAMILY/N`` or ``FAMILY/N-M``, such as ``"bulk-evaluation/1-3"``, or a list of these; points are numbered
            from 1 (default: all points).
        only: Makes only plans with this text in their names, such as ``"evaluation"``.
        seeds: The number of seeds, which are 1, 2, ... (default: as the plans say).
        quick: Whether four points of each plan are made with one seed.
        source: A folder with other plans (default: the plans that the package carries).
        jobs: Number of runs at once (default: one per processor).
        progress: Whether a bar is shown; the default is that of `compare`.

    Raises:
        InputError: If there is no such scheduler, plan or point.

    >>> import pathweave
    >>> class Newest(pathweave.Scheduler):
    ...     def decide(self, view):
    ...         free = [s for s in view.candidates if s.has_space]
    ...         return pathweave.Assign(free[-1], free[-1].window_space) if free else None
    >>> scores = pathweave.arena(Newest, points="sized-tuning/1", seeds=1)
    >>> scores.points["scheduler"]
    ['newest', 'minrtt']
    >>> scores.verdict.split(":")[0]
    'newest against minrtt at one point'
    """
    names, own = _schedulers.entries(schedulers)
    others = (
        against if isinstance(against, str) else ",".join(arguments.listed("against", against, "schedulers' names"))
    )
    wanted = (
        [] if points is None else [points] if isinstance(points, str) else arguments.listed("points", points, _POINTS)
    )
    chosen = [part.strip() for one in wanted for part in arguments.text("points", one, _POINTS).split(",")]
    with bar(progress, "arena") as shown:
        native, interrupted = _native.arena(
            names or "",
            others,
            points=chosen,
            only=arguments.optional_text("only", only, "a part of a plan's name"),
            folder=None if source is None else arguments.file("source", source),
            seeds=None if seeds is None else arguments.whole("seeds", seeds, "a whole number from 1", 1, 2**32 - 1),
            quick=arguments.truth("quick", quick),
            jobs=checked_jobs(jobs),
            own=own,
            progress=shown,
        )
    if interrupted is not None:
        raise interrupted
    return Arena(native)
