"""Tables behave as data frames do: rows, columns, slices, and what other libraries make of them."""

import pandas
import polars
import pyarrow
import pytest

import pathweave


@pytest.fixture(params=["runs", "series", "summary", "differences", "paths", "sweep", "part"])
def table(request, results, swept):
    made = {
        "differences": lambda: results.differences("minrtt"),
        "sweep": lambda: swept,
        "part": lambda: results.runs[1:8:2][["scheduler", "seed", "goodput_mbps"]],
    }
    return made.get(request.param, lambda: getattr(results, request.param))()


def same(left, right):
    return list(left) == list(right)


def test_rows_columns_and_slices_are_those_of_arrow(table):
    wanted = pyarrow.table(table).to_pylist()
    assert table.shape == (len(table), len(table.columns)) == (len(wanted), len(wanted[0]))
    assert same(table.rows(), wanted)
    assert same(table, wanted)
    assert same([table[0], table[-1]], [wanted[0], wanted[-1]])
    name = table.columns[-1]
    assert table[name] == table.column(name) == [row[name] for row in wanted]
    assert same(table.head(2), wanted[:2])
    assert same(table[1:], wanted[1:])
    assert same(table[::-1].head(1), wanted[-1:])
    assert same(table[[name]], [{name: row[name]} for row in wanted])
    assert isinstance(table.head(), pathweave.Table)
    assert len(table.head(10**6)) == len(wanted)
    assert len(table[5:5]) == 0
    assert table[5:5:2].to_arrow().num_rows == len(table[0:0:-1][name]) == 0


def test_every_library_reads_every_table_and_its_parts(table):
    for one in (table, table.head(2), table[::-1], table[table.columns[:2]]):
        rows = len(one)
        assert one.to_polars().shape == polars.DataFrame(one).shape == one.shape
        assert one.to_pandas().shape == pandas.DataFrame(one).shape == one.shape
        assert one.to_arrow().num_rows == rows
        assert list(pandas.DataFrame(one).columns) == one.columns
    assert table.head(2).to_arrow().schema == table.to_arrow().schema


def test_a_data_frame_has_numbers(results):
    frame = pandas.DataFrame(results.runs)
    assert frame["seed"].dtype.kind in "iu"
    assert frame["goodput_mbps"].dtype.kind == "f"
    assert frame.groupby("scheduler")["goodput_mbps"].mean()["minrtt"] == pytest.approx(
        results.runs.to_polars().filter(scheduler="minrtt")["goodput_mbps"].mean()
    )


def test_whole_numbers_are_signed_but_for_seeds(table):
    whole = {f.name: str(f.type) for f in table.to_arrow().schema if pyarrow.types.is_integer(f.type)}
    assert whole
    assert whole == {name: "uint64" if name == "seed" else "int64" for name in whole}
    frame = table.to_pandas()
    assert {name: str(frame[name].dtype) for name in whole if not frame[name].isna().any()} == {
        name: kind for name, kind in whole.items() if not frame[name].isna().any()
    }


def test_a_difference_of_counts_can_be_negative(results):
    frame = results.runs.to_pandas()
    for name in ("retransmitted_segments", "timeouts", "penalisations", "reinjected_segments"):
        counts = frame[name].dropna()
        assert (counts.min() - counts.max()) <= 0
        assert (counts - counts.max() - 1).max() == -1
    least, most = (getattr(frame["retransmitted_segments"], of)() for of in ("min", "max"))
    assert least - most == int(least) - int(most) < 0


def test_the_largest_seed_stays_what_it_is(tmp_path):
    largest = 2**64 - 1
    runs = pathweave.compare("wifi-lte", schedulers="minrtt", seeds=[largest], duration="2s", measure_from="1s")
    assert {*runs.runs["seed"]} == {*runs.runs.to_pandas()["seed"]} == {*runs.paths.to_pandas()["seed"]} == {largest}


def test_a_column_is_the_callers_own(table):
    name = table.columns[0]
    before = table[name]
    table[name].clear()
    table.column(name).clear()
    assert table[name] == before


def test_what_is_shown_has_the_size_and_the_first_rows(results, swept, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    lines = repr(results.runs).splitlines()
    assert lines[0] == f"16 rows, {len(results.runs.columns)} columns"
    assert lines[1].split()[:2] == ["scenario", "scheduler"]
    assert [line.split()[1] for line in lines[2:12]] == results.runs["scheduler"][:10]
    assert lines[12] == "… 6 more rows"
    assert lines[13].startswith("more columns: ")
    assert all(len(line) <= 60 for line in lines[:13])
    assert repr(results.runs[3:3]) == f"0 rows, {len(results.runs.columns)} columns"
    assert "minrtt" in repr(swept)
    assert f"{len(swept)} of {len(swept)} runs" in repr(swept).splitlines()[0]
    assert "<td>minrtt</td>" in swept._repr_html_()


def test_a_column_that_is_not_there(table):
    for which in ("goodput", [table.columns[0], "goodput"]):
        with pytest.raises(KeyError, match="column = goodput.*: allowed: "):
            _ = table[which]


def test_rows_that_are_not_there(table):
    with pytest.raises(IndexError, match="this table has"):
        table[len(table)]
    with pytest.raises(TypeError, match="allowed: a column's name, a row's number"):
        table[1.5]
    with pytest.raises(TypeError, match="n = 'all'.*allowed: a whole number from 0"):
        table.head("all")


def test_metrics_by_path_are_a_long_table_too(results):
    runs, paths = results.runs.rows(), results.paths.rows()
    assert [(row["run"], row["path"]) for row in paths] == [
        (run, path) for run in range(16) for path in ("wifi", "lte")
    ]
    for row in paths:
        run = runs[row["run"]]
        place = ("wifi", "lte").index(row["path"])
        assert (row["scheduler"], row["seed"]) == (run["scheduler"], run["seed"])
        assert row["goodput_mbps"] == run["per_path_goodput_mbps"][place]
        assert row["time_slow_start_s"] == run["time_slow_start_by_path_s"][place]
    assert results.path_names("wifi-lte") == ["wifi", "lte"]


def test_series_name_the_row_of_their_run(results):
    runs = results.runs.rows()
    for row in results.series[::50]:
        run = runs[row["run"]]
        assert (row["scheduler"], row["seed"]) == (run["scheduler"], run["seed"])
    assert {*results.series["run"]} == set(range(16))
    assert {*results.series_of("blest", 2)["run"]} == {
        number for number, run in enumerate(runs) if (run["scheduler"], run["seed"]) == ("blest", 2)
    }


def test_a_sweep_that_is_not_finished_says_so(tmp_path, small_plan):
    (tmp_path / "plan.toml").write_text(small_plan)
    part = pathweave.sweep(tmp_path / "plan.toml", out=tmp_path / "out", shard=(1, 2))
    assert "runs in" in repr(part)
    for use in (part.head, part.rows, part.to_pandas, lambda: part["seed"], lambda: part.shape):
        with pytest.raises(pathweave.InputError, match="not made yet"):
            use()


def test_what_data_frames_have_is_named(results):
    with pytest.raises(AttributeError, match=r"Table has no query; to_pandas\(\) and to_polars\(\) make data frames"):
        _ = results.runs.query
    with pytest.raises(AttributeError, match=r"a column is in brackets: \['goodput_mbps'\]"):
        _ = results.runs.goodput_mbps
    with pytest.raises(AttributeError, match="its tables are runs, summary, paths and series"):
        _ = results.to_pandas
    assert not hasattr(results.runs, "_repr_mimebundle_")
