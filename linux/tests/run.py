#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Takes the schedulers out of the patches and runs any_input.c and transfer.c on them, with the compiler's sanitizers.

    run.py [ROUNDS [SEED]]
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Window in KB, then rate in Mbit/s, delay in ms and queue in packets of each path, and the congestion controller.
POINTS = HERE.parents[1] / "arena" / "small-window-evaluation.csv"
CHECKS = [
    "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Wno-sign-compare", "-Wno-unused-parameter",
]


def new_files(patch):
    """The files that a patch adds, by name."""
    files, name = {}, None
    for line in patch.read_text().splitlines():
        if line.startswith(("diff --git", "-- ")):
            name = None
        elif line == "--- /dev/null":
            name = ""
        elif name == "" and line.startswith("+++ b/"):
            name = pathlib.PurePath(line[6:]).name
            files[name] = []
        elif name and line.startswith("+"):
            files[name].append(line[1:])
    return {name: "\n".join(lines) + "\n" for name, lines in files.items()}


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "net").mkdir()
        (folder / "net" / "tcp.h").write_text("")
        (folder / "protocol.h").write_text((HERE / "protocol.h").read_text())
        for patch in sorted((HERE.parent / "patches").glob("*.patch")):
            for name, text in new_files(patch).items():
                (folder / name).write_text(text)
        sources = [str(file) for file in sorted(folder.glob("sched_*.c"))]
        points = [line.split(",")[:7] for line in POINTS.read_text().splitlines()[1:]]
        runs = {"any_input": [sys.argv[1:]], "transfer": points}
        for name, arguments in runs.items():
            program = folder / name
            command = ["gcc", "-O1", "-g", *CHECKS, f"-I{folder}", "-o", program, HERE / f"{name}.c", *sources]
            subprocess.run(command, check=True)
            for words in arguments:
                print(name, *words, flush=True)
                subprocess.run([program, *words], check=True)


if __name__ == "__main__":
    main()
