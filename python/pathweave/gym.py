"""An environment for learning schedulers, for gymnasium (``pip install 'pathweave[gym]'``).

An episode is a run, and a step is one decision: which subflow carries the next segment, or whether to wait. Importing this module registers
the environment as ``pathweave/Scheduling-v0``.

>>> import gymnasium
>>> import pathweave.gym
>>> env = gymnasium.make("pathweave/Scheduling-v0", scenario="cp-asymmetric", duration="1s", measure_from="0s")
>>> observation, info = env.reset(seed=1)
>>> info["paths"], observation.shape, int(env.action_space.n)
(['fast', 'slow'], (22,), 3)
>>> observation, reward, terminated, truncated, info = env.step(0)
>>> env.close()
"""

from __future__ import annotations

import json
import operator
import queue
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

try:
    import gymnasium
    import numpy as np
except ImportError as error:
    raise ImportError(f"the environment needs gymnasium and numpy ({error}): pip install 'pathweave[gym]'") from None

from numpy.typing import NDArray

from pathweave import _arguments as arguments
from pathweave import _native
from pathweave import schedulers as _schedulers
from pathweave._errors import InputError, SchedulerError, warn
from pathweave.comparison import AnyScenario, check_keywords, document_of, one_seed
from pathweave.scenario import Setting
from pathweave.schedulers import Assign, Description, View, Wait

__all__ = ["GLOBAL", "PER_SUBFLOW", "SchedulingEnv", "observe", "scheduler_of"]

Observation = NDArray[np.float32]
Policy = Callable[[Observation], int]

PER_SUBFLOW: dict[str, float] = {
    "usable": 1.0,
    "srtt_ms": 60_000.0,
    "rtt_variation_ms": 60_000.0,
    "cwnd_segments": 1e6,
    "in_flight_segments": 1e6,
    "window_space_segments": 1e6,
    "queued_kb": 1e6,
    "rate_mbps": 1e5,
    "loss": 1.0,
}
"""The largest value of each number that is observed of a subflow, in their order; `SchedulingEnv` says what they are."""

GLOBAL: dict[str, float] = {
    "now_s": 1e6,
    "unassigned_kb": 1e7,
    "in_flight_kb": 1e7,
    "send_window_free_kb": 1e7,
}
"""The same for the numbers that are observed of the connection, which follow those of all subflows."""


def _highest(subflows: int) -> Observation:
    return np.array([*PER_SUBFLOW.values()] * subflows + [*GLOBAL.values()], dtype=np.float32)


def observe(view: View, subflows: int, highest: Observation | None = None) -> Observation:
    """The environment's observation of a view, as an array of ``9 * subflows + 4`` numbers (`PER_SUBFLOW`, `GLOBAL`).

    Args:
        view: What a scheduler sees.
        subflows: Number of subflows in the array. Those with higher numbers are left out.
        highest: The largest values, if the caller has computed them already.
    """
    width = len(PER_SUBFLOW)
    values = [0.0] * (width * subflows)
    for s in view.candidates:
        if s.id < subflows:
            values[s.id * width : (s.id + 1) * width] = (
                1.0,
                s.srtt_ms,
                s.rtt_variation_ms,
                s.cwnd_segments,
                s.in_flight_segments,
                s.window_space,
                s.queued_bytes / 1e3,
                s.rate_mbps,
                s.loss,
            )
    values += (view.now_s, view.unassigned_bytes / 1e3, view.in_flight_bytes / 1e3, view.send_window_free_bytes / 1e3)
    array = np.array(values, dtype=np.float32)
    return np.minimum(array, _highest(subflows) if highest is None else highest, out=array)


def _answer(view: View, action: int, subflows: int) -> Assign | Wait:
    """Converts an action into a scheduler's answer."""
    if action < subflows:
        for s in view.subflows:
            if s.id == action and s.has_space:
                return Assign(action, 1, reason="the policy says so")
    return Wait(reason="the policy waits")


def _has_choice(view: View, subflows: int) -> bool:
    return any(s.id < subflows and s.has_space for s in view.candidates)


def scheduler_of(policy: Policy, subflows: int, summary: str = "A policy") -> type:
    """A scheduler that decides by this policy, as the environment does. `compare` and all other functions accept it.

    Args:
        policy: A function from an observation to an action.
        subflows: Number of subflows that the policy knows, which is the number of the environment's paths.
        summary: A description in one line.

    >>> import pathweave, pathweave.gym
    >>> first_path = pathweave.gym.scheduler_of(lambda observation: 0, subflows=2)
    >>> results = pathweave.compare("cp-asymmetric", schedulers={"first": first_path}, seeds=1, duration="12s")
    >>> results.where(scheduler="first")[0]["status"]
    'completed'
    """
    highest = _highest(subflows)

    class Decides:
        def decide(self, view: View) -> Assign | Wait | None:
            if not _has_choice(view, subflows):
                return None
            return _answer(view, int(policy(observe(view, subflows, highest))), subflows)

    Decides.__doc__ = summary
    return Decides


