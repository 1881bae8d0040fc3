#!/usr/bin/env python3
"""Draws the scenarios of directions-scenarios.jsonl: draw.py > directions-scenarios.jsonl

Eight downloads (d2-0 to d2-5 with two paths, d3-0 and d3-1 with three), the same as uploads (u2-0 and so on), and six traces
(t-0 to t-5: the rate of one of two paths changes each 100 ms; the odd ones are downloads). Each has a line for MPTCP, and
downloads and traces have one for plain TCP on each path. All values come from one seed, so that no scenario was chosen by its
result.
"""

import json
import math
import random

SEED = 20261129
STEP_S = 0.1


def path(draw):
    return {
        "rate_mbps": round(1.5 * 20 ** draw.random(), 2),
        "delay_ms": round(draw.uniform(4, 40), 1),
        "queue_pkts": draw.choice([20, 50, 100, 200]),
        "loss_pct": 0,
    }


def trace(draw, mean_mbps, seconds):
    """A walk of the rate's logarithm that returns to the mean, within a tenth and three times of the mean."""
    level, steps = 0.0, []
    for number in range(1, round(seconds / STEP_S)):
        level = 0.9 * level + draw.gauss(0, 0.3)
        rate = mean_mbps * min(3.0, max(0.1, math.exp(level)))
        steps.append([round(number * STEP_S, 1), round(rate, 2)])
    return steps


def scenario(draw, paths, seconds):
    rmem = draw.choice([262144, 524288, 1048576, 6291456])
    out = {"paths": paths, "rmem": rmem, "cc": draw.choice(["reno", "cubic"]), "seconds": seconds}
    # Half of the smaller buffers are fixed.
    if rmem < 6291456 and draw.random() < 0.5:
        out["rmem0"] = rmem
    return out


def main():
    draw = random.Random(SEED)
    groups = []
    for name, count in [*((f"d2-{i}", 2) for i in range(6)), *((f"d3-{i}", 3) for i in range(2))]:
        settings = scenario(draw, [path(draw) for _ in range(count)], 8)
        groups.append((name, {"direction": "download", **settings}))
        groups.append((name.replace("d", "u"), {"direction": "upload", **settings}))
    for number in range(6):
        seconds = draw.randint(8, 12)
        paths = [path(draw), path(draw)]
        changing = paths[draw.randrange(2)]
        changing["rate_mbps"] = round(draw.uniform(4, 20), 2)
        changing["steps"] = trace(draw, changing["rate_mbps"], seconds)
        direction = "download" if number % 2 else "upload"
        groups.append((f"t-{number}", {"direction": direction, **scenario(draw, paths, seconds)}))
    for name, settings in groups:
        plain = [] if name.startswith("u") else [f"tcp{number}" for number in range(len(settings["paths"]))]
        for mode in ["mptcp", *plain]:
            print(json.dumps({"id": f"{name}/{mode}", "scenario": {"mode": mode, **settings}, "seeds": 3}))


if __name__ == "__main__":
    main()
