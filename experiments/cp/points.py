"""Writes fig15-points.csv: the points of CP Figs. 15 and 16 (Table 2's ranges, six dimensions).

The best of 200 Latin hypercubes of 200 points, as many as the paper has, by the least distance between two points. They are written in an order in which
each point is as far as possible from all before it: any number of first points fills the space, which is what `--quick` takes. Needs scipy; the output is
committed, so nobody else does.
"""

import csv
import pathlib

import numpy
from scipy.spatial.distance import cdist, pdist
from scipy.stats import qmc

COLUMNS = ["rate1", "delay1", "queue1", "rate2", "delay2", "queue2"]
LOW, HIGH = [1, 1, 1] * 2, [100, 75, 1500] * 2  # Mbit/s, ms, ms
POINTS, TRIES = 200, 200


def spread(design):
    """The points in an order in which each is as far as possible from all before it; the first one is that nearest to the middle."""
    order = [int(numpy.abs(design - 0.5).sum(axis=1).argmin())]
    while len(order) < len(design):
        order.append(int(cdist(design, design[order]).min(axis=1).argmax()))
    return design[order]


def main():
    random = numpy.random.default_rng(2015)
    designs = (qmc.LatinHypercube(d=6, rng=random).random(POINTS) for _ in range(TRIES))
    best = max(designs, key=lambda design: pdist(design).min())
    with open(pathlib.Path(__file__).with_name("fig15-points.csv"), "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for point in qmc.scale(spread(best), LOW, HIGH):
            rows.writerow(f"{value:.1f}" for value in point)


main()
