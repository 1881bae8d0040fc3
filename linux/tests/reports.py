#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Whether in_kernel.py finds each kind of report in a kernel's log, and takes no ordinary line for one."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import in_kernel

# A line of each kind of report, as Linux 6.12 prints it.
REPORTS = """\
BUG: sleeping function called from invalid context at net/mptcp/sched_minrtt.c:60
BUG: scheduling while atomic: stream/114/0x00000102
BUG: MAX_LOCKDEP_CHAINS too low!
BUG: KASAN: slab-out-of-bounds in mptcp_sched_weave_get_subflow+0x1c/0x40
BUG kmalloc-1k (Not tainted): Poison overwritten
WARNING: possible circular locking dependency detected
WARNING: possible recursive locking detected
WARNING: inconsistent lock state
WARNING: suspicious RCU usage
WARNING: CPU: 0 PID: 114 at net/mptcp/protocol.c:1180 __mptcp_clean_una+0x1c/0x40
DEBUG_LOCKS_WARN_ON(1)
INFO: task kworker/0:1:12 blocked for more than 120 seconds.
INFO: trying to register non-static key.
INFO: lockdep is turned off.
turning off the locking correctness validator.
ODEBUG: free active (active state 0) object: 0000000061a4c000 object type: timer_list hint: mptcp_timeout_timer+0x0/0x40
UBSAN: array-index-out-of-bounds in net/mptcp/sched_weave.c:120:9
refcount_t: underflow; use-after-free.
kmemleak: 2 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
kmemleak: Kernel memory leak detector disabled
Kernel panic - not syncing: Kernel mode signal 11
------------[ cut here ]------------
Call Trace:
kworker/0:1: page allocation failure: order:0, mode:0x40820(GFP_ATOMIC|__GFP_COMP)
"""

ORDINARY = """\
Linux version 6.12.117 (gcc 12.2.0) #1
Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
... MAX_LOCKDEP_CHAINS:      65536
 memory used by lock dependency info: 6429 kB
rcu: RCU lockdep checking is enabled.
Running RCU self tests
debugfs: mounted
kmemleak: Kernel memory leak detector initialized (mem pool available: 15686)
kmemleak: Automatic memory scanning thread started
MPTCP token hash table entries: 2048 (order: 5, 180224 bytes, linear)
random: crng init done
"""


def main():
    missed = [line for line in REPORTS.splitlines() if not in_kernel.reports(f"[    1.500000] {line}\n")]
    wrong = in_kernel.reports(ORDINARY)
    for line in missed:
        print(f"not found: {line}")
    for line in wrong:
        print(f"no report: {line}")
    sys.exit(1 if missed or wrong else 0)


if __name__ == "__main__":
    main()
