"""Tests of `collect`: rows, columns, damaged files, and the time that it takes."""

import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool

import dbench_analysis as da
import pandas as pd
import pytest
from dbench_analysis.basics.errors import AnalysisError
from dbench_analysis.cli import main
from dbench_analysis.figures import drawing
from dbench_analysis.quantities import fields, series
from dbench_analysis.selection import collection, opening
from dbench_analysis.selection.conditions import Condition


def test_a_row_says_what_the_file_says(make, tmp_path):
    make(name="a", seed=3, after=True,
         spec={"seed": {"init": 3, "data": 3, "graph": 3, "augment": 3},
                                             "data": {
                                                 "type": "shapes", "batch_size": {"global": 64},
                                                 "partition": {"type": "dirichlet", "alpha": 0.1}}})
    make(name="b", implementation=None, graph="ring", spec={
        "graph": {"type": "ring", "weights": "auto", "lazy": 0.9}, "seed": {"init": 1, "data": 2}})
    target = tmp_path / "below" / "runs.csv"
    assert main(["collect", str(tmp_path), "-o", str(target), "--add", "/algorithm/order"]) == 0
    a, b = (row for _, row in pd.read_csv(target).iterrows())
    assert (a["name"], a["status"], a["implementation"], a["algorithm"], a["seed"],
            a["replicas"]) == ("a", "complete", "D_ring", "dsgd", "3", 8)
    assert (a["partition"], a["batch"], a["batch_size"], a["iterations"],
            a["precision"]) == ("dirichlet alpha=0.1", 64, 8, 100, "float32")
    assert b["graph_label"] == "ring lazy=0.9" and b["seed"] == "init=1 data=2" and b[
        "/algorithm/order"] == "combine_while_adapt"
    assert a["accuracy_min"] <= a["accuracy_median"] <= a["accuracy_max"] and a[
        "accuracy_best"] >= a["accuracy_mean_model"]
    assert a["bytes"] == 100 * 8 * 2 * 6058 * 4 and a["degree"] == 2
    assert a["variance_early_after"] == pytest.approx(a["variance_early"] / 4) and a[
        "variance"] * 6058 == pytest.approx(a["consensus"] ** 2)
    assert "8 replicas on 2 ranks" in a["time_note"] and a["file"].endswith("a.h5")


