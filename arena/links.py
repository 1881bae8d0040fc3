"""Points over common kinds of links, cellular ones whose rate changes all the time, and wide ranges of rates and delays."""

from family import Family, drawn, log, path_columns

QUEUES = [50, 100, 200]  # packets
CONGESTION = ["reno", "cubic"]
# Mbit/s, ms one way, packets, loss in %: ranges that are common for each kind of link. Ours.
LINKS = {
    "wifi": ((10, 80), (2, 15), [60, 200], [0, 0.1]),
    "lte": ((5, 50), (20, 50), [200, 400], [0]),
    "5g": ((50, 120), (8, 25), [200, 400], [0]),
    "dsl": ((5, 50), (8, 20), [100], [0]),
    "cable": ((20, 100), (6, 15), [200], [0]),
    "leo": ((30, 100), (20, 40), [200], [0.1, 0.5]),
    "geo": ((8, 30), (270, 290), [400], [0]),
}
# Programs with messages, pages and deadlines switch Nagle's rule off (TCP_NODELAY).
NO_DELAY = {"connection.bulk.nagle": "false"}
SMALL_WINDOWS = [39, 58, 78, 156, 311, 622]  # KB


def link(draw, kinds=tuple(LINKS)):
    rates, delays, queues, losses = LINKS[draw.choice(kinds)]
    return [drawn(draw, *rates), drawn(draw, *delays), draw.choice(queues), draw.choice(losses)]


def links(draw, number):
    return [value for _ in range(number) for value in link(draw)]


def small_window(draw):
    for window in SMALL_WINDOWS:
        for _ in range(8):
            paths = [[drawn(draw, 2, 100), drawn(draw, 3, 80), draw.choice(QUEUES)] for _ in range(2)]
            yield [window, *paths[0], *paths[1], draw.choice(CONGESTION)]


def bulk(draw):
    for _ in range(40):
        window = draw.choice(["auto 128KiB..6MiB", "4MiB", "1MiB", "256KiB"])
        yield [window, *links(draw, 2), draw.choice(CONGESTION)]


def sized(draw):
    for _ in range(40):
        size = round(float(drawn(draw, 10, 100_000)))
        yield [size, *links(draw, 2), draw.choice(CONGESTION)]


def messages(draw):
    for _ in range(20):
        yield [draw.choice(["1Mbps", "3Mbps"]), draw.choice(["2KB", "20KB", "60KB"]), *links(draw, 2)]


def web(draw):
    for _ in range(12):
        yield [draw.choice([5, 15, 40]), draw.choice(["10KB", "72KB"]), *links(draw, 2)]


def loss(draw):
    for _ in range(20):
        losses = [0, 0.1, 0.5, 1, 3]
        paths = [[drawn(draw, 4, 50), drawn(draw, 5, 60), draw.choice(QUEUES), draw.choice(losses)] for _ in range(2)]
        yield [draw.choice(["156KB", "622KB", "4MiB"]), *paths[0], *paths[1], draw.choice(CONGESTION)]


def changes(draw):
    for _ in range(20):
        yield [draw.choice(["311KB", "auto 128KiB..6MiB"]), *links(draw, 2), draw.choice(CONGESTION)]


def many(number, points):
    def family(draw):
        for _ in range(points):
            window = draw.choice(["256KiB", "1MiB", "auto 128KiB..6MiB"])
            yield [window, *links(draw, number), draw.choice(CONGESTION)]

    return family


def competing(draw):
    for _ in range(12):
        yield [draw.choice(["1MiB", "4MiB"]), *links(draw, 2), draw.choice(["lia", "reno"])]


def coupled(draw):
    for _ in range(12):
        yield [draw.choice(["1MiB", "4MiB"]), *links(draw, 2), draw.choice(["lia", "olia", "balia"])]


def metered(draw):
    """A cheap path that is sometimes too slow, and a dear one with a quota."""
    for _ in range(12):
        flow = [draw.choice(["1Mbps", "3Mbps", "6Mbps"]), draw.choice(["2KB", "20KB", "60KB"])]
        cheap = [drawn(draw, 1.5, 20), drawn(draw, 5, 30), draw.choice([60, 200]), draw.choice([0, 0.1])]
        yield [*flow, *cheap, *link(draw, ("lte", "5g")), draw.choice([1, 5, 20]), draw.choice(["500KB", "2MB", "50MB"])]


def shared(draw):
    """Two ways that meet at a bottleneck, which a TCP flow uses too."""
    for _ in range(12):
        bottleneck = [drawn(draw, 5, 50), draw.choice(QUEUES)]
        delays = [drawn(draw, 2, 50) for _ in range(2)]
        yield [draw.choice(["1MiB", "4MiB"]), *bottleneck, *delays, draw.choice(["lia", "olia", "balia", "reno"])]


def cellular(draw):
    """What a generated trace is made of."""
    return ":".join([
        f"cellular:mean_rate={drawn(draw, 3, 40)}Mbps",
        f"variability={draw.choice([0.3, 0.5, 0.8])}",
        f"correlation_time={draw.choice(['500ms', '2s', '5s'])}",
        f"outage_interval={draw.choice(['0s', '10s', '30s'])}",
    ])


def fixed(draw):
    """A trace that never changes, of a WiFi, DSL, cable or LEO link."""
    kind = draw.choice(["wifi", "dsl", "cable", "leo"])
    rates, delays, queues, _ = LINKS[kind]
    return [f"cellular:mean_rate={drawn(draw, *rates)}Mbps:variability=0:outage_interval=0s", drawn(draw, *delays), draw.choice(queues)]


def modem(draw, trace):
    _, delays, queues, _ = LINKS["lte"]
    return [trace, drawn(draw, *delays), draw.choice(queues)]


