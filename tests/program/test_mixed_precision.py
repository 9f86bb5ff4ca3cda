"""Tests of `"compute": "bfloat16"`: models compute in 16 bits, everything else in float32."""

import json

import h5py
import numpy as np
import pytest
from results import read
from together import Together, checked

RUN = {"model": {"type": "cnn", "width": 4}, "replicas": 2, "length": {"iterations": 40},
       "data": {"type": "shapes", "train": 320, "test": 64, "batch_size": 16, "difficulty": 0.1},
       "optimizer": {"type": "adam", "lr": 0.01}}


@pytest.fixture(scope="module")
def runs(shared):
    return Together(shared, "mixed", {each: {**RUN, "compute": each}
                                      for each in ("precision", "bfloat16")})


def test_bfloat16_learns_like_float32(runs):
    plain, mixed = (read(runs.result(each), "evaluations/mean_loss")
                    for each in ("precision", "bfloat16"))
    assert mixed[-1] < 0.8 * mixed[0] and mixed[-1] != plain[-1]
    np.testing.assert_allclose(mixed[[0, -1]], plain[[0, -1]], rtol=0.1)
    assert mixed[0] != plain[0]         # evaluations of the same parameters differ, too


def test_only_passes_are_rounded(runs):
    """Norms of gradients and parameters have more digits than bfloat16, and the file records the
    requested precision."""
    path = runs.result("bfloat16")
    for name in ("parameters/norm", "parameters/gradient_norm", "parameters/update_norm"):
        norm = read(path, name)
        assert norm.dtype == np.float32 and np.any(norm.view(np.uint32) & 0xffff)
    with h5py.File(path) as file:
        assert json.loads(file["spec"][()])["compute"] == "bfloat16"


def test_refused_in_float64(dbench):
    told = checked(dbench, {"both": dbench.text(RUN, compute="bfloat16", precision="float64"),
                            "word": dbench.text(RUN, compute="float16")})
    assert "/compute" in told["both"]["error"] and "/precision" in told["both"]["error"]
    assert "'bfloat16'" in told["word"]["error"]
