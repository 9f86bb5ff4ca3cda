"""Tests of models for images, with a few iterations of their recipes."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from results import differences, read

sys.path.insert(0, str(ROOT / "scripts" / "slurm"))
from sweeps.sweepfile import Sweep

DATA = {"type": "shapes", "train": 24, "test": 6, "batch_size": 2, "augment": True}
MODELS = {
    "wide_resnet": {"type": "wide_resnet", "depth": 10, "widen": 1, "dropout": 0.2},
    "densenet": {"type": "densenet", "depth": 10, "growth": 4, "dropout": 0.2},
    "resnet32": {"type": "resnet32", "zero_init": True},
    "resnet50": {"type": "resnet50", "width": 4},
}
# Recipe: images per replica, iterations.
RECIPES = {"resnet20-cifar10-small": (4, 6), "densenet-cifar10-small": (2, 4)}
IMPLEMENTATIONS = ("C_complete", "D_complete", "D_exponential", "D_ring", "D_torus")


@pytest.mark.parametrize("model", MODELS)
def test_the_same_bits_on_any_ranks_with_dropout(dbench, model):
    # With minibatches of two, gradients through BatchNorm may be so large that a larger step would
    # give NaN on some processors.
    spec = dbench.spec(model=MODELS[model], data=DATA, replicas=3, length={"iterations": 2},
                       optimizer={"type": "sgd", "lr": 1e-5, "momentum": 0.9},
                       evaluate={"every": None, "metrics": ["top5"]})
    one = dbench.run(spec, "1.h5")
    assert differences(one, dbench.run(spec, "2.h5", ranks=2)) == []
    assert np.isfinite(read(one, "evaluations/mean_loss")).all()


def folder_with(name):
    data = os.environ.get("DBENCH_DATA")
    if not data or not os.path.exists(os.path.join(data, name)):
        pytest.skip(f"no {name} in DBENCH_DATA")
    return data


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_learn_alike_under_all_implementations(dbench, recipe):
    """The loss falls when training repeats the same few images."""
    data = folder_with("cifar-10-batches-bin")
    batch, iterations = RECIPES[recipe]
    settings = ["/replicas=4", f'/length={{"iterations": {iterations}}}',
                f"/data/batch_size={batch}",
                f'/data/limit={{"train": {4 * batch}, "test": 2}}', '/schedule="constant"',
                '/evaluate={"every": null, "replicas": 1}', "/optimizer/lr=0.02"]
    words = [word for setting in settings for word in ("--set", setting)]
    ends = {}
    for name in IMPLEMENTATIONS:
        path = ROOT / "configs" / "applications" / recipe / f"{name}.json"
        ranks = 2 if name == "D_ring" else None
        out = dbench.run(path, f"{name}.h5", *words, ranks=ranks, env={"DBENCH_DATA": data})
        loss = read(out, "iterations/train_loss").astype(float).mean(1)
        assert loss[-2:].mean() < 0.85 * loss[0], name
        ends[name] = loss[-2:].mean()
    assert max(ends.values()) < 1.25 * min(ends.values()), ends


def test_photographs_reach_resnet50(dbench):
    data = folder_with("imagenet-sample")
    path = ROOT / "configs" / "applications" / "resnet50-imagenet-small" / "D_ring.json"
    settings = ["/replicas=4", "/length/iterations=5", "/data/batch_size=3", "/data/augment=false",
                '/data/limit={"train": 12, "test": 2}']
    words = [word for setting in settings for word in ("--set", setting)]
    out = dbench.run(path, "out.h5", *words, ranks=2, env={"DBENCH_DATA": data})
    loss = read(out, "iterations/train_loss").astype(float).mean(1)
    assert loss[-2:].mean() < loss[0]


@pytest.mark.parametrize("path", sorted((ROOT / "configs/applications/sweeps").glob("*.json")),
                         ids=lambda path: path.stem)
def test_recipes_at_scale_have_an_existing_base(path):
    text = "\n".join(line for line in path.read_text().splitlines()
                     if not line.startswith("//"))
    sweep = json.loads(text)
    given = {} if isinstance(sweep["base"], str) else sweep["base"]
    replicas = {{**given, **dict(point)}["replicas"] for _, point in Sweep(path).points}
    assert replicas in ({12, 24, 48, 96}, {12, 24, 48, 96, 1008}, {32})  # the paper's workers
    told = path.read_text()
    if isinstance(sweep["base"], str):
        base = (path.parent / sweep["base"]).resolve()
        assert base == Path(ROOT / "configs/applications" / path.stem / "base.json")
        told += base.read_text()
    for word in ("Ours", "Cost:", "Expected:"):
        assert word in told
