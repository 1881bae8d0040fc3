"""The environment: gymnasium's own checks, the same runs as everywhere else, and that something can be learnt in it."""

import gc
import importlib.util
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import pathweave

gymnasium = pytest.importorskip("gymnasium")
np = pytest.importorskip("numpy")

from pathweave.gym import GLOBAL, PER_SUBFLOW, SchedulingEnv, scheduler_of  # noqa: E402

SHORT = {"duration": "2s", "measure_from": "0s"}
TRANSFER = {"scenario": "cp-asymmetric", "workload": "transfer:size=300KB", "duration": "20s", "measure_from": "0s"}


def quickest(observation):
    """As minrtt, a segment at a time."""
    subflows = observation[: 2 * len(PER_SUBFLOW)].reshape(2, -1)
    room = subflows[:, list(PER_SUBFLOW).index("window_space_segments")] >= 1
    srtt_ms = np.where(room, subflows[:, list(PER_SUBFLOW).index("srtt_ms")], np.inf)
    return int(srtt_ms.argmin())


def episode(env, policy, **reset):
    observation, info = env.reset(**reset)
    rewards, masks = [], [info["action_mask"]]
    while True:
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        rewards.append(reward)
        masks.append(info["action_mask"])
        if terminated or truncated:
            return rewards, masks, terminated, info["result"]


@pytest.mark.parametrize("settings", [SHORT, TRANSFER | {"reward": "time"}])
def test_gymnasiums_own_checks(settings):
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make("pathweave/Scheduling-v0", **settings)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_an_episode_is_the_run_of_that_seed():
    env = SchedulingEnv("cp-asymmetric", **SHORT)
    rewards, _, terminated, result = episode(env, quickest, options={"run_seed": 7})
    again = pathweave.run("cp-asymmetric", scheduler_of(quickest, 2), seed=7, **SHORT)
    assert result["digest"] == again["digest"]
    assert (result["seed"], terminated) == (7, False)
    assert sum(rewards) == pytest.approx(2 * again["metrics"]["goodput_mbps"], rel=0.05)
    assert min(rewards) >= 0


def test_seeds_repeat_episodes():
    env = SchedulingEnv("cp-asymmetric", **SHORT)

    def two(seed):
        return [episode(env, quickest, **reset)[3]["digest"] for reset in ({"seed": seed}, {})]

    first, other = two(1), two(2)
    assert two(1) == first
    assert len({*first, *other}) == 4


def test_rewards_of_a_transfer_add_up():
    by_time = SchedulingEnv(**TRANSFER, reward="time")
    rewards, _, terminated, result = episode(by_time, quickest, options={"run_seed": 1})
    assert terminated
    assert sum(rewards) == pytest.approx(-result["metrics"]["completion_s"])
    by_goodput = SchedulingEnv(**TRANSFER)
    rewards, _, _, same = episode(by_goodput, quickest, options={"run_seed": 1})
    assert same["digest"] == result["digest"]
    assert sum(rewards) == pytest.approx(300e3 * 8 / 1e6)


def test_observations_are_what_the_documentation_says():
    env = SchedulingEnv("cp-asymmetric", **SHORT)
    observation, info = env.reset(options={"run_seed": 1})
    assert info["paths"] == ["fast", "slow"]
    assert observation.shape == (2 * len(PER_SUBFLOW) + len(GLOBAL),)
    last = 0.0
    for _ in range(300):
        assert env.observation_space.contains(observation)
        values = dict(zip(GLOBAL, observation[2 * len(PER_SUBFLOW) :], strict=True))
        assert values["now_s"] >= last
        last = values["now_s"]
        fast, slow = observation[: 2 * len(PER_SUBFLOW)].reshape(2, -1)
        if slow[0]:
            # Delays of 10 and 75 ms each way, and queues.
            assert 20 <= fast[1] < 700
            assert 150 <= slow[1] < 3000 or slow[1] == PER_SUBFLOW["srtt_ms"]
        observation, *_ = env.step(quickest(observation))
    assert 0 < last < 2


