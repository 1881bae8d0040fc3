"""The command: ``python -m pathweave compare wifi-lte``."""

from __future__ import annotations

import signal
import sys

from pathweave import _native


def main() -> int:
    """Runs the command with the process's arguments, and returns its exit code."""
    # The command answers Ctrl-C itself. Python's own handler would wait for the command's end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.command(sys.argv[1:], _native.__file__)


if __name__ == "__main__":
    sys.exit(main())
