"""What charts show: all names of equal schedulers, those that were chosen, and scales that can be compared."""

import pytest
from test_plots import KINDS, compiled, data, with_key

import pathweave

pytest.importorskip("altair")


@pytest.fixture(scope="module")
def equal():
    """Messages that fit on the first path, so that three schedulers send the same packets."""
    stream = pathweave.Scenario.builtin("wifi-lte")
    stream.connection.workload = "cbr:rate=1Mbps:message=5KiB"
    schedulers = ["minrtt", "blest", "ecf", "redundant"]
    return pathweave.compare(stream, schedulers=schedulers, seeds=3, duration=2, measure_from=1)


def names(chart):
    return {row["scheduler"] for rows in data(chart) for row in rows if "scheduler" in row}


@pytest.mark.parametrize("kind", KINDS)
def test_equal_schedulers_are_drawn_once_with_all_their_names(equal, kind):
    [row] = [row for row in equal.summary if row["same_packets_as"]]
    assert (row["scheduler"], row["same_packets_as"]) == ("minrtt", "blest, ecf")
    chart = equal.plot(kind=kind, against="redundant" if kind == "paired" else None)
    wanted = {"minrtt = blest = ecf", "redundant", "plain TCP, wifi", "plain TCP, lte"}
    assert names(chart) == wanted - ({"redundant"} if kind == "paired" else set())
    assert "minrtt = blest = ecf" in compiled(chart)


def test_the_one_to_compare_with_comes_first_among_its_equals(equal):
    chart = equal.plot(kind="paired", against="ecf")
    assert names(chart) == {"redundant", "plain TCP, wifi", "plain TCP, lte"}
    assert "difference to ecf = minrtt = blest" in chart.to_json()
    rows = {row["scheduler"]: row["difference"] for row in with_key(chart, "difference")}
    wanted = {row["scheduler"]: row["difference"] for row in equal.differences("ecf", "message_delay_ms_p99")}
    assert rows["redundant"] == wanted["redundant"] != 0


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_chosen_schedulers_are_drawn(results, equal, kind):
    against = "tcp-path1" if kind == "paired" else None
    for chosen in (["minrtt", "tcp-path0"], "minrtt, tcp-path0"):
        chart = results.plot(kind=kind, against=against, schedulers=chosen)
        assert names(chart) == {"minrtt", "plain TCP, wifi"}
    assert names(equal.plot(kind=kind, against=against, schedulers=["blest"])) == {"blest = minrtt = ecf"}
    with pytest.raises(pathweave.InputError, match=r"schedulers = minrt \(did you mean minrtt\?\): allowed: "):
        results.plot(kind=kind, schedulers=["minrt"])
    with pytest.raises(pathweave.InputError, match=r"schedulers = \[\]: allowed: a list of minrtt"):
        results.plot(kind=kind, schedulers=[])
    with pytest.raises(pathweave.ArgumentError, match=r"schedulers = 3 \(int\): allowed: a list of minrtt"):
        results.plot(kind=kind, schedulers=3)
