"""One recipe twice, ResNet-20 on CIFAR-10 with one replica: by this program, and by plain PyTorch
from the same initial values with the same batches in the same order. Prints the losses of both.

  anchor.py [ITERATIONS] [BATCH]      300 and 32; an epoch has at most 10,000 images

DBENCH_PROGRAM and DBENCH_REFERENCE name the programs dbench and reference_dump, DBENCH_DATA the
folder of cifar-10-batches-bin.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
from reference import make_runs, torch
from torch_models import MODELS

LR, MOMENTUM, DECAY = 0.05, 0.9, 1e-4
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def data():
    return Path(os.environ["DBENCH_DATA"]) / "cifar-10-batches-bin" / "data_batch_1.bin"


def ours(iterations, batch, folder):
    """The program's loss of each minibatch [iterations]."""
    spec = {"replicas": 1, "seed": 1, "model": "resnet20", "graph": "ring", "algorithm": "dsgd",
            "data": {"type": "cifar10", "batch_size": batch, "partition": "contiguous",
                     "limit": {"train": min(10000, iterations * batch), "test": 10}},
            "optimizer": {"type": "sgd", "lr": LR, "momentum": MOMENTUM, "weight_decay": DECAY},
            "schedule": {"type": "cosine", "warmup": {"iterations": iterations // 10}},
            "length": {"iterations": iterations}, "evaluate": {"every": None}}
    (folder / "anchor.json").write_text(json.dumps(spec))
    subprocess.run([os.environ["DBENCH_PROGRAM"], "run", folder / "anchor.json", "--quiet",
                    "--output", folder / "anchor.h5"], check=True)
    with h5py.File(folder / "anchor.h5") as file:
        return file["iterations/train_loss"][:, 0].astype(float)


def rate(t, iterations):
    warm = iterations // 10
    if t < warm:
        return LR * (t + 1) / warm
    return LR * (1 + math.cos(math.pi * (t - warm) / (iterations - warm))) / 2


def theirs(iterations, batch, folder):
    """PyTorch's."""
    (start,) = make_runs([{"model": {"type": "resnet20"}, "optimizer": "sgd", "steps": 0, "seed": 1,
                           "input_shape": [3, 32, 32], "classes": 10, "batch": 1,
                           "precision": "float32"}], folder)
    module = MODELS["resnet20"]([3, 32, 32], 10).train()
    module.load_state_dict(start.group("initial"), strict=False)
    records = np.fromfile(data(), np.uint8).reshape(-1, 3073)
    labels = torch.from_numpy(records[:, 0].astype(np.int64))
    pixels = records[:, 1:].reshape(-1, 3, 32, 32)
    per_epoch = min(len(records), iterations * batch) // batch
    mean, deviation = (np.reshape(v, (3, 1, 1)) for v in (MEAN, DEVIATION))
    optimizer = torch.optim.SGD(module.parameters(), momentum=MOMENTUM, weight_decay=DECAY)
    losses = []
    for t in range(iterations):
        first = t % per_epoch * batch
        images = (pixels[first:first + batch] / 255 - mean) / deviation
        optimizer.param_groups[0]["lr"] = rate(t, iterations)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            module(torch.from_numpy(images.astype(np.float32))), labels[first:first + batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


if __name__ == "__main__":
    iterations, batch = (*map(int, sys.argv[1:]), *(300, 32)[len(sys.argv) - 1:])
    with tempfile.TemporaryDirectory() as temporary:
        both = [train(iterations, batch, Path(temporary)) for train in (ours, theirs)]
    for begin in range(0, iterations, max(1, iterations // 10)):
        part = slice(begin, begin + max(1, iterations // 10))
        a, b = (losses[part].mean() for losses in both)
        print(f"from iteration {begin:5}: dbench {a:.4f}, PyTorch {b:.4f}, ratio {a / b:.4f}")
