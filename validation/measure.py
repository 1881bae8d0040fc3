#!/usr/bin/env python3
"""Runs scenarios on the real Linux stack in virtual time and writes reference data.

    measure.py KERNEL_DIR SCENARIOS.jsonl OUT.jsonl [--only TEXT] [--seeds N] [--jobs N] [--keep DIR]

KERNEL_DIR is what build.sh made. A line of SCENARIOS.jsonl: {"id": ..., "scenario": {...}, "seeds": N}; lines of results
serve too, so that a file of results can be measured anew. OUT.jsonl gets one line a run; what it holds already is not run
again. The fields are explained in README.md. A run takes a few seconds whatever its virtual length, and does not depend on
how busy the machine is.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import capture
import guest

DEFAULTS = {"cc": "cubic", "rmem": 6291456, "rmem0": 131072, "wmem": 4194304}
SENDER_COUNTERS = [
    "TcpRetransSegs", "TcpExtTCPTimeouts", "TcpExtTCPSpuriousRTOs", "TcpExtTCPLossProbes", "MPTcpExtMPTCPRetrans",
    "MPTcpExtMPJoinSynAckRx",
]
RECEIVER_COUNTERS = ["MPTcpExtOFOQueue", "MPTcpExtDuplicateData", "TcpExtTCPOFOQueue", "TcpExtRcvPruned"]
REAL_SECONDS_AT_MOST = 600


def read_scenarios(path):
    """By id: the scenario and the seeds to run it with."""
    scenarios = {}
    for number, line in enumerate(open(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            entry = json.loads(line)
            scenario, name = entry["scenario"], entry["id"]
            known, seeds = scenarios.setdefault(name, (scenario, set()))
            if known != scenario:
                raise ValueError(f"{name} has another scenario in an earlier line")
            modes = ["mptcp", *(f"tcp{path}" for path in range(len(scenario["paths"])))]
            if scenario["mode"] not in modes or ("seconds" in scenario) == ("bytes" in scenario):
                raise ValueError(f"mode is one of {', '.join(modes)}, and there is either seconds or bytes")
            if scenario.get("direction", "upload") not in ("upload", "download"):
                raise ValueError("direction is upload or download")
            seeds.update(range(1, entry["seeds"] + 1) if "seeds" in entry else [entry.get("seed", 1)])
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"{path}:{number}: {error!r}")
    return scenarios


def read_counters(path, names):
    """Of nstat's output; a counter that the kernel does not list is zero."""
    found = {}
    for line in open(path):
        words = line.split()
        if len(words) >= 2 and words[0] in names:
            found[words[0]] = int(float(words[1]))
    return {name: found.get(name, 0) for name in names}


class Stream:
    """What the two ends of the stream wrote down."""

    def __init__(self, folder):
        sender = [line.split() for line in open(folder / "send.log")]
        receiver = [line.split() for line in open(folder / "receive.log")]
        # The end that connects says when it began.
        self.start = next(float(words[0]) for words in sender + receiver if words[1] == "start")
        self.written = int(sender[-1][1])
        counts = [words for words in receiver if words[1].isdigit()]
        self.points = [(float(words[0]) - self.start, int(words[1])) for words in counts]
        self.end, self.received = self.points[-1]

    def delivered(self, seconds):
        """Bytes read up to this time after the connect began."""
        return max((count for at, count in self.points if at <= seconds), default=0)


