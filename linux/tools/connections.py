#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Both ends of many connections; in_kernel.py runs them in a guest.

    connections.py server PORT SCHEDULERS
    connections.py client ADDRESS PORT COUNT SCHEDULERS

Each connection is opened with another scheduler than the one before. One in four is closed with data on the way, one in
eight is reset. SCHEDULERS are separated by commas; all of the kernel if empty.
"""

import collections
import concurrent.futures
import random
import socket
import struct
import sys
import threading
import traceback

MPTCP = 262
AT_ONCE = 8
CHUNK = bytes(65536)


def settings(name):
    return f"/proc/sys/net/mptcp/{name}"


def schedulers(names):
    return names.split(",") if names else open(settings("available_schedulers")).read().split()


def read_all(s):
    count = 0
    while data := s.recv(65536):
        count += len(data)
    return count


def serve(port, names):
    """Answers each connection with as many bytes as it sent, up to 256 KB."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("0.0.0.0", port))
    listener.listen(128)

    def answer(s):
        with s:
            try:
                s.settimeout(60)
                s.sendall(bytes(min(read_all(s), 1 << 18)))
            except OSError:
                pass  # resets are a part of the test

    for number in range(1 << 30):
        s, _ = listener.accept()
        with open(settings("scheduler"), "w") as file:
            file.write(names[number % len(names)])
        threading.Thread(target=answer, args=(s,), daemon=True).start()


def connect(s, address, port, number):
    """One connection; what became of it."""
    size = random.Random(number).randrange(1 << 19)
    with s:
        s.settimeout(120)
        s.connect((address, port))
        left = size
        while left:
            left -= s.send(CHUNK[:left])
        if number % 8 == 5:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return "reset"
        if number % 4 == 2:
            return "closed early"
        s.shutdown(socket.SHUT_WR)
        return "complete" if read_all(s) == min(size, 1 << 18) else "failed"


def main():
    if sys.argv[1] == "server":
        serve(int(sys.argv[2]), schedulers(sys.argv[3]))
    address, port, count, names = sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), schedulers(sys.argv[5])
    lock, ends = threading.Lock(), collections.Counter()

    def one(number):
        with lock:
            with open(settings("scheduler"), "w") as file:
                file.write(names[number % len(names)])
            s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP)
        try:
            end = connect(s, address, port, number)
        except OSError:
            traceback.print_exc()
            end = "failed"
        with lock:
            ends[end] += 1

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, range(count)))
    print(f"{len(names)} schedulers, {count} connections:", ", ".join(f"{n} {end}" for end, n in sorted(ends.items())))
    sys.exit(1 if ends["failed"] else 0)


if __name__ == "__main__":
    main()
