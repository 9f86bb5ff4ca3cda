"""Tests `dbench-analyze clusters`: iterations to a target, times on predicted clusters, errors."""

import json
import shutil

import h5py
import numpy as np
import pytest
from dbench_analysis.cli import main
from dbench_analysis.selection.opening import open_runs
from dbench_analysis.studies import clusters
from dbench_analysis.studies.runs import study
from test_publish import make


def prediction(path, ranks=8, **steps):
    """Write what `dbench predict --json` prints, with these mean step times."""
    named = {"all_reduce": ("all-reduce", "centralized")}
    graphs = [dict(zip(("name", "order"), named.get(name, (name, "adapt_then_combine"))),
                   step_time_mean=value) for name, value in steps.items()]
    path.write_text(json.dumps({"ranks": ranks, "graphs": graphs}))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of two seeds. All-reduce reaches 0.8 at the evaluations 2 and 3, the ring at 1 and 2,
    the torus in one seed only."""
    folder = make(tmp_path_factory.mktemp("time") / "mine",
                  {"C_complete": [0.9, 0.9], "D_ring": [0.9, 0.9], "D_torus": [0.9, 0.9]})
    first = {"C_complete-s1": 2, "C_complete-s2": 3, "D_ring-s1": 1, "D_ring-s2": 2,
             "D_torus-s1": 1, "D_torus-s2": None}
    for path in folder.glob("*.h5"):
        with h5py.File(path, "r+") as file:
            values = file["evaluations/mean_accuracy"]
            at = first[path.stem]
            values[:] = np.where(np.arange(len(values)) >= (len(values) if at is None else at),
                                 0.85, 0.5).astype(values.dtype)
    return folder


def evaluated(folder):
    with h5py.File(next(folder.glob("*.h5"))) as file:
        return file["evaluations/iteration"][:]


def test_times_are_iterations_times_the_predicted_step(folder, tmp_path):
    at = evaluated(folder)
    runs = open_runs([str(folder)])
    slow = clusters.cluster(prediction(tmp_path / "slow.json", runs[0].replicas, all_reduce=0.5,
                                       ring=2.0, torus=1.0))
    other = clusters.cluster(prediction(tmp_path / "other.json", 1000, ring=1.0))
    found = {one.method: one for one in
             clusters.reached(study(folder, runs), [slow, other], "accuracy", 0.8)}
    assert found["C_complete"].iterations == [at[2], at[3]]
    assert found["C_complete"].seconds == {"slow": pytest.approx(0.5 * (at[2] + at[3]) / 2)}
    assert found["D_ring"].seconds == {"slow": pytest.approx(2.0 * (at[1] + at[2]) / 2)}
    # A seed that does not reach the target leaves the method without a time.
    assert found["D_torus"].iterations == [at[1], None] and found["D_torus"].seconds == {}
    assert np.isnan(found["D_torus"].mean)
    best = clusters.fastest(list(found.values()), "slow")
    assert best is min((found["C_complete"], found["D_ring"]), key=lambda one: one.seconds["slow"])
    assert clusters.fastest(list(found.values()), "other") is None


def test_a_run_that_is_not_complete_did_not_reach_the_target(folder, tmp_path, capsys):
    other = tmp_path / "lost"
    shutil.copytree(folder, other)
    with h5py.File(other / "D_ring-s1.h5", "r+") as file:
        file.attrs["status"] = "failed"
    replicas = open_runs([str(folder)])[0].replicas
    step = prediction(tmp_path / "step.json", replicas, all_reduce=10, ring=1.0)
    words = ["clusters", str(other), "--prediction", str(step), "--target", "80%"]
    assert main([*words, "--markdown"]) == 0
    table = capsys.readouterr().out
    assert "| D_ring | 1 of 2 (1 lost) | - | - |" in table and "*" in next(
        line for line in table.splitlines() if "C_complete" in line)
    assert main(words) == 0
    assert "1 seed lost, whose run is not complete" in capsys.readouterr().out


def test_a_seed_that_occurs_twice_is_an_error(folder, tmp_path, capsys):
    other = tmp_path / "twice"
    shutil.copytree(folder, other)
    shutil.copy(other / "D_ring-s1.h5", other / "again.h5")
    step = prediction(tmp_path / "step.json", open_runs([str(folder)])[0].replicas, ring=1.0)
    assert main(["clusters", str(other), "--prediction", str(step), "--target", "0.8"]) == 2
    assert "seed 1 occurs twice" in capsys.readouterr().err


@pytest.mark.parametrize("changed, pointer", [
    ({"model": {"type": "mlp"}}, "/model/type: resnet20, mlp"),
    ({"algorithm": {"type": "local_sgd", "period": 4}, "graph": {"type": "ring"},
      "implementation": None}, "/algorithm/type: dsgd, local_sgd"),
    ({"message": "bfloat16"}, "/message: float32, bfloat16"),
    ({"data": {"type": "cifar10", "batch_size": 7}}, "/data/batch_size: "),
])
def test_a_prediction_is_that_of_one_spec(tmp_path, capsys, changed, pointer):
    """Seed 1 of the ring has another spec; the runs of all-reduce are no reason to refuse."""
    base = {"model": {"type": "resnet20"}}
    one = make(tmp_path / "one", {"C_complete": [0.9], "D_torus": [0.9]}, spec=base)
    other = make(tmp_path / "other", {"D_ring": [0.9]}, spec={**base, **changed})
    replicas = open_runs([str(one)])[0].replicas
    step = prediction(tmp_path / "step.json", replicas, all_reduce=1.0, ring=1.0, torus=1.0)
    words = ["--prediction", str(step), "--target", "0.8"]
    assert main(["clusters", str(one), str(other), *words]) == 2
    told = capsys.readouterr().err
    assert f"--prediction step: the runs differ in {pointer}" in told and "--where" in told
    assert main(["clusters", str(one), *words]) == 0
    # A prediction without the graph of the other runs is not used for them.
    step = prediction(tmp_path / "step.json", replicas, all_reduce=1.0, torus=1.0)
    assert main(["clusters", str(one), str(other), *words]) == 0


def test_graphs_with_keys_have_predictions_of_their_own(folder, tmp_path):
    runs = {run.spec["implementation"]: run for run in open_runs([str(folder)])}
    ring = runs["D_ring"]
    path = prediction(tmp_path / "keys.json", ring.replicas, ring=1.0,
                      **{"ring:lazy=0.5": 2.0, "ring:lazy=0.25": 3.0})
    found = clusters.cluster(path)
    ring.spec["implementation"] = None
    for graph, seconds in (("ring", 1.0), ({"type": "ring", "lazy": 0}, 1.0),
                           ({"type": "ring", "lazy": 0.5}, 2.0),
                           ({"type": "ring", "lazy": 0.25}, 3.0), ("torus", None)):
        ring.spec["graph"] = graph
        assert found.seconds(ring) == seconds


def test_the_command_marks_the_fastest(folder, tmp_path, capsys):
    replicas = open_runs([str(folder)])[0].replicas
    ring = prediction(tmp_path / "ring.json", replicas, all_reduce=10, ring=1.0)
    reduce = prediction(tmp_path / "reduce.json", replicas, all_reduce=0.1, ring=1.0)
    words = ["clusters", str(folder), "--prediction", str(ring), str(reduce), "--target", "80%"]
    assert main([*words, "--markdown"]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    head, table = rows[0], {row[1]: row for row in rows[2:]}
    assert head[-2:] == ["ring", "reduce |"]
    assert table["D_ring"][4].endswith("*") and "*" not in table["D_ring"][5]
    assert "*" in table["C_complete"][5] and table["D_torus"][2:4] == ["1 of 2", "-"]
    assert main(words) == 0
    assert "1 method with a seed that did not reach 80%" in capsys.readouterr().out


def test_each_of_several_studies_has_its_own_fastest(folder, tmp_path, capsys):
    other = make(tmp_path / "other", {"C_complete": [0.9, 0.9], "D_ring": [0.9, 0.9]})
    replicas = open_runs([str(folder)])[0].replicas
    ring = prediction(tmp_path / "ring.json", replicas, all_reduce=10, ring=1.0)
    assert main(["clusters", str(folder), str(other), "--prediction", str(ring), "--target", "0.8",
                 "--markdown"]) == 0
    head, _, *rows = [line.strip("| ").split(" | ")
                      for line in capsys.readouterr().out.splitlines()]
    assert head[:3] == ["study", "cell", "method"]
    assert [(row[0], row[2]) for row in rows if row[-1].endswith("*")] == [
        (str(folder), "D_ring"), (str(other), "D_ring")]


@pytest.mark.parametrize("more", [[], ["--markdown"]])
def test_a_note_says_if_runs_of_a_cell_were_evaluated_at_different_intervals(tmp_path, capsys,
                                                                             more):
    named = {}
    for name, epochs in (("same", 1), ("mixed", 2)):
        named[name] = tmp_path / name
        make(named[name], {"D_ring": [0.9]}, spec={"evaluate": {"every": {"epochs": 1}}})
        make(named[name], {"C_complete": [0.9]}, spec={"evaluate": {"every": {"epochs": epochs}}})
    replicas = open_runs([str(tmp_path / "same")])[0].replicas
    file = prediction(tmp_path / "ring.json", replicas, ring=1.0)
    for folders, said in ((["same"], 0), (["same", "mixed"], 1)):
        assert main(["clusters", *(str(named[name]) for name in folders), "--prediction", str(file),
                     "--target", "0.8", *more]) == 0
        assert capsys.readouterr().out.count("Runs differ in /evaluate/every: rarer") == said


def test_refusals(folder, tmp_path, capsys):
    def refused(*words):
        assert main(["clusters", str(folder), *words]) == 2
        return capsys.readouterr().err

    good = str(prediction(tmp_path / "good.json", 1000, ring=1.0))
    assert "none has as many ranks" in refused("--prediction", good, "--target", "0.8")
    assert "is not a number" in refused("--prediction", good, "--target", "much")
    assert "such as 0.8 or 80%" in refused("--prediction", good, "--target", "80")
    assert "cannot be read" in refused("--prediction", str(tmp_path / "no.json"), "--target", "1")
    (tmp_path / "text.json").write_text("[1]")
    assert "is not a prediction" in refused("--prediction", str(tmp_path / "text.json"),
                                            "--target", "1")
    assert "same name" in refused("--prediction", good, good, "--target", "1")