def test_broken_files_are_named_and_left_out(five, tmp_path, capsys):
    folder = tmp_path / "runs"
    shutil.copytree(five, folder)
    whole = (folder / "D_ring.h5").read_bytes()
    (folder / "cut.h5").write_bytes(whole[: len(whole) // 3])
    (folder / "text.h5").write_text("not a result")
    (folder / "empty.h5").touch()
    wrong = bytearray(whole)
    for at in [m.start() for m in re.finditer(b"OHDR", whole)][4:]:  # heads of groups and data sets
        wrong[at + 8 : at + 40] = bytes(32)
    (folder / "wrong.h5").write_bytes(wrong)
    assert main(["collect", str(folder), "-o", str(tmp_path / "runs.csv")]) == 1
    told = capsys.readouterr()
    for name in ("cut", "text", "empty", "wrong"):
        assert f"left out {folder}/{name}.h5" in told.err
    assert "Traceback" not in told.err and set(pd.read_csv(tmp_path / "runs.csv")["name"]) == {
        p.stem for p in five.glob("*.h5")}


def test_odd_runs_have_rows(odd, tmp_path):
    assert main(["collect", str(odd), "-o", str(tmp_path / "runs.csv")]) == 0
    found = pd.read_csv(tmp_path / "runs.csv").set_index("name")
    assert len(found) == len(list(odd.glob("*.h5")))
    assert pd.isna(found.loc["no_accuracy", "accuracy_best"]) and found.loc["just_started",
                                                                            "iterations"] == 0
    assert found.loc["failed", "error"] == "rank 1: no space left" and found.loc["centralized",
                                                                                 "variance"] == 0


@pytest.mark.parametrize("target, reason", [("runs.h5", "neither .csv nor .parquet"),
                                            ("runs.csv --columns acuracy", "no such column")])
def test_faults(five, tmp_path, capsys, target, reason):
    name, *more = target.split()
    assert main(["collect", str(five), "-o", str(tmp_path / name), *more]) == 2
    assert reason in capsys.readouterr().err and not (tmp_path / name).exists()


def test_parquet_without_pyarrow_names_csv(five, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["collect", str(five), "-o", str(tmp_path / "runs.parquet")]) == 2
    assert "pyarrow" in (said := capsys.readouterr().err) and "runs.csv" in said


def test_parquet(five, odd, tmp_path):
    pytest.importorskip("pyarrow")
    assert main(["collect", str(five), str(odd), "-o", str(tmp_path / "runs.parquet")]) == 0
    assert list(pd.read_parquet(tmp_path / "runs.parquet")) == list(fields.COLLECTED)


def test_a_thousand_files_take_less_than_a_minute(make, tmp_path):
    one = make()
    for i in range(100):
        shutil.copy(one, tmp_path / f"copy{i}.h5")
    started = time.process_time()
    assert main(["collect", str(tmp_path), "-o", str(tmp_path / "runs.csv")]) == 0
    assert time.process_time() - started < 6, "a tenth of the files in a tenth of the time"


def test_several_processes_give_the_same_table_and_faults(five, odd, tmp_path, monkeypatch):
    (tmp_path / "text.h5").write_text("not a result")
    named, keys = [str(five), str(tmp_path), str(odd)], list(fields.COLLECTED)
    alone = collection.collect(named, keys)
    used = []
    pool = collection.ProcessPoolExecutor
    monkeypatch.setattr(collection, "ProcessPoolExecutor", lambda workers,
                        context: used.append(workers) or pool(workers, context))
    monkeypatch.setattr(collection, "PARALLEL", 10)
    monkeypatch.setattr(collection.os, "sched_getaffinity", lambda _: {0, 1})
    together = collection.collect(named, keys)
    pd.testing.assert_frame_equal(alone.frame, together.frame)
    assert (used == [2] and alone.specs == together.specs and alone.faults == together.faults
            and "text.h5" in together.faults[0])


def test_a_script_without_a_main_guard_reads_many_files_and_runs_once(five, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"""
import dbench_analysis as da
from dbench_analysis.selection import collection
collection.PARALLEL = 4
collection.os.sched_getaffinity = lambda _: {{0, 1}}
print("begins")
table = da.collect({str(five)!r})
found = da.compare(table[:1], table[1:2], pair="replicas")
print(len(table), len(found.pairs))
""")
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True,
                           env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert (ended.stdout, ended.stderr, ended.returncode) == ("begins\n5 1\n", "", 0)


def test_the_files_of_a_process_that_dies_are_read_all_the_same(five, monkeypatch, capsys):
    class Breaking:
        """A pool that reads one file, and then breaks."""

        def __init__(self, *_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def map(self, read, files, keys, chunksize):
            yield read(files[0], next(keys))
            raise BrokenProcessPool

    named, keys = [str(five)], ["name", "seed"]
    alone = collection.collect(named, keys)
    monkeypatch.setattr(collection, "ProcessPoolExecutor", Breaking)
    monkeypatch.setattr(collection, "PARALLEL", 2)
    monkeypatch.setattr(collection.os, "sched_getaffinity", lambda _: {0, 1})
    pd.testing.assert_frame_equal(alone.frame, collection.collect(named, keys).frame)
    assert capsys.readouterr().err.count("one after the other") == 1


LISTED = {"graph": [{"type": "ring", "until": {"epochs": 1}}, {"type": "base_k", "k": 3}],
          "algorithm": "dsgd", "a/b~c": 7}


def test_a_pointer_reaches_into_lists_and_escaped_keys(make, tmp_path, capsys):
    make(name="list", implementation=None, spec=LISTED)
    make(name="one")
    keys = ["/graph/1/k", "/graph/0/until", "/a~1b~0c", "/graph/01/k"]
    frame = da.collect(tmp_path, columns=["name", *keys[:3]]).set_index("name")
    assert list(frame.loc["list"]) == [3, '{"epochs": 1}', 7] and frame.loc["one"].isna().all()
    table = tmp_path / "runs.csv"
    assert main(["collect", str(tmp_path), "-o", str(table), "--add", ",".join(keys[:3])]) == 0
    for named in (tmp_path, table):
        assert main(["table", str(named), "--where", "/graph/1/k>=3", "--where", "/a~1b~0c=7",
                     "--columns", "name,/graph/1/k", "--format", "csv"]) == 0
        assert capsys.readouterr().out.split()[-1] == "list,3"
        assert main(["table", str(named), "--rows", "/graph/1/k"]) == 0
        assert "| 3 |" in capsys.readouterr().out
    assert main(["table", str(tmp_path), "--columns", keys[3]]) == 0
    assert "/graph/01/k: is in the spec of no run" in capsys.readouterr().err


@pytest.mark.parametrize("words", [
    ["table", "--sort", "/optimizer/momentun"],
    ["table", "--rows", "/optimizer/momentun"], ["table", "--where", "/optimizer/momentun!=3"],
    ["show", "--where", "/optimizer/momentun!=3"],
    ["collect", "--where", "/optimizer/momentun!=3"],
    ["compare", "--where", "seed=1", "--against", "seed=2", "--pair", "/optimizer/momentun"]])
def test_a_pointer_that_no_run_has_is_refused(make, tmp_path, capsys, words):
    for seed in (1, 2):
        make(name=f"s{seed}", spec={"seed": seed, "optimizer": {"type": "sgd", "momentum": 0.9}})
    output = ["-o", str(tmp_path / "runs.csv")] if words[0] == "collect" else []
    assert main([words[0], str(tmp_path), *words[1:], *output]) == 2
    assert ("/optimizer/momentun: is in the spec of no run (did you mean /optimizer/momentum"
            in capsys.readouterr().err)
    assert main([words[0], str(tmp_path), *(word.replace("tun", "tum") for word in words[1:]),
                 *output]) == 0


@pytest.mark.parametrize("words", [["table", "--columns"], ["collect", "--add"]])
def test_a_column_that_no_run_has_is_named(make, tmp_path, capsys, words):
    output = ["-o", str(tmp_path / "runs.csv")] if words[0] == "collect" else []
    assert main([words[0], str(make()), *words[1:], "/optimizer/lt,/optimizer/lr", *output]) == 0
    notes = capsys.readouterr().err
    assert notes.count("is in the spec of no run") == 1
    assert "/optimizer/lt: is in the spec of no run (did you mean /optimizer/lr" in notes


def test_names_that_are_near_a_pointer(make):
    with pytest.warns(UserWarning, match="no run .did you mean /optimizer/lr"):
        da.collect(make(), columns="/lr")
    with pytest.warns(UserWarning, match="no run .the specs have .*/model, .*/optimizer"):
        da.collect(make(), columns="/nothing/like/this")
    with pytest.raises(AnalysisError, match="/optimizer/lt: is in the spec of no run"):
        da.runs(make(), where="/optimizer/lt!=1")


def test_norms_are_never_read(make, tmp_path, monkeypatch):
    import h5py

    read, get = [], h5py.Dataset.__getitem__
    monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda self, where,
                        **how: read.append(self.name) or get(self, where, **how))
    assert main(["collect", str(make()), "-o", str(tmp_path / "runs.csv")]) == 0
    assert "/iterations/bytes_sent" in read and not {"/parameters/norm", "/parameters/variance",
                                                     "/iterations/step_time"} & set(read)


def test_conditions():
    assert Condition("replicas=8|16").holds(16) and not Condition("replicas=8").holds(80)
    assert Condition("name=ring-*").holds("ring-n8") and Condition("lr=1e-1").holds(
        0.1) and Condition("lr!=0.2").holds(0.1)
    for text in ("replicas", "=3", "nonsense=3"):
        with pytest.raises(AnalysisError):
            Condition(text)


@pytest.fixture
def without_files(make, tmp_path):
    """Return a table of runs with two seeds each whose result files were removed, and the specs and
    values that the files had."""
    for name, graph in (("D_ring", "ring"), ("D_torus", "torus"), ("C_complete", None)):
        for seed in (1, 2):
            make(name=f"{name}-s{seed}", implementation=name, graph=graph, seed=seed,
                 spec={"seed": seed, "optimizer": {"lr": 0.1, "type": "sgd"}})
    table = tmp_path / "runs.csv"
    assert main(["collect", str(tmp_path), "-o", str(table)]) == 0
    before = opening.open_runs([str(table)], rows=True)
    drawn = {run.name: (run.spec, values(run)) for run in before}
    for run in before:
        run.close()
        run.path.unlink()
    return str(table), drawn


def values(run):
    return [fields.find(key).value(run) for key in ("implementation", "seed", "rho", "degree",
                                                    "accuracy_min", "accuracy_mean_model")] + [
        fields.last(run, "accuracy", "median"), series.early_spread(run, "variance")]


def test_rows_say_of_runs_what_their_files_said(without_files):
    table, drawn = without_files
    for run in opening.open_runs([table], rows=True):
        spec, expected = drawn[run.name]
        assert run.spec == spec
        told = values(run)
        assert told[:2] == expected[:2]
        assert told[2:] == pytest.approx(expected[2:], nan_ok=True)
    found = opening.open_runs([table], ["implementation=D_ring", "/optimizer/lr<1", "seed=2"], True)
    assert [run.name for run in found] == ["D_ring-s2"]


def test_figures_of_ends_need_no_result_files(without_files, tmp_path, capsys):
    table, _ = without_files
    assert main(["plot", table, "-o", str(tmp_path / "plots")]) == 0
    assert {path.stem for path in (tmp_path / "plots").iterdir()} == {
        "variance-accuracy", "connections", "scale"}
    assert "C_complete-s1.h5 is not there, nor are 5 more" in capsys.readouterr().out
    runs = opening.open_runs([table], rows=True)
    (_, figure), = drawing.drawn(drawing.KINDS["variance-accuracy"], runs)
    axis, = figure.axes
    assert axis.get_title("left") == "early spread and final accuracy"
    assert {text.get_text() for text in figure.legends[0].get_texts()} > {
        "C_complete (2 seeds)", "D_ring (2 seeds)", "D_torus (2 seeds)"}


@pytest.mark.parametrize("words, asked", [
    (["--kind", "scale", "--kind", "accuracy"], "--kind accuracy"),
    (["--measure", "gini"], "--measure gini"),
])
def test_curves_need_result_files(without_files, tmp_path, capsys, words, asked):
    table, _ = without_files
    assert main(["plot", table, "-o", str(tmp_path / "plots"), *words]) == 2
    told = capsys.readouterr().err
    assert f"{asked}: needs result files" in told and "C_complete-s1.h5 is not there" in told
    assert "--kind variance-accuracy, connections, scale" in told
    assert not (tmp_path / "plots").exists()


def test_a_table_without_specs_does_not_replace_files(without_files, tmp_path, capsys):
    table, _ = without_files
    frame = pd.read_csv(table).drop(columns="spec")
    frame.to_csv(table, index=False)
    assert main(["plot", table, "-o", str(tmp_path / "plots")]) == 2
    assert "no column spec (collect again" in capsys.readouterr().err
