"""Points in the set-ups of the five papers. What a paper varies is drawn from the range that it has there; the rest is as the paper says.

The scenarios are those of the experiments; shorter, so that a point takes about as long as any other.
"""

from family import Family, drawn, log, path_columns


def cp_pairs(draw):
    """Figs. 5, 7, 9 and 11: 8 Mbit/s with 10 ms beside a slow path, an equal one, and ones with other rates or delays."""
    for _ in range(6):
        yield [round(log(draw, 40, 1000)), 1, 75]
        yield [200, drawn(draw, 1, 8), 10]
        yield [200, 8, drawn(draw, 10, 200)]
    for _ in range(4):
        yield [round(log(draw, 40, 1000)), 8, 10]


def cp_space(draw):
    """Figs. 15 and 16: all that Table 2 allows."""
    for _ in range(10):
        paths = [[f"{draw.uniform(1, 100):.1f}", f"{draw.uniform(1, 75):.1f}", f"{draw.uniform(1, 1500):.1f}"] for _ in range(2)]
        for window in ["250KB", "4MB"]:
            yield [window, *paths[0], *paths[1]]


def blest_bulk(draw):
    for _ in range(6):
        yield [round(log(draw, 64, 16_384))]


def blest_web(draw):
    for _ in range(5):
        yield [round(log(draw, 15, 138)), round(log(draw, 72, 3994)), draw.choice(["2MiB", "auto 128KiB..2MiB", "64KiB"])]


def blest_rate(draw):
    for _ in range(4):
        yield [drawn(draw, 0.5, 2), draw.choice(["2MiB", "auto 128KiB..2MiB", "64KiB"])]


def dpsaf(draw):
    for _ in range(8):
        yield [drawn(draw, 0.1, 5), round(64 * log(draw, 0.5, 8))]


def rems_sizes(draw):
    for _ in range(5):
        yield [round(log(draw, 64, 1000))]


def rems_bulk(draw):
    for _ in range(3):
        yield [draw.choice(["auto 128KiB..6MiB", "1MiB"]), draw.choice(["true", "false"])]


def eval_sizes(draw):
    for _ in range(5):
        yield [round(log(draw, 16, 2000)), round(log(draw, 15, 240))]


def eval_delays(draw):
    for _ in range(5):
        yield [drawn(draw, 5, 300), draw.choice(["30KB", "auto 128KiB..6MiB"])]


def blest(settings):
    return {name: (f"../experiments/blest/_{name}.toml", settings) for name in ("wlan-3g", "wlan-wlan")}


def rems(settings):
    settings = settings | {"path.down.rate": "unlimited"}
    wifi_wifi = settings | {"path.rate": "8Mbps", "path.delay": "25ms"}
    return {
        "ethernet-wifi": ("ethernet-wifi", settings),
        "wifi-lte": ("rems-wifi-lte", settings),
        "wifi-wifi": ("rems-wifi-lte", wifi_wifi),
    }


# As everywhere in the arena with the plain host; the set-ups themselves have the papers' receivers.
OUR_RECEIVER = {"connection.share_data_acks": "true"}
FROM_THE_START = {"duration": "20s", "measure_from": "0s"} | OUR_RECEIVER
FAST = {"path.path1.delay": "5ms", "path.down.rate": "100Mbps", "path.up.rate": "100Mbps"}
FLOW_BUFFER = "connection.flow.receive_buffer"
ONE_OBJECT = "web:objects=1:size={}KB:connections=1"

PAPER_FAMILIES = {
    "cp-pairs": Family(
        cp_pairs,
        [
            ("window", "connection.bulk.receive_buffer", "auto 40KB..{}KB"),
            ("rate2", "path.path2.rate", "{}Mbps"),
            ("delay2", "path.path2.delay", "{}ms"),
        ],
        "goodput_mbps",
        {"pairs": ("../experiments/cp/_two-paths.toml", {"duration": "20s"})},
    ),
    "cp-space": Family(
        cp_space,
        [("window", "connection.bulk.receive_buffer", "auto 40KB..{}"), *path_columns(2, ("rate", "delay", "queue"), queue="ms")],
        "goodput_mbps",
        {"space": ("../experiments/cp/_two-paths.toml", {"duration": "20s"})},
    ),
    "blest-bulk": Family(
        blest_bulk,
        [("window", "connection.app.receive_buffer", "{}KiB")],
        "goodput_mbps",
        blest({"duration": "30s", "measure_from": "10s", "connection.app.workload": "bulk", "connection.app.send_buffer": "16MiB"}),
        plain_tcp=False,
    ),
    "blest-web": Family(
        blest_web,
        [
            ("objects", "connection.app.workload", "web:objects={}:size={size}KiB"),
            ("size", None, ""),
            ("window", "connection.app.receive_buffer", "{}"),
        ],
        "message_delay_ms",
        blest({"duration": "200s"}),
        plain_tcp=False,
    ),
    "blest-rate": Family(
        blest_rate,
        [("rate", "connection.app.workload", "cbr:rate={}Mbps:message=5KiB"), ("window", "connection.app.receive_buffer", "{}")],
        "message_delay_p95_ms",
        blest({"duration": "40s", "measure_from": "10s"}),
        plain_tcp=False,
    ),
    "dpsaf": Family(
        dpsaf,
        [("loss", "path.fast.loss", "{}%"), ("window", "connection.bulk.receive_buffer", "{}KiB")],
        "completion_s",
        {"static": ("../experiments/dpsaf/_fig8.toml", OUR_RECEIVER), "mobile": ("../experiments/dpsaf/_mobile.toml", OUR_RECEIVER)},
    ),
    "rems-sizes": Family(
        rems_sizes, [("size", "connection.bulk.workload", "transfer:size={}KB")], "completion_s", rems(FROM_THE_START)
    ),
    "rems-bulk": Family(
        rems_bulk,
        [("window", "connection.bulk.receive_buffer", "{}"), ("pr", "connection.bulk.pr", "{}")],
        "goodput_mbps",
        rems(FROM_THE_START),
    ),
    "eval-sizes": Family(
        eval_sizes,
        [("size", "connection.flow.workload", ONE_OBJECT), ("window", FLOW_BUFFER, "{}KB")],
        "message_delay_ms",
        {name: (f"../experiments/eval/_{name}.toml", {"duration": "300s"}) for name in ("disjoint", "shared", "competing")},
        plain_tcp=False,
    ),
    "eval-delays": Family(
        eval_delays,
        [("delay2", "path.path2.delay", "{}ms"), ("window", FLOW_BUFFER, "{}")],
        "message_delay_ms",
        {"delays": ("../experiments/eval/_disjoint.toml", FAST)},
        plain_tcp=False,
    ),
}
