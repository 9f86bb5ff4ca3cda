"""Losses of exported models: those of dbench-export against eager PyTorch, to the bit, and runs on
one and two ranks, alone and stacked. losses_of_users.py has the models."""

import json
from pathlib import Path

from reference import make_runs, torch  # isort: skip  (it skips the tests without torch)

import losses_of_users as users
import numpy as np
import pytest
from exported_steps import FEATURES, IMAGE, TOKENS, compare, export, spec_of_steps
from torch.nn import functional

from conftest import Dbench  # isort: skip

FILE = users.__file__


def cross_entropy(output, targets):
    return functional.cross_entropy(output.flatten(0, -2), targets)


def of_auxiliary(found, targets):
    return (cross_entropy(found["logits"], targets) + 0.3 * cross_entropy(found["aux"], targets)
            + 0.25 * found["penalty"] + 0.1 * found["each"].mean())


def own(name, view=()):
    function = getattr(users, name)
    return lambda found, targets: function(found, targets.view(-1, *view)).mean()


# name: (model, input, classes, options, the loss that eager PyTorch minimises)
CASES = {
    "auxiliary": (users.Auxiliary, IMAGE, 10, ["--auxiliary", "aux=0.3", "--auxiliary",
                                               "penalty=0.25", "--auxiliary", "each=0.1"],
                  of_auxiliary),
    "heads": (users.Heads, FEATURES, 10, ["--logits", "0", "--auxiliary", "1=0.5"],
              lambda found, targets: (cross_entropy(found[0], targets)
                                      + 0.5 * cross_entropy(found[1], targets))),
    "regression": (users.regression, FEATURES, None, [],
                   lambda found, targets: functional.mse_loss(found.flatten(), targets)),
    "pinball": (users.Quantiles, FEATURES, None, ["--loss", f"{FILE}:pinball"], own("pinball")),
    "mean pinball": (users.Quantiles, FEATURES, None, ["--loss", f"{FILE}:mean_pinball"],
                     own("mean_pinball")),
    "focal": (users.Scaled, FEATURES, 10, ["--logits", "0", "--loss", f"{FILE}:focal"],
              own("focal")),
    "weighted": (users.linear, FEATURES, 10, ["--loss", f"{FILE}:weighted"], own("weighted")),
    "shifted": (users.linear, FEATURES, 10, ["--loss", f"{FILE}:shifted"], own("shifted")),
    "penalised": (users.Texts, TOKENS, 50, ["--logits", "scores", "--loss", f"{FILE}:penalised"],
                  own("penalised", [12])),
}
STEPS = [(name, batch, precision) for name in CASES for batch in (1, 3, 7)
         for precision in ("float32", "float64") if (name, batch) != ("auxiliary", 1)]


def close(ours, theirs):
    rounding = 1e-6 if ours.dtype == torch.float32 else 1e-14
    return torch.allclose(ours, theirs, rtol=rounding, atol=rounding)


def path_of(name):
    return name.replace(" ", "-") + ".pt2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("losses")
    for name, (make, sample, classes, options, _) in CASES.items():
        export(f"{FILE}:{make.__name__}", sample, classes, folder / path_of(name), *options)
    return folder


@pytest.fixture(scope="module")
def runs(folder):
    specs = [spec_of_steps(folder / path_of(name), *CASES[name][1:3], batch, precision, 1 + k, 2)
             for k, (name, batch, precision) in enumerate(STEPS)]
    return dict(zip(STEPS, zip(specs, make_runs(specs, folder))))


@pytest.mark.parametrize("case", STEPS, ids=lambda case: "-".join(map(str, case)))
def test_steps_are_those_of_pytorch_to_the_bit(runs, case):
    spec, run = runs[case]
    make, _, _, _, loss_of = CASES[case[0]]
    for loss in users.weighted, users.shifted:
        loss.to(getattr(torch, spec["precision"]))
    # The program copies the outputs that a loss needs into one tensor. Gradients of texts then have
    # another memory order, in which PyTorch adds them in another order.
    compare(make(), spec, run, loss_of, evaluated=False,
            equal=close if case[0] == "penalised" else torch.equal)