def results(scenario, folder):
    """The measured fields of one run."""
    stream = Stream(folder)
    if stream.received != stream.written:
        raise ValueError(f"{stream.written} bytes written, {stream.received} received")
    out = {}
    if "seconds" in scenario:
        seconds = scenario["seconds"]
        mbps = lambda first, last: (stream.delivered(last) - stream.delivered(first)) * 8e-6 / (last - first)
        out["goodput_mbps"] = round(mbps(0, seconds), 4)
        out["per_second_mbps"] = [round(mbps(second, second + 1), 3) for second in range(int(seconds))]
    else:
        out["completion_s"] = round(stream.end, 6)
        out["goodput_mbps"] = round(stream.received * 8e-6 / stream.end, 4)
    out["bytes"] = stream.received
    for path in range(len(scenario["paths"])):
        link = json.load(open(folder / f"link{path}.json"))[0]["stats64"]["rx"]
        queue = json.load(open(folder / f"queue{path}.json"))[0]
        out[f"path{path}"] = {
            "received_frame_bytes": link["bytes"],
            "queue_drops": queue["drops"],
            "window_bytes": capture.offered_windows(folder / f"acks{path}.pcap"),
        }
    out["sender"] = read_counters(folder / "sender.nstat", SENDER_COUNTERS)
    out["receiver"] = read_counters(folder / "receiver.nstat", RECEIVER_COUNTERS)
    return out


def run(kernel, name, scenario, seed, keep):
    """One run: boots the guest, which does everything, and reads what it left."""
    # The guest mixes its command line into its randomness: the folder must depend on the run only.
    label = hashlib.sha256(f"{name} {seed}".encode()).hexdigest()[:16]
    folder = pathlib.Path(tempfile.gettempdir()) / f"measure-{label}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    init = folder / "init.sh"
    init.write_text(guest.script({**DEFAULTS, **scenario}, folder, kernel / "stream"))
    init.chmod(0o755)
    command = [
        kernel / "linux-uml", "mem=768M", "rootfstype=hostfs", "rootflags=/", "root=/dev/root", "rw", f"init={init}",
        "time-travel=inf-cpu", "time-travel-start=1000000000", "quiet", "con=null", "con0=null,null",
    ]
    environment = {**os.environ, "LD_PRELOAD": str(kernel / "entropy.so"), "MEASURE_SEED": str(seed)}
    started = time.monotonic()
    line = {"id": name, "seed": seed, "scenario": scenario}
    try:
        subprocess.run(
            [str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=REAL_SECONDS_AT_MOST,
        )
        line.update(results(scenario, folder))
    except (OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
        line["error"] = repr(error)
    line["wall_s"] = round(time.monotonic() - started, 1)
    if keep:
        shutil.copytree(folder, keep / f"{name.replace('/', '-')}-{seed}", dirs_exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", metavar="KERNEL_DIR", type=pathlib.Path)
    parser.add_argument("scenarios", metavar="SCENARIOS.jsonl")
    parser.add_argument("out", metavar="OUT.jsonl")
    parser.add_argument("--only", default="", metavar="TEXT", help="only ids with this text")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds 1 to N instead of each scenario's own")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep captures and logs of each run here")
    options = parser.parse_args()
    kernel = options.kernel.resolve()
    for name in ("linux-uml", "stream", "entropy.so"):
        if not (kernel / name).exists():
            sys.exit(f"{kernel / name} is missing: run build.sh {options.kernel}")
    for name in ("ip", "tc", "ethtool", "ping", "tcpdump", "nstat"):
        # The guest ignores what fails: without ping, for example, joins would wait for neighbours.
        if not shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin"):
            sys.exit(f"{name} is not installed")
    done = set()
    if os.path.exists(options.out):
        done = {(line["id"], line["seed"]) for line in map(json.loads, open(options.out))}
    todo = []
    for name, (scenario, seeds) in read_scenarios(options.scenarios).items():
        seeds = range(1, options.seeds + 1) if options.seeds else sorted(seeds)
        todo += [(name, scenario, seed) for seed in seeds if options.only in name and (name, seed) not in done]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, open(options.out, "a") as out:
        for line in pool.map(lambda job: run(kernel, *job, options.keep), todo):
            out.write(json.dumps(line) + "\n")
            out.flush()
            value = line.get("completion_s", line.get("goodput_mbps"))
            print(line["id"], line["seed"], line.get("error", value), f"{line['wall_s']} s", flush=True)


if __name__ == "__main__":
    main()
