#!/usr/bin/env python3
"""The anchor: ResNet-20 with data-parallel SGD in plain PyTorch, to compare with this project's
all-reduce (README.md beside this file).

  anchor.py train 1 2 3 4 5 6 -o pytorch.csv         PyTorch's curve of each seed; finished seeds
                                                     of the file are kept
  anchor.py compare results/studies/anchor pytorch.csv

`train` needs torch and numpy, and DBENCH_DATA, the folder of the data sets. It uses none of this
project's code. Four replicas of 32 images are four backward passes whose gradients are averaged,
as DistributedDataParallel does. BatchNorm normalizes each replica's 32 images on their own, and the
running statistics are those of replica 0. `compare` needs h5py, and exits with status 1 if a mean
is outside the range of PyTorch's seeds.
"""

import argparse
import csv
import math
import os
import statistics
import sys
from pathlib import Path

REPLICAS, BATCH, IMAGES, TESTS, EPOCHS = 4, 32, 10000, 5000, 5
RATE, MOMENTUM, DECAY, WARMUP = 0.1, 0.9, 0.0001, 39  # of the warm-up: iterations
COLUMNS = ["seed", "epoch", "accuracy", "images", "tests"]
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)  # published, of CIFAR-10


def read(name, count):
    """Return the first images of a file of CIFAR-10, [count, 3, 32, 32] bytes, and their labels."""
    import numpy as np
    import torch
    path = Path(os.environ["DBENCH_DATA"]) / "cifar-10-batches-bin" / name
    records = torch.from_numpy(np.fromfile(path, np.uint8, count * 3073).reshape(count, 3073))
    return records[:, 1:].reshape(count, 3, 32, 32), records[:, 0].long()