def test_waiting_for_ever_and_subflows_without_room_do_not_stop_the_run():
    env = SchedulingEnv("cp-asymmetric", **SHORT)
    for policy in (lambda _: 2, lambda _: 1):
        _, masks, _, result = episode(env, policy, options={"run_seed": 1})
        assert result["metrics"]["goodput_mbps"] > 0
        assert all(mask.sum() >= 1 for mask in masks[:-1])
        assert any(not mask[2] for mask in masks[:-1]) or policy(None) == 1


def test_what_is_wrong_is_said():
    with pytest.raises(pathweave.InputError, match="allowed: goodput, time"):
        SchedulingEnv("cp-asymmetric", reward="speed")
    with pytest.raises(pathweave.InputError, match=r"did you mean goodput\?"):
        SchedulingEnv("cp-asymmetric", reward="gooput")
    with pytest.raises(pathweave.ScenarioError, match="allowed"):
        SchedulingEnv("cp-asymmetric", loss="often")
    with pytest.raises(pathweave.InputError, match="data goes one way"):
        SchedulingEnv("wifi-lte", workload="web:objects=15:size=72KiB", direction="download", measure_from="0s")
    env = SchedulingEnv("cp-asymmetric", **SHORT)
    with pytest.raises(pathweave.InputError, match="no episode is under way: call reset first"):
        env.step(0)
    env.reset(seed=1)
    with pytest.raises(pathweave.InputError, match="action = 3: allowed: a subflow, 0 to 1, or 2: wait"):
        env.step(3)
    for action in ("fast", 0.5, None):
        with pytest.raises(pathweave.ArgumentError, match="action = .*: allowed: a subflow, 0 to 1, or 2: wait"):
            env.step(action)
    env.step(np.array(1))
    with pytest.raises(pathweave.InputError, match="run_seed = -1: allowed: a whole number from 0"):
        env.reset(options={"run_seed": -1})
    with pytest.raises(pathweave.InputError, match=r"options = runseed \(did you mean run_seed\?\)"):
        env.reset(options={"runseed": 1})
    with pytest.raises(pathweave.ArgumentError, match="options = 7 .*: allowed: a dictionary with run_seed"):
        env.reset(options=7)
    with pytest.raises(pathweave.ArgumentError, match="seed = 'one' .*: allowed: a whole number"):
        env.reset(seed="one")
    with pytest.raises(pathweave.ArgumentError, match="reward = 5 .*: allowed: goodput, time"):
        SchedulingEnv("cp-asymmetric", reward=5)
    with pytest.raises(TypeError, match=r"has no argument rewards \(did you mean reward\?\); there are: scenario, "):
        SchedulingEnv("cp-asymmetric", rewards="time")
    env.close()
    with pytest.raises(pathweave.InputError, match="call reset"):
        env.step(0)


def test_threads_end_with_their_episodes():
    def threads():
        return threading.active_count()

    before = threads()
    env = SchedulingEnv("cp-asymmetric", **SHORT)
    for _ in range(20):
        env.reset()
        env.step(0)
    assert threads() == before + 1
    env.close()
    assert threads() == before
    env.reset()
    del env
    gc.collect()
    assert threads() == before


def test_a_program_ends_in_the_middle_of_an_episode():
    text = "import pathweave.gym as g; e = g.SchedulingEnv('cp-asymmetric'); e.reset(seed=1); e.step(0)"
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_example_learns_beats_minrtt_on_seeds_that_it_has_not_seen():
    file = Path(__file__).parents[1] / "examples/learn.py"
    spec = importlib.util.spec_from_file_location("learn", file)
    learn = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(learn)
    start = time.process_time()
    policy = learn.train()
    assert not set(range(1, learn.ROUNDS + 1)) & set(learn.UNSEEN)
    results = learn.evaluate(policy, learn.UNSEEN[:10])
    [row] = [row for row in results.differences("minrtt").rows() if row["scheduler"] == "learnt"]
    assert row["low"] > 0, results.table()
    assert time.process_time() - start < 120
    pathweave.unregister("learnt")