class _StoppedError(Exception):
    """Raised in the run to end it: the environment was reset or closed."""


class _Episode:
    """A run on a thread of its own. The thread waits at each decision until the environment is stepped."""

    def __init__(self, single: _native.Single, seed: int) -> None:
        self.views: queue.SimpleQueue[View | str | BaseException] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[Assign | Wait | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._make, args=(single, seed), daemon=True)

    def _make(self, single: _native.Single, seed: int) -> None:
        try:
            self.views.put(single.run(seed))
        except BaseException as error:
            self.views.put(error)

    def begin(self) -> View | str:
        """Starts the run and waits for its first decision."""
        self._thread.start()
        return self._next()

    def go_on(self, answer: Assign | Wait) -> View | str:
        """Answers the present decision, and waits for the next one or for the run's result."""
        self.answers.put(answer)
        return self._next()

    def _next(self) -> View | str:
        found = self.views.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def ask(self, view: View) -> Assign | Wait:
        """Asks for a decision. The run's thread calls this."""
        self.views.put(view)
        answer = self.answers.get()
        if answer is None:
            raise _StoppedError
        return answer

    def stop(self) -> None:
        """Ends the run at the present decision."""
        if self._thread.is_alive():
            self.answers.put(None)
            self._thread.join()


@dataclass
class _Desk:
    """Holds the current episode, so that the run's scheduler finds it."""

    episode: _Episode | None = None

    def stop(self) -> None:
        episode, self.episode = self.episode, None
        if episode is not None:
            episode.stop()


class _Agent:
    """The scheduler of the run. It passes each decision to the program that steps the environment."""

    def __init__(self, desk: _Desk, subflows: int) -> None:
        self._desk, self._subflows = desk, subflows

    def decide(self, view: View) -> Assign | Wait | None:
        if not _has_choice(view, self._subflows):
            return None
        if self._desk.episode is None:
            raise _StoppedError
        return self._desk.episode.ask(view)


