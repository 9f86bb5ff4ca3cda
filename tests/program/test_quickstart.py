"""The first run that people see does what the heads of its files say."""

import re

import numpy as np
import pytest
from conftest import ROOT
from results import read

FOLDER = ROOT / "configs" / "quickstart"
NAMES = ["C_complete", "D_ring", "D_exponential"]


@pytest.fixture(scope="module")
def largest_distance():
    """Of each run, the largest consensus distance."""
    return {}


@pytest.mark.parametrize("name", NAMES)
def test_a_run_reaches_what_its_head_expects_and_warns_of_nothing(dbench, name, largest_distance):
    config = FOLDER / f"{name}.json"
    expected = re.search(r"Expected: test accuracy of the mean model above ([0-9.]+)",
                         config.read_text())
    done = dbench("run", config, "--output", "out.h5", ranks=4)
    assert "warning" not in done.stderr, done.stderr
    accuracy = read(str(dbench.folder / "out.h5"), "evaluations/mean_accuracy")
    assert accuracy[-1] > float(expected[1]) > accuracy[0], accuracy
    distances = read(str(dbench.folder / "out.h5"), "parameters/consensus_distance")
    largest_distance[name] = np.nanmax(distances)


def test_the_replicas_disagree_as_the_heads_say(largest_distance):
    if set(largest_distance) != set(NAMES):
        pytest.skip("needs the three runs above")
    assert largest_distance["C_complete"] == 0
    assert largest_distance["D_exponential"] < largest_distance["D_ring"]
