"""Writes the points of the arena's small-window set: small-window-tuning.csv and small-window-evaluation.csv.

Pairs of paths behind one receive window: 8 points for each of 6 windows. Rates and delays are drawn evenly on a logarithmic scale. The
two files come from different seeds of the generator, so what is tuned on one is judged on the other.
"""

import csv
import math
import pathlib
import random

COLUMNS = ["window", "rate1", "delay1", "queue1", "rate2", "delay2", "queue2", "congestion"]
WINDOWS = [39, 58, 78, 156, 311, 622]  # KB
RATES, DELAYS = (2, 100), (3, 80)  # Mbit/s; ms, one way
QUEUES = [50, 100, 200]  # packets
CONGESTION = ["reno", "cubic"]
POINTS_A_WINDOW = 8
SEEDS = {"tuning": 18, "evaluation": 1018}


def between(random, low, high):
    return f"{math.exp(random.uniform(math.log(low), math.log(high))):.1f}"


def points(seed):
    draw = random.Random(seed)
    for window in WINDOWS:
        for _ in range(POINTS_A_WINDOW):
            paths = [[between(draw, *RATES), between(draw, *DELAYS), draw.choice(QUEUES)] for _ in range(2)]
            yield [window, *paths[0], *paths[1], draw.choice(CONGESTION)]


def main():
    for name, seed in SEEDS.items():
        path = pathlib.Path(__file__).with_name(f"small-window-{name}.csv")
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(COLUMNS)
            rows.writerows(points(seed))


main()