class SchedulingEnv(gymnasium.Env[Observation, np.int64]):
    """The scheduler of one connection as an environment.

    - **Observation**: an array of 9 numbers for each subflow and then 4 of the connection, from 0 to the values of the dictionaries
      `PER_SUBFLOW` and `GLOBAL`, which also have their names in their order. Subflows are in the order in which they came up; there is
      room for as many as the connection has paths.

      - ``usable``: 1 if the subflow is up and a rule may choose it (`View.candidates`). Otherwise this and all its
        other numbers are 0;
      - ``srtt_ms``, ``rtt_variation_ms``: smoothed round-trip time and its variation, ms; before the first sample 60,000 and 0;
      - ``cwnd_segments``: congestion window, segments;
      - ``in_flight_segments``: sent and thought to be in the network, segments;
      - ``window_space_segments``: segments that the congestion window allows now;
      - ``queued_kb``: assigned to it and not acknowledged, 1000 bytes;
      - ``rate_mbps``: rate of newly acknowledged data over the last round, Mbit/s;
      - ``loss``: part of the segments that were lost, smoothed, 0 to 1;
      - ``now_s``: time since the start of the run, s;
      - ``unassigned_kb``: written by the application and given to no subflow yet, 1000 bytes;
      - ``in_flight_kb``: given to subflows and not acknowledged by the peer, 1000 bytes;
      - ``send_window_free_kb``: room between what was given to subflows and the end of the peer's receive window, 1000 bytes.
    - **Action**: ``0`` to ``n - 1``: the next segment goes to that subflow; ``n``: wait. Choosing a subflow that has
      no room, or does not exist, is a wait too. After a wait, the next step comes after the next acknowledgement.
      If no data is in flight, no acknowledgement will come, and the engine sends on the subflow with the shortest
      round-trip time instead. There is a step only if a subflow has room.
    - **Reward** ``"goodput"``: megabits of the stream that the peer has acknowledged since the last step, in order and once each.
      The rewards add up to the delivered megabits. Data that is acknowledged after the last decision counts if a
      transfer ended, and not if the run's time ended.
    - **Reward** ``"time"``: minus the seconds since the last step. The rewards add up to minus the completion time,
      s, or to minus the run's duration if the transfer did not end.
    - **End**: ``terminated`` when all data has arrived; ``truncated`` at the run's duration, or if the run stalled.
      The last observation is the one before the end.
    - **Info**: ``action_mask`` (1 for possible actions); from ``reset`` also ``run_seed`` and ``paths``; at the end ``result``, which
      is what `run` returns, without ``aggregation_benefit``.
    - **Seeds**: ``reset(seed=s)`` makes this and all later episodes repeatable; each draws the seed of its run.
      ``reset(options={"run_seed": 7})`` makes the run that `compare` makes with seed 7.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012, as gymnasium declares it

    def __init__(
        self,
        scenario: AnyScenario = "cp-asymmetric",
        *,
        reward: Literal["goodput", "time"] = "goodput",
        set: Mapping[str, Setting] | None = None,
        **settings: Setting,
    ) -> None:
        """For a scenario with one measured connection, whose data goes one way.

        Args:
            scenario: As in `compare`.
            reward: ``"goodput"`` or ``"time"``.
            set: Overrides, as in `compare`.
            **settings: Overrides by their last word, as in `compare`.

        Raises:
            ScenarioError: If the scenario or a setting is wrong.
            InputError: If the scenario has several measured connections, or loads web pages.
        """
        check_keywords(SchedulingEnv, settings)
        self._by_time = arguments.one_of("reward", reward, ("goodput", "time")) == "time"
        self._desk = desk = _Desk()
        subflows = [1]
        agent: Description = _schedulers.describe(_Agent, "agent")
        agent = replace(agent, factory=lambda: _Agent(desk, subflows[0]))
        own = [*_schedulers.descriptions(), agent]
        document = document_of(scenario, set, settings)
        warn(document.name(), document.warnings())
        self._single = _native.Single(document, "agent", own)
        self._paths = self._single.paths
        self._subflows = subflows[0] = len(self._paths)
        self._highest = _highest(self._subflows)
        self.observation_space = gymnasium.spaces.Box(np.zeros_like(self._highest), self._highest, dtype=np.float32)
        self.action_space = gymnasium.spaces.Discrete(self._subflows + 1)
        self._view: View | None = None
        self._observation = np.zeros_like(self._highest)
        self._rewarded = 0.0
        weakref.finalize(self, desk.stop)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins a run, up to its first decision.

        Args:
            seed: Makes this and all later episodes repeatable.
            options: ``run_seed``: the seed of this run.
        """
        super().reset(seed=None if seed is None else one_seed(seed))
        if options is not None and not isinstance(options, Mapping):
            raise arguments.wrong("options", options, "a dictionary with run_seed, or None")
        for key in options or {}:
            arguments.one_of("options", key, ["run_seed"])
        self._desk.stop()
        chosen = (options or {}).get("run_seed")
        run_seed = int(self.np_random.integers(2**32)) if chosen is None else one_seed(chosen, "run_seed")
        self._desk.episode = episode = _Episode(self._single, run_seed)
        found = episode.begin()
        if isinstance(found, str):
            result = json.loads(found)
            why = result.get("reason") or f"it is {result['status']}"
            raise SchedulerError(f"this run asked for no decision: {why}")
        self._view, self._rewarded = found, 0.0
        self._observation = observe(found, self._subflows, self._highest)
        return self._observation, {"run_seed": run_seed, "paths": list(self._paths), "action_mask": self._mask(found)}

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carries out one decision, and continues to the next.

        Raises:
            InputError: If the action does not exist, or if no episode is under way.
            SchedulerError: If the run failed.
        """
        before, episode = self._view, self._desk.episode
        if before is None or episode is None:
            raise InputError("no episode is under way: call reset first")
        found = episode.go_on(_answer(before, self._checked(action), self._subflows))
        if isinstance(found, str):
            return self._ended(before, json.loads(found))
        self._view = found
        self._observation = observe(found, self._subflows, self._highest)
        reward = before.now_s - found.now_s if self._by_time else _megabits(before.first_unacked, found.first_unacked)
        self._rewarded += reward
        return self._observation, reward, False, False, {"action_mask": self._mask(found)}

    def close(self) -> None:
        """Ends the current run."""
        self._desk.stop()
        self._view = None

    def _ended(self, last: View, result: dict[str, Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self._view = self._desk.episode = None
        if result["status"] == "failed":
            raise SchedulerError(result["reason"])
        completion_s = result["metrics"]["completion_s"]
        if self._by_time:
            reward = -(self._single.duration_s if completion_s is None else completion_s) - self._rewarded
        else:
            reward = 0.0 if completion_s is None else _megabits(last.first_unacked, last.written_end)
        info = {"action_mask": np.zeros(self._subflows + 1, dtype=np.int8), "result": result}
        return self._observation, reward, completion_s is not None, completion_s is None, info

    def _checked(self, action: object) -> int:
        """The number of an action. Policies answer with arrays of a single number, too."""
        allowed = f"a subflow, 0 to {self._subflows - 1}, or {self._subflows}: wait"
        try:
            number = operator.index(action)  # type: ignore[arg-type]
        except TypeError:
            raise arguments.wrong("action", action, allowed) from None
        return arguments.whole("action", number, allowed, 0, self._subflows)

    def _mask(self, view: View) -> NDArray[np.int8]:
        mask = np.zeros(self._subflows + 1, dtype=np.int8)
        for s in view.candidates:
            if s.id < self._subflows and s.has_space:
                mask[s.id] = 1
        mask[-1] = view.in_flight_bytes > 0
        return mask


def _megabits(start: int, end: int) -> float:
    return (end - start) * 8 / 1e6


gymnasium.register("pathweave/Scheduling-v0", entry_point="pathweave.gym:SchedulingEnv")
