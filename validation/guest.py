"""The script that is the guest's init: builds the network, runs one stream, leaves its records in a folder of the host."""

import shlex

PORT = 4000
# Path P: source .1 -- 10.P.1.0/24 -- .2 shaper .1 -- 10.P.2.0/24 -- .2 delayer .1 -- 10.P.3.0/24 -- .2 target. The data goes
# from source to target. The client connects and the server announces: with an upload the client is the source, with a
# download the server.
SOURCE, SOURCE_DEVICE = "10.{}.1.1", "to-shaper{}"
TARGET, TARGET_DEVICE = "10.{}.3.2", "to-delayer{}"

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


def ends(scenario):
    """Which host is the source, and which the target."""
    return ("server", "client") if scenario.get("direction") == "download" else ("client", "server")


def server(scenario):
    """The server's address and device on a path, to be formatted with its number."""
    return (SOURCE, SOURCE_DEVICE) if scenario.get("direction") == "download" else (TARGET, TARGET_DEVICE)


def path(number, settings, source, target):
    """Source, a router that shapes, a router that delays, target; only the way to the target is shaped and loses."""
    shaper, delayer, net = f"shaper{number}", f"delayer{number}", f"10.{number}"
    delay = f"netem limit 1000000 delay {settings['delay_ms']}ms"
    loss = f" loss {settings['loss_pct']}%" if settings.get("loss_pct") else ""
    return [
        *namespace(shaper),
        *namespace(delayer),
        *wire(source, shaper, f"to-shaper{number}", f"to-{source}{number}", f"{net}.1"),
        *wire(shaper, delayer, f"to-delayer{number}", f"to-shaper{number}", f"{net}.2"),
        *wire(delayer, target, f"to-{target}{number}", f"to-delayer{number}", f"{net}.3"),
        f"ip -n {source} route add {net}.3.0/24 via {net}.1.2",
        f"ip -n {shaper} route add {net}.3.0/24 via {net}.2.2",
        f"ip -n {delayer} route add {net}.1.0/24 via {net}.2.1",
        f"ip -n {target} route add {net}.1.0/24 via {net}.3.1",
        shape(number, "add", settings["rate_mbps"], settings["queue_pkts"]),
        f"tc -n {delayer} qdisc add dev to-{target}{number} root {delay}{loss}",
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
        address, device = server(scenario)
        for number in range(1, len(scenario["paths"])):
            lines.append(f"ip -n server mptcp endpoint add {address.format(number)} dev {device.format(number)} signal")
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
    source, target = ends(scenario)
    address, _ = server(scenario)
    first = address.format(0 if protocol == "mptcp" else scenario["mode"].removeprefix("tcp"))
    unit = "seconds" if "seconds" in scenario else "bytes"
    amount = f"{unit} {scenario[unit]} send.log"
    if source == "client":
        listening, connecting = f"receive {PORT} receive.log", f"send {first} {PORT} {amount}"
        acknowledgement = "src"
    else:
        listening, connecting = f"serve {PORT} {amount}", f"fetch {first} {PORT} receive.log"
        acknowledgement = "dst"
    lines = []
    numbers = range(len(scenario["paths"]))
    for number in numbers:
        lines += [
            # Neighbours are known before anything is measured.
            f"ip netns exec client ping -c 2 -i 0.3 {address.format(number)} >/dev/null 2>&1",
            f"ip netns exec {source} tcpdump -i to-shaper{number} -s 120 -w acks{number}.pcap "
            f"'tcp {acknowledgement} port {PORT}' "
            ">/dev/null 2>&1 & captures=\"$captures $!\"",
        ]
    lines += [
        f"export PROTOCOL={protocol}",
        f"ip netns exec server {program} {listening} 2>server.error & server=$!",
        "sleep 1",
        *rate_changes(scenario),
        f"ip netns exec client {program} {connecting} 2>client.error",
        "wait $server",
        "sleep 1",
        f"ip netns exec {source} nstat -asz > sender.nstat",
        f"ip netns exec {target} nstat -asz > receiver.nstat",
    ]
    for number in numbers:
        lines += [
            f"ip -n {target} -s -j link show to-delayer{number} > link{number}.json",
            f"tc -n shaper{number} -s -j qdisc show dev to-delayer{number} > queue{number}.json",
        ]
    return lines + ["kill $captures", "sleep 0.2"]


def script(scenario, folder, program):
    """All of it, as text."""
    program = shlex.quote(str(program))
    lines = [*namespace("client"), *namespace("server")]
    for number, settings in enumerate(scenario["paths"]):
        lines += path(number, settings, *ends(scenario))
    lines += hosts(scenario) + measurement(scenario, program)
    lines += [f"cp * {shlex.quote(str(folder))}/", "sync", "halt -f"]
    return HEADER + "\n".join(lines) + "\n"
