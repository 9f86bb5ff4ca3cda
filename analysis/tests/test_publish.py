"""Tests `dbench-analyze publish`: which runs are judged, and that verdicts are those of known
numbers."""

import contextlib
import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
from dbench_analysis.basics.errors import AnalysisError
from dbench_analysis.cli import main
from dbench_analysis.selection.opening import open_runs
from dbench_analysis.statistics import significance
from dbench_analysis.studies import page, publish
from dbench_analysis.studies.family import Terms, statements
from dbench_analysis.studies.runs import cell_labels, method_labels, spec_hash, study
from scipy.stats import ttest_rel
from synthetic import Plan, write

NOISE = np.array([0.0031, -0.0042, 0.0017, 0.0008, -0.0029, 0.0015])
BASE = 0.80 + NOISE
# The accuracies of each method by seed. The differences to all-reduce are known.
ACCURACY = {
    "C_complete": BASE,
    "D_complete": BASE + np.array([0.0003, -0.0002, 0.0001, -0.0004, 0.0002, 0.0001]),
    "D_ring": BASE - 0.05 + np.array([0.003, -0.002, 0.001, -0.004, 0.002, 0.001]),
    "D_torus": BASE + np.array([0.03, -0.02, 0.01, -0.04, 0.02, 0.01]),
    "D_exponential": BASE[:5] + 0.05,
}


def make(folder, accuracy=ACCURACY, **more):
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in accuracy.items():
        graph = None if name == "C_complete" else name.removeprefix("D_")
        for seed, final in enumerate(values, 1):
            rate = {"optimizer": {"type": "sgd", "lr": 0.1 if graph else 0.2, "momentum": 0}}
            plan = Plan(name=f"{name}-s{seed}", implementation=name, graph=graph, seed=seed,
                        final=float(final), validation=True, after=True,
                        spec={"seed": seed, **rate, **more.get("spec", {})})
            write(folder / f"{name}-s{seed}{more.get('suffix', '')}.h5", plan)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make(tmp_path_factory.mktemp("results") / "mine")


def made(folder, **terms):
    found = statements(study(folder, open_runs([str(folder)])), Terms(**terms))
    return {s.method: s for s in found}


def test_a_seed_without_a_finite_value_leaves_a_method_undecided(tmp_path):
    folder = make(tmp_path / "mine")
    assert made(folder)["D_ring"].verdict == "worse"
    with h5py.File(folder / "D_ring-s1.h5", "r+") as file:
        file["evaluations/mean_accuracy"][-1] = np.nan
    ring = made(folder)["D_ring"]
    assert (len(ring.d), ring.lost, ring.verdict) == (len(ACCURACY["D_ring"]) - 1, 1, "undecided")
    assert "no finite value for 1 seed" in "\n".join(page.verdicts([ring], ring.terms))


def lose(folder, *names, status="failed"):
    """Give the runs of these names this status."""
    for name in names:
        with h5py.File(folder / f"{name}.h5", "r+") as file:
            file.attrs["status"] = status


SEVEN = {k: np.append(ACCURACY[k], 0.8 - 0.05 * (k == "D_ring"))
         for k in ("C_complete", "D_ring", "D_torus")}


