"""Schedulers in Python: used as built-in ones are, checked as they are, and their exceptions end only their runs."""

import re

import pytest

import pathweave
from pathweave import Assign, Parameter, Wait

SHORT = {"duration": "2s", "measure_from": "0s"}


class ShortestRtt:
    """As minrtt, a segment at a time."""

    def decide(self, view):
        free = [s for s in view.candidates if s.has_space]
        return min(free, key=lambda s: s.srtt_ms, default=None)


class Watching(ShortestRtt):
    """Counts what it is told."""

    def __init__(self):
        self.acked = 0
        self.kinds = set()

    def on_event(self, event, view):
        self.kinds.add(event.kind)
        if event.kind == "acked":
            self.acked += 1
            assert event.subflow in (0, 1)
            assert all(start < end for start, end in event.ranges)
        assert view.first_unacked <= view.assigned_end <= view.written_end

    def quantities(self):
        return {"acked": float(self.acked)}


class Failing:
    """Fails at once."""

    def decide(self, view):
        raise RuntimeError("no idea")


class Odd:
    """Answers with what is no decision."""

    def decide(self, view):
        return "wifi"


class Nowhere:
    """Chooses a subflow that is not there, which the default replaces."""

    def decide(self, view):
        return Assign(31)


class Late:
    """Waits until now, which the default replaces."""

    def decide(self, view):
        return Wait(until_s=view.now_s)


class Full(ShortestRtt):
    """Chooses a subflow without room, if there is one."""

    def decide(self, view):
        full = [s for s in view.candidates if not s.has_space]
        return full[0] if full else super().decide(view)


class Most:
    """At most so many segments in flight on a subflow."""

    parameters = (Parameter("most", 4, min=1, max=100, unit="segments"), Parameter("word", "a", choices=("a", "b")))

    def __init__(self, most, word):
        assert isinstance(most, int)
        self.most, self.word = most, word

    def decide(self, view):
        free = [s for s in view.candidates if s.has_space and s.in_flight_segments < self.most]
        if not free:
            return Wait(reason="{most} are in flight", terms={"most": self.most})
        return Assign(free[0], 1, reason="the first of {free}", terms={"free": len(free)})


class Forty(Most):
    """The same with other defaults."""

    parameters = (Parameter("most", 40, min=1, max=100, unit="segments"), Parameter("word", "b", choices=("a", "b")))


class Twice:
    """Everything on every subflow."""

    duplicates = True
    sees_carried = True

    def decide(self, view):
        for subflow in view.subflows:
            if not subflow.has_space:
                continue
            for start, end, owners in view.carried:
                if subflow.id not in owners:
                    return Assign(subflow, start=start, end=min(end, start + subflow.mss_bytes), reason="once more")
            if view.sendable:
                return subflow
        return Wait()


class Port:
    """The rule of minrtt, word for word: as much as fits, on the subflow with the shortest round-trip time."""

    def decide(self, view):
        free = [s for s in view.candidates if s.has_space]
        best = min(free, key=lambda s: s.srtt_ms, default=None)
        return None if best is None else Assign(best, best.window_space, reason="lowest srtt with window space")


def rows(results, scheduler):
    return results.where(scheduler=scheduler)


def test_a_rule_is_compared_beside_built_in_ones():
    results = pathweave.compare("wifi-lte", schedulers=["minrtt", ShortestRtt], seeds=2, **SHORT)
    mine, theirs = rows(results, "shortest-rtt"), rows(results, "minrtt")
    assert [row["status"] for row in mine] == ["completed"] * 2
    for one, other in zip(mine, theirs, strict=True):
        assert one["goodput_mbps"] == pytest.approx(other["goodput_mbps"], rel=0.05)
    again = pathweave.compare("wifi-lte", schedulers=[ShortestRtt], seeds=2, jobs=1, **SHORT)
    assert [row["digest"] for row in rows(again, "shortest-rtt")] == [row["digest"] for row in mine]


