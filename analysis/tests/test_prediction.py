"""Tests of predicted step times compared with measured ones, on runs with invented times."""

import json
import re

import h5py
import numpy as np
import pytest
from dbench_analysis.cli import main
from dbench_analysis.quantities import prediction
from dbench_analysis.quantities.prediction import Interval
from dbench_analysis.reading.run import Run


@pytest.fixture
def predicted(make):
    """Return a function that writes a run with a prediction: the quantiles `times` of the step, the
    ends `within` of the interval of its mean, and the `steps` that were measured [iterations,
    ranks]."""
    def writer(name="ring", steps=None, times=(0.8, 1.0, 1.2), within=(0.99, 1.01), changes=None,
               **plan):
        plan = {"graph": "ring", "implementation": "D_ring", **plan}
        path = make(name=name, **plan)
        stored = {
            "assumptions": ["Links are assumed."], "gamma": 0.5, "omega": 0.5, "sigma2": 1e-6,
            "graphs": [{
                "name": plan["graph"] or "all-reduce", "order": "adapt_then_combine",
                "step_time": dict(zip(("p05", "p50", "p95"), times)),
                "step_time_mean": sum(within) / 2, "exchange_exposed": 0.1, "bytes": 1.0,
                "duration": {"p05": 100 * within[0], "p50": 50 * sum(within),
                             "p95": 100 * within[1]}}],
            "fastest": "within noise", "within_noise": ["ring (adapt_then_combine)", "all-reduce"],
            "compute": 0.5, "ranks": 2, "hosts": 1, "iterations": 100, **(changes or {})}
        with h5py.File(path, "r+") as file:
            content = json.dumps(stored).encode()
            file["prediction"] = np.array(content, dtype=f"S{len(content)}")
            if steps is not None:
                file["iterations/step_time"][:] = steps
        return path

    return writer


def steady(mean, iterations=100, ranks=2, first=50.0):
    """Return step times whose quantiles are those of a uniform distribution about the mean, +- 20
    %, in an order without trend; the first is the set-up."""
    each = np.linspace(0.8 * mean, 1.2 * mean, (iterations - 1) * ranks)
    mixed = each[np.argsort(np.random.default_rng(1).random(len(each)))]
    return np.vstack([np.full((1, ranks), first), mixed.reshape(-1, ranks)])


def test_error_and_shares_of_a_run(predicted):
    found = prediction.comparison(Run(predicted(steps=steady(1.25))))
    assert found.steps == 99 * 2  # the first iteration is left out
    assert found.measured.p50 == pytest.approx(1.25) and found.error == pytest.approx(-0.2)
    # The steps are from 1.0 to 1.5: one of 198 is at most 1.0, and two fifths are at most 1.2.
    assert found.below_p50 == pytest.approx(1 / 198)
    assert found.below_p95 == pytest.approx(0.4, abs=0.01)
    right = prediction.comparison(Run(predicted("right", steady(1.0), times=(0.82, 1.0, 1.18))))
    assert abs(right.error) < 1e-9
    assert right.below_p50 == pytest.approx(0.5, abs=0.01)
    assert right.below_p95 == pytest.approx(0.95, abs=0.01)


def test_first_iterations_after_each_start_do_not_count(predicted):
    steps = steady(1.25)
    steps[[40, 70]] = 50.0
    path = predicted(steps=steps)
    with h5py.File(path, "r+") as file:
        file["segments/first_iteration"] = np.array([0, 40, 70])
        for name in "started", "host", "ranks":
            rows = np.repeat(file[f"segments/{name}"][:], 3)
            del file[f"segments/{name}"]
            file[f"segments/{name}"] = rows
    found = prediction.comparison(Run(path))
    assert found.steps == 97 * 2 and found.actual.most < 1.5


@pytest.mark.parametrize("order, planned, counted", [
    ("adapt_then_combine", 100, 99),
    ("combine_while_adapt", 100, 98),   # the last iteration sends nothing for a next one
    ("combine_while_adapt", 200, 99)])  # the run was stopped: it had sent ahead
