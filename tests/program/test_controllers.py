"""Tests that controllers that never act are reported at the end of the run and by `dbench-analyze
show`."""

import os
import re
import signal
import subprocess
import sys

import h5py
import pytest
from test_checkpoints import interrupt

ANALYZE = os.path.join(os.path.dirname(sys.executable), "dbench-analyze")
VARIANCE = {"type": "ada_variance", "every": {"iterations": 2}, "k_min": 2, "k_max": 4}
IDLE = {**VARIANCE, "low": 0, "high": 99, "relative": False, "measure": "consensus_distance"}
CONSENSUS = {"type": "consensus_control", "every": {"iterations": 1}}


def run(dbench, graph):
    spec = dbench.spec(replicas=8, implementation=None, algorithm="dsgd", graph=graph,
                       length={"iterations": 16})
    return never(dbench("run", spec, "--output", "out.h5", "--overwrite", ranks=2))


def never(done):
    return [line for line in done.stderr.splitlines() if "never" in line]


@pytest.mark.parametrize("graph, words", [
    ("ada", ["ada never changes its graph", "gamma_k"]),
    ({**VARIANCE, "low": 0, "high": 2}, ["ada_variance never changed", "between", "/graph/low = 0",
                                         "/graph/high = 2", "k_max already"]),
    ({**CONSENSUS, "by": "rounds", "target": 1e9}, ["never averaged more than once", "target"]),
    ({**CONSENSUS, "by": "degree", "target": 1e9, "slack": 0}, ["never changed its graph"]),
])
def test_a_controller_that_never_acted_is_reported(dbench, graph, words):
    told = run(dbench, graph)[-1]
    for word in words:
        assert word in told, told
    shown = subprocess.run([ANALYZE, "show", "out.h5"], cwd=dbench.folder, text=True,
                           capture_output=True, check=True).stdout
    [line] = [line for line in shown.splitlines() if line.strip().startswith("controller  ")]
    assert line.split("  ")[-1].strip() in told


def test_reported_measurements_equal_recorded_ones(dbench):
    told = run(dbench, IDLE)[-1]
    least, most = map(float, re.search(r"between (\S+) and (\S+);", told).groups())
    with h5py.File(dbench.folder / "out.h5") as file:
        seen = file["parameters/consensus_distance"][1::2]
    assert least == pytest.approx(seen.min(), rel=1e-3)
    assert most == pytest.approx(seen.max(), rel=1e-3)


@pytest.mark.parametrize("graph", [
    {**VARIANCE, "low": 1.5, "high": 2, "patience": 1},
    {**CONSENSUS, "by": "rounds", "fraction": 0.01},
    {**CONSENSUS, "by": "degree", "fraction": 0.5},
    {"type": "ada", "k0": 4, "gamma_k": 2},
    "ring",
])
def test_a_controller_that_acted_is_not_reported(dbench, graph):
    assert not run(dbench, graph)
    with h5py.File(dbench.folder / "out.h5") as file:
        assert b"controller" not in list(file["events/kind"][()])


def test_measurements_before_a_restart_count_after_it(dbench):
    spec = dbench.spec(replicas=8, implementation=None, algorithm="dsgd", graph=IDLE,
                       length={"iterations": 600}, checkpoint={"every": {"iterations": 10}})
    whole = never(dbench("run", spec, "--output", "whole.h5"))
    path = str(dbench.folder / "parts.h5")
    status, errors = interrupt(dbench, spec, path, signal.SIGTERM)
    assert status == 75 and "never" not in errors
    assert never(dbench("run", spec, "--output", path, "--resume")) == whole
