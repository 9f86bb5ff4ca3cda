"""Exported models with several inputs, on npz data that name them, against eager PyTorch in
float64. inputs_of_users.py has the models."""

import sys
from pathlib import Path

from reference import torch  # isort: skip  (it skips the tests without torch)

import inputs_of_users as users
import numpy as np
import pytest
from torch.nn import functional

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "export"), str(ROOT / "tests" / "program")]

from conftest import Dbench  # noqa: E402
from dbench_export import cli  # noqa: E402

h5py = pytest.importorskip("h5py", reason="no h5py in this Python")
RANDOM = np.random.default_rng(0)
SAMPLES, LR = 24, 0.1
# name: (inputs of the command, arrays, targets)
CASES = {
    "Classifier": (["ids=int64[12]:100", "mask=bool[12]"],
                   {"ids": RANDOM.integers(0, 100, (SAMPLES, 12)),
                    "mask": np.arange(12) < RANDOM.integers(1, 13, (SAMPLES, 1))},
                   np.arange(SAMPLES) % 4),
    "Pair": (["left=float32[3,8,8]", "right=float32[3,8,8]", "weight=float32[]"],
             {name: RANDOM.normal(size=(SAMPLES, *shape)) for name, shape in
              (("left", (3, 8, 8)), ("right", (3, 8, 8)), ("weight", ()))},
             RANDOM.normal(size=SAMPLES)),
}


def classes_of(name):
    return 4 if name == "Classifier" else None


@pytest.fixture(scope="module")
def dbench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    for name, (inputs, arrays, targets) in CASES.items():
        words = [each for text in inputs for each in ("--input", text)]
        if classes_of(name):
            words += ["--classes", str(classes_of(name))]
        assert cli.main([f"{users.__file__}:{name}", *words, "--quiet", "-o",
                         str(folder / f"{name}.pt2")]) == 0
        np.savez(folder / f"{name}.npz", y=targets, **arrays)
    return Dbench(folder)


def spec_of(dbench, name, inputs=None, **changes):
    data = {"type": "npz", "train": f"{name}.npz", "test": f"{name}.npz", "batch_size": "full",
            "partition": "contiguous", "inputs": inputs or list(CASES[name][1])}
    return dbench.spec({"model": {"type": "exported", "path": f"{name}.pt2"}, "replicas": 2,
                        "data": data, "implementation": "C_complete", "precision": "float64",
                        "optimizer": {"type": "sgd", "lr": LR}, "length": {"iterations": 5},
                        "evaluate": {"every": {"iterations": 1}}, **changes}, name=f"{name}.json")


@pytest.mark.parametrize("name", CASES)
def test_gradient_descent_is_that_of_pytorch(dbench, name):
    """The replicas average their gradients, so that they descend on the mean loss of all samples.
    Two ranks compute the bits of one."""
    from results import differences, read
    dbench("check", spec_of(dbench, name))
    found = dbench.run(spec_of(dbench, name), f"{name}.h5")
    assert differences(found, dbench.run(spec_of(dbench, name), f"{name}.2.h5", ranks=2)) == []
    torch.manual_seed(0)
    module = getattr(users, name)().double().train()
    arrays = [torch.from_numpy(each) for each in CASES[name][1].values()]
    targets = torch.from_numpy(CASES[name][2])
    losses = []
    for _ in range(6):
        output = module(*arrays)
        loss = (functional.cross_entropy(output, targets) if classes_of(name)
                else functional.mse_loss(output.flatten(), targets))
        losses.append(loss.item())
        module.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter -= LR * parameter.grad
    np.testing.assert_allclose(read(found, "evaluations/mean_loss"), losses, rtol=1e-10)
    assert losses[-1] < losses[0]


def test_the_names_and_their_order_are_compared(dbench):
    for inputs in (["right", "left", "weight"], None):
        changes = {} if inputs else {"data": {"type": "npz", "train": "x.npz", "test": "x.npz",
                                              "batch_size": 2}}
        np.savez(dbench.folder / "x.npz", x=RANDOM.normal(size=(8, 385)),
                 y=RANDOM.normal(size=8))
        refused = dbench("check", spec_of(dbench, "Pair", inputs, **changes), expect=2).stderr
        assert 'npz data with "inputs": ["left","right","weight"]' in refused


@pytest.mark.parametrize("left, right, said", [
    ((192,), (3, 8, 8), None),                           # a list of the same numbers
    ((100,), (284,), "input left has the shape [3x8x8], but the array of the data has [100]"),
    ((3, 8, 8), (8, 8, 3), "input right has the shape [3x8x8], but the array of the data has")])
def test_the_shape_of_each_input_is_compared(dbench, left, right, said):
    """All arrays together have as many numbers as the model reads."""
    np.savez(dbench.folder / "Shapes.npz", y=RANDOM.normal(size=8), weight=RANDOM.normal(size=8),
             left=RANDOM.normal(size=(8, *left)), right=RANDOM.normal(size=(8, *right)))
    data = {"type": "npz", "train": "Shapes.npz", "test": "Shapes.npz", "batch_size": 2,
            "inputs": ["left", "right", "weight"]}
    told = dbench("check", spec_of(dbench, "Pair", data=data), expect=2 if said else 0)
    assert (said or "") in told.stderr
