#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tries the schedulers in a kernel, beyond goodput.

    in_kernel.py KERNEL_DIR connections [--count N]      opens and closes connections while the scheduler changes
    in_kernel.py KERNEL_DIR transfers [--seconds N]       sends for N seconds with each scheduler in turn
    in_kernel.py KERNEL_DIR selftest SOURCE SCRIPT...     runs a script of the kernel's MPTCP selftests, with its arguments

KERNEL_DIR is that of validation/build.sh, SOURCE the kernel's tree. Without --schedulers, all schedulers of the kernel take
part. Exit code 1 if a connection or a test fails, or if the kernel has reported a fault of its own.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "validation"))
import guest
import measure

# Two unequal paths, so that each scheduler waits, and those that repeat do so.
PATHS = [{"rate_mbps": 40, "delay_ms": 5, "queue_pkts": 50}, {"rate_mbps": 10, "delay_ms": 30, "queue_pkts": 50}]
SCENARIO = {"paths": PATHS, "mode": "mptcp", "cc": "cubic", "rmem": 262144, "rmem0": 131072, "wmem": 4194304}
# Kinds of memory that a connection takes. kmalloc's sizes are those of the schedulers' states.
SLABS = ("MPTCP", "TCP", "kmalloc-8", "kmalloc-64", "kmalloc-128", "kmalloc-192", "kmalloc-256", "kmalloc-1k")
# How the kernel begins a report. linux/tests/reports.py has an example of each.
FAULTS = re.compile(
    r"\b(BUG|WARNING|INFO|ODEBUG|UBSAN|KASAN|DEBUG_LOCKS_WARN_ON)\b|possible |suspicious|inconsistent lock|cut here|"
    r"turning off the locking|suspected memory leak|leak detector disabled|refcount_t|out of memory|allocation failure|"
    r"Call Trace|Oops|Kernel panic|general protection|segfault"
)
KMEMLEAK = "/sys/kernel/debug/kmemleak"
LOCKDEP = "/proc/lockdep_stats"
# Options of the kernel that look for faults.
CHECKS = "PROVE_LOCKING|PROVE_RCU|DEBUG_ATOMIC_SLEEP|DEBUG_OBJECTS|DEBUG_KMEMLEAK|KASAN|UBSAN|DEBUG_NET"
RELEASED = [
    "sleep 70",  # sockets in TIME_WAIT are gone
    "for slab in /sys/kernel/slab/*/shrink; do echo 1 > $slab; done 2>/dev/null",
]
SCAN = f"[ -e {KMEMLEAK} ] && {{ echo scan > {KMEMLEAK}; sleep 10; echo scan > {KMEMLEAK}; cat {KMEMLEAK} > leaks; }}"


def boot(kernel, folder, lines, seconds):
    """Runs the lines in the guest. What they leave in their folder is in `folder` afterwards."""
    end = [
        f"cat {LOCKDEP} > lockdep 2>/dev/null", f"zcat /proc/config.gz | grep -E '^CONFIG_({CHECKS})=y' > checks",
        "dmesg > dmesg", f"cp * {folder}/", "sync", "halt -f",
    ]
    init = folder / "init.sh"
    head = ["mount -t debugfs debug /sys/kernel/debug 2>/dev/null", "export TMPDIR=/run"]
    init.write_text(guest.HEADER + "\n".join([*head, *lines, *end]) + "\n")
    init.chmod(0o755)
    command = [
        kernel / "linux-uml", "mem=1500M", "rootfstype=hostfs", "rootflags=/", "root=/dev/root", "rw", f"init={init}",
        "time-travel=inf-cpu", "time-travel-start=1000000000", "quiet", "log_buf_len=4M", "con=null", "con0=null,null",
    ]
    words = [str(word) for word in command]
    try:
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        print(f"not done after {seconds} s")


def text(folder, name):
    file = folder / name
    return file.read_text(errors="replace") if file.exists() else ""


def reports(log):
    """The lines of a kernel's log that begin or belong to a report."""
    return [line for line in log.splitlines() if FAULTS.search(line)]


def faults(folder):
    """What the kernel has to say, at most 20 lines."""
    log = text(folder, "dmesg")
    if not log:
        return ["the guest has left no log: it did not get to its end"]
    found = reports(log) + text(folder, "leaks").splitlines()
    lockdep = text(folder, "lockdep")
    if lockdep and not re.search(r"debug_locks:\s+1$", lockdep, re.M):
        found.append("lockdep has stopped")
    return found[:20]


def objects(folder, name):
    """Objects in use of each kind of memory."""
    lines = [line.split() for line in text(folder, name).splitlines()]
    return {words[0]: int(words[1]) for words in lines if words and words[0] in SLABS}


def network(scenario):
    """Builds both hosts and the paths."""
    lines = [*guest.namespace("client"), *guest.namespace("server")]
    for number, settings in enumerate(PATHS):
        lines += guest.path(number, settings, *guest.ends(scenario))
    return lines + guest.hosts(scenario)


