"""What several tests need."""

import os
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def command() -> str:
    """The command, which `cargo xtask python` names."""
    built = Path(__file__).parents[2] / "target/release/pathweave"
    found = os.environ.get("PATHWEAVE") or (str(built) if built.exists() else shutil.which("pathweave"))
    if not found:
        pytest.skip("the command is not built: cargo build --release")
    return found
