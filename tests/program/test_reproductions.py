"""`dbench-analyze reproduce` on published tables: definitions, runs that are kept, verdicts.

The tables are invented and have two cells. test_relaysgd.py runs a real one.
"""

import copy
import dataclasses
import importlib.util
import json
import shutil

import numpy as np
import pytest
from conftest import ROOT
from dbench_analysis.cli import main
from dbench_analysis.reproduction import definition
from dbench_analysis.reproduction.running import Place, identity

SCRIPT = """import json, pathlib, sys
import numpy as np
folder = pathlib.Path(sys.argv[1])
rows = np.random.default_rng(0).standard_normal((32, 2))
np.savez(folder / "rows.npz", x=rows, y=rows @ [1.0, 2.0])
(folder / "values.json").write_text(json.dumps({"lowest": 0.0}))
(folder / "made").touch()
"""
TABLE = {
    "title": "An invented table", "unit": "iterations", "script": "rows.py",
    "source": {"paper": "none", "code": "none", "commit": "none", "place": "none", "seeds": "none",
               "number": "The first iteration below 0.05."},
    "base": {"replicas": 4, "model": "least_squares", "precision": "float64", "init": "zeros",
             "algorithm": "dsgd", "graph": "ring", "optimizer": {"type": "sgd", "lr": 0.1},
             "data": {"type": "npz", "train": "{data}/rows.npz", "test": "{data}/rows.npz",
                      "batch_size": 8, "partition": "contiguous"},
             "length": {"iterations": 60},
             "evaluate": {"every": {"iterations": 1}, "replicas": 1},
             "profile": {"norms": False, "variance": "off"}},
    "metrics": {"first": {"type": "below", "column": "mean_loss", "minus": "lowest",
                          "threshold": 0.05}},
    "tolerance": {"value": 0, "reason": "nothing is random"},
    "assumptions": ["It is invented."],
    "cost": {"core_seconds": 0.001, "flop": 1000, "how": "a guess"},
    "cells": [{"cell": "slow", "published": 20, "metric": "first"},
              {"cell": "fast", "published": 3, "metric": "first", "set": {"/optimizer/lr": 0.6}}],
}


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Return a function that writes a table, changed by a function, as the reproduction `mine`."""
    monkeypatch.setenv("DBENCH_REPRODUCTIONS", str(tmp_path / "tables"))
    monkeypatch.chdir(tmp_path)

    def write(change=lambda given: None):
        folder = tmp_path / "tables" / "mine"
        folder.mkdir(parents=True, exist_ok=True)
        given = copy.deepcopy(TABLE)
        change(given)
        (folder / "reproduction.json").write_text(json.dumps(given))
        (folder / "rows.py").write_text(SCRIPT)

    write()
    return write


@pytest.fixture
def ask(capfd):
    """Return a function that runs the command and returns (status, parsed output, errors)."""
    def run(*words):
        capfd.readouterr()
        status = main(["reproduce", "mine", "--folder", "runs", "--json", *words])
        out, errors = capfd.readouterr()
        return status, json.loads(out) if out else None, errors

    return run


def verdicts(found):
    return [cell["verdict"] for cell in found["cells"]]


def publish(given, *numbers):
    for cell, number in zip(given["cells"], numbers):
        cell["published"] = number


def test_runs_are_made_once_and_judged(table, ask, tmp_path, capfd):
    status, found, _ = ask()
    assert status == 0 and verdicts(found) == ["not run", "not run"]
    status, found, told = ask("--run")
    ours = [cell["ours"] for cell in found["cells"]]
    assert "1 of 2: slow done" in told and ours[0] > ours[1] > 1
    assert found["name"] == "mine" and found["assumptions"] == ["It is invented."]
    assert set(found["cells"][0]) >= {"cell", "published", "ours", "verdict", "why"}

    table(lambda given: publish(given, ours[0], ours[1] + 1))
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*.h5")}
    status, found, told = ask("--run")
    assert status == 1 and verdicts(found) == ["reproduced", "not reproduced"]
    assert "differs by -1, tolerance 0" in found["cells"][1]["why"] and not told
    assert before == {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*.h5")}
    assert {"mine.md", "mine.png", "mine.csv"} <= {path.name for path in tmp_path.glob("runs/*")}
    page = (tmp_path / "runs" / "mine.md").read_text()
    assert "1 of 2 reproduced, 1 of 2 not reproduced" in page and "It is invented." in page

    next(tmp_path.glob("runs/slow-*.h5")).unlink()
    _, _, told = ask("--run")  # an interrupted table: only the missing run is made
    assert "1 of 1: slow done" in told
    assert main(["reproduce", "mine", "--folder", "runs", "--format", "latex"]) == 1
    assert r"\toprule" in capfd.readouterr().out


def test_results_may_be_moved(table, ask, tmp_path):
    ask("--run")
    shutil.move(tmp_path / "runs", tmp_path / "elsewhere")
    _, found, told = ask("--run", "--folder", "elsewhere")
    assert "not run" not in verdicts(found) and "done" not in told


def test_a_run_of_another_spec_does_not_count(table, ask):
    ask("--run")

    def change(given):
        given["cells"][1]["set"]["/optimizer/momentum"] = 0.5
    table(change)
    status, found, _ = ask()
    assert verdicts(found)[1] == "not run" != verdicts(found)[0]
    assert found["cells"][1]["why"] == "no complete run of this spec"
    _, found, told = ask("--run")
    assert "1 of 1: fast done" in told and "not run" not in verdicts(found)


def test_other_data_need_other_runs(table, ask, tmp_path):
    ask("--run")
    path = tmp_path / "tables" / "mine" / "rows.py"
    path.write_text(SCRIPT.replace("[1.0, 2.0]", "[1.0, 3.0]"))
    assert verdicts(ask()[1]) == ["not run", "not run"]


def test_another_network_needs_another_run():
    """A resumed run may find its exported model in another folder (`free`). Which file it is tells
    cells apart."""
    def of(path):
        return identity({"model": {"type": "exported", "path": path}, "seed": 1}, ["/model/path"])

    made = "/home/a/results/data-0123456789ab/"
    assert of(made + "a.pt2") == of("/tmp/b/data-0123456789ab/a.pt2")
    assert of("/home/a/table/a.pt2") == of("/tmp/b/table/a.pt2")
    assert len({of(made + "a.pt2"), of(made + "b.pt2"), of("/tmp/data-aaaaaaaaaaaa/a.pt2"),
                of("/tmp/a.pt2"), of("/tmp/b.pt2")}) == 5


def test_seeds(table, ask):
    def change(given):
        given["seeds"] = [1, 2]
        given["base"]["init"] = "same"
        given["base"]["data"] = {"type": "regression", "samples": 16, "dimension": 4,
                                 "batch_size": 8}
        given["tolerance"]["value"] = 0.2
        given["metrics"]["last"] = {"type": "evaluation", "column": "mean_loss"}
        given["cells"] = [{"cell": "loss", "published": 0, "metric": "last"}]
        del given["script"]
    table(change)
    _, found, told = ask("--run")
    assert told.count(" done in ") == 2 and set(found["cells"][0]["runs"]) == {"1", "2"}
    _, found, told = ask("--run", "--seeds", "4")
    assert told.count(" done in ") == 2 and set(found["cells"][0]["runs"]) == {"1", "2", "3", "4"}
    assert set(ask()[1]["cells"][0]["runs"]) == {"1", "2", "3", "4"}


def beside(given):
    """Add a cell that the source does not have, beside `fast`."""
    given["cells"].append({"cell": "other", "published": None, "metric": "first",
                           "set": {"/optimizer/lr": 0.7},
                           "beside": {"cell": "fast", "reason": "lr is 0.7"}})


def test_an_experiment_of_ours_is_shown_and_not_judged(table, ask, tmp_path, capfd):
    table(beside)
    assert verdicts(ask()[1]) == ["not run"] * 3
    _, found, _ = ask("--run")
    fast, other = found["cells"][1:]
    assert other["verdict"] == "not judged" and other["published"] is None
    assert f"lr is 0.7; the source has 3 iterations for fast; ours differs from our fast by " \
        f"{other['ours'] - fast['ours']:+.3g}" in other["why"]
    page = " ".join((tmp_path / "runs" / "mine.md").read_text().split())
    assert "1 of 3 not judged" in page and "that the source did not make" in page

    def published(given):
        beside(given)
        publish(given, *(cell["ours"] for cell in found["cells"][:2]))
    table(published)  # a cell that is not judged changes no status
    status, found, _ = ask()
    assert status == 0 and verdicts(found) == ["reproduced", "reproduced", "not judged"]


@pytest.mark.parametrize("change, place, why", [
    (lambda cell: cell.update(published=3), "/published", "is not published"),
    (lambda cell: cell.update(seeds={"1": 3}), "/published", "is not published"),
    (lambda cell: cell["beside"].update(cell="other"), "/beside/cell", "no published cell"),
    (lambda cell: cell["beside"].pop("reason"), "/beside/reason", "missing"),
])
def test_a_wrong_experiment_of_ours_names_its_key(table, ask, change, place, why):
    def changed(given):
        beside(given)
        change(given["cells"][2])
    table(changed)
    status, _, told = ask()
    assert status == 2 and f"/cells/2{place}: " in told and why in told


def test_cells_that_cannot_be_run_say_why(table, ask):
    def change(given):
        given["cells"][0]["lacks"] = ["the optimizer of the future"]
        given["cells"][1]["set"]["/optimizer/lr"] = "fast"
    table(change)
    status, found, _ = ask("--run")
    assert status == 0 and verdicts(found) == ["not run", "not run"]
    assert found["cells"][0]["why"] == "dbench lacks the optimizer of the future"
    assert "/optimizer/lr" in found["cells"][1]["why"]


def test_other_data_stand_in_and_are_not_compared(table, ask):
    def change(given):
        for cell in given["cells"]:
            cell.setdefault("set", {})["/data/train"] = "nowhere.npz"
        given["cells"].append({"cell": "third", "published": 1, "metric": "first",
                               "lacks": ["a feature"]})
        given["stand_in"] = {"reason": "with rows that are here",
                             "set": {"/data/train": "{data}/rows.npz"}}
    table(change)
    status, found, told = ask("--run")
    assert status == 0 and verdicts(found) == ["not run"] * 3
    assert told.count(" done in ") == 3 and "nowhere.npz" in found["cells"][0]["why"]
    assert "dbench lacks a feature; with rows that are here" in found["cells"][2]["why"]
    assert "with rows that are here" in found["cells"][0]["why"]
    assert found["cells"][0]["ours"] is None and "which is not compared" in found["cells"][1]["why"]
    assert "done in" not in ask("--run")[2]


def test_the_plan_shows_runs_and_cost(table, ask, capfd):
    def change(given):
        given["cells"].append({"cell": "third", "published": 1, "metric": "first",
                               "lacks": ["a feature"]})
    table(change)
    assert main(["reproduce", "mine", "--plan", "--folder", "runs"]) == 0
    told = capfd.readouterr().out
    assert "2 runs, 2 to do" in told and "one core: about 120 ms" in told
    assert "not possible yet: third: dbench lacks a feature" in told and "H200" in told
    ask("--run")
    assert main(["reproduce", "mine", "--plan", "--folder", "runs"]) == 0
    assert "2 runs, 0 to do" in capfd.readouterr().out


def with_reduced(given):
    """Give the table a reduced form with two seeds."""
    given["base"]["init"] = "same"
    given["reduced"] = {
        "reason": "one quarter of the iterations", "set": {"/length": {"iterations": 15}},
        "seeds": [1, 2], "cost": {"flop": 10, "how": "a smaller guess"},
        "cells": [{"cell": "slow"}, {"cell": "fast", "set": {"/optimizer/lr": 0.5}}],
        "orders": [{"above": "slow", "below": "fast"}]}


def test_a_reduced_form_compares_the_order_alone(table, ask, tmp_path, capfd):
    """The metric counts iterations, and `slow` needs more of them than `fast`."""
    table(with_reduced)
    status, found, _ = ask("--reduced")
    assert status == 0 and verdicts(found) == ["not run"]
    status, found, told = ask("--reduced", "--run")
    assert told.count(" done in ") == 4 and found["name"] == "mine-reduced"
    cell, = found["cells"]
    assert cell["cell"] == "reduced: slow above fast" and cell["published"] == 17
    assert cell["verdict"] == "undecided" and "no finite number" in cell["why"]  # slow: never below
    assert found["assumptions"][0].startswith("REDUCED: one quarter of the iterations.")

    def longer(given):
        with_reduced(given)
        given["reduced"]["set"]["/length"] = {"iterations": 59}
    table(longer)
    status, found, told = ask("--reduced", "--run")
    assert told.count(" done in ") == 4 and found["cells"][0]["verdict"] == "reproduced"
    assert found["cells"][0]["ours"] > 0 and " against " in found["cells"][0]["why"]
    page = " ".join((tmp_path / "runs" / "mine-reduced.md").read_text().split())
    assert "reproduce mine --reduced --run" in page and "(reduced: the order alone)" in page
    assert "The size of the difference is not compared." in page and "Tolerances" not in page
    assert main(["reproduce", "mine", "--reduced", "--plan", "--folder", "runs"]) == 0
    assert "4 runs, 0 to do" in capfd.readouterr().out


def test_the_script_gets_the_tables_name_for_its_reduced_form(table, tmp_path, capfd):
    """One script may serve several tables, which it tells apart by their names."""
    table(with_reduced)
    path = tmp_path / "tables" / "mine" / "rows.py"
    path.write_text(SCRIPT + "assert sys.argv[2] == 'mine', sys.argv\n")
    assert main(["reproduce", "mine", "--reduced", "--plan", "--folder", "runs"]) == 0
    assert "4 runs, 4 to do" in capfd.readouterr().out


def test_a_table_without_a_reduced_form_says_so(table, ask):
    status, _, told = ask("--reduced")
    assert status == 2 and "has no reduced form" in told


def test_a_wrong_reduced_form_names_its_key(table, ask):
    for change, place, why in (
            (lambda r: r["cells"][0].update(cell="none"), "/cells/0/cell", "no cell 'none'"),
            (lambda r: r["cells"].append({"cell": "slow"}), "/cells/2/cell", "there twice"),
            (lambda r: r["orders"][0].update(above="x"), "/orders/0/above", "/reduced/cells"),
            (lambda r: r["orders"][0].update(above="fast", below="slow"), "/orders/0",
             "another order"),
            (lambda r: r.pop("reason"), "/reason", "missing")):
        def changed(given, change=change):
            with_reduced(given)
            change(given["reduced"])
        table(changed)
        status, _, told = ask()
        assert status == 2 and f"/reduced{place}: " in told and why in told


def test_a_script_without_its_input_leaves_cells_not_run(table, ask, tmp_path, capfd):
    path = tmp_path / "tables" / "mine" / "rows.py"
    path.write_text("import sys\nprint('no rows in the drawer', file=sys.stderr)\nsys.exit(3)\n")
    status, found, _ = ask("--run")
    assert status == 0 and verdicts(found) == ["not run"] * 2
    assert found["cells"][0]["why"] == "data are missing: no rows in the drawer"
    assert main(["reproduce", "mine", "--plan", "--folder", "runs"]) == 0
    told = capfd.readouterr().out
    assert told.count("no rows in the drawer") == 1 and "refused, 2 runs: " in told
    assert "leaves out 2 runs of unknown length" in told and "one core" not in told
    path.write_text(SCRIPT)
    assert "not run" not in verdicts(ask("--run")[1])


def test_a_cell_may_have_a_cost_of_its_own(table, capfd):
    table(lambda given: given["cells"][1].update(
        cost={"core_seconds": 1, "how": "another guess"}))
    assert main(["reproduce", "mine", "--plan", "--folder", "runs"]) == 0
    told = capfd.readouterr().out
    assert "one core: about 60" in told and "basis: a guess\nbasis: another guess" in told
    assert "NVIDIA" not in told, "the cost of the second cell on a GPU is not known"


NAMES = [path.parent.name for path in sorted(ROOT.glob("configs/reproduce/*/reproduction.json"))]


@pytest.mark.parametrize("name", NAMES)
def test_the_program_accepts_each_spec_of_the_project(name, tmp_path):
    """Each spec passes `dbench check`, unless its data are missing; also in the reduced form. The
    specs of a cell differ only in their seeds, so that the first is enough: a check reads the
    data, which takes half a second for CIFAR-10."""
    table = definition.read(ROOT / "configs" / "reproduce" / name)
    for what in [table, *([definition.reduced(table)] if "reduced" in table.given else [])]:
        place = Place(dataclasses.replace(what, seeds=what.seeds[:1]), tmp_path / what.name)
        place.prepare()
        planned = place.planned()
        known = [run.identity for run in planned if run.identity]
        assert len(set(known)) == len(known), "a run would count for two cells"
        for run in planned:
            lacking = run.error.startswith(("data are missing: ", "/data/root: ")) or any(
                words in run.error for words in ("DBENCH_DATA", "cannot be read"))
            assert not run.error or lacking, f"{run.name}: {run.error}"
            assert run.error or run.iterations > 0


@pytest.mark.parametrize("change, place, why", [
    (lambda g: g.update(name=1), "/name", "unknown key"),
    (lambda g: g.pop("source"), "/source", "missing"),
    (lambda g: g["source"].pop("commit"), "/source/commit", "missing"),
    (lambda g: g["cells"][1].update(published="3"), "/cells/1/published", "not a number"),
    (lambda g: g["cells"][1].update(metric="last"), "/cells/1/metric", "no metric 'last'"),
    (lambda g: g["cells"][1].update(cell="Slow"), "/cells/1/cell", "nearly this name"),
    (lambda g: g["cells"][0].update(seeds={"one": 3}), "/cells/0/seeds", "numbers by seed"),
    (lambda g: g["cells"][0].update(set={"lr": 3}), "/cells/0/set", "by JSON pointer"),
    (lambda g: g["tolerance"].update(value=-1), "/tolerance/value", "not a number from 0"),
    (lambda g: g["metrics"]["first"].update(type="last"), "/metrics/first/type", "no such metric"),
    (lambda g: g["metrics"]["first"].pop("threshold"), "/metrics/first/threshold", "missing"),
    (lambda g: g.update(script="none.py"), "/script", "no file none.py"),
    (lambda g: g.update(seeds=[1, 1]), "/seeds", "different whole numbers"),
])
def test_a_wrong_definition_names_its_key(table, ask, change, place, why):
    table(change)
    status, found, told = ask()
    assert status == 2 and found is None
    assert f"reproduction.json: {place}: " in told and why in told


def test_each_definition_of_the_project_is_valid(capsys):
    names = [path.parent.name for path in sorted(ROOT.glob("configs/reproduce/*/*.json"))]
    assert names and names == list(definition.found())
    assert main(["reproduce", "--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == ["dbench", "ada", "promise", *names]
    for name in names:
        assert definition.read(ROOT / "configs" / "reproduce" / name).cells


def test_the_split_of_momentum_tracking():
    """The first numbers are those that torch.randperm(10) gives after torch.manual_seed(0)."""
    split = script("momentum-tracking", "split")
    assert split.permutation(10, 0) == [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]
    label = np.arange(split.IMAGES, dtype=np.uint8) % 10
    held_out = split.permutation(split.IMAGES, 0)[split.IMAGES - split.HELD_OUT:]
    for classes in split.CLASSES.values():
        lists = split.split(classes, label)
        assert len(lists) == 8 and len(set(map(len, lists))) == 1
        for mine, wanted in zip(lists, classes):
            assert set(label[mine]) == set(wanted)
        together = np.concatenate(lists)
        assert len(set(together)) == len(together) and not set(together) & set(held_out)


def script(name, file):
    """Import a script of a table."""
    found = importlib.util.spec_from_file_location(
        file, ROOT / "configs" / "reproduce" / name / f"{file}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_graphs_of_equitopo():
    """The offsets are those that the source's own functions draw, in NumPy 2.4: DEquiStatic(17,
    seed=106, M=4), and the first rounds of default_rng(42)."""
    prepare = script("equitopo-mnist", "prepare")
    n, kept = 17, 0.53 * 16 / 17
    assert list(prepare.offsets()) == [15, 11, 8, 10]
    graphs = prepare.graphs()
    for matrices in graphs.values():
        for axis in (-1, -2):
            np.testing.assert_allclose(matrices.sum(axis), 1, atol=1e-12)
    static = graphs["d-equistatic"]
    for i in range(n):  # replica i sends to i + offset
        np.testing.assert_allclose(static[(i + np.array([15, 11, 8, 10])) % n, i], 4 / 17)
        assert np.isclose(static[i, i], 1 / 17)
    np.testing.assert_allclose(graphs["u-equistatic"], (static + static.T) / 2)
    assert graphs["od-equidyn"].shape == graphs["ou-equidyn"].shape == (1120, n, n)
    for offset, matrix in zip([2, 13, 11, 8, 7, 14, 2, 12, 4, 2], graphs["od-equidyn"]):
        np.testing.assert_allclose(matrix[(np.arange(n) + offset) % n, np.arange(n)], kept)
    for matrix in graphs["ou-equidyn"]:
        np.testing.assert_array_equal(matrix, matrix.T)
        rows, columns = np.nonzero(matrix - np.diag(np.diag(matrix)))
        np.testing.assert_allclose(matrix[rows, columns], kept)
        assert len(set(rows)) == len(rows), "a replica has two partners"
        offset = (columns - rows) % n
        assert len({min(each, n - each) for each in offset}) == 1
        alone = sorted(set(range(n)) - set(rows))
        assert not {(i + offset[0]) % n for i in alone} & set(alone), "two that are free stay alone"


def test_the_networks_of_equitopo_need_pytorch(tmp_path, monkeypatch):
    """The cells are then not run, and the reason says what to set."""
    (tmp_path / "torch.py").write_text("raise ImportError('none here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("DBENCH_TORCH_PYTHON", raising=False)
    what = definition.read(ROOT / "configs" / "reproduce" / "equitopo-mnist")
    for python in (None, tmp_path / "nothing"):
        if python:
            monkeypatch.setenv("DBENCH_TORCH_PYTHON", str(python))
        place = Place(dataclasses.replace(what, seeds=[1]), tmp_path / "runs")
        place.prepare()
        assert place.missing.startswith("data are missing: ")
        assert "DBENCH_TORCH_PYTHON" in place.missing
        assert {run.error for run in place.planned()} == {place.missing}


def test_options_belong_to_their_kind(table, capsys):
    for words, why in ((["ada", "--run"], "leave out --plan"), (["mine", "x.h5"], "give --folder"),
                       (["nothing"], "choose from dbench, ada, promise")):
        assert main(["reproduce", *words]) == 2 and why in capsys.readouterr().err
