#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Says whether two kernels send the same packets, and by how much their times differ.

    equal.py KERNEL_DIR KERNEL_DIR SCENARIOS.jsonl [--seeds N]

The folders are those of validation/build.sh, the scenarios those of validation/measure.py. Every packet of both
directions counts: its place on its path, its length, its flags, and its sequence and acknowledgement numbers from the
first ones of its direction. Two boots have clocks that differ by microseconds or more. So only scenarios that do not depend
on the seed, and have no random loss, can be equal; equal.jsonl has such ones. If the kernels differ, the first one runs again,
because only a run that repeats itself shows anything. Exit code 1 if such a run differs, or none is equal.
"""

import argparse
import pathlib
import struct
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "validation"))
import guest
import measure


def packets(capture):
    """For each packet: microseconds from the first one, whether to the server, length, flags, both numbers."""
    data = capture.read_bytes()
    place, found, first_time, numbers = 24, [], None, {}
    while place + 16 <= len(data):
        seconds, fraction, kept, length = struct.unpack_from("<IIII", data, place)
        frame = data[place + 16:place + 16 + kept]
        place += 16 + kept
        segment = frame[14 + (frame[14] & 15) * 4:]
        source, target, sequence, acknowledgement = struct.unpack_from(">HHII", segment)
        to_server = target == guest.PORT
        now = seconds * 10**6 + fraction
        first_time = now if first_time is None else first_time
        ends = (source, target)
        numbers.setdefault(ends, sequence)
        other = numbers.get((target, source), acknowledgement)
        found.append((now - first_time, to_server, length, segment[13], (sequence - numbers[ends]) & 0xFFFFFFFF,
                      (acknowledgement - other) & 0xFFFFFFFF))
    return found


def run(kernel, name, scenario, seed):
    """The packets of each path, and the result."""
    with tempfile.TemporaryDirectory() as folder:
        result = measure.run(kernel, name, scenario, seed, pathlib.Path(folder))
        if "error" in result:
            sys.exit(f"{name}, seed {seed}: {result['error']}")
        kept = next(pathlib.Path(folder).iterdir())
        return [packets(kept / f"acks{path}.pcap") for path in range(len(scenario["paths"]))], result["goodput_mbps"]


def contents(paths):
    """The packets of each path without their times; nothing if there are none, because that shows nothing."""
    return [[packet[1:] for packet in path] for path in paths] if any(paths) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", metavar="KERNEL_DIR", nargs=2, type=pathlib.Path)
    parser.add_argument("scenarios", metavar="SCENARIOS.jsonl")
    parser.add_argument("--seeds", type=int, metavar="N", default=1)
    options = parser.parse_args()
    text = guest.script
    # measure.py keeps the acknowledgements only.
    guest.script = lambda *arguments: text(*arguments).replace(f"'tcp src port {guest.PORT}'", f"'tcp port {guest.PORT}'")
    kernels = [kernel.resolve() for kernel in options.kernels]
    found = set()
    for name, (scenario, _) in measure.read_scenarios(options.scenarios).items():
        for seed in range(1, options.seeds + 1):
            (one, goodput), (other, other_goodput) = (run(kernel, name, scenario, seed) for kernel in kernels)
            same = contents(one) is not None and contents(one) == contents(other)
            late = max((abs(x[0] - y[0]) for a, b in zip(one, other) for x, y in zip(a, b)), default=0)
            verdict = f"equal, within {late} us"
            if not same:
                repeats = contents(run(kernels[0], name, scenario, seed)[0]) == contents(one)
                verdict = "DIFFERENT" if repeats else "shows nothing, the first kernel does not repeat itself"
            found.add(verdict.split(",")[0])
            counts = " and ".join(str(sum(map(len, paths))) for paths in (one, other))
            print(f"{name} {seed}: {verdict}, {counts} packets, {goodput} and {other_goodput} Mbit/s", flush=True)
            for path, (a, b) in enumerate(zip(one, other)):
                apart = next((i for i, (x, y) in enumerate(zip(a, b)) if x[1:] != y[1:]), None)
                if apart is not None:
                    print(f"  path {path}, packet {apart}: {a[apart]}\n  {' ' * len(str(path))}instead: {b[apart]}")
    sys.exit(0 if "equal" in found and "DIFFERENT" not in found else 1)


if __name__ == "__main__":
    main()
