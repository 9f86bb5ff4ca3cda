"""Tests that the quickstart does what the heads of its files say."""

import os
import re
import subprocess

import numpy as np
import pytest
from conftest import ROOT
from results import read

NAMES = ["C_complete", "D_exponential", "D_ring"]  # from the highest accuracy to the lowest
SEEDS = [1, 2, 3]


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


def values(made, name, path):
    """Return a column of the run with each seed."""
    return [read(str(made[1] / f"seed-{seed}" / f"quickstart-{name}.h5"), path) for seed in SEEDS]


@pytest.mark.parametrize("name", NAMES)
def test_runs_reach_the_expected_accuracy(made, name):
    config = (ROOT / "configs" / "quickstart" / f"{name}.json").read_text()
    expected = re.search(r"Expected: test accuracy of the mean model above ([0-9.]+)", config)
    for accuracy in values(made, name, "evaluations/mean_accuracy"):
        assert accuracy[-1] > float(expected[1]) > accuracy[0], accuracy


def test_implementations_differ_by_more_than_seeds(made):
    ends = {name: [accuracy[-1] for accuracy in values(made, name, "evaluations/mean_accuracy")]
            for name in NAMES}
    for better, worse in zip(NAMES, NAMES[1:]):
        assert np.mean(ends[better]) - np.mean(ends[worse]) > 0.03, ends
        assert min(ends[better]) > max(ends[worse]), ends


def test_consensus_distances_are_as_expected(made):
    distances = {name: values(made, name, "parameters/consensus_distance") for name in NAMES}
    late = {name: [np.nanmean(one[len(one) // 2:]) for one in distances[name]] for name in NAMES}
    largest = {name: np.mean([np.nanmax(one) for one in distances[name]]) for name in NAMES}
    assert set(late["C_complete"]) == {0}
    assert max(late["D_exponential"]) < min(late["D_ring"])
    assert largest["D_exponential"] < largest["D_ring"]  # the report explains this by the gap


def test_there_are_no_warnings_and_the_report_is_self_contained(made):
    said, folder = made
    assert "warning" not in said, said
    report = folder / "report.html"
    assert str(report) in said
    page = report.read_text()
    assert "<svg" in page or "data:image/" in page
    opening = page[page.index('<section id="result">'):]
    assert re.match(r'<section id="result"><h2>Result</h2>(<[a-z]+>)*With D_ring the mean model .* '
                    "points of test accuracy below that with C_complete: .* because a graph with a "
                    "smaller spectral gap averages more slowly", opening), opening[:600]
    assert "http://" not in re.sub(r"http://www\.w3\.org[^\"'<> ]*", "", page)