@pytest.mark.usefixtures("blank_figures")
def test_a_verdict_does_not_rest_on_the_runs_that_survived(tmp_path, capsys):
    folder = make(tmp_path / "mine", SEVEN)
    assert (made(folder)["D_ring"].verdict, len(made(folder)["D_ring"].d)) == ("worse", 7)
    lose(folder, "D_ring-s7")
    lose(folder, *(f"D_torus-s{seed}" for seed in range(1, 8)), status="running")
    found = made(folder)
    ring, torus = found["D_ring"], found["D_torus"]
    assert (len(ring.d), ring.incomplete, ring.lost, ring.verdict) == (6, 1, 0, "undecided")
    assert (len(torus.d), torus.incomplete, torus.verdict) == (0, 7, "undecided")
    assert main(["publish", str(folder), "-o", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    place = tmp_path / "out/mine"
    text = " ".join((place / "results.md").read_text().split())
    assert "8 of 21 final runs are not complete and left out: they are lost." in text
    assert "D_ring or C_complete has no complete run for 1 seed" in text
    assert "| all | D_ring | 6 (1 lost) |" in text and "| all | D_torus | 0 (7 lost) | - |" in text
    assert "| D_torus | 0 | - |" in text and "nan" not in text
    assert list(pd.read_csv(place / "methods.csv").lost) == [0, 1, 7]
    assert list(pd.read_csv(place / "statements.csv").lost) == [1, 7]
    assert len(pd.read_csv(place / "runs.csv")) == 13  # complete runs


def test_a_lost_run_of_all_reduce_leaves_every_method_of_its_cell_undecided(tmp_path):
    folder = make(tmp_path / "mine", SEVEN)
    lose(folder, "C_complete-s1")
    found = made(folder)
    assert {s.verdict for s in found.values()} == {"undecided"} and len(found["D_ring"].d) == 6


def test_a_run_is_not_lost_if_it_was_made_again_or_is_a_trial(tmp_path):
    folder = make(tmp_path / "mine", SEVEN)
    (folder / "again.h5").write_bytes((folder / "D_ring-s7.h5").read_bytes())
    lose(folder, "D_ring-s7")
    assert made(folder)["D_ring"].verdict == "worse"
    # The table of trials lists complete runs only. Seed 7 is that of trials.
    (folder / "again.h5").unlink()
    rows = ["file,role,seed"] + [f"{path.name},{'trial' if '-s7' in path.stem else 'final'},"
                                 f"{path.stem[-1]}" for path in sorted(folder.glob("*.h5"))
                                 if path.stem != "D_ring-s7"]
    (folder / "trials.csv").write_text("\n".join(rows) + "\n")
    assert not study(folder, open_runs([str(folder)])).lost
    lose(folder, "D_ring-s6")
    assert [run.name for run in study(folder, open_runs([str(folder)])).lost] == ["D_ring-s6"]


def test_runs_that_the_table_of_trials_lacks_are_an_error(tmp_path):
    folder = make(tmp_path / "mine")
    (folder / "trials.csv").write_text("file,role\nD_ring-s1.h5,final\n")
    with pytest.raises(AnalysisError, match="does not list"):
        made(folder)


def test_statements_have_the_values_of_scipy_and_verdicts_follow(folder):
    found = made(folder)
    assert list(found) == ["D_complete", "D_exponential", "D_ring", "D_torus"]
    ring = found["D_ring"]
    p = ttest_rel(ACCURACY["D_ring"], ACCURACY["C_complete"]).pvalue
    assert ring.p == pytest.approx(p, rel=1e-9) and ring.reference == "C_complete"
    assert ring.p_family == pytest.approx(3 * p, rel=1e-9)  # three statements have six pairs
    assert ring.flips_p == 2 / 64 and ring.verdict == "worse"
    assert ring.mean == pytest.approx(np.mean(ACCURACY["D_ring"] - BASE))
    same = found["D_complete"]
    assert same.verdict == "equivalent" and same.power > 0.99
    assert same.equivalence_family == pytest.approx(
        3 * significance.tost(ACCURACY["D_complete"] - BASE, 0.005), rel=1e-6)
    assert found["D_torus"].verdict == "undecided" and found["D_torus"].power < 0.1
    # Five seeds have no verdict, however clear they are.
    few = found["D_exponential"]
    assert len(few.d) == 5 and few.verdict == "undecided" and np.isnan(few.p_family)


def test_a_shown_difference_can_be_within_the_margin(folder):
    assert made(folder, margin=0.1)["D_ring"].verdict == "worse, equivalent"


def test_lower_is_better_for_losses(folder):
    found = made(folder)["D_ring"]
    assert found.mean < 0 and found.verdict == "worse"
    assert replace(found, terms=Terms(metric="loss_mean_model")).verdict == "better"


@pytest.mark.usefixtures("blank_figures")
def test_cells_are_what_methods_share(tmp_path):
    def partition(alpha):
        return {"data": {"type": "cifar10", "partition": {"type": "dirichlet", "alpha": alpha}}}

    for alpha in (0.1, 10):
        make(tmp_path / "a", {k: ACCURACY[k][:2] for k in ("C_complete", "D_ring")},
             suffix=f"-alpha{alpha}", spec=partition(alpha))
    runs = open_runs([str(tmp_path / "a")])
    assert set(cell_labels(runs)) == {"alpha=0.1", "alpha=10"}
    assert set(method_labels(runs)) == {"C_complete", "D_ring"}  # the rate is no method
    assert main(["publish", str(tmp_path / "a"), "-o", str(tmp_path / "out"), "--metric",
                 "loss_mean_model", "--margin", "0.02"]) == 0
    page = (tmp_path / "out/a/results.md").read_text()
    assert "within ± 0.02 (mean model loss)" in " ".join(page.split()), "losses have no points"
    assert "difference to all-reduce (interval)" in page
    drawn = {path.name for path in (tmp_path / "out/a").glob("convergence*.png")}
    assert drawn == {"convergence-alpha=0.1.png", "convergence-alpha=10.png"}
    one = study(tmp_path / "a", runs)
    assert [(s.cell, s.method) for s in statements(one, Terms())] == [
        ("alpha=0.1", "D_ring"), ("alpha=10", "D_ring")]


@pytest.mark.usefixtures("blank_figures")
def test_rates_of_an_untuned_folder_are_methods_and_not_seeds(tmp_path, capsys):
    folder = make(tmp_path / "mine", {"C_complete": BASE, "D_torus": BASE})

    def ring(values, lr, first):
        for seed, final in enumerate(values, first):
            write(folder / f"ring-{lr}-s{seed}.h5", Plan(
                name=f"ring-{lr}-s{seed}", seed=seed, final=float(final), validation=True,
                spec={"seed": seed, "optimizer": {"type": "sgd", "lr": lr, "momentum": 0}}))

    ring(BASE[:3] - 0.05, 0.1, 1)  # no seed occurs twice
    ring(BASE[3:] + 0.05, 0.3, 4)
    found = made(folder)
    assert {s: len(found[s].d) for s in found} == {
        "D_torus": 6, "D_ring, lr=0.1": 3, "D_ring, lr=0.3": 3}
    assert found["D_ring, lr=0.1"].mean < -0.04 and found["D_ring, lr=0.3"].mean > 0.04
    assert main(["publish", str(folder), "-o", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    tables = [pd.read_csv(tmp_path / f"out/mine/{name}.csv") for name in ("runs", "methods")]
    assert set(tables[0].method) == set(tables[1].method) and len(tables[1]) == 4


@pytest.mark.usefixtures("blank_figures")
def test_several_rates_of_all_reduce_give_no_verdict(tmp_path, capsys):
    folder = make(tmp_path / "mine", {k: ACCURACY[k][:2] for k in ("C_complete", "D_ring")})
    make(folder, {"C_complete": BASE[:2]}, suffix="-again", spec={
        "optimizer": {"type": "sgd", "lr": 0.7, "momentum": 0}})
    assert main(["publish", str(folder), "-o", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out/mine/results.md").read_text()
    assert "* all: no verdict, because all-reduce has several settings" in text
    assert "C_complete, lr=0.2 |" in text and "C_complete, lr=0.7 |" in text


def test_a_spec_has_one_hash_for_all_seeds(folder):
    by_method = {}
    for run in open_runs([str(folder)]):
        by_method.setdefault(run.name.split("-s")[0], set()).add(spec_hash(run))
    assert all(len(hashes) == 1 for hashes in by_method.values())
    assert len(set.union(*by_method.values())) == len(by_method)


def tune(folder, trials):
    """Write what `sweep tune` writes, with these names as trials."""
    with open(folder / "trials.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["method", "role", "rate", "seed", "file"])
        for path in sorted(folder.glob("*.h5")):
            role = "trial" if path.stem in trials else "final"
            writer.writerow([path.stem.split("-s")[0], role, 0.1, 1, path.name])
    (folder / "tuning.csv").write_text(
        "method,trials,at_edge,loss_at_half,loss_at_twice\nD_ring,14,highest,0.0125,\n")


@pytest.mark.usefixtures("blank_figures")
def test_trials_are_not_judged(tmp_path, capsys):
    folder = make(tmp_path / "mine",
                  {k: ACCURACY[k][:4] for k in ("C_complete", "D_ring", "D_torus")})
    tune(folder, {"D_ring-s1", "D_ring-s2"})
    found = made(folder)
    assert len(found["D_ring"].d) == 2 and len(found["D_torus"].d) == 4
    assert main(["publish", str(folder), "-o", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    runs = pd.read_csv(tmp_path / "out/mine/runs.csv")
    assert sorted(runs[runs.role == "trial"].name) == ["D_ring-s1", "D_ring-s2"]
    # Nobody can choose by the test set of a trial, or by the best epoch.
    tested = runs.set_index("name").accuracy_mean_model
    assert np.isnan(tested["D_ring-s1"]) and tested["D_ring-s3"] > 0 and not any(
        key.endswith("_best") for key in runs)
    assert runs.validation_accuracy.notna().all()
    methods = pd.read_csv(tmp_path / "out/mine/methods.csv").set_index("method")
    assert methods.trials["D_ring"] == 14 and methods.loss_at_half["D_ring"] == 0.0125
    page = (tmp_path / "out/mine/results.md").read_text()
    assert "0.1 (highest of the grid)" in page and "| +1.25 | - |" in page
    assert "D_ring-s1" not in (tmp_path / "out/index.html").read_text()


@pytest.fixture(scope="module")
def published(folder, tmp_path_factory):
    """Publish the folder once; return what the command printed, and the folder of its output."""
    place, printed = tmp_path_factory.mktemp("published"), io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["publish", str(folder), "-o", str(place)]) == 0
    return printed.getvalue(), place


def test_publish_writes_tables_figures_and_one_page(folder, published):
    printed, place = published
    files = [line for line in printed.splitlines() if line]
    assert files[-1] == str(place / "index.html")
    runs = pd.read_csv(place / "mine/runs.csv")
    assert len(runs) == 29 and {"spec_hash", "commit", "seed", "cell", "method"} <= {*runs}
    assert "file" not in runs and str(folder) not in (place / "mine/runs.csv").read_text()
    table = pd.read_csv(place / "mine/statements.csv").set_index("method")
    assert table.verdict["D_ring"] == "worse" and table.margin["D_ring"] == 0.005
    page = (place / "mine/results.md").read_text()
    assert "**worse**: D_ring" in page and "power" in page
    assert all(len(line) <= 120 or line.startswith(("|", "!")) for line in page.splitlines())
    for name in ("variance-accuracy", "early", "convergence"):
        assert (place / f"mine/{name}.png").stat().st_size > 1000
        assert f"]({name}.png)" in page
    for name, above in (("index.html", ""), ("mine/index.html", "../")):
        index = (place / name).read_text()
        assert "29 runs of " in index and str(place / name) in files
        for run in open_runs([str(folder)]):
            spec = place / f"specs/{spec_hash(run)}.json"
            assert f'href="{above}specs/{spec.name}"' in index
            assert "seed" not in json.loads(spec.read_text())
        assert "sign flips" not in index  # results.md has the verdicts
        # Readers do not have the result files: nothing names the machine.
        assert str(folder) not in index and "Provenance" not in index and ".h5" not in index


@pytest.mark.usefixtures("blank_figures")
def test_the_page_of_all_runs_loses_no_study(tmp_path, capsys):
    two = {k: ACCURACY[k][:2] for k in ("C_complete", "D_ring")}
    first, second = (str(make(tmp_path / name, two)) for name in ("one & two", "other"))
    out = tmp_path / "out"
    assert main(["publish", first, second, "-o", str(out)]) == 0
    before = (out / "index.html").read_bytes()
    assert "8 runs of this project" in before.decode() and not capsys.readouterr().err
    assert main(["publish", second, "-o", str(out)]) == 0
    printed = capsys.readouterr()
    assert (out / "index.html").read_bytes() == before
    assert str(out / "index.html") not in printed.out.splitlines()
    assert "is left as it is" in printed.err and "not given: one & two." in printed.err
    assert str(out / "other/index.html") in printed.out.splitlines()
    third = str(make(tmp_path / "third", two))
    assert main(["publish", third, first, second, "-o", str(out)]) == 0
    assert "12 runs of this project" in (out / "index.html").read_text()


@pytest.mark.usefixtures("blank_figures")
def test_two_folders_of_one_name_are_refused_and_one_with_two_names_is_one(tmp_path, capsys):
    two = {k: ACCURACY[k][:2] for k in ("C_complete", "D_ring")}
    first, second = (str(make(tmp_path / place / "mine", two)) for place in "ab")
    out = tmp_path / "out"
    assert main(["publish", first, second, "-o", str(out)]) == 2
    assert f"{first}, {second}: these folders have one name" in capsys.readouterr().err
    assert not out.exists()
    (tmp_path / "link").symlink_to(first)
    assert main(["publish", first, str(tmp_path / "link"), "-o", str(out)]) == 0
    assert "4 runs of this project" in (out / "index.html").read_text()


@pytest.mark.usefixtures("blank_figures")
def test_each_study_is_judged_by_its_own_metric(tmp_path, capsys):
    two = {k: ACCURACY[k][:2] for k in ("C_complete", "D_ring")}
    folders = [make(tmp_path / name, two) for name in ("accuracy", "tuned", "regression")]
    (folders[1] / "tuning.csv").write_text("method,trials,validation_loss\nD_ring,10,0.5\n")
    for path in folders[2].glob("*.h5"):
        with h5py.File(path, "r+") as file:
            file["evaluations/mean_accuracy"][:] = np.nan

    def metrics(*words):
        assert main(["publish", *map(str, folders), "-o", str(tmp_path / "out"), *words]) == 0
        capsys.readouterr()
        return [set(pd.read_csv(tmp_path / f"out/{folder.name}/statements.csv").metric)
                for folder in folders]

    assert metrics() == [{"accuracy_mean_model"}, {"loss_mean_model"}, {"loss_mean_model"}]
    assert metrics("--metric", "accuracy_mean_model")[:2] == [{"accuracy_mean_model"}] * 2


@pytest.mark.usefixtures("blank_figures")
def test_stale_files_are_removed_and_those_of_the_user_are_kept(tmp_path, capsys):
    """Once the study has two cells and a verdict, and then one cell without all-reduce."""
    def partition(alpha):
        return {"data": {"type": "cifar10", "partition": {"type": "dirichlet", "alpha": alpha}}}

    two = {k: ACCURACY[k][:2] for k in ("C_complete", "D_ring", "D_torus")}
    for alpha in (0.1, 10):
        folder = make(tmp_path / "mine", two, suffix=f"-{alpha}", spec=partition(alpha))
    out = tmp_path / "out/mine"
    assert main(["publish", str(folder), "-o", str(tmp_path / "out")]) == 0
    assert "removed" not in capsys.readouterr().err
    assert (out / "convergence-alpha=10.png").exists() and (out / "statements.csv").exists()
    own = {out / name: f"{name} is the user's" for name in (
        "README.md", "convergence-mine.png", "early.txt", "mine.csv", "correlations.csv",
        "correlations.parquet")}
    for path, text in own.items():
        path.write_text(text)
    for path in folder.glob("C_complete*"):
        path.unlink()
    assert main(["publish", str(folder), "-o", str(tmp_path / "out"), "--where",
                 "/data/partition/alpha=0.1"]) == 0
    told = capsys.readouterr()
    assert {path: path.read_text() for path in own} == own
    assert not list(out.glob("statements.*")) and not list(out.glob("*-alpha=10.png"))
    assert not list(out.glob("*-alpha=0.1.png")) and (out / "convergence.png").exists()
    assert f"removed {out / 'convergence-alpha=10.png'}, which" in told.err
    written = {Path(line) for line in told.out.splitlines()}
    assert {path for path in out.rglob("*") if path not in own} <= written
    # A page that publish did not make says nothing about the files beside it.
    (out / "results.md").write_text("![mine](convergence.png)\n")
    assert not publish.earlier_files(out)


def test_correlations_have_intervals_and_leave_all_reduce_out(published):
    found = pd.read_csv(published[1] / "mine/correlations.csv")
    assert set(found.window) == {0.01, 0.02, 0.05, 0.1, 0.2, 0.5} and set(found.settings) == {4}
    assert set(found.when) == {"before averaging", "after averaging"}
    assert (found.interval_low <= found.rho).all() and (found.rho <= found.interval_high).all()


@pytest.mark.parametrize("words, said", [
    (["nowhere"], "nowhere: is not a folder, and each study is one"),
    (["{folder}", "--margin", "60%"], "accuracies are fractions"),
    (["{folder}", "--margin", "1%", "--metric", "loss_mean_model"], "is no fraction"),
    (["{folder}", "--alpha", "2"], "--alpha 2.0: out of range"),
    (["{folder}", "--metric", "seed"], "--metric seed: is neither better high"),
    (["{folder}", "--where", "status=failed"], "no run"),
])
def test_errors_are_reported(folder, tmp_path, capsys, words, said):
    words = [word.format(folder=folder) for word in words]
    assert main(["publish", *words, "-o", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err


def test_a_seed_that_occurs_twice_is_an_error(tmp_path, capsys):
    folder = make(tmp_path / "a", {"C_complete": BASE, "D_ring": BASE})
    (folder / "again.h5").write_bytes((folder / "D_ring-s3.h5").read_bytes())
    assert main(["publish", str(folder), "-o", str(tmp_path / "out")]) == 2
    assert "seed 3 occurs twice" in capsys.readouterr().err
