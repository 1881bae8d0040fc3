"""Writes fig15-points.csv: the 200 points of CP Figs. 15 and 16 (Table 2's ranges, six dimensions).

The best of 200 Latin hypercubes by the least distance between two points. Needs scipy; the output is committed, so nobody else does.
"""

import csv
import pathlib

import numpy
from scipy.spatial.distance import pdist
from scipy.stats import qmc

COLUMNS = ["rate1", "delay1", "queue1", "rate2", "delay2", "queue2"]
LOW, HIGH = [1, 1, 1] * 2, [100, 75, 1500] * 2  # Mbit/s, ms, ms
POINTS, TRIES = 200, 200


def main():
    random = numpy.random.default_rng(2015)
    designs = (qmc.LatinHypercube(d=6, rng=random).random(POINTS) for _ in range(TRIES))
    best = max(designs, key=lambda design: pdist(design).min())
    with open(pathlib.Path(__file__).with_name("fig15-points.csv"), "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for point in qmc.scale(best, LOW, HIGH):
            rows.writerow(f"{value:.1f}" for value in point)


main()
