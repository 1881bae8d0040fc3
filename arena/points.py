"""Writes the arena: a plan and its points for each family, once for tuning and once for evaluation.

What is tuned on and what is judged on come from different seeds of the generator. Points that were judged on once and looked at are
spent: they join those for tuning, and new ones are drawn. Rates, delays and sizes are drawn evenly on a logarithmic scale. The first
metric of a plan is the one that is compared.
"""

import csv
import math
import pathlib
import random

HERE = pathlib.Path(__file__).parent
SEEDS = {"tuning": [18, 1018, 2018, 3018, 4018, 5018, 6018], "evaluation": [7018]}
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
SMALL_WINDOWS = [39, 58, 78, 156, 311, 622]  # KB


def log(draw, low, high):
    return f"{math.exp(draw.uniform(math.log(low), math.log(high))):.1f}"


def link(draw, kinds=tuple(LINKS)):
    rates, delays, queues, losses = LINKS[draw.choice(kinds)]
    return [log(draw, *rates), log(draw, *delays), draw.choice(queues), draw.choice(losses)]


def links(draw, number):
    return [value for _ in range(number) for value in link(draw)]


def columns(number, loss=True):
    names = ["rate", "delay", "queue"] + (["loss"] if loss else [])
    return [f"{name}{i + 1}" for i in range(number) for name in names]


def small_window(draw):
    for window in SMALL_WINDOWS:
        for _ in range(8):
            paths = [[log(draw, 2, 100), log(draw, 3, 80), draw.choice(QUEUES)] for _ in range(2)]
            yield [window, *paths[0], *paths[1], draw.choice(CONGESTION)]


def bulk(draw):
    for _ in range(40):
        window = draw.choice(["auto 128KiB..6MiB", "4MiB", "1MiB", "256KiB"])
        yield [window, *links(draw, 2), draw.choice(CONGESTION)]


def sized(draw):
    for _ in range(40):
        size = round(float(log(draw, 10, 100_000)))
        yield [size, *links(draw, 2), draw.choice(CONGESTION)]


def messages(draw):
    for _ in range(20):
        yield [draw.choice(["1Mbps", "3Mbps"]), draw.choice(["2KB", "20KB", "60KB"]), *links(draw, 2)]


def web(draw):
    for _ in range(12):
        yield [draw.choice([5, 15, 40]), draw.choice(["10KB", "72KB"]), *links(draw, 2)]


def loss(draw):
    for _ in range(20):
        paths = [[log(draw, 4, 50), log(draw, 5, 60), draw.choice(QUEUES), draw.choice([0, 0.1, 0.5, 1, 3])] for _ in range(2)]
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
        cheap = [log(draw, 1.5, 20), log(draw, 5, 30), draw.choice([60, 200]), draw.choice([0, 0.1])]
        yield [*flow, *cheap, *link(draw, ("lte", "5g")), draw.choice([1, 5, 20]), draw.choice(["500KB", "2MB", "50MB"])]


WINDOW = ("window", "connection.{connection}.receive_buffer", "{}")
CONTROLLER = ("congestion", "connection.{connection}.congestion", "{}")
SETTINGS = {"rate": "{}Mbps", "delay": "{}ms", "queue": "{}packets", "loss": "{}%"}

