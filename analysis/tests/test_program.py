"""Tests that the package reads files of the program itself (DBENCH_PROGRAM, or build/dbench)."""

import json
import os
import re
import subprocess
from pathlib import Path

import dbench_analysis as da
import pytest
from dbench_analysis.cli import main
from dbench_analysis.figures.style import FIXED
from dbench_analysis.quantities import series
from dbench_analysis.reading.table import text

PROGRAM = Path(os.environ.get("DBENCH_PROGRAM", Path(__file__).parents[2] / "build" / "dbench"))
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"no program at {PROGRAM}")

SPEC = {
    "name": "small", "replicas": 4, "model": "softmax_regression", "implementation": "D_ring",
    "output": "{name}.h5",
    "data": {"type": "shapes", "batch_size": 8, "limit": {"train": 320, "test": 64}},
    "length": {"epochs": 2},
}


def ran(folder, **changes) -> Path:
    spec = SPEC | changes
    (folder / "spec.json").write_text(json.dumps(spec))
    ended = subprocess.run([PROGRAM, "run", "spec.json", "--quiet"], cwd=folder,
                           capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return folder / f"{spec['name']}.h5"


def test_recorded_run(tmp_path, capsys):
    path = ran(tmp_path, profile={"after": True})
    with da.open(path) as run:
        assert (run.state, run.replicas, run.rank_count, len(run.iterations),
                run.planned) == ("complete", 4, 1, 20, 20)
        found = da.verify(run)
        assert len(found) == 4 and found["agrees"].all() and (found["skipped"] == 0).all()
        variance = series.variance(run)
        assert len(variance) == 20 and (variance["variance_after"] < variance["variance"]).all()
        assert list(series.evaluations(run, "accuracy")["epoch"]) == [0, 1, 2]
        assert run.matrix(0).sum(axis=1) == pytest.approx(1)
        step, parts = run.iterations["step_time"][1:].mean(), series.breakdown(run)
        assert sum(v for k, v in parts.items() if k != "profile") == pytest.approx(step, rel=1e-6)
        for table in (run.iterations, run.parameters, run.evaluations):
            for name in table:
                dimensions = text(table[name].data.attrs["dimensions"])
                assert dimensions.replace(",",
                                          "") == table[name].axes, f"{name}: axes as the file says"
    assert main(["report", str(path), "-o", str(tmp_path / "report.html")]) == 0
    assert main(["show", str(path)]) == 0 and "D_ring" in capsys.readouterr().out


def test_run_with_nothing_profiled(tmp_path):
    path = ran(tmp_path, replicas=1, implementation="C_complete", length={"iterations": 1},
               profile={"norms": False, "variance": {"kind": "off"}})
    assert main(["show", str(path), "--full"]) == 0
    assert main(["plot", str(path), "-o", str(tmp_path / "plots"), "--dpi", "30"]) == 0


def test_graphs_of_the_program_have_colours():
    listed = subprocess.run([PROGRAM, "list", "graphs"], capture_output=True, text=True)
    assert listed.returncode == 0
    graphs = set(re.findall(r"^\s*([a-z_]+)", listed.stdout, re.M))
    assert {"ring", "torus", "exponential", "complete"} <= graphs
    assert {"one_peer_exponential", "ring_lattice", "erdos_renyi",
            "star"} <= graphs & set(FIXED), "have colours of their own"
