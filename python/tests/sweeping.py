"""What tests of sweeps share."""

import hashlib
import multiprocessing


def plan_of(schedulers, seeds, duration, parameters):
    """A plan called ``small`` over the scenario ``wifi-lte``. `parameters` are names, values and settings."""
    listed = ", ".join(f'"{name}"' for name in schedulers)
    head = f"""format = 1
name = "small"
scenarios = ["wifi-lte"]
schedulers = [{listed}]
seeds = {seeds}
set = {{ duration = "{duration}", measure_from = "0s" }}
"""
    tables = [
        f'\n[[parameter]]\nname = "{name}"\nvalues = {values}\nset = {{ "{setting}" = "{value}" }}\n'
        for name, values, setting, value in parameters
    ]
    return head + "".join(tables)


CLAIM = """
[[claim]]
id = "more"
says = "More buffer is more goodput"
source = "a test"
[[claim.compare]]
left = "minrtt"
left_at = { buffer = 400 }
is = ">"
right = "minrtt"
right_at = { buffer = 40 }
where = { buffer = 400 }
"""
PLAN = plan_of(["minrtt", "blest"], 3, "1s", [("buffer", [40, 400], "connection.receive_buffer", "{}KB")]) + CLAIM
# 2 points, 2 schedulers and plain TCP on 2 paths, 3 seeds.
RUNS = 24


def digest(sweep):
    return hashlib.sha256(sweep.path.read_bytes()).hexdigest()


def spawn():

    return multiprocessing.get_context("spawn")


RULE = """
class Shortest:
    def decide(self, view):
        free = [s for s in view.candidates if s.has_space]
        return min(free, key=lambda s: s.srtt_ms, default=None)
"""