# name: (points, columns before the paths, number of paths, with loss, columns after, metric, scenarios)
FAMILIES = {
    "small-window": (small_window, [("window", WINDOW[1], "{}KB")], 2, False, [CONTROLLER], "goodput_mbps",
                     {"connect": ("_two-paths.toml", {}), "steady": ("_two-paths.toml", {"duration": "11s", "measure_from": "5s"})}),
    "bulk": (bulk, [WINDOW], 2, True, [CONTROLLER], "goodput_mbps", {"bulk": ("_two-paths.toml", {})}),
    "sized": (sized, [("size", "connection.{connection}.workload", "transfer:size={}KB")], 2, True, [CONTROLLER], "completion_s",
              {"sized": ("_two-paths.toml", {"duration": "200s"})}),
    "messages": (messages, [("rate", "connection.{connection}.workload", "cbr:rate={}:message={message}"), ("message", None, None)], 2,
                 True, [], "message_delay_p95_ms", {"messages": ("_two-paths.toml", {})}),
    "web": (web, [("objects", "connection.{connection}.workload", "web:objects={}:size={size}:connections=1"), ("size", None, None)], 2,
            True, [], "message_delay_ms", {"web": ("_web.toml", {"duration": "60s"})}),
    "loss": (loss, [WINDOW], 2, True, [CONTROLLER], "goodput_mbps", {"loss": ("_two-paths.toml", {})}),
    "changes": (changes, [WINDOW], 2, True, [CONTROLLER], "goodput_mbps",
                {"step": ("_rate-steps.toml", {}), "outage": ("_outage.toml", {})}),
    "three-paths": (many(3, 20), [WINDOW], 3, True, [CONTROLLER], "goodput_mbps", {"three": ("_three-paths.toml", {})}),
    "four-paths": (many(4, 16), [WINDOW], 4, True, [CONTROLLER], "goodput_mbps", {"four": ("_four-paths.toml", {})}),
    "metered": (metered, [("rate", "connection.{connection}.workload", "cbr:rate={}:message={message}"), ("message", None, None)], 2, True,
                [("cost2", "path.path2.cost", "{}"), ("quota2", "path.path2.quota", "{}")], "message_delay_p95_ms",
                {"metered": ("_two-paths.toml", {})}),
    "coupled": (coupled, [WINDOW], 2, True, [CONTROLLER], "goodput_mbps", {"coupled": ("_competing.toml", {})}),
    "competing": (competing, [WINDOW], 2, True, [CONTROLLER], "goodput_mbps", {"competing": ("_competing.toml", {})}),
}


def parameter(name, key, value):
    text = f'\n[[parameter]]\nname = "{name}"\n'
    return text + (f'set = {{ "{key.format(connection="bulk")}" = "{value}" }}\n' if key else "")


def plan(name, half, family):
    _, before, paths, with_loss, after, metric, scenarios = family
    # Plain TCP beside rates and transfers of one connection.
    alone = all(file != "_competing.toml" for file, _ in scenarios.values())
    baselines = "true" if alone and metric in ("goodput_mbps", "completion_s") else "false"
    text = "# Written by points.py.\nformat = 1\n"
    text += f'name = "{name}-{half}"\nbaselines = {baselines}\nseeds = 2\npoints = "{name}-{half}.csv"\nmetrics = ["{metric}"]\n'
    text += f'schedulers = [{", ".join(f"{chr(34)}single:path={i}{chr(34)}" for i in range(paths))}]\n'
    text += "\n[quick]\nseeds = 1\npoints = 4\n"
    for scenario, (file, settings) in scenarios.items():
        text += f'\n[[scenario]]\nname = "{scenario}"\nfrom = "{file}"\n'
        if settings:
            text += "set = { " + ", ".join(f'{key} = "{value}"' for key, value in settings.items()) + " }\n"
    for name, key, value in before:
        text += parameter(name, key, value)
    for column in columns(paths, with_loss):
        text += parameter(column, f"path.path{column[-1]}.{column[:-1]}", SETTINGS[column[:-1]])
    for name, key, value in after:
        text += parameter(name, key, value)
    return text


def main():
    for name, family in FAMILIES.items():
        draw_points, before, paths, with_loss, after, *_ = family
        for half, seeds in SEEDS.items():
            header = [column[0] for column in before] + columns(paths, with_loss) + [column[0] for column in after]
            with open(HERE / f"{name}-{half}.csv", "w", newline="", encoding="utf-8") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(header)
                for seed in seeds:
                    rows.writerows(draw_points(random.Random(seed)))
            (HERE / f"{name}-{half}.toml").write_text(plan(name, half, family), encoding="utf-8")


main()
