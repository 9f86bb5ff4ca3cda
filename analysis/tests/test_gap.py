"""Tests `dbench-analyze gap`: predictors, their correlation with known gaps, held-out fits."""

import csv
import json
import shutil
from dataclasses import replace

import h5py
import numpy as np
import pytest
from dbench_analysis.cli import main
from dbench_analysis.selection.opening import open_runs
from dbench_analysis.studies import gap, gap_page
from dbench_analysis.studies.gap import MODEL, PREDICTORS, Setting
from dbench_analysis.studies.runs import of_equal_names, study
from scipy.stats import spearmanr
from test_publish import ACCURACY, make

GRAPHS = {"ring": (2, 0.9), "torus": (4, 0.6), "exponential": (3, 0.5), "complete": (7, 0.0)}


def made_up(gap_of, cells=6):
    """Return settings of several cells, whose gap is a function of the setting without it."""
    found = []
    rng = np.random.default_rng(1)
    for cell in range(cells):
        for graph, (degree, rho) in GRAPHS.items():
            effective = 8 / (1 + 7 * rho * rng.uniform(0.5, 1))
            one = Setting("study", f"n={cell}", graph, 8, 0.0, 0.1 * (1 + cell), 16, degree, rho,
                          effective)
            found.append(Setting(**{**vars(one), "gap": gap_of(one)}))
    return found


def test_a_gap_that_follows_the_model_is_predicted_and_ordered_by_it():
    found = made_up(lambda s: 3 * PREDICTORS[MODEL](s))
    model, *others = gap.agreements(found)
    assert model.predictor == MODEL and model.over_all == pytest.approx(1)
    assert model.within == pytest.approx(1) and model.error < 1e-12
    for other in others:
        x = [PREDICTORS[other.predictor](s) for s in found]
        assert other.over_all == pytest.approx(spearmanr(x, [s.gap for s in found])[0])
        assert other.error > 1e-4
        low, high = other.over_all_model_ahead
        assert 0 < low <= 1 - other.over_all <= high + 0.2
    rho = next(a for a in others if a.predictor == "rho")
    said = gap_page.verdict([model, rho])
    assert f"Over all settings, {MODEL} orders the gaps better than rho." in said


def test_a_gap_that_follows_the_degree_is_not_credited_to_the_model():
    found = made_up(lambda s: 1 / s.degree)
    by_name = {a.predictor: a for a in gap.agreements(found)}
    assert by_name["degree"].over_all == pytest.approx(1)
    assert by_name["degree"].over_all_model_ahead[1] < 0
    assert any("worse than degree" in sentence for sentence in gap_page.verdict(
        list(by_name.values())))


def test_a_graph_is_no_part_of_its_own_fit():
    """The gaps of the ring alone are far off the line of the others."""
    line = made_up(lambda s: 2 * s.rho + 1)
    changed = [Setting(**{**vars(s), "gap": 50.0 if s.graph == "ring" else s.gap}) for s in line]
    predicted = gap.held_out(changed, PREDICTORS["rho"])
    for s, value in zip(changed, predicted):
        if s.graph == "ring":
            assert value == pytest.approx(2 * s.rho + 1)
    assert np.isnan(gap.held_out([s for s in line if s.graph == "ring"], PREDICTORS["rho"])).all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = make(tmp_path_factory.mktemp("gaps") / "mine", {
        name: values for name, values in ACCURACY.items() if len(values) == 6})
    effective = {"D_complete": 8.0, "D_ring": 4.0, "D_torus": 6.0}
    for path in folder.glob("*.h5"):
        with h5py.File(path, "r+") as file:
            certificate = {"rho": 0.5, "effective_neighbours": {
                "gamma": 0.951, "value": effective.get(path.name.split("-")[0])}}
            file["graphs"].attrs["certificate"] = json.dumps(certificate)
    return folder


def test_settings_of_runs(folder):
    found = gap.settings(study(folder, open_runs([str(folder)])), "accuracy_mean_model")
    assert [s.graph for s in found] == ["D_complete", "D_ring", "D_torus"]
    ring = found[1]
    assert ring.gap == pytest.approx(np.mean(ACCURACY["C_complete"] - ACCURACY["D_ring"]))
    assert (ring.lr, ring.effective, ring.rho) == pytest.approx((0.1, 4.0, 0.5))
    assert PREDICTORS["effective neighbours"](ring) == pytest.approx(1 / 4 - 1 / ring.replicas)
    assert PREDICTORS[MODEL](ring) == pytest.approx(
        0.1 / ring.batch * (1 / 4 - 1 / ring.replicas))


