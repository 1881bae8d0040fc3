"""Sends the first bytes of a file to an HTTP server again and again, and the first of them in the SYN (TCP Fast Open), over the kernel's
Multipath TCP: `fast_open.py ADDRESS PORT CONNECTIONS`. The server runs in the same folder."""

import socket
import sys

IPPROTO_MPTCP = 262
MOST = 100_000

address, port, connections = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open("data", "rb") as file:
    data = file.read(MOST)
for number in range(1, connections + 1):
    body = data[: MOST * number // connections]
    request = f"PUT /put HTTP/1.1\r\nHost: {address}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP) as connection:
        sent = connection.sendto(request, socket.MSG_FASTOPEN, (address, port))
        connection.sendall(request[sent:])
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    if not answer.startswith(b"HTTP/1.1 201 "):
        sys.exit(f"connection {number}: the server answers {answer[:100]!r}")
    with open("put", "rb") as file:
        if (stored := file.read()) != body:
            sys.exit(f"connection {number}: {len(stored)} of {len(body)} bytes, or others, have arrived")