def generated(draw):
    for _ in range(8):
        window = draw.choice(["256KiB", "1MiB", "auto 128KiB..6MiB"])
        for paths in ([fixed(draw), modem(draw, cellular(draw))], [modem(draw, cellular(draw)), fixed(draw)],
                      [modem(draw, cellular(draw)), modem(draw, cellular(draw))]):
            yield [window, *paths[0], *paths[1], draw.choice(CONGESTION)]


def modems(draw):
    """Messages as live video has them, over two cellular links."""
    for _ in range(12):
        flow = [draw.choice(["1Mbps", "3Mbps"]), draw.choice(["5KB", "20KB", "60KB"])]
        yield [*flow, *modem(draw, cellular(draw)), *modem(draw, cellular(draw))]


# These are mahimahi's; README.md in the folder says how to get them. Those of the two halves are apart.
RECORDINGS = {
    "tuning": ["TMobile-LTE-short.down", "TMobile-LTE-short.up", "Verizon-LTE-short.up", "Verizon-EVDO-driving.down"],
    "evaluation": ["TMobile-LTE-driving.down", "ATT-LTE-driving.down", "Verizon-LTE-short.down", "Verizon-EVDO-driving.up"],
}


def recorded(half):
    def family(draw):
        for _ in range(2):
            for name in RECORDINGS[half]:
                window = draw.choice(["256KiB", "1MiB", "auto 128KiB..6MiB"])
                of = f"recordings/{name}"
                other = f"recordings/{draw.choice([n for n in RECORDINGS[half] if n != name])}"
                for paths in ([fixed(draw), modem(draw, of)], [modem(draw, of), modem(draw, other)]):
                    yield [window, *paths[0], *paths[1], draw.choice(CONGESTION)]

    return family


WINDOW = ("window", "connection.bulk.receive_buffer", "{}")
CONTROLLER = ("congestion", "connection.bulk.congestion", "{}")
MESSAGES = [("rate", "connection.bulk.workload", "cbr:rate={}:message={message}"), ("message", None, "")]
TRACES = path_columns(2, ("trace", "delay", "queue"))
TWO = "_two-paths.toml"


def goodput(points, number, scenarios, **others):
    """Bulk transfers over common links."""
    return Family(points, [WINDOW, *path_columns(number), CONTROLLER], "goodput_mbps", scenarios, number, **others)


LINK_FAMILIES = {
    "small-window": Family(
        small_window,
        [("window", WINDOW[1], "{}KB"), *path_columns(2, ("rate", "delay", "queue")), CONTROLLER],
        "goodput_mbps",
        {"connect": (TWO, {}), "steady": (TWO, {"duration": "11s", "measure_from": "5s"})},
    ),
    "bulk": goodput(bulk, 2, {"bulk": (TWO, {})}),
    "sized": Family(
        sized,
        [("size", "connection.bulk.workload", "transfer:size={}KB"), *path_columns(2), CONTROLLER],
        "completion_s",
        {"sized": (TWO, {"duration": "200s"})},
    ),
    "messages": Family(messages, [*MESSAGES, *path_columns(2)], "message_delay_p95_ms", {"messages": (TWO, NO_DELAY)}, plain_tcp=False),
    "web": Family(
        web,
        [("objects", "connection.bulk.workload", "web:objects={}:size={size}:connections=1"), ("size", None, ""), *path_columns(2)],
        "message_delay_ms",
        {"web": ("_web.toml", {"duration": "60s", **NO_DELAY})},
        plain_tcp=False,
    ),
    "loss": goodput(loss, 2, {"loss": (TWO, {})}),
    "changes": goodput(changes, 2, {"step": ("_rate-steps.toml", {}), "outage": ("_outage.toml", {})}),
    "three-paths": goodput(many(3, 20), 3, {"three": ("_three-paths.toml", {})}),
    "four-paths": goodput(many(4, 16), 4, {"four": ("_four-paths.toml", {})}),
    "six-paths": goodput(many(6, 8), 6, {"six": ("_six-paths.toml", {})}),
    "eight-paths": goodput(many(8, 8), 8, {"eight": ("_eight-paths.toml", {})}),
    "metered": Family(
        metered,
        [*MESSAGES, *path_columns(2), ("cost2", "path.path2.cost", "{}"), ("quota2", "path.path2.quota", "{}")],
        "message_delay_p95_ms",
        {"metered": (TWO, NO_DELAY)},
        plain_tcp=False,
    ),
    "coupled": goodput(coupled, 2, {"coupled": ("_competing.toml", {})}, plain_tcp=False),
    "competing": goodput(competing, 2, {"competing": ("_competing.toml", {})}, plain_tcp=False),
    "shared": Family(
        shared,
        [WINDOW, ("rate", "link.shared.rate", "{}Mbps"), ("queue", "link.shared.queue", "{}packets"),
         ("delay1", "link.way1.delay", "{}ms"), ("delay2", "link.way2.delay", "{}ms"), CONTROLLER],
        "goodput_mbps",
        {"shared": ("_shared.toml", {})},
        plain_tcp=False,
    ),
    "cellular": Family(generated, [WINDOW, *TRACES, CONTROLLER], "goodput_mbps", {"cellular": (TWO, {"duration": "20s"})}),
    "modems": Family(modems, [*MESSAGES, *TRACES], "message_delay_p95_ms", {"modems": (TWO, {"duration": "20s", **NO_DELAY})}, plain_tcp=False),
    "recorded": Family(
        recorded("tuning"),
        [WINDOW, *TRACES, CONTROLLER],
        "goodput_mbps",
        {"recorded": (TWO, {"duration": "20s"})},
        evaluation=recorded("evaluation"),
    ),
}