@pytest.mark.usefixtures("blank_figures")
def test_a_graph_with_lost_runs_has_no_gap(folder, tmp_path, capsys):
    other = tmp_path / "lost"
    shutil.copytree(folder, other)
    with h5py.File(other / "D_ring-s2.h5", "r+") as file:
        file.attrs["status"] = "failed"
    with h5py.File(other / "D_torus-s2.h5", "r+") as file:
        file["evaluations/mean_accuracy"][-1] = np.nan
    one = study(other, open_runs([str(other)]))
    metric = "accuracy_mean_model"
    assert [s.graph for s in gap.settings(one, metric)] == ["D_complete"]
    assert gap.lost(one, metric) == ["D_ring (lost, all)", "D_torus (lost, all)"]
    target = tmp_path / "page"
    assert main(["gap", str(folder), str(other), "--metric", metric, "-o", str(target)]) == 0
    said = "2 settings left out, because a run of the graph or of all-reduce is not complete"
    assert said in capsys.readouterr().out
    assert said in " ".join((target / "results.md").read_text().split())
    assert main(["gap", str(other), "--metric", metric]) == 2
    assert "2 settings left out" in capsys.readouterr().err


def test_the_command_writes_the_table_and_the_page(folder, tmp_path, capsys):
    other = make(tmp_path / "other", {"C_complete": ACCURACY["C_complete"],
                                      "D_ring": ACCURACY["D_ring"]})
    for path in other.glob("*.h5"):
        with h5py.File(path, "r+") as file:
            file["graphs"].attrs["certificate"] = json.dumps(
                {"rho": 0.5, "effective_neighbours": {"gamma": 0.951, "value": 3.0}})
    target = tmp_path / "page"
    assert main(["gap", str(folder), str(other), "--metric", "accuracy_mean_model", "-o",
                 str(target)]) == 0
    said = capsys.readouterr().out
    assert "effective neighbours" in said and str(target / "results.md") in said
    with open(target / "gaps.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["graph"] for row in rows] == ["D_complete", "D_ring", "D_torus", "D_ring"]
    assert float(rows[1]["predicted from rho"]) == pytest.approx(
        np.mean([float(rows[0]["gap"]), float(rows[2]["gap"])]), abs=1e-9)  # rho is constant here
    assert all(float(row["degree"]) == -float(row["predictor degree"]) > 0 for row in rows)
    page = (target / "results.md").read_text()
    assert "4 settings" in page and "| rho |" in page and (target / "gap.png").stat().st_size > 1000


@pytest.mark.usefixtures("blank_figures")
def test_two_folders_of_one_name_are_two_studies(folder, tmp_path):
    other = tmp_path / "elsewhere" / folder.name
    shutil.copytree(folder, other)
    for path in other.glob("*.h5"):
        with h5py.File(path, "r+") as file:
            file["evaluations/mean_accuracy"][-1] += 0.1 if "ring" in path.name else 0
    target = tmp_path / "page"
    assert main(["gap", str(folder), str(other), str(folder), "--metric", "accuracy_mean_model",
                 "-o", str(target)]) == 0
    with open(target / "gaps.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["study"] for row in rows] == 3 * [str(folder)] + 3 * [str(other)]
    (folder / "cut.h5").write_text("not a result")
    assert main(["gap", str(folder), str(other), "--metric", "accuracy_mean_model"]) == 1
    (folder / "cut.h5").unlink()
    # The correlations are those of the same two studies under different names.
    renamed = other.rename(tmp_path / "other")
    assert main(["gap", str(folder), str(renamed), "--metric", "accuracy_mean_model", "-o",
                 str(tmp_path / "again")]) == 0
    first, again = ((tmp_path / place / "results.md").read_text().split("|", 1)[1]
                    for place in ("page", "again"))
    assert first == again


def test_a_graph_has_one_name_in_all_studies(tmp_path):
    """Alone each study calls its graph D_ring, because nothing else in it has that name."""
    studies = []
    for lazy in (1, 0.5):
        folder = make(tmp_path / f"lazy-{lazy}", {"D_ring": ACCURACY["D_ring"][:2]},
                      spec={"graph": {"type": "ring", "lazy": lazy}})
        studies.append(study(folder, open_runs([str(folder)])))
    assert studies[0].labels == studies[1].labels == ["D_ring"] * 2
    assert [one.labels for one in of_equal_names(studies)] == [
        ["D_ring"] * 2, ["D_ring, lazy=0.5"] * 2]


def test_rates_of_a_graph_are_held_out_together():
    line = made_up(lambda s: 2 * s.rho + 1)
    rates = [replace(s, graph=f"ring, lr={i}") for i, s in enumerate(line) if s.graph == "ring"]
    assert np.isnan(gap.held_out(rates, PREDICTORS["rho"])).all()


def test_too_few_settings_are_refused(folder, capsys):
    assert main(["gap", str(folder)]) == 2
    assert "at least 4 are needed" in capsys.readouterr().err
    assert main(["gap", str(folder), "--metric", "degree"]) == 2
    assert "neither better high nor better low" in capsys.readouterr().err
    assert main(["gap", str(folder / "C_complete-s1.h5")]) == 2
    assert "is not a folder" in capsys.readouterr().err