def test_the_port_of_a_rule_sends_the_same_packets():
    results = pathweave.compare(["wifi-lte", "wlan-3g"], schedulers=["minrtt", Port], seeds=2, **SHORT)
    theirs = [row["digest"] for row in rows(results, "minrtt")]
    assert [row["digest"] for row in rows(results, "port")] == theirs


def test_a_rule_that_is_not_its_runs():
    """The digests of one rule under two names are equal, and it is no other rule's."""
    results = pathweave.compare("wifi-lte", schedulers={"a": ShortestRtt, "b": ShortestRtt}, seeds=1, **SHORT)
    assert rows(results, "a")[0]["digest"] == rows(results, "b")[0]["digest"]
    assert results.summary.column("same_packets_as").count("b") == 1


def test_a_registered_rule_is_known_by_its_name():
    @pathweave.scheduler("mine")
    class Mine(ShortestRtt):
        """Mine."""

    try:
        assert "mine" in pathweave.registered()
        one = pathweave.run("wifi-lte", "mine:receive_buffer=60KB", **SHORT)
        assert one["scheduler"] == "mine:receive_buffer=60KB"
        default = pathweave.compare("wifi-lte", seeds=1, duration="1s", measure_from="0s")
        assert len(rows(default, "mine")) == 1
        against = pathweave.compare("wifi-lte", schedulers="minrtt", against="mine", seeds=2, **SHORT)
        assert set(against.summary.column("reference")) == {"mine"}
    finally:
        pathweave.unregister("mine")
    with pytest.raises(pathweave.ScenarioError, match="mine"):
        pathweave.run("wifi-lte", "mine")


def test_what_a_rule_is_told_and_what_it_tells():
    kept = []

    class Told(Watching):
        def __init__(self):
            super().__init__()
            kept.append(self)

    results = pathweave.compare("wifi-lte", schedulers=[Told], seeds=1, **SHORT)
    assert rows(results, "told")[0]["status"] == "completed"
    kinds = set().union(*(one.kinds for one in kept))
    assert {"acked", "rtt-sample", "subflow-up", "data-written", "assigned"} <= kinds
    series = results.series_of("told", 1).rows()
    acked = [row["value"] for row in series if row["quantity"] == "acked"]
    assert acked[-1] > acked[3] > 0


def test_an_exception_is_the_runs_error_with_its_traceback():
    results = pathweave.compare("wifi-lte", schedulers=[Failing, "minrtt"], seeds=2, **SHORT)
    failed = rows(results, "failing")
    assert [row["status"] for row in failed] == ["failed"] * 2
    assert failed[0]["reason"].startswith("the scheduler failing failed: Traceback")
    assert 'raise RuntimeError("no idea")' in failed[0]["reason"]
    assert failed[0]["reason"].endswith("RuntimeError: no idea")
    assert all(row["goodput_mbps"] is None and row["aggregation_benefit"] is None for row in failed)
    assert [row["status"] for row in rows(results, "minrtt")] == ["completed"] * 2
    assert any("no idea" in line for line in results.problems)
    assert results.verdict.startswith("failing failed in 2 of 2 runs: RuntimeError: no idea. It is left out. ")
    assert "failing" not in results.verdict.split("left out.")[1]
    assert "failing" not in results.summary.column("scheduler")
    assert "failing" in results.differences("minrtt").column("scheduler")
    assert results.differences("minrtt").column("seeds")[0] == 0


def test_an_answer_that_is_no_decision():
    [row] = rows(pathweave.compare("wifi-lte", schedulers=[Odd], seeds=1, **SHORT), "odd")
    assert row["status"] == "failed"
    assert "decide answers with a subflow, Assign, Wait or None, not with str" in row["reason"]


