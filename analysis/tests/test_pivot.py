"""Tests of `table` as a pivot: means and deviations of known numbers, bold cells, refusals."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from dbench_analysis.cli import main
from dbench_analysis.quantities import fields
from dbench_analysis.statistics.pivot import Cell, ordered, shown

ROWS = [("D_ring", 8, 1, 0.50), ("D_ring", 8, 2, 0.60), ("D_ring", 16, 1, 0.40),
        ("D_torus", 8, 1, 0.56), ("D_torus", 8, 2, 0.58), ("D_torus", 16, 1, 0.30)]


@pytest.fixture
def runs(tmp_path):
    """Return a collected table of six runs with accuracies that are easy to average."""
    frame = pd.DataFrame(ROWS,
                         columns=["implementation", "replicas", "seed", "accuracy_mean_model"])
    frame["bytes"], frame["elapsed"], frame["status"], frame["file"] = 1e6 * frame[
        "replicas"], 3.0, "complete", "x.h5"
    frame["time_note"] = ["reproducible reductions"] + [""] * 5
    frame.to_csv(tmp_path / "runs.csv", index=False)
    return str(tmp_path / "runs.csv")


def table(capsys, *command) -> str:
    assert main(["table", *command]) == 0
    return capsys.readouterr().out


def test_means_deviations_and_the_best(runs, capsys):
    out = table(capsys, runs, "--rows", "implementation", "--columns", "replicas")
    assert "| communication | replicas 8 | replicas 16 |" in out
    assert "| D_ring | 55.00 ± 7.07 % (n=2) | **40.00 % (n=1)** |" in out
    assert "| D_torus | **57.00 ± 1.41 % (n=2)** | 30.00 % (n=1) |" in out
    assert "**57.00" not in table(capsys, runs, "--rows", "implementation", "--columns", "replicas",
                                  "--best", "none")
    out = table(capsys, runs, "--columns", "replicas", "--rows", "implementation", "--best", "all")
    assert out.count("**") == 2 and "**57.00" in out
    same = table(capsys, runs, "--rows", "implementation", "--columns", "replicas", "--only",
                 "replicas=8")
    assert "over n = 2 runs in each cell" in same and "(n=" not in same


def test_several_metrics_and_less_is_better(runs, capsys):
    out = table(capsys, runs, "--rows", "replicas", "--metric", "accuracy_mean_model,bytes",
                "--best", "column")
    assert "| replicas | mean model accuracy | sent |" in out and "**8 MB ± 0 B (n=4)**" in out


def test_csv_is_tidy(runs, capsys):
    rows = list(csv.DictReader(io.StringIO(table(capsys, runs, "--rows", "implementation",
                                                 "--columns", "replicas", "--format", "csv"))))
    ring = next(r for r in rows if r["implementation"] == "D_ring" and r["replicas"] == "8")
    assert float(ring["mean"]) == pytest.approx(0.55) and float(ring["deviation"]) == pytest.approx(
        np.std([0.5, 0.6], ddof=1))
    assert (ring["n"], ring["best"]) == ("2", "0") and sum(r["best"] == "1" for r in rows) == 2


def test_latex(runs, capsys):
    out = table(capsys, runs, "--rows", "implementation", "--columns", "replicas", "--format",
                "latex")
    assert (r"\begin{tabular}{lrr}" in out and r"& \multicolumn{2}{c}{replicas} \\" in out
            and r"\cmidrule(lr){2-3}" in out)
    assert r"D\_torus & \textbf{57.00 $\pm$ 1.41 \% (n=2)} & 30.00 \% (n=1) \\" in out


def test_times_that_do_not_compare_are_refused(runs, capsys):
    assert main(["table", runs, "--rows", "implementation", "--metric", "elapsed"]) == 2
    error = capsys.readouterr().err
    assert "cannot be compared: reproducible reductions (1 of 6 runs)" in error
    assert "3 s" in table(capsys, runs, "--rows", "implementation", "--metric", "elapsed", "--only",
                          "replicas=16")


def test_times_of_files_that_compare_are_given(make, tmp_path, capsys):
    for seed in (1, 2):
        make(name=f"s{seed}", replicas=4, ranks=4, reduction="library", spec={"seed": seed})
    assert " ms ± " in table(capsys, str(tmp_path), "--metric", "step_time")
    make(name="s3", replicas=4, ranks=4, spec={"seed": 3})
    assert main(["table", str(tmp_path), "--metric", "step_time"]) == 2


def test_cells_tell_what_they_mix(make, tmp_path, capsys):
    for lr in (0.1, 0.2):
        make(name=f"lr{lr}", spec={"seed": 1, "optimizer": {"type": "sgd", "lr": lr}})
    make(name="late", status="running", spec={"seed": 2})
    out = table(capsys, str(tmp_path), "--rows", "implementation")
    assert "differ in /optimizer/lr: 0.1, 0.2." in out and "1 run not complete left out" in out
    out = table(capsys, str(tmp_path), "--rows", "implementation", "--columns", "/optimizer/lr",
                "--unfinished")
    assert "differ in /optimizer/lr" not in out and "not complete" not in out
    make(name="again", spec={"seed": 1, "optimizer": {"type": "sgd", "lr": 0.1}})
    assert "same seed more than once" in table(capsys, str(tmp_path), "--columns", "/optimizer/lr",
                                               "--rows", "implementation")


def test_cells_tell_how_their_models_were_evaluated(make, tmp_path, capsys):
    for seed, evaluate in enumerate(({"batchnorm": "pooled", "replicas": 8},
                                     {"batchnorm": "recalibrate", "replicas": 4}), 1):
        make(name=f"s{seed}", spec={"seed": seed, "evaluate": evaluate})
    out = table(capsys, str(tmp_path), "--rows", "implementation")
    assert "differ in /evaluate/batchnorm: pooled, recalibrate." in out
    assert "differ in /evaluate/replicas: 8, 4." in out


@pytest.mark.parametrize("command, reason", [
    (["--metric", "name"], "holds words"), (["--metric", "accurcy"], "no such column"),
    (["--rows", "model"], "no column model"),
    (["--rows", "replicas", "--sort", "bytes"], "row per run"),
    (["--rows", "replicas", "--only", "replicas=9"], "replicas is: 16, 8"),
])
def test_faults(runs, five, capsys, command, reason):
    assert main(["table", str(five) if "name" in command else runs, *command]) == 2
    assert reason in capsys.readouterr().err


def test_plain_table_in_latex_and_filtered(five, capsys):
    out = table(capsys, str(five), "--columns", "name,step_time", "--format", "latex", "--only",
                "implementation=D_*")
    assert (r"D\_ring & " in out and r"\dag{}" in out and "% † Times" in out
            and "C\\_complete" not in out)
    assert main(["table", str(five), "--best", "row"]) == 2


def test_order_and_digits():
    assert ordered([("n16",), ("n4",), (10,), (9,)]) == [(9,), (10,), ("n4",), ("n16",)]
    loss = fields.COLUMNS["loss_mean_model"]
    assert shown(Cell(0.66325, 0.0123, 3), loss) == "0.663 ± 0.012"
    assert shown(Cell(1e-7, 2e-8, 3), loss) == "(1.00 ± 0.20)e-07"


@pytest.fixture
def four(make, tmp_path):
    """Return a folder of two seeds each of two graphs with two algorithms, one of them with a
    parameter of its own."""
    for graph in ("ring", "torus"):
        for algorithm in ({"type": "dsgd"}, {"type": "choco", "gamma": 0.5}):
            for seed in (1, 2):
                make(name=f"{graph}-{algorithm['type']}-{seed}", implementation=None, graph=graph,
                     spec={"seed": seed, "algorithm": algorithm})
    return tmp_path


@pytest.mark.parametrize("collected", [False, True], ids=["files", "table"])
def test_two_graphs_and_two_algorithms_are_two_by_two(four, capsys, collected):
    """The label of a graph has no key of an algorithm, and the other way round."""
    source = str(four)
    if collected:
        source = str(four / "runs.csv")
        assert main(["collect", str(four), "-o", source]) == 0
        capsys.readouterr()
    out = table(capsys, source, "--rows", "graph", "--columns", "algorithm")
    assert "| graph | algorithm choco | algorithm dsgd |" in out and out.count("\n| ") == 3
    assert "\n| ring | " in out and "\n| torus | " in out and "n = 2 runs" in out


@pytest.mark.parametrize("rows", ["algorithm", "implementation"])
def test_momentum_stands_in_the_label_if_runs_differ_in_it(make, tmp_path, capsys, rows):
    for momentum in (0, 0.9):
        make(name=f"m{momentum}", spec={"optimizer": {"type": "sgd", "momentum": momentum}})
    out = table(capsys, str(tmp_path), "--rows", rows)
    assert "momentum=0 |" in out and "momentum=0.9 |" in out and "Cells hold" not in out
    for field in ("momentum", "/optimizer/momentum"):
        out = table(capsys, str(tmp_path), "--rows", rows, "--columns", field)
        assert "momentum=" not in out and out.count("\n| ") == 2


def test_rows_and_columns_can_be_renamed(four, capsys):
    words = [str(four), "--rows", "graph", "--columns", "algorithm", "--label", "ring=our ring"]
    out = table(capsys, *words, "--label", "choco=CHOCO-SGD")
    assert "| graph | algorithm CHOCO-SGD | algorithm dsgd |" in out and "\n| our ring | " in out
    assert "\n| torus | " in out
    for label, said in (("rink=x", "did you mean ring=x?"), ("ring=torus", "one name")):
        assert main(["table", *words[:-1], label]) == 2
        assert said in capsys.readouterr().err
    assert main(["table", str(four), "--label", "ring=x"]) == 2
    assert "is for a pivot" in capsys.readouterr().err


def test_the_best_of_more_evaluations_is_named(make, tmp_path, capsys):
    for graph, epochs in (("ring", 1), ("torus", 2)):
        for seed in (1, 2):
            make(name=f"{graph}-{seed}", implementation=f"D_{graph}", graph=graph,
                 spec={"seed": seed, "evaluate": {"every": {"epochs": epochs}}})
    words = [str(tmp_path), "--rows", "implementation", "--metric"]
    assert "Runs differ in /evaluate/every" in table(capsys, *words, "accuracy_best")
    assert "/evaluate/every" not in table(capsys, *words, "accuracy_mean_model")
    for metric, said in (("accuracy_best", True), ("accuracy_mean_model", False)):
        assert main(["compare", str(tmp_path / "ring*"), str(tmp_path / "torus*"), "--metric",
                     metric]) == 0
        assert ("/evaluate/every/epochs: 1 | 2" in capsys.readouterr().out) == said
