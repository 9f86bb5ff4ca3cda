"""Tests that the short sweeps in configs/sweeps do what their "Expected:" lines say."""

import re

import numpy as np
from conftest import ROOT
from results import read


def made(sweep, name):
    """Run the sweep; return its expectation."""
    text = (ROOT / "configs/sweeps" / f"{name}.json").read_text()
    sweep.file = sweep.folder / f"{name}.json"
    sweep.file.write_text(text)
    sweep.output = sweep.folder / "results/sweeps" / name
    runs = re.search(r": (\d+) runs", text).group(1)
    assert f"{runs} runs done, 0 failed" in sweep("local", "--jobs", 2, timeout=400)
    return re.search(r"// Expected: (.*)", text).group(1)


def worst(sweep, implementation, replicas):
    """Return the final accuracy of the worst local model, as the mean over seeds."""
    files = sorted(sweep.output.glob(f"{implementation}-n{replicas}-s*.h5"))
    assert len(files) == 3
    return np.mean([np.min(read(str(path), "evaluations/local_accuracy")[-1]) for path in files])


def test_example(sweep):
    assert "the ring's worst local model falls behind the all-reduce, further at 16" in made(
        sweep, "example")
    behind = [worst(sweep, "C_complete", n) - worst(sweep, "D_ring", n) for n in (4, 16)]
    assert 0 < behind[0] < behind[1], behind
