"""Makes the networks and the graphs of EquiTopo's experiment on MNIST.

    python prepare.py FOLDER equitopo-mnist

Files for the model "exported", written by dbench-export:

    over-batch.pt2      the source's network and loss: its softmax is over the samples of a batch
    over-classes.pt2    the same network with the usual softmax, over the classes of each sample

Both start with the parameters that PyTorch draws after torch.manual_seed(100). Files for the graph
"file", drawn by NumPy with the source's seeds (106 for the offsets of static graphs, 42 for the
rounds):

    d-equistatic.npy, u-equistatic.npy    one matrix
    od-equidyn.npy, ou-equidyn.npy        a matrix for each of ROUNDS rounds

values.json has the offsets of the static graphs, which the source draws with replacement.

$DBENCH_TORCH_PYTHON names the Python that has PyTorch, if it is another one than this. The exit
status is 3 if it has none.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

REPLICAS = 17
OFFSETS, STATIC_SEED = 4, 106
ETA, ROUND_SEED = 0.53, 42
ROUNDS = 20 * 56  # 60,000 images give a replica of the source 56 batches in each of 20 epochs
KEPT = (REPLICAS - 1) / REPLICAS  # the share that a replica of A^(a) takes from another one
NETWORK_SEED = 100


def network(over):
    """Return the network; its outputs are normalised over the dimension `over`, if it is given."""
    from torch import nn
    from torch.nn import functional

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
            self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
            self.channels = nn.Dropout2d(0.5)
            self.fc1 = nn.Linear(320, 50)
            self.units = nn.Dropout(0.5)
            self.fc2 = nn.Linear(50, 10)

        def forward(self, images):
            maps = functional.max_pool2d(self.conv1(images), 2).relu()
            maps = functional.max_pool2d(self.channels(self.conv2(maps)), 2).relu()
            scores = self.fc2(self.units(self.fc1(maps.flatten(1)).relu()))
            return scores if over is None else functional.log_softmax(scores, over)

    return Network()


def over_batch():
    """Return the source's network, whose predictions depend on the other samples of the batch."""
    return network(over=0)


def over_classes():
    """Return the network for the usual cross-entropy, which has a softmax of its own."""
    return network(over=None)


def batch_loss(outputs, targets):
    """Return the mean over the batch of minus the output of the right class."""
    from torch.nn import functional

    return functional.nll_loss(outputs, targets)


def offsets():
    """Return the M offsets that the source draws for both static graphs."""
    return np.random.RandomState(STATIC_SEED).choice(np.arange(1, REPLICAS), size=OFFSETS)


def shifted(offset):
    """Return the matrix in which each replica takes all of the replica `offset` before it."""
    return np.roll(np.eye(REPLICAS), offset, axis=0)


def weighted(matrix, eta=1.0):
    """Return (1 - eta) I + eta ((n-1)/n matrix + 1/n I)."""
    return (1 - eta * KEPT) * np.eye(REPLICAS) + eta * KEPT * matrix


def paired(offset, start):
    """Return a matrix of pairs (i, i + offset): a scan from `start` pairs all that are still free.
    The others stay alone."""
    partner = np.arange(REPLICAS)
    for step in range(REPLICAS):
        i = (start + step) % REPLICAS
        j = (i + offset) % REPLICAS
        if partner[i] == i and partner[j] == j:
            partner[i], partner[j] = j, i
    return np.eye(REPLICAS)[partner]


def graphs():
    """Return the matrices of the four graphs by name; W[i, j] is what replica i takes of j."""
    directed = weighted(np.mean([shifted(each) for each in offsets()], axis=0))
    drawn, all_offsets = np.random.default_rng(ROUND_SEED), np.arange(1, REPLICAS)
    one_way = [weighted(shifted(int(drawn.choice(all_offsets, size=1)[0])), ETA)
               for _ in range(ROUNDS)]
    drawn, pairs = np.random.default_rng(ROUND_SEED), []
    for _ in range(ROUNDS):
        offset = int(drawn.choice(all_offsets, size=1)[0])
        start = int(drawn.choice(np.arange(REPLICAS), size=1)[0])
        pairs.append(weighted(paired(offset, start), ETA))
    return {"d-equistatic": directed, "u-equistatic": (directed + directed.T) / 2,
            "od-equidyn": np.array(one_way), "ou-equidyn": np.array(pairs)}


def export(folder):
    """Write the two networks, or end with the status 3 if there is no PyTorch."""
    python, here = os.environ.get("DBENCH_TORCH_PYTHON") or sys.executable, Path(__file__).resolve()
    paths = [str(here.parents[3] / "export"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    for name, loss in (("over_batch", [f"{here}:batch_loss"]), ("over_classes", [])):
        words = [python, "-m", "dbench_export", f"{here}:{name}", "--input", "float32[1,28,28]",
                 "--classes", "10", *(["--loss", *loss] if loss else []), "--seed",
                 str(NETWORK_SEED), "--quiet", "-o", folder / f"{name.replace('_', '-')}.pt2"]
        try:
            ended = subprocess.run(words, capture_output=True, text=True, env=environment)
        except OSError as error:
            print(f"DBENCH_TORCH_PYTHON: {python}: {error.strerror}", file=sys.stderr)
            sys.exit(3)
        if "cannot import torch" in ended.stderr or "No module named" in ended.stderr:
            print(f"{python} cannot import PyTorch, which writes the networks: set "
                  "DBENCH_TORCH_PYTHON to a Python with PyTorch 2.11", file=sys.stderr)
            sys.exit(3)
        if ended.returncode:
            sys.exit(ended.stderr)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    export(target)
    for graph, matrices in graphs().items():
        np.save(target / f"{graph}.npy", matrices)
    (target / "values.json").write_text(json.dumps(
        {f"offset-{k}": int(each) for k, each in enumerate(offsets())}))
