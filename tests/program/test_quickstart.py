"""Tests that the quickstart does what the heads of its files say."""

import os
import re
import subprocess

import numpy as np
import pytest
from conftest import ROOT
from results import read

NAMES = ["C_complete", "D_ring", "D_exponential"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Run scripts/quickstart; return its output and its folder."""
    if not (ROOT / ".venv" / "bin" / "dbench-analyze").exists():
        pytest.skip("no .venv (scripts/setup makes it)")
    place = tmp_path_factory.mktemp("quickstart")
    done = subprocess.run([ROOT / "scripts" / "quickstart"], text=True, capture_output=True,
                          env={**os.environ, "DBENCH_RESULTS": str(place)}, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr, place / "quickstart"


@pytest.mark.parametrize("name", NAMES)
def test_a_run_reaches_the_expected_accuracy(made, name):
    config = (ROOT / "configs" / "quickstart" / f"{name}.json").read_text()
    expected = re.search(r"Expected: test accuracy of the mean model above ([0-9.]+)", config)
    accuracy = read(str(made[1] / f"{name}.h5"), "evaluations/mean_accuracy")
    assert accuracy[-1] > float(expected[1]) > accuracy[0], accuracy


def test_consensus_distances_are_as_expected(made):
    largest = {name: np.nanmax(read(str(made[1] / f"{name}.h5"), "parameters/consensus_distance"))
               for name in NAMES}
    assert largest["C_complete"] == 0
    assert largest["D_exponential"] < largest["D_ring"]


def test_there_are_no_warnings_and_the_report_is_self_contained(made):
    said, folder = made
    assert "warning" not in said, said
    report = folder / "report.html"
    assert str(report) in said
    page = report.read_text()
    assert "<svg" in page or "data:image/" in page
    assert "http://" not in re.sub(r"http://www\.w3\.org[^\"'<> ]*", "", page)
