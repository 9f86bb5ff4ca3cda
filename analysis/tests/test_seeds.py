"""Tests that figures and tables combine exactly the runs that differ only in the seed, and that a
condition selects the same runs in all commands."""

import shutil

import dbench_analysis as da
import h5py
import numpy as np
import pandas as pd
import pytest
from dbench_analysis.cli import main
from dbench_analysis.figures import drawing, style
from dbench_analysis.quantities import series
from synthetic import Plan, write

BASE_K = [{"implementation": None, "spec": {"graph": {"type": "base_k", "k": k},
                                            "algorithm": "dsgd"}} for k in (1, 3)]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Return a folder with three settings of three seeds each; two settings have the same type of
    graph with other parameters."""
    folder = tmp_path_factory.mktemp("swept")
    for i, plan in enumerate(({}, *BASE_K)):
        for seed in (1, 2, 3):
            name = f"dsgd-null-n8-{i}-s{seed}"
            write(folder / f"{name}.h5", Plan(
                name=name, per_epoch=4, epochs=3, seed=10 * i + seed, spread=0.2 + 0.2 * i,
                **(plan | {"spec": plan.get("spec", {}) | {"seed": seed}})))
    return folder


def opened(folder):
    return [da.open(path) for path in sorted(folder.glob("*.h5"))]


def said(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


LABELS = {"D_ring (3 seeds)", "base_k, k=1 (3 seeds)", "base_k, k=3 (3 seeds)"}


@pytest.mark.parametrize("name", [kind for kind in drawing.KINDS
                                  if kind not in ("tensors", "ranks", "timing", "graphs",
                                                  "break-even")])
def test_every_figure_has_an_entry_for_each_setting(swept, name):
    runs = opened(swept)
    for each, expected in ((False, LABELS), (True, 9)):
        (_, figure), = drawing.drawn(drawing.KINDS[name], runs, each)
        labels = {label for label in said(figure) if "ring" in label or "base_k" in label}
        assert labels == expected if not each else len(labels) == expected, labels
        assert not any("null" in label for label in said(figure))


def test_pictures_by_tensor_and_bars_of_times_are_of_settings(swept):
    runs = opened(swept)
    named = [name for name, _ in drawing.drawn(drawing.KINDS["tensors"], runs)]
    assert named == ["tensors-D_ring-3-seeds", "tensors-base_k-k=1-3-seeds",
                     "tensors-base_k-k=3-3-seeds"]
    (_, timing), = drawing.drawn(drawing.KINDS["timing"], runs)
    assert {text.get_text() for text in timing.axes[0].get_yticklabels()} == LABELS


@pytest.mark.usefixtures("blank_figures")
def test_each_of_many_settings_has_its_own_pictures_and_bars(make, tmp_path, capsys):
    for i in range(style.CROWD + 1):
        make(name=f"run{i}", per_epoch=1, epochs=1,
             spec={"optimizer": {"type": "sgd", "lr": 0.1 + i}})
    assert main(["plot", str(tmp_path), "--kind", "tensors", "-o", str(tmp_path / "plots"),
                 "--dpi", "20"]) == 0
    files = capsys.readouterr().out.split()
    assert len({*files}) == len(files) == len([*(tmp_path / "plots").iterdir()]) == style.CROWD + 1
    assert str(tmp_path / "plots" / "tensors-D_ring-lr=3.1.png") in files
    runs = opened(tmp_path)
    _, figure = next(drawing.drawn(drawing.KINDS["tensors"], runs))
    assert figure.get_suptitle().startswith("D_ring, lr=0.1: ")
    (_, timing), = drawing.drawn(drawing.KINDS["timing"], runs)
    assert len({text.get_text() for text in timing.axes[0].get_yticklabels()}) == len(files)


def test_names_of_files_are_distinct_and_not_too_long():
    assert drawing.distinct(["a", "b", "A", "a", "a-2"]) == ["a", "b", "A-2", "a-3", "a-2-2"]
    assert drawing.stem("D_ring, path=a/b (all-reduce equivalent)") == "D_ring-path=a-b"
    assert len(drawing.stem("D_ring, path=" + "long/" * 60)) <= drawing.LONGEST


def test_the_mean_and_the_band_over_seeds():
    frames = [pd.DataFrame({"iteration": [0, 4, 8], "mean": [0.1, value, 0.5],
                            "min": [0.0, value / 2, 0.4]}) for value in (0.2, 0.4)]
    found = series.over_seeds([*frames, frames[0][:1], frames[0][:0]])
    assert list(found["mean"]) == pytest.approx([0.1, 0.3, 0.5])
    assert (found["mean_low"][1], found["mean_high"][1], found["min"][1]) == (0.2, 0.4, 0.1)
    other = frames[0].drop(index=1)
    assert list(series.over_seeds([frames[1], other])["iteration"]) == [0, 8]


def test_curves_that_coincide_both_show():
    curve = np.linspace(0.1, 0.9, 9)
    assert style.widths([curve, curve + 0.001, curve[::-1]], 1.5) == [3.7, 1.5, 1.5]
    assert style.widths([curve] * 11, 1.5)[::5] == pytest.approx([6.5, 4, 1.5])


def test_tables_do_not_pool_graphs_of_one_name(swept, tmp_path, capsys):
    assert main(["collect", str(swept), "-o", str(tmp_path / "runs.csv")]) == 0
    for source in (str(swept), str(tmp_path / "runs.csv")):
        capsys.readouterr()
        assert main(["table", source, "--rows", "implementation", "--metric", "accuracy_min"]) == 0
        out = capsys.readouterr().out
        assert "| base_k, k=1 |" in out and "| base_k, k=3 |" in out and "n = 3 runs" in out
        assert "Local models: over 4 of 8 replicas" in out
    assert main(["table", str(swept), "--rows", "implementation", "--columns", "/graph/k"]) == 0
    assert "| base_k |" in capsys.readouterr().out


def test_one_condition_in_every_command(swept, tmp_path, capsys):
    swept = shutil.copytree(swept, tmp_path / "swept")  # a run of it is removed below
    table = str(tmp_path / "runs.csv")
    assert main(["collect", str(swept), "-o", table, "--where", "implementation=base_k"]) == 0
    assert len(pd.read_csv(table)) == 6
    plots = tmp_path / "plots"
    assert main(["plot", table, "-o", str(plots), "--kind", "connections", "--dpi", "30",
                 "--where", "seed>1", "--only", "/graph/k=3"]) == 0
    assert (plots / "connections.png").exists()
    capsys.readouterr()
    for command in (["show"], ["table", "--columns", "name"]):
        assert main([*command, str(swept), "--where", "seed<=1", "--where",
                     "implementation!=D_ring"]) == 0
        out = capsys.readouterr().out
        assert "dsgd-null-n8-1-s1" in out and "s2" not in out and "n8-0" not in out
    assert main(["compare", str(swept), "--where", "/graph/k=1", "--where", "replicas=8",
                 "--against", "/graph/k=3"]) == 0
    assert "/graph/k: 1 | 3" in capsys.readouterr().out
    (swept / "dsgd-null-n8-1-s1.h5").unlink()
    assert main(["report", table, "-o", str(plots / "report.html")]) == 2
    assert "n8-1-s1.h5 is not there" in capsys.readouterr().err


def test_conditions_on_booleans(make, tmp_path, capsys):
    for value in (True, False):
        make(name=f"run-{value}", spec={"model": {"type": "cnn", "bias": value}})
    for condition, name in (("=true", "run-True"), ("!=true", "run-False"), ("=False", "run-False"),
                            ("=1", "run-True"), ("!=false", "run-True")):
        assert main(["table", str(tmp_path), "--columns", "name", "--format", "csv", "--where",
                     f"/model/bias{condition}"]) == 0
        assert capsys.readouterr().out.split() == ["name", name]


@pytest.mark.parametrize("condition, reason", [
    ("implementation=D_rong", "no run matches (did you mean implementation=D_ring?)"),
    ("replcias=8", "did you mean replicas?"), ("seed>9", "no run matches (seed is: 1, 2, 3)"),
    ("seed>many", "> compares with one number"),
])
def test_what_matches_nothing_says_what_is_near(swept, capsys, condition, reason):
    assert main(["show", str(swept), "--where", condition]) == 2
    assert reason in capsys.readouterr().err


def test_a_run_without_a_last_value_is_drawn_as_far_as_it_went(make):
    """A setting of a regression, which has no accuracies, diverges."""
    paths = [make(name=f"run{i}", accuracy=False, spec={"optimizer": {"type": "sgd", "lr": lr}})
             for i, lr in enumerate((0.1, 0.2, 9.0))]
    with h5py.File(paths[2], "r+") as file:
        for name in ("local_loss", "mean_loss"):
            file[f"evaluations/{name}"][-2:] = np.nan
    figure = da.plot([da.open(path) for path in paths], "variance-accuracy")
    assert len(figure.axes) == 2
