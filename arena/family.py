"""What a family of points is."""

import dataclasses
import math
from collections.abc import Callable


@dataclasses.dataclass
class Family:
    """A plan: its points, what their columns set, and the scenarios that they are made in."""

    # Yields points from a random generator.
    points: Callable
    # Name of a column, the setting, and how its value is written. Without a setting, other columns use the value.
    columns: list[tuple[str, str | None, str]]
    # The first metric of a plan is the one that is compared.
    metric: str
    # By name: the file, and what is set in it.
    scenarios: dict[str, tuple[str, dict[str, str]]]
    # How many paths the connection has.
    paths: int = 2
    # Whether plain TCP runs too, on each path by itself.
    plain_tcp: bool = True
    # Yields the points for evaluation, where they are made of something else.
    evaluation: Callable | None = None


def log(draw, low, high):
    """A number between two others, drawn evenly on a logarithmic scale."""
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def drawn(draw, low, high):
    """The same with one digit behind the point."""
    return f"{log(draw, low, high):.1f}"


def path_columns(number, names=("rate", "delay", "queue", "loss"), queue="packets"):
    """Columns of settings of the paths path1, path2 and so on."""
    written = {"rate": "{}Mbps", "delay": "{}ms", "queue": "{}" + queue, "loss": "{}%", "trace": "{}"}
    return [(f"{name}{i}", f"path.path{i}.{name}", written[name]) for i in range(1, number + 1) for name in names]
