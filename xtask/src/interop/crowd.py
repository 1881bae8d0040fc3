"""Connects to a `pathweave perf` server over the kernel's Multipath TCP many times, and uploads some bytes on all connections at once.

The server is stopped while the uploads begin, as if its processor had other work.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

ADDRESS, PORT, DEVICE = sys.argv[1], int(sys.argv[2]), sys.argv[3]
CONNECTIONS, BYTES, SERVER = int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6])
STOPPED_SECONDS = 0.5
# A request for an upload (crates/tun/src/perf/request.rs), and the length of the totals in return.
REQUEST = b"pwperf04" + bytes([1]) + bytes(7) + struct.pack(">QQ", BYTES, 0)
TOTALS = 136

results = []
# The uploads' threads and this one.
connected, stopped = threading.Barrier(CONNECTIONS + 1), threading.Barrier(CONNECTIONS + 1)


def upload():
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as connection:
            connection.settimeout(120)
            connection.connect((ADDRESS, PORT))
            connected.wait(60)
            stopped.wait(60)
            connection.sendall(REQUEST + bytes(BYTES))
            connection.shutdown(socket.SHUT_WR)
            totals = b""
            while piece := connection.recv(4096):
                totals += piece
        right = len(totals) == TOTALS and struct.unpack(">Q", totals[8:16])[0] == BYTES
        results.append("right" if right else f"totals of {len(totals)} bytes")
    except (OSError, threading.BrokenBarrierError) as error:
        results.append(str(error))


threads = [threading.Thread(target=upload) for _ in range(CONNECTIONS)]
for thread in threads:
    thread.start()
connected.wait(60)
os.kill(SERVER, signal.SIGSTOP)
stopped.wait(60)
time.sleep(STOPPED_SECONDS)
os.kill(SERVER, signal.SIGCONT)
for thread in threads:
    thread.join()
link = json.loads(subprocess.check_output(["ip", "-s", "-j", "link", "show", DEVICE]))[0]
wrong = sorted({result for result in results if result != "right"})
print(json.dumps({"right": results.count("right"), "wrong": wrong, "dropped": link["stats64"]["tx"]["dropped"]}))