def test_a_last_iteration_that_sends_nothing_does_not_count(predicted, order, planned, counted):
    path = predicted(steps=steady(1.25))
    with h5py.File(path, "r+") as file:
        stored = json.loads(file["prediction"][()])
        stored["graphs"][0]["order"] = order
        content = json.dumps(stored).encode()
        del file["prediction"]
        file["prediction"] = np.array(content, dtype=f"S{len(content)}")
        file["iterations"].attrs["planned"] = planned
    found = prediction.comparison(Run(path))
    assert found.order == order.replace("_", " ") and found.steps == 2 * counted


def test_times_that_are_not_known_do_not_count(predicted):
    steps = steady(1.25)
    steps[1:40, 1] = np.nan
    found = prediction.comparison(Run(predicted(steps=steps)))
    assert found.steps == 99 * 2 - 39 and np.isfinite(found.error)
    assert np.isfinite([found.actual.least, found.actual.mean, found.actual.most]).all()
    none = prediction.comparison(Run(predicted("none", np.full((100, 2), np.nan))))
    assert none.measured is None and none.actual is None and none.steps == 0


def test_the_interval_of_a_mean():
    flat = prediction.interval(np.full((50, 2), 2.0))
    assert (flat.least, flat.mean, flat.most) == pytest.approx((1.95, 2.0, 2.05))
    # Blocks of five iterations have the means 1, 2, ..., 10.
    found = prediction.interval(np.repeat(np.arange(1.0, 11.0), 5)[:, None])
    half = (np.quantile(range(1, 11), 0.95) - np.quantile(range(1, 11), 0.05)) / 2 / np.sqrt(10)
    assert found.mean == pytest.approx(5.5)
    assert found.least == pytest.approx((5.5 - half) * 0.975)
    assert found.most == pytest.approx((5.5 + half) * 1.025)
    assert prediction.interval(np.empty((0, 3))) is None


def test_the_fastest_and_those_like_it():
    found = {"a": Interval(1.9, 2.0, 2.1), "b": Interval(0.9, 1.0, 1.1),
             "c": Interval(1.05, 1.2, 1.3), "d": Interval(1.15, 1.3, 1.4)}
    assert prediction.fastest(found) == ["b", "c"]


A, B = (0.99, 1.01), (1.99, 2.01)


@pytest.mark.parametrize("within, seen, verdict", [
    ((A, B), (1.0, 2.0), "correct"),
    ((A, B), (1.0, 1.01), "correct"),       # the measurement cannot tell them apart
    ((A, B), (2.0, 1.0), "wrong"),
    (((0.9, 1.1), (0.95, 1.15)), (1.0, 1.01), "within noise"),
    (((0.9, 1.1), (0.95, 1.15)), (2.0, 1.0), "undecided")])
def test_verdicts_on_the_fastest(predicted, within, seen, verdict):
    runs = [Run(predicted(name, steady(time), within=ends, graph=graph, implementation=kind))
            for name, time, ends, graph, kind in zip(
                "ab", seen, within, ("ring", None), ("D_ring", "C_complete"))]
    (group,) = prediction.groups([prediction.comparison(run) for run in runs])
    assert group.verdict == verdict
    loss = {"wrong": 1.0, "undecided": 1.0}.get(verdict, 0.0)
    assert group.loss == pytest.approx(loss)


def test_groups_differ_in_graph_and_algorithm_only(predicted):
    def of(name, **plan):
        return prediction.comparison(Run(predicted(name, **plan)))

    ring, torus = of("ring"), of("torus", graph="torus", implementation="D_torus")
    assert len(prediction.groups([ring, torus])) == 1
    assert prediction.groups([ring, of("again")]) == []
    assert prediction.groups([ring, of("more", replicas=16, graph="torus",
                                       implementation="D_torus")]) == []
    assert prediction.groups([ring, of("hosts", changes={"hosts": 2}, graph="torus",
                                       implementation="D_torus")]) == []
    (group,) = prediction.groups([ring, torus, of("again")])
    assert len(group.members) == 3


@pytest.fixture
def folder(predicted):
    """Return a folder of three runs whose errors are -20 %, 0 and +25 %."""
    for name, graph, mean in (("D_ring", "ring", 1.25), ("D_torus", "torus", 1.0),
                              ("D_exponential", "exponential", 0.8)):
        within = (0.98, 1.0) if graph == "ring" else (0.99, 1.01)
        path = predicted(name, steady(mean), within=within, graph=graph, implementation=name)
    return path.parent


