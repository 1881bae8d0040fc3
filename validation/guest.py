"""The script that is the guest's init: builds the network, runs one stream, leaves its records in a folder of the host."""

import shlex

PORT = 4000
# Path P: client .1 -- 10.P.1.0/24 -- .2 shaper .1 -- 10.P.2.0/24 -- .2 delayer .1 -- 10.P.3.0/24 -- .2 server
SERVER = "10.{}.3.2"

HEADER = """#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/records
cd /run/records
ip link set lo up
"""


def namespace(name):
    return [
        f"ip netns add {name}",
        f"ip -n {name} link set lo up",
        f"ip netns exec {name} sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 "
        "net.ipv4.conf.default.rp_filter=0",
    ]


def wire(left, right, left_device, right_device, subnet):
    """A veth pair without offloads: what the capture shows is what a network would carry."""
    lines = [f"ip link add {left_device} netns {left} type veth peer name {right_device} netns {right}"]
    for space, device, host in ((left, left_device, 1), (right, right_device, 2)):
        lines += [
            f"ip -n {space} address add {subnet}.{host}/24 dev {device}",
            f"ip netns exec {space} ethtool -K {device} tso off gso off gro off tx off >/dev/null 2>&1",
            f"ip -n {space} link set {device} up",
        ]
    return lines


def shape(number, action, rate_mbps, queue_packets):
    """Sets the rate limit of a path."""
    return (
        f"tc -n shaper{number} qdisc {action} dev to-delayer{number} root tbf rate {rate_mbps}mbit burst 3028 "
        f"limit {queue_packets * 1514}"
    )


def path(number, settings):
    """Client, a router that shapes, a router that delays, server; only the way to the server is shaped and loses."""
    shaper, delayer, net = f"shaper{number}", f"delayer{number}", f"10.{number}"
    delay = f"netem limit 1000000 delay {settings['delay_ms']}ms"
    loss = f" loss {settings['loss_pct']}%" if settings.get("loss_pct") else ""
    return [
        *namespace(shaper),
        *namespace(delayer),
        *wire("client", shaper, f"to-shaper{number}", f"to-client{number}", f"{net}.1"),
        *wire(shaper, delayer, f"to-delayer{number}", f"to-shaper{number}", f"{net}.2"),
        *wire(delayer, "server", f"to-server{number}", f"to-delayer{number}", f"{net}.3"),
        f"ip -n client route add {net}.3.0/24 via {net}.1.2",
        f"ip -n {shaper} route add {net}.3.0/24 via {net}.2.2",
        f"ip -n {delayer} route add {net}.1.0/24 via {net}.2.1",
        f"ip -n server route add {net}.1.0/24 via {net}.3.1",
        shape(number, "add", settings["rate_mbps"], settings["queue_pkts"]),
        f"tc -n {delayer} qdisc add dev to-server{number} root {delay}{loss}",
        f"tc -n {delayer} qdisc add dev to-shaper{number} root {delay}",
    ]


def hosts(scenario):
    rmem, wmem = scenario["rmem"], scenario["wmem"]
    settings = [
        f"net.ipv4.tcp_congestion_control={scenario['cc']}",
        f'net.ipv4.tcp_rmem="4096 {min(scenario["rmem0"], rmem)} {rmem}"',
        f'net.ipv4.tcp_wmem="4096 {min(16384, wmem)} {wmem}"',
        "net.ipv4.tcp_no_metrics_save=1",
        "net.ipv4.tcp_syncookies=0",
    ]
    if "scheduler" in scenario:
        settings.append(f"net.mptcp.scheduler={scenario['scheduler']}")
    lines = []
    for host in ("client", "server"):
        lines += [
            f"ip netns exec {host} sysctl -qw {' '.join(settings)}",
            f"ip -n {host} mptcp limits set subflows 8 add_addr_accepted 8",
        ]
    # Larger than every tcp_rmem: the window scale is then 10 everywhere.
    lines += [f"echo 50000000 > /proc/sys/net/core/{name}" for name in ("rmem_max", "wmem_max")]
    if scenario["mode"] == "mptcp":
        for number in range(1, len(scenario["paths"])):
            lines.append(f"ip -n server mptcp endpoint add {SERVER.format(number)} dev to-delayer{number} signal")
    return lines


def rate_changes(scenario):
    """One background job for each change, timed from the connect."""
    return [
        f"(sleep {at}; {shape(number, 'change', rate, settings['queue_pkts'])}) &"
        for number, settings in enumerate(scenario["paths"])
        for at, rate in settings.get("steps", [])
    ]


def measurement(scenario, program):
    protocol = "mptcp" if scenario["mode"] == "mptcp" else "tcp"
    target = SERVER.format(0 if protocol == "mptcp" else scenario["mode"].removeprefix("tcp"))
    unit = "seconds" if "seconds" in scenario else "bytes"
    lines = []
    numbers = range(len(scenario["paths"]))
    for number in numbers:
        lines += [
            # Neighbours are known before anything is measured.
            f"ip netns exec client ping -c 2 -i 0.3 {SERVER.format(number)} >/dev/null 2>&1",
            f"ip netns exec client tcpdump -i to-shaper{number} -s 120 -w acks{number}.pcap 'tcp src port {PORT}' "
            ">/dev/null 2>&1 & captures=\"$captures $!\"",
        ]
    lines += [
        f"export PROTOCOL={protocol}",
        f"ip netns exec server {program} receive {PORT} receive.log 2>receive.error & receiver=$!",
        "sleep 1",
        *rate_changes(scenario),
        f"ip netns exec client {program} send {target} {PORT} {unit} {scenario[unit]} send.log 2>send.error",
        "wait $receiver",
        "sleep 1",
        "ip netns exec client nstat -asz > client.nstat",
        "ip netns exec server nstat -asz > server.nstat",
    ]
    for number in numbers:
        lines += [
            f"ip -n server -s -j link show to-delayer{number} > link{number}.json",
            f"tc -n shaper{number} -s -j qdisc show dev to-delayer{number} > queue{number}.json",
        ]
    return lines + ["kill $captures", "sleep 0.2"]


def script(scenario, folder, program):
    """All of it, as text."""
    program = shlex.quote(str(program))
    lines = [*namespace("client"), *namespace("server")]
    for number, settings in enumerate(scenario["paths"]):
        lines += path(number, settings)
    lines += hosts(scenario) + measurement(scenario, program)
    lines += [f"cp * {shlex.quote(str(folder))}/", "sync", "halt -f"]
    return HEADER + "\n".join(lines) + "\n"