def test_a_decision_that_is_not_possible_is_replaced():
    [row] = rows(pathweave.compare("wifi-lte", schedulers=[Nowhere], seeds=1, **SHORT), "nowhere")
    assert row["status"] == "completed"
    assert row["goodput_mbps"] > 1


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (Nowhere, "subflow 31 cannot carry data"),
        (Late, "a wait until a time that has passed"),
        (Full, "no room for a segment: CongestionWindow"),
    ],
)
def test_decisions_that_are_replaced_are_a_problem(rule, why):
    results = pathweave.compare("wifi-lte", schedulers=[rule, ShortestRtt], seeds=1, **SHORT)
    [line] = results.problems
    found = re.fullmatch(
        rf"wifi-lte, {rule.__name__.lower()}, seed 1: warning: (\d+) of (\d+) decisions of the scheduler could not be "
        rf"carried out \(the last one: {why}\); the default, the lowest round-trip time, decided there",
        line,
    )
    assert found, line
    assert 0 < int(found[1]) <= int(found[2])
    assert (found[1] == found[2]) == (rule is not Full)


def test_parameters_are_arguments():
    results = pathweave.compare("wifi-lte", schedulers={"most": Most, "forty": Forty}, seeds=1, **SHORT)
    few, many = (rows(results, name)[0]["goodput_mbps"] for name in ("most", "forty"))
    assert few < many
    pathweave.register(Most, "most")
    try:
        results = pathweave.compare("wifi-lte", schedulers="most,most:most=40:word=b", seeds=1, **SHORT)
        assert rows(results, "most")[0]["goodput_mbps"] == few
        assert rows(results, "most:most=40:word=b")[0]["goodput_mbps"] == many
        for wrong, allowed in (("most:most=0", "a whole number from 1 to 100"), ("most:word=c", "one of a, b")):
            with pytest.raises(pathweave.ScenarioError) as error:
                pathweave.compare("wifi-lte", schedulers=wrong, seeds=1)
            assert error.value.allowed == allowed
    finally:
        pathweave.unregister("most")


def test_a_rule_that_sends_twice():
    results = pathweave.compare("wifi-lte", schedulers=[Twice, "redundant"], seeds=1, **SHORT)
    [mine], [theirs] = rows(results, "twice"), rows(results, "redundant")
    assert mine["status"] == "completed"
    assert mine["goodput_mbps"] == pytest.approx(theirs["goodput_mbps"], rel=0.2)


def test_what_is_carried_must_be_asked_for():
    class Blind(Twice):
        sees_carried = False

    [row] = rows(pathweave.compare("wifi-lte", schedulers=[Blind], seeds=1, **SHORT), "blind")
    assert "sees_carried = True" in row["reason"]


@pytest.mark.parametrize("name", ["minrtt", "all", "tcp-path0", "", "a b", "a:b"])
def test_names_that_cannot_be_used(name):
    with pytest.raises(pathweave.InputError, match="scheduler"):
        pathweave.register(ShortestRtt, name)


def test_classes_that_cannot_be_used():
    with pytest.raises(pathweave.InputError, match="decide"):
        pathweave.register(object, "mine")

    class Broken(ShortestRtt):
        def __init__(self):
            raise ValueError("not today")

    with pytest.raises(pathweave.InputError, match="not today"):
        pathweave.compare("wifi-lte", schedulers=[Broken], seeds=1)


def test_arguments_of_decisions_are_checked():
    with pytest.raises(ValueError, match="start and end"):
        Assign(0, start=1)
    with pytest.raises(ValueError, match="until_s"):
        Wait(until_s=-1.0)
    assert repr(Assign(1, reason="{a_ms} is long", terms={"a_ms": 12.5})) == (
        'Assign(subflow=1, reason="12.5 ms is long")'
    )


def test_where_one_run_is_all_an_exception_is_raised_with_its_traceback():
    with pytest.raises(
        pathweave.SchedulerError, match=r"(?s)the scheduler failing failed: Traceback.*RuntimeError: no idea"
    ):
        pathweave.explain("wifi-lte", Failing, **SHORT)


def test_the_decorator_needs_a_name():
    with pytest.raises(pathweave.InputError, match=r'allowed: a name, as in @pathweave\.scheduler\("shortest-rtt"\)'):
        pathweave.scheduler(type("Own", (), {"decide": lambda self, view: None}))
