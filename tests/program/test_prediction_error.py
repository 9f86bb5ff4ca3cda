"""Tests that `dbench-analyze` compares the prediction that a run stored with what was measured."""

import json

import h5py
import numpy as np
import pytest
from dbench_analysis import cli


@pytest.fixture(scope="module")
def folder(shared):
    """Return a folder of two runs of two ranks with predictions, and one without."""
    common = {"replicas": 2, "length": {"iterations": 30}, "profile": {"norms": False}}
    spec = shared.spec(common)
    shared("calibrate", spec, "--output", "costs.json", "--seconds", "0.2", ranks=2)
    for name, implementation in (("ring", "D_ring"), ("sum", "C_complete")):
        spec = shared.spec(common, name=f"{name}.json", implementation=implementation)
        shared.run(spec, f"results/{name}.h5", "--calibration", "costs.json", ranks=2)
    shared.run(shared.spec(common, name="none.json"), "results/none.h5")
    return shared.folder / "results"


def test_show_and_prediction_agree_with_the_file(folder, capsys):
    with h5py.File(folder / "ring.h5") as file:
        steps = file["iterations/step_time"][1:]
        stored = json.loads(file["prediction"][()].decode().rstrip("\0"))
    error = stored["graphs"][0]["step_time"]["p50"] / np.median(steps) - 1
    assert cli.main(["show", str(folder / "ring.h5")]) == 0
    shown = capsys.readouterr().out.split("\nprediction:\n")[1]
    assert f"{100 * error:+.1f} % of the measured median" in shown
    assert ": ring, adapt then combine" in shown and "58 steps of all ranks" in shown
    assert all(text in shown for text in stored["assumptions"])

    assert cli.main(["prediction", str(folder)]) == 0
    assert "1 run without a prediction" in capsys.readouterr().out
    assert cli.main(["prediction", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["graph"] for run in found["runs"]] == ["ring", "all-reduce"]
    assert found["runs"][0]["error"] == pytest.approx(error)
    assert found["runs"][0]["steps"] == steps.size
    (group,) = found["groups"]
    assert set(group["measured"]) <= {"D_ring", "C_complete"} and group["verdict"] in (
        "correct", "within noise", "undecided", "wrong")