def transfers(kernel, folder, options):
    good = True
    for scheduler in options.schedulers or all_schedulers(kernel, folder, options):
        for name in ("dmesg", "send.log", "receive.log"):
            folder.joinpath(name).unlink(missing_ok=True)
        scenario = {**SCENARIO, "seconds": options.seconds, "scheduler": scheduler}
        boot(kernel, folder, network(scenario) + guest.measurement(scenario, kernel / "stream"), options.limit)
        found = faults(folder)
        try:
            stream = measure.Stream(folder)
            joins = measure.read_counters(folder / "sender.nstat", ["MPTcpExtMPJoinSynAckRx"])
            done = stream.received == stream.written and all(joins.values())
            rate = stream.delivered(options.seconds) * 8e-6 / options.seconds
            end = "all bytes arrived" if done else "bytes or the join are missing"
            print(f"{scheduler}: {rate:.2f} Mbit/s, {end}", flush=True)
        except (OSError, LookupError, ValueError) as error:
            print(f"{scheduler}: {error!r}", flush=True)
            done = False
        print("".join(f"  {line}\n" for line in found), end="", flush=True)
        good &= done and not found
    return good


def all_schedulers(kernel, folder, options):
    """The names of the kernel's schedulers."""
    boot(kernel, folder, ["cat /proc/sys/net/mptcp/available_schedulers > schedulers"], options.limit)
    return text(folder, "schedulers").split()


def connections(kernel, folder, options):
    program = HERE / "connections.py"
    lines = network(SCENARIO)
    names = ",".join(options.schedulers)
    client = f"ip netns exec client python3 -B {program} client {guest.TARGET.format(0)} {guest.PORT}"
    lines += [
        f"ip netns exec server python3 -B {program} server {guest.PORT} '{names}' > server.log 2>&1 &",
        "sleep 1",
        # The first ones fill the kernel's own stores.
        f"{client} {min(options.count, 200)} '{names}' > first.log 2>&1",
        *RELEASED, "cat /proc/slabinfo > before",
        f"{client} {options.count} '{names}' > client.log 2>&1; echo $? > status",
        *RELEASED, "cat /proc/slabinfo > after", SCAN,
        "ip netns exec client nstat -asz > client.nstat",
    ]
    boot(kernel, folder, lines, options.limit)
    print(text(folder, "client.log"), end="")
    joins = measure.read_counters(folder / "client.nstat", ["MPTcpExtMPJoinSynAckRx", "MPTcpExtMPTCPRetrans"])
    print("both runs:", ", ".join(f"{value} {name}" for name, value in joins.items()))
    before, after = objects(folder, "before"), objects(folder, "after")
    print("objects in use before and after:", ", ".join(f"{n} {before[n]} {after.get(n)}" for n in before))
    return text(folder, "status").strip() == "0" and bool(after)


def selftest(kernel, folder, options):
    tests, copy = options.source.resolve() / "tools/testing/selftests/net", folder / "net"
    shutil.copytree(tests / "mptcp", copy / "mptcp")
    for name in ("lib.sh", "net_helper.sh"):
        shutil.copy(tests / name, copy)
    for name in ("mptcp_connect", "pm_nl_ctl"):
        subprocess.run(["gcc", "-O2", "-w", "-o", copy / "mptcp" / name, copy / "mptcp" / f"{name}.c"], check=True)
    good = True
    for scheduler in options.schedulers or ["default"]:
        # A namespace begins with the kernel's default.
        library = (tests / "mptcp/mptcp_lib.sh").read_text()
        enabled = "sysctl -q net.mptcp.enabled=1"
        (copy / "mptcp/mptcp_lib.sh").write_text(
            library.replace(enabled, f"{enabled} net.mptcp.scheduler={scheduler}"))
        folder.joinpath("dmesg").unlink(missing_ok=True)
        boot(kernel, folder, [
            f"(cd {copy}/mptcp && timeout 36000 ./{' '.join(options.script)}) > test.log 2>&1; echo $? > status",
        ], options.limit)
        status = text(folder, "status").strip()
        log = text(folder, "test.log")
        lines = [line for line in log.splitlines() if re.match(r"(ok|not ok) ", line)]
        failed = [line for line in lines if line.startswith("not ok")]
        print(f"{scheduler}: exit code {status or 'none'}, {len(lines) - len(failed)} of {len(lines)} tests", flush=True)
        for line in (failed or ([] if lines else log.splitlines()[-10:])) + faults(folder):
            print(f"  {line}")
        good &= status == "0"
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", metavar="KERNEL_DIR", type=pathlib.Path)
    parser.add_argument("--schedulers", metavar="NAMES", type=lambda names: names.split(","), default=[])
    parser.add_argument("--limit", metavar="SECONDS", type=int, default=600, help="real time of a boot at most")
    parser.add_argument("--keep", metavar="DIR", type=pathlib.Path, help="keep the guest's records here")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("connections").add_argument("--count", metavar="N", type=int, default=1000)
    commands.add_parser("transfers").add_argument("--seconds", metavar="N", type=int, default=8)
    selftests = commands.add_parser("selftest")
    selftests.add_argument("source", metavar="SOURCE", type=pathlib.Path)
    selftests.add_argument("script", metavar="SCRIPT", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run = {"connections": connections, "transfers": transfers, "selftest": selftest}[options.command]
        good = run(options.kernel.resolve(), folder, options)
        found = faults(folder)
        print("checks in this kernel:", ", ".join(re.findall(r"CONFIG_(\w+)=y", text(folder, "checks"))) or "none")
        print("\n".join(["the kernel reports:", *found] if found else ["the kernel reports nothing"]))
        if options.keep:
            shutil.copytree(folder, options.keep, dirs_exist_ok=True)
    sys.exit(0 if good and not found else 1)


if __name__ == "__main__":
    main()
