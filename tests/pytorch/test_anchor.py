"""ResNet-20 on CIFAR-10 beside plain PyTorch: the same losses from the same start."""

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("h5py")
anchor = pytest.importorskip("anchor")


def test_the_same_recipe_gives_the_same_losses(tmp_path):
    if not os.environ.get("DBENCH_PROGRAM") or not Path(os.environ.get("DBENCH_DATA", "")).exists():
        pytest.skip("DBENCH_PROGRAM or DBENCH_DATA is not set")
    if not anchor.data().exists():
        pytest.skip("no cifar-10-batches-bin in DBENCH_DATA")
    ours, theirs = (train(30, 16, tmp_path) for train in (anchor.ours, anchor.theirs))
    np.testing.assert_allclose(ours[:5], theirs[:5], rtol=1e-3)  # then rounding has grown
    assert ours[-10:].mean() == pytest.approx(theirs[-10:].mean(), rel=0.01)
    assert theirs[-10:].mean() < theirs[0]
