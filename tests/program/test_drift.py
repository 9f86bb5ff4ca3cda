"""Tests that float32 and float64 train to the same result, even with integrated averaging."""

import h5py
import pytest

BASE = {
    "implementation": None, "replicas": 8, "graph": {"type": "ring", "lazy": 0.5},
    "stacking": "batched",  # takes half the time
    "model": "least_squares", "data": {"type": "regression", "batch_size": 4},
    "optimizer": {"type": "sgd", "lr": 0.05}, "schedule": "cosine",
    "length": {"iterations": 12000},
    "profile": {"every": {"iterations": 12000}, "variance": "off"},
    "evaluate": {"every": {"iterations": 12000}},
}


@pytest.mark.parametrize("algorithm", ["d2", "exact_diffusion"])
def test_twelve_thousand_iterations(dbench, algorithm):
    loss = {}
    for precision in ("float32", "float64"):
        output = f"{precision}.h5"
        dbench("run", dbench.spec(dict(BASE, algorithm=algorithm, precision=precision)),
               "--output", output)
        with h5py.File(dbench.folder / output) as run:
            loss[precision] = run["evaluations/mean_loss"][-1]
    assert loss["float32"] == pytest.approx(loss["float64"], rel=1e-3)
