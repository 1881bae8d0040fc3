"""What several tests need."""

import os
import shutil
from pathlib import Path

import pytest
from sweeping import PLAN, plan_of

import pathweave

SMALL_PLAN = plan_of(
    ["minrtt"],
    2,
    "500ms",
    [
        ("buffer_kb", [200, 50], "connection.receive_buffer", "{}KB"),
        ("loss", [0, 1], "path.lte.loss", "{}%"),
    ],
)


@pytest.fixture(scope="session")
def command() -> str:
    """The command, which `cargo xtask python` names."""
    built = Path(__file__).parents[2] / "target/release/pathweave"
    found = os.environ.get("PATHWEAVE") or (str(built) if built.exists() else shutil.which("pathweave"))
    if not found:
        pytest.skip("the command is not built: cargo build --release")
    return found


@pytest.fixture(scope="session")
def small_plan() -> str:
    """A plan with two parameters and runs of half a second."""
    return SMALL_PLAN


@pytest.fixture(scope="session")
def results() -> pathweave.Results:
    """Four seeds of two schedulers and of plain TCP on two paths."""
    return pathweave.compare("wifi-lte", schedulers=["minrtt", "blest"], seeds=4, duration=1, measure_from=0)


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> pathweave.Sweep:
    """The finished sweep of `small_plan`."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "plan.toml").write_text(SMALL_PLAN)
    return pathweave.sweep(folder / "plan.toml", out=folder / "out")


@pytest.fixture(scope="session")
def swept_by_one(tmp_path_factory: pytest.TempPathFactory) -> pathweave.Sweep:
    """A finished sweep of one parameter, whose values have different units."""
    folder = tmp_path_factory.mktemp("one")
    values = ["100KB", "1MB"]
    text = plan_of(["minrtt", "blest"], 3, "500ms", [("buffer", values, "connection.receive_buffer", "{}")])
    (folder / "plan.toml").write_text(text)
    return pathweave.sweep(folder / "plan.toml", out=folder / "out")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """The file of a plan with a claim."""
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file
