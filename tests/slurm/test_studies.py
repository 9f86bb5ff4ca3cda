"""Tests that the program accepts each method of the studies in docs/studies, and that each study
follows the rules of docs/studies.md."""

import json
import os
import shutil
import subprocess

import pytest
from conftest import PROGRAM, ROOT
from sweeps.axes import pointer
from sweeps.rates import Rates
from sweeps.sweepfile import Sweep

STUDIES = sorted((ROOT / "docs/studies").glob("*/sweep.json"))
UNTUNED = sorted((ROOT / "docs/studies").glob("*/runs.json"))  # at the rates of another study


def study(path, monkeypatch, folder):
    monkeypatch.chdir(folder)  # results would be written here
    return Sweep(str(path))


@pytest.mark.parametrize("path", STUDIES + UNTUNED, ids=lambda path: path.parent.name)
def test_the_program_accepts_each_method(path, monkeypatch, tmp_path):
    if not shutil.which(PROGRAM):
        pytest.fail(f"{PROGRAM}: no program (build it first)")
    if not os.environ.get("DBENCH_DATA"):
        pytest.skip("DBENCH_DATA names no folder of data sets")
    sweep = study(path, monkeypatch, tmp_path)
    base = sweep.base
    if not isinstance(base, str):
        base = str(tmp_path / "base.json")
        (tmp_path / "base.json").write_text(json.dumps(sweep.base))

    points = [{"set": {pointer(axis): value for axis, value in point.items()}}
              for _, point in sweep.points if point.get("seed", 1) == 1]
    done = subprocess.run([PROGRAM, "check", base, "--points", "-", "--json", "--quiet"], text=True,
                          input=json.dumps(points), capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    specs = [answer["spec"] for answer in json.loads(done.stdout)]
    assert all(spec["data"]["validation"] > 0 for spec in specs)
    cells = {json.dumps([spec["replicas"], spec["data"]]) for spec in specs}
    all_reduce = {json.dumps([spec["replicas"], spec["data"]]) for spec in specs
                  if spec["algorithm"]["type"] == "centralized"}
    assert cells == all_reduce  # each cell has its reference


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.parent.name)
def test_a_study_follows_the_rules(path, monkeypatch, tmp_path):
    sweep = study(path, monkeypatch, tmp_path)
    rates = Rates(sweep)
    assert rates.factors == [0.25, 0.5, 1, 2, 4] and rates.extend == 2
    assert len(rates.seeds) == 2 and len(rates.final_seeds) == 6
    assert sweep.output.endswith(f"/results/studies/{path.parent.name}")
    page = (path.parent / "README.md").read_text()
    assert f"sweep tune docs/studies/{path.parent.name}/sweep.json local" in page
    assert f"(studies/{path.parent.name}/README.md)" in (ROOT / "docs/studies.md").read_text()
