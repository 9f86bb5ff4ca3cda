"""The networks of the table equitopo-mnist against eager PyTorch: steps of training to the bit, and
evaluations, in which the prediction of an image depends on its batch."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest
from exported_steps import ROOT, compare, spec_of_steps
from reference import make_runs, torch
from torch import nn
from torch.nn import functional

from conftest import Dbench  # isort: skip

SCRIPT = ROOT / "configs" / "reproduce" / "equitopo-mnist" / "prepare.py"
IMAGE = ("float32", [1, 28, 28])
FILES = {"over-batch": 0, "over-classes": 1}  # the dimension of the softmax


class Reference(nn.Module):
    """The network as the source describes it."""

    def __init__(self, over):
        super().__init__()
        self.over = over
        self.conv1, self.conv2 = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.fc1, self.fc2 = nn.Linear(4 * 4 * 20, 50), nn.Linear(50, 10)

    def forward(self, x):
        x = functional.relu(functional.max_pool2d(self.conv1(x), 2))
        x = functional.dropout2d(self.conv2(x), 0.5, self.training)
        x = functional.relu(functional.max_pool2d(x, 2)).reshape(-1, 320)
        x = functional.dropout(functional.relu(self.fc1(x)), 0.5, self.training)
        return functional.log_softmax(self.fc2(x), self.over)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder that the table's script has filled."""
    folder = tmp_path_factory.mktemp("equitopo")
    subprocess.run([sys.executable, SCRIPT, folder, "equitopo-mnist"], check=True)
    return folder


def close(ours, theirs):
    return torch.allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FILES)
def test_steps_are_those_of_pytorch(folder, name, tmp_path):
    """The loss of one image alone is 0 if the softmax is over the batch. Logits and the logarithms
    of their softmax have the same loss up to rounding."""
    exact = name == "over-batch"
    specs = [spec_of_steps(folder / f"{name}.pt2", IMAGE, 10, batch, "float32", 5, 2)
             for batch in (1, 3, 64)]
    for spec, run in zip(specs, make_runs(specs, tmp_path)):
        compare(Reference(FILES[name]), spec, run, functional.nll_loss, evaluated=exact,
                equal=torch.equal if exact else close)


def test_predictions_depend_on_the_batch(folder, tmp_path):
    """The program evaluates the softmax over each batch of `evaluate.batch_size` images, in the
    order of the file; the last batch is smaller."""
    draws = np.random.default_rng(3)
    images = draws.standard_normal((150, 1, 28, 28)).astype(np.float32)
    labels = draws.integers(0, 10, 150)
    np.savez(tmp_path / "rows.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    model = Reference(0)
    torch.manual_seed(100)
    model.load_state_dict(Reference(0).state_dict())
    model.eval()
    dbench, found = Dbench(tmp_path), {}
    for batch in (40, 150):
        (tmp_path / "spec.json").write_text(json.dumps({
            "replicas": 3, "model": {"type": "exported", "path": str(folder / "over-batch.pt2")},
            "algorithm": "dsgd",
            "graph": "ring", "optimizer": {"type": "sgd", "lr": 0.1}, "length": {"iterations": 1},
            "data": {"type": "npz", "train": str(tmp_path / "rows.npz"), "batch_size": 10},
            "evaluate": {"every": None, "replicas": "all", "batch_size": batch}}))
        with h5py.File(dbench.run("spec.json", f"{batch}.h5")) as run:
            ours = run["evaluations/local_accuracy"][0]
        with torch.no_grad():
            outputs = torch.cat([model(part) for part in torch.from_numpy(images).split(batch)])
        found[batch] = outputs.argmax(1)
        expected = (found[batch].numpy() == labels).mean()
        np.testing.assert_allclose(ours, expected, atol=1e-6)
    assert not torch.equal(found[40], found[150])
