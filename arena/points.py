"""Writes the arena: a plan and its points for each family, once for tuning and once for evaluation.

What is tuned on and what is judged on come from different seeds of the generator. Points that were judged on once and looked at are
spent: they join those for tuning, and new ones are drawn.
"""

import csv
import pathlib
import random

from links import LINK_FAMILIES
from papers import PAPER_FAMILIES

HERE = pathlib.Path(__file__).parent
SEEDS = {"tuning": [18, 1018, 2018, 3018, 4018, 5018, 6018, 7018, 8018, 9018, 10018, 11018, 12018, 13018, 14018], "evaluation": [15018]}


def plan(name, half, family):
    references = ", ".join(f'"single:path={i}"' for i in range(family.paths))
    text = "# Written by points.py.\nformat = 1\n"
    text += f'name = "{name}-{half}"\nbaselines = {str(family.plain_tcp).lower()}\nseeds = 2\npoints = "{name}-{half}.csv"\n'
    text += f'metrics = ["{family.metric}"]\nschedulers = [{references}]\n'
    text += "\n[quick]\nseeds = 1\npoints = 4\n"
    for scenario, (file, settings) in family.scenarios.items():
        text += f'\n[[scenario]]\nname = "{scenario}"\nfrom = "{file}"\n'
        if settings:
            text += "set = { " + ", ".join(f'{key(setting)} = "{value}"' for setting, value in settings.items()) + " }\n"
    for column, setting, written in family.columns:
        text += f'\n[[parameter]]\nname = "{column}"\n'
        text += f'set = {{ "{setting}" = "{written}" }}\n' if setting else ""
    return text


def key(setting):
    return f'"{setting}"' if "." in setting else setting


def main():
    for name, family in (LINK_FAMILIES | PAPER_FAMILIES).items():
        for half, seeds in SEEDS.items():
            points = (half == "evaluation" and family.evaluation) or family.points
            with open(HERE / f"{name}-{half}.csv", "w", newline="", encoding="utf-8") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(column for column, *_ in family.columns)
                for seed in seeds:
                    rows.writerows(points(random.Random(seed)))
            (HERE / f"{name}-{half}.toml").write_text(plan(name, half, family), encoding="utf-8")


main()