def test_the_command_sums_up_many_runs(folder, make, capsys):
    make(name="unpredicted")
    assert main(["prediction", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "-20.0 %" in printed and "+25.0 %" in printed
    assert ("3 runs: the median error is 20.0 %, 90 % are below 24.0 %, the largest is 25.0 %."
            in printed)
    assert "1 run without a prediction: left out." in printed
    assert "D_ring or D_exponential or D_torus" in printed  # predicted alike
    assert "undecided" in printed and "in 0 of 1 group." in printed
    assert "Times are not to be compared" in printed  # reproducible reductions
    (folder / "cut.h5").write_text("not a result")
    for more in ([], ["--json"]):
        assert main(["prediction", str(folder), *more]) == 1
        assert "cut.h5" in capsys.readouterr().err


def test_the_json_has_everything(folder, predicted, capsys):
    predicted("unmeasured", np.full((100, 2), np.nan))
    assert main(["prediction", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(run["error"] for run in found["runs"] if run["error"] is not None) == \
        pytest.approx([-0.2, 0, 0.25])
    empty = next(run for run in found["runs"] if run["name"] == "unmeasured")
    assert empty["measured"] is None and empty["below"] == {"p50": None, "p95": None}
    assert found["error"] == pytest.approx(
        {"median": 0.2, "p90": 0.24, "largest": 0.25, "runs": 3})
    assert found["below"]["p50"] == pytest.approx(np.mean([1 / 198, 0.5, 1.0]), abs=0.01)
    assert found["fastest"] == {"right": 0, "groups": 1}
    (group,) = found["groups"]
    assert group["measured"] == ["D_exponential"] and group["verdict"] == "undecided"
    assert group["loss"] == pytest.approx(1.25 / 0.8 - 1)


def test_show_prints_both_and_the_error(predicted, capsys):
    assert main(["show", str(predicted(steps=steady(1.25)))]) == 0
    lines = capsys.readouterr().out.split("\nprediction:\n")[1]
    assert "step, predicted  1 s (800 ms to 1.2 s): ring, adapt then combine" in lines
    assert re.search(r"step, measured   1.25 s \(1.0[23] s to 1.4[78] s\): 198 steps of all", lines)
    assert "error            -20.0 % of the measured median" in lines
    assert "fastest          within noise: ring (adapt_then_combine), all-reduce" in lines
    assert "assumes          Links are assumed." in lines


def test_show_of_a_run_that_has_just_started(predicted, capsys):
    assert main(["show", str(predicted(epochs=0, status="running"))]) == 0
    assert "no times recorded after the first iteration" in capsys.readouterr().out


def test_a_report_has_the_prediction(predicted, tmp_path):
    page = tmp_path / "page.html"
    assert main(["report", str(predicted(steps=steady(1.25))), "-o", str(page)]) == 0
    assert "-20.0 % of the measured median" in page.read_text()


def test_runs_without_a_prediction(make, capsys):
    path = str(make())
    assert main(["show", path]) == 0
    assert "\nprediction:" not in capsys.readouterr().out
    assert main(["prediction", path]) == 2
    assert "dbench run SPEC --calibration" in capsys.readouterr().err


@pytest.mark.parametrize("changes", [
    {"graphs": []}, {"graphs": [{}]}, {"graphs": 7}, {"graphs": [7]}, {"iterations": None},
    {"fastest": None}, {"iterations": "many"},
    {"graphs": [{"name": "ring", "order": "a", "step_time": {"p05": 1, "p50": -1, "p95": 1},
                 "step_time_mean": 1, "duration": {"p05": 1, "p95": 1}}]},
    {"graphs": [{"name": "ring", "order": "a", "step_time": {"p05": 1, "p50": None, "p95": 1},
                 "step_time_mean": 1, "duration": {"p05": 1, "p95": 1}}]}], ids=str)
def test_a_damaged_prediction_is_an_error(predicted, capsys, changes):
    path = str(predicted(changes=changes))
    for command in ("show", "prediction"):
        assert main([command, path]) == 2
        assert "/prediction" in capsys.readouterr().err


def test_a_prediction_that_is_not_json(predicted, capsys):
    path = predicted()
    with h5py.File(path, "r+") as file:
        del file["prediction"]
        file["prediction"] = np.array(b"{", dtype="S1")
    assert main(["show", str(path)]) == 2
    assert "/prediction is not JSON" in capsys.readouterr().err
