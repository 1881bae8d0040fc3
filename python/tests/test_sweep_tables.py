"""What a sweep says about its points: means, differences and the best scheduler, from the runs' own numbers."""

import math
import statistics

import polars
import pytest

import pathweave
from pathweave import sweep_tables

# Table of Fisher and Yates: the 97.5 % quantile of Student's t with two degrees of freedom.
T2 = 4.303


def of(swept, variant, buffer):
    return {
        row["seed"]: row["goodput_mbps"] for row in swept if row["variant"] == variant and row["at_buffer_kb"] == buffer
    }


def test_values_with_two_units_are_one_column_of_numbers(swept_by_one):
    assert {*swept_by_one["at_buffer_kb"]} == {100, 1000}


def test_means_are_those_of_the_seeds(swept_by_one):
    rows = swept_by_one.summary().rows()
    assert list(rows[0]) == ["scenario", "at_buffer_kb", "metric", "variant", "runs", "mean", "low", "high"]
    assert len(rows) == 2 * 4
    for row in rows:
        values = list(of(swept_by_one, row["variant"], row["at_buffer_kb"]).values())
        half = T2 * statistics.stdev(values) / math.sqrt(3)
        assert row["runs"] == len(values) == 3
        assert row["mean"] == pytest.approx(statistics.fmean(values))
        assert row["high"] - row["mean"] == pytest.approx(half, rel=1e-3)


def test_differences_are_seed_by_seed(swept_by_one):
    table = swept_by_one.differences("blest")
    assert {row["variant"] for row in table} == {"minrtt", "tcp-path0", "tcp-path1"}
    for row in table:
        mine, theirs = (of(swept_by_one, name, row["at_buffer_kb"]) for name in (row["variant"], "blest"))
        pairs = [mine[seed] - theirs[seed] for seed in (1, 2, 3)]
        half = T2 * statistics.stdev(pairs) / math.sqrt(3)
        assert row["seeds"] == 3
        assert row["difference"] == pytest.approx(statistics.fmean(pairs))
        assert row["high"] - row["difference"] == pytest.approx(half, rel=1e-3, abs=1e-9)
        assert row["significant"] is (abs(row["difference"]) > half)
    assert table.to_pandas().shape == table.shape
    assert polars.DataFrame(table).height == len(table)


def test_the_best_of_each_point_beside_the_second(swept_by_one):
    means = {(row["at_buffer_kb"], row["variant"]): row["mean"] for row in swept_by_one.summary()}
    rows = swept_by_one.best().rows()
    assert [row["at_buffer_kb"] for row in rows] == [100, 1000]
    for row in rows:
        here = sorted((mean for (buffer, _), mean in means.items() if buffer == row["at_buffer_kb"]), reverse=True)
        assert [row["mean"], means[row["at_buffer_kb"], row["second"]]] == pytest.approx(here[:2])
        [same] = [
            other
            for other in swept_by_one.differences(row["second"])
            if (other["at_buffer_kb"], other["variant"]) == (row["at_buffer_kb"], row["best"])
        ]
        for name in ("difference", "low", "high", "significant"):
            assert row[name] == same[name]
        assert (row["second"] in row["level_with"].split(", ")) is (row["significant"] is False)


def winner(**samples):
    point = sweep_tables.Point("s", {}, {name: dict(enumerate(values)) for name, values in samples.items()})
    return sweep_tables.winner(point, more_is_better=False)


def test_who_finishes_more_often_is_better_and_one_seed_cannot_tell():
    assert winner(lucky=[1.0, None], steady=[2.0, 2.5])["best"] == "steady"
    alone = winner(a=[1.0], b=[2.0])
    assert (alone["best"], alone["second"], alone["significant"], alone["level_with"]) == ("a", "b", None, "")
    assert winner(a=[None]) is None
    assert winner(a=[1.0, 2.0], b=[None, None])["second"] is None
    clear = winner(a=[1.0, 1.1, 1.2], b=[2.0, 2.1, 2.3], c=[0.9, 1.2, 1.3])
    assert (clear["best"], clear["second"], clear["significant"], clear["level_with"]) == ("a", "c", False, "c")


def test_the_verdict_is_the_commands(swept_by_one, command, tmp_path):
    import subprocess

    plan = swept_by_one.folder.parent / "plan.toml"
    call = [command, "sweep", str(plan), "--out", str(tmp_path / "out")]
    shown = subprocess.run(call, check=True, capture_output=True, text=True).stdout
    assert swept_by_one.verdict
    assert swept_by_one.verdict in " ".join(shown.split())


def test_a_wrong_name_is_told(swept_by_one):
    with pytest.raises(
        pathweave.InputError, match=r"against = mirtt \(did you mean minrtt\?\): allowed: minrtt, blest"
    ):
        swept_by_one.differences("mirtt")
    with pytest.raises(pathweave.InputError, match=r"metric = goodput \(did you mean goodput_mbps\?\)"):
        swept_by_one.best("goodput")
    with pytest.raises(
        pathweave.InputError, match="metric = in_flight_segments: neither more nor less of it is better"
    ):
        swept_by_one.best("in_flight_segments")
