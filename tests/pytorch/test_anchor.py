"""Compares applications with plain PyTorch: equal losses from equal initial values."""

import os

import numpy as np
import pytest

pytest.importorskip("h5py")
anchor = pytest.importorskip("anchor")


def both(application, files, *rest, **options):
    if not os.environ.get("DBENCH_PROGRAM") or not os.environ.get("DBENCH_DATA"):
        pytest.skip("DBENCH_PROGRAM or DBENCH_DATA is not set")
    if not anchor.folder_of_data(files).exists():
        pytest.skip(f"no {files} in DBENCH_DATA")
    return anchor.both(application, *rest, **options)


def test_the_same_recipe_gives_the_same_losses(tmp_path):
    ours, theirs = both("resnet20", "cifar-10-batches-bin", 30, "float32", tmp_path, batch=16)
    np.testing.assert_allclose(ours[:5], theirs[:5], rtol=1e-3)  # later, rounding errors have grown
    assert ours[-10:].mean() == pytest.approx(theirs[-10:].mean(), rel=0.01)


@pytest.mark.parametrize("application, files, options", [
    ("lstm", "wikitext-2", {"batch": 2}), ("gpt", "wikitext-2", {"batch": 1}),
    ("transformer", "multi30k", {"tokens": 200})], ids=["lstm", "gpt", "transformer"])
def test_texts(tmp_path, application, files, options):
    """Compare in float64, so that differences are not rounding errors."""
    ours, theirs = both(application, files, 6, "float64", tmp_path, **options)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)