@pytest.fixture(scope="module")
def dbench(folder):
    pytest.importorskip("h5py", reason="no h5py in this Python")
    random = np.random.default_rng(0)
    for name, (_, (_, shape), classes, _, _) in CASES.items():
        arrays = {}
        for split, count in (("train", 96), ("test", 32)):
            arrays[f"x_{split}"] = random.normal(size=(count, *shape)).astype("float32")
            arrays[f"y_{split}"] = (np.arange(count) % classes if classes
                                    else random.normal(size=count))
        np.savez(folder / f"{path_of(name)}.npz", **arrays)
    return Dbench(folder)


def spec_of(dbench, name, **changes):
    return dbench.spec(
        {"model": {"type": "exported", "path": path_of(name)}, "replicas": 4,
         "data": {"type": "npz", "train": f"{path_of(name)}.npz", "layout": "channels_first",
                  "batch_size": 4},
         "optimizer": {"type": "sgd", "lr": 0.05, "momentum": 0.9}, "length": {"iterations": 6},
         "evaluate": {"every": {"iterations": 3}}, "precision": "float64", **changes},
        name=f"{path_of(name)}.json")


RUN = [name for name in CASES if name != "penalised"]


@pytest.mark.parametrize("name", RUN)
def test_runs_on_two_ranks_have_the_bits_of_one(dbench, name):
    from results import differences
    spec = spec_of(dbench, name)
    dbench("check", spec)
    one = dbench.run(spec, f"{path_of(name)}.1.h5")
    assert differences(one, dbench.run(spec, f"{path_of(name)}.2.h5", ranks=2)) == []


@pytest.mark.parametrize("name", ["heads", "pinball", "focal"])
def test_replicas_together_compute_what_they_compute_alone(dbench, name):
    from results import read
    losses = [read(dbench.run(spec_of(dbench, name, stacking=way), f"{name}.{way}.h5"),
                   "iterations/train_loss") for way in ("off", "batched")]
    np.testing.assert_allclose(*losses, rtol=1e-12)


def test_a_loss_of_the_whole_batch_is_not_stacked(dbench):
    for name, why in (("mean pinball", "returns one number for a batch"),
                      ("auxiliary", "change the buffer norm.running_mean")):
        refused = dbench("check", spec_of(dbench, name, stacking="batched"), expect=2)
        assert why in refused.stderr


@pytest.mark.parametrize("model, loss, apart", [
    ("linear", "balanced", True), ("linear", "repelled", True), ("linear", "shared", True),
    ("chances", "each_chance", False)])
def test_replicas_stay_apart_if_a_loss_depends_on_other_samples(dbench, model, loss, apart):
    """It may depend on their labels or on their number."""
    export(f"{FILE}:{model}", FEATURES, 10, dbench.folder / f"{loss}.pt2", "--loss",
           f"{FILE}:{loss}")
    spec = spec_of(dbench, "heads", model={"type": "exported", "path": f"{loss}.pt2"},
                   stacking="batched")
    found = dbench("check", spec, expect=2 if apart else 0)
    assert ("computes the loss of a sample from others, too" in found.stderr) == apart


def test_parts_of_a_batch_have_the_loss_of_the_batch(dbench):
    from results import read
    for name in ("heads", "pinball"):
        data = json.loads(Path(spec_of(dbench, name)).read_text())["data"]
        losses = [read(dbench.run(spec_of(dbench, name, data={**data, "accumulate": parts}),
                                  f"{name}.parts{parts}.h5"), "iterations/train_loss")
                  for parts in (1, 2)]
        np.testing.assert_allclose(*losses, rtol=1e-12)


def test_smoothed_labels_need_the_loss_of_dbench(dbench):
    refused = dbench("check", spec_of(dbench, "focal", label_smoothing=0.1), expect=2)
    assert "/label_smoothing" in refused.stderr and "loss function of its own" in refused.stderr
    dbench("check", spec_of(dbench, "heads", label_smoothing=0.1))


def test_the_evaluation_of_auxiliary_losses_is_that_of_the_logits(dbench):
    """Both runs begin with the same weights, so that their first evaluations agree."""
    from results import read
    export(f"{FILE}:Heads", FEATURES, 10, dbench.folder / "plain.pt2", "--logits", "0")
    found = []
    for path in ("plain.pt2", path_of("heads")):
        spec = spec_of(dbench, "heads", model={"type": "exported", "path": path},
                       evaluate={"every": {"iterations": 6}})
        found.append(read(dbench.run(spec, f"{path}.start.h5"), "evaluations/mean_loss"))
    assert found[0][0] == found[1][0] and found[0][-1] != found[1][-1]