def resnet20():
    """Return ResNet-20 for CIFAR-10 (He et al. 2015, section 4.2): shortcuts without parameters,
    initial values of He et al. 2015 for the convolutions."""
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, before, after):
            super().__init__()
            self.added = after - before
            self.conv1 = nn.Conv2d(before, after, 3, 2 if self.added else 1, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(after)
            self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(after)

        def forward(self, x):
            y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
            if self.added:
                x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.added // 2, self.added // 2))
            return F.relu(x + y)

    widths = [16, 16, 16, 16, 32, 32, 32, 64, 64, 64]
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        *(Block(before, after) for before, after in zip(widths, widths[1:])),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model


def augmented(images):
    """Return images that are cropped at random after a padding of 4 black pixels, and mirrored with
    probability 1/2."""
    import torch
    padded = torch.nn.functional.pad(images, (4, 4, 4, 4))
    rows, columns = torch.randint(9, (2, len(images))).tolist()
    cropped = torch.stack([image[:, r:r + 32, c:c + 32]
                           for image, r, c in zip(padded, rows, columns)])
    mirrored = torch.rand(len(images)) < 0.5
    cropped[mirrored] = cropped[mirrored].flip(3)
    return cropped


def normalized(images):
    """Return bytes as numbers with mean 0 and deviation 1 in each channel, channels last."""
    import torch
    mean, deviation = (torch.tensor(v).reshape(3, 1, 1) for v in (MEAN, DEVIATION))
    return ((images / 255 - mean) / deviation).contiguous(memory_format=torch.channels_last)


def test(model, images, labels):
    """Return the accuracy."""
    import torch
    model.eval()
    with torch.no_grad():
        correct = sum(int((model(normalized(x)).argmax(1) == y).sum())
                      for x, y in zip(images.split(500), labels.split(500)))
    model.train()
    return correct / len(labels)


def train(seed):
    """Yield the accuracy after each epoch."""
    import torch
    torch.manual_seed(seed)
    images, labels = read("data_batch_1.bin", IMAGES)
    tests = read("test_batch.bin", TESTS)
    model = resnet20().to(memory_format=torch.channels_last)
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    optimizer = torch.optim.SGD(model.parameters(), RATE, MOMENTUM, weight_decay=DECAY)
    per_epoch = IMAGES // (REPLICAS * BATCH)
    last = EPOCHS * per_epoch - WARMUP

    def factor(t):
        if t < WARMUP:
            return (t + 1) / WARMUP
        return (1 + math.cos(math.pi * (t - WARMUP) / last)) / 2

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    for _ in range(EPOCHS):
        order = torch.randperm(IMAGES)[:per_epoch * REPLICAS * BATCH]
        for step in order.reshape(per_epoch, REPLICAS, BATCH):
            optimizer.zero_grad()
            for replica, chosen in enumerate(step):
                for norm in norms:
                    norm.momentum = 0.1 if replica == 0 else 0  # 0: keep the statistics
                batch = normalized(augmented(images[chosen]))
                loss = torch.nn.functional.cross_entropy(model(batch), labels[chosen])
                (loss / REPLICAS).backward()
            optimizer.step()
            schedule.step()
        yield test(model, *tests)


def rows_of(path):
    """Return the rows of a file of `train`; none if there is no file."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if (int(row["images"]), int(row["tests"])) != (IMAGES, TESTS):
            sys.exit(f"{path}: trained on {row['images']} images and tested on {row['tests']}, not "
                     f"{IMAGES} and {TESTS}: name another file")
    return rows


def run_train(arguments):
    path = Path(arguments.output)
    done = {int(row["seed"]) for row in rows_of(path)}
    for seed in arguments.seeds:
        if seed in done:
            print(f"seed {seed}: {path} has it")
            continue
        found = []
        for epoch, accuracy in enumerate(train(seed), 1):
            print(f"seed {seed}, epoch {epoch}: {100 * accuracy:.2f} %", flush=True)
            found.append([seed, epoch, accuracy, IMAGES, TESTS])
        begun = path.exists()
        with open(path, "a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(found if begun else [COLUMNS, *found])
    return 0


def ours(folder):
    """Return {epoch: accuracies of the mean model, one of each run} of a folder of result files."""
    import h5py
    found = {}
    paths = sorted(Path(folder).glob("*.h5"))
    if not paths:
        sys.exit(f"{folder}: no result file: train runs.json first")
    for path in paths:
        with h5py.File(path) as file:
            epochs = file["evaluations/epoch"][:]
            accuracies = file["evaluations/mean_accuracy"][:]
            for epoch, accuracy in zip(epochs, accuracies):
                if epoch > 0:
                    found.setdefault(round(float(epoch)), []).append(float(accuracy))
    return found


def run_compare(arguments):
    theirs = {}
    for row in rows_of(Path(arguments.pytorch)):
        theirs.setdefault(int(row["epoch"]), []).append(float(row["accuracy"]))
    if not theirs:
        sys.exit(f"{arguments.pytorch}: no rows: run `anchor.py train` first")
    own, outside = ours(arguments.results), 0
    if own.keys() != theirs.keys():
        sys.exit(f"the epochs differ: {sorted(own)} in {arguments.results}, {sorted(theirs)} in "
                 f"{arguments.pytorch}")
    print("| epoch | PyTorch: mean | range of its seeds | DBench: mean | range of its seeds | "
          "difference | within PyTorch's range |\n|---:|---:|---:|---:|---:|---:|---|")
    for epoch, a in sorted(theirs.items()):
        b = own[epoch]
        mean_a, mean_b = statistics.mean(a), statistics.mean(b)
        error = math.sqrt(statistics.variance(a) / len(a) + statistics.variance(b) / len(b))
        inside = min(a) <= mean_b <= max(a)
        outside += not inside
        print(f"| {epoch} | {100 * mean_a:.2f} | {100 * min(a):.2f} to {100 * max(a):.2f} | "
              f"{100 * mean_b:.2f} | {100 * min(b):.2f} to {100 * max(b):.2f} | "
              f"{100 * (mean_b - mean_a):+.2f} ± {100 * error:.2f} | {'yes' if inside else 'no'} |")
    return 1 if outside else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("train", help="train in PyTorch")
    one.add_argument("seeds", type=int, nargs="+")
    one.add_argument("-o", "--output", required=True, help="the file of curves")
    one.set_defaults(run=run_train)
    two = commands.add_parser("compare", help="compare with result files")
    two.add_argument("results", help="the folder of the result files")
    two.add_argument("pytorch", help="the file of curves")
    two.set_defaults(run=run_compare)
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
