"""Reads the receive windows out of a capture of acknowledgements."""

import struct

SYN = 0x02
WINDOW_SCALE = 3


def packets(data):
    """Packets of a pcap file in either byte order."""
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\x3c\x4d": ">"}
    endian = order[data[:4]]
    at = 24
    while at + 16 <= len(data):
        length = struct.unpack_from(endian + "I", data, at + 8)[0]
        yield data[at + 16 : at + 16 + length]
        at += 16 + length


def tcp_header(packet):
    """Of an Ethernet frame with IPv4, or nothing."""
    if packet[12:14] != b"\x08\x00" or len(packet) < 34 or packet[23] != 6:
        return None
    header = packet[14 + 4 * (packet[14] & 0x0F) :]
    return header if len(header) >= 20 else None


def options(header):
    """Kind and content of each TCP option."""
    at, end = 20, min(4 * (header[12] >> 4), len(header))
    while at < end and header[at] != 0:
        if header[at] == 1:
            at += 1
            continue
        length = header[at + 1] if at + 1 < end else 0
        if length < 2:
            return
        yield header[at], header[at + 2 : at + length]
        at += length


def offered_windows(path):
    """[median, largest] window in bytes over the acknowledgements of a capture; nothing where there is none."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) < 24:
        return None
    scale, windows = 0, []
    for header in filter(None, map(tcp_header, packets(data))):
        if header[13] & SYN:
            scale = next((content[0] for kind, content in options(header) if kind == WINDOW_SCALE), 0)
        else:
            windows.append(struct.unpack_from(">H", header, 14)[0] << scale)
    windows.sort()
    return [windows[len(windows) // 2], windows[-1]] if windows else None
