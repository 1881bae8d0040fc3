"""Trains a small scheduler by the cross-entropy method, and compares it with minrtt on seeds that it has not seen.

    python python/examples/learn.py

The scenario has a fast and a slow path and a small receive buffer, so that data on the slow path can block the receiver. The policy
always uses the quicker subflow if that has room. Otherwise the sign of a weighted sum decides whether the slower one is used or left
alone. The four weights are what is learnt: some are drawn, each is tried in a short run, and the next ones are drawn around the best.
"""

from __future__ import annotations

import sys
import time

import gymnasium
import numpy as np
from numpy.typing import NDArray

import pathweave
import pathweave.gym
from pathweave.gym import GLOBAL, PER_SUBFLOW

SCENARIO = "cp-asymmetric"
SETTINGS = {"connection.receive_buffer": "200KB"}
# Training: short runs, of seeds that the evaluation does not have.
TRAINING = {"duration": "4s", "measure_from": "0s"}
ROUNDS, TRIED, KEPT = 5, 12, 3
UNSEEN = range(5001, 5021)

SUBFLOWS = 2
COLUMN = {name: number for number, name in enumerate(PER_SUBFLOW)}
FREE = len(PER_SUBFLOW) * SUBFLOWS + list(GLOBAL).index("send_window_free_kb")


class Linear:
    """The policy: the quickest subflow with room, or a wait where the sum says that the slower one had better not be used."""

    def __init__(self, weights: NDArray[np.float64]) -> None:
        """With these weights."""
        self.weights = weights

    def __call__(self, observation: NDArray[np.float32]) -> int:
        """A subflow's number, or `SUBFLOWS` for a wait."""
        subflows = observation[: len(PER_SUBFLOW) * SUBFLOWS].reshape(SUBFLOWS, -1)
        srtt_ms = subflows[:, COLUMN["srtt_ms"]]
        quick = int(srtt_ms.argmin())
        if subflows[quick, COLUMN["window_space_segments"]] >= 1:
            return quick
        slow = 1 - quick
        facts = (
            1.0,
            float(srtt_ms[quick] / srtt_ms[slow]),
            float(observation[FREE]) / 100.0,
            float(subflows[slow, COLUMN["queued_kb"]]) / 10.0,
        )
        return slow if sum(w * x for w, x in zip(self.weights, facts, strict=True)) > 0 else SUBFLOWS


def episode(env: gymnasium.Env[NDArray[np.float32], np.int64], policy: Linear, run_seed: int) -> float:
    """The megabits that a run delivers with this policy."""
    observation, _ = env.reset(options={"run_seed": run_seed})
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(np.int64(policy(observation)))
        total += float(reward)
        over = terminated or truncated
    return total


def train(seed: int = 0) -> Linear:
    """Weights that did well in training."""
    random = np.random.default_rng(seed)
    env = gymnasium.make("pathweave/Scheduling-v0", scenario=SCENARIO, set=SETTINGS | TRAINING)
    mean, deviation = np.zeros(4), np.full(4, 1.0)
    for number in range(ROUNDS):
        tried = mean + deviation * random.standard_normal((TRIED, 4))
        returns = [episode(env, Linear(weights), run_seed=1 + number) for weights in tried]
        best = tried[np.argsort(returns)[-KEPT:]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.05
        print(f"round {number + 1}: {np.mean(returns):.2f} Mbit in the mean, {max(returns):.2f} at best")
    env.close()
    return Linear(mean)


def evaluate(policy: Linear, seeds: range = UNSEEN) -> pathweave.Results:
    """The whole scenario with seeds that training did not have, beside minrtt."""
    learnt = pathweave.gym.scheduler_of(policy, SUBFLOWS, "Learnt by the cross-entropy method")
    pathweave.register(learnt, "learnt")
    return pathweave.compare(SCENARIO, schedulers=["learnt", "minrtt", "blest"], seeds=seeds, set=SETTINGS)


def main() -> int:
    """Trains, evaluates and prints."""
    start = time.monotonic()
    policy = train()
    print(f"trained in {time.monotonic() - start:.1f} s; weights {np.round(policy.weights, 2)}")
    results = evaluate(policy)
    print(results.table())
    [row] = [row for row in results.differences("minrtt").rows() if row["scheduler"] == "learnt"]
    print(
        f"learnt minus minrtt, seed by seed: {row['difference']:+.2f} Mbit/s ({row['low']:+.2f} to {row['high']:+.2f})"
    )
    return 0 if row["low"] > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
