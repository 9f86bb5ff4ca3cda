"""Trains one recipe of each application twice with one replica, by this program and by plain
PyTorch, from the same initial values with the same batches in the same order. Prints the losses of
both.

  anchor.py [APPLICATION] [ITERATIONS] [PRECISION]      defaults: resnet20, the recipe's, float32

Applications: resnet20 and densenet on CIFAR-10, resnet50 on photographs of 64 pixels, which Pillow
decodes for both, lstm on WikiText-2 as a stream, gpt on the bytes of WikiText-2, transformer on
Multi30k in batches of tokens. Optimizers and models are those of configs/applications/NAME-small.
Models have no dropout, because its random draws differ; resnet20 uses a tenth of the rate.

DBENCH_PROGRAM and DBENCH_REFERENCE name the programs dbench and reference_dump, DBENCH_DATA the
folder of the data sets.
"""

import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
from reference import make_runs, torch
from torch_models import MODELS

F = torch.nn.functional


class Recipe(NamedTuple):
    model: dict
    shape: list                  # shape of a sample
    classes: int
    data: dict                   # the spec's /data
    batch: Callable[[int], Any]  # iteration -> inputs and labels
    optimizer: dict
    schedule: dict | str = "constant"
    smoothing: float = 0


def folder_of_data(name):
    return Path(os.environ["DBENCH_DATA"]) / name


# Images: batches of consecutive images; every epoch starts at the beginning.

def pictures(images, labels, batch, iterations):
    per_epoch = min(len(images), iterations * batch) // batch

    def at(t):
        first = t % per_epoch * batch
        return (torch.from_numpy(images[first:first + batch]),
                torch.from_numpy(labels[first:first + batch]))
    return at


def cifar(model, optimizer, schedule, batch, iterations):
    """Return a recipe on the first file of CIFAR-10, at most 10,000 images per epoch."""
    path = folder_of_data("cifar-10-batches-bin/data_batch_1.bin")
    images = min(10000, iterations * batch)
    records = np.fromfile(path, np.uint8, images * 3073).reshape(-1, 3073)
    mean, deviation = (np.reshape(v, (3, 1, 1)) for v in ((0.4914, 0.4822, 0.4465),
                                                          (0.2470, 0.2435, 0.2616)))
    pixels = (records[:, 1:].reshape(-1, 3, 32, 32) / 255 - mean) / deviation
    return Recipe({"type": model}, [3, 32, 32], 10,
                  {"type": "cifar10", "batch_size": batch, "partition": "contiguous",
                   "limit": {"train": images, "test": 10}},
                  pictures(pixels, records[:, 0].astype(np.int64), batch, iterations), optimizer,
                  schedule)


def resnet20(iterations, _, batch=32):
    return cifar("resnet20",
                 {"type": "sgd", "lr": 0.01, "momentum": 0.9, "weight_decay": 0.0001},
                 {"type": "cosine", "warmup": {"iterations": iterations // 10}}, batch, iterations)


def densenet(iterations, _):
    return cifar("densenet",
                 {"type": "sgd", "lr": 0.1, "momentum": 0.9, "nesterov": True,
                  "weight_decay": 0.0001}, {"type": "cosine"}, 16, iterations)


def resnet50(iterations, folder):
    from PIL import Image
    paths = sorted(folder_of_data("imagenet-sample").glob("*.JPEG"))
    mean, deviation = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    images = np.stack([
        (np.array(Image.open(path).convert("RGB").resize((64, 64), Image.Resampling.BILINEAR))
         / 255 - mean) / deviation for path in paths]).transpose(0, 3, 1, 2).astype(np.float32)
    labels = np.arange(len(paths))          # every photograph has its own class
    np.savez(folder / "photographs.npz", x_train=np.ascontiguousarray(images), y_train=labels,
             x_test=np.ascontiguousarray(images[:6]), y_test=labels[:6])
    return Recipe({"type": "resnet50"}, [3, 64, 64], len(paths),
                  {"type": "npz", "train": str(folder / "photographs.npz"), "batch_size": 6,
                   "partition": "contiguous"},
                  pictures(np.ascontiguousarray(images), labels, 6, iterations),
                  {"type": "adam", "lr": 0.0003})


# Texts: windows of tokens. The label of a token is the token that follows it.

def lines_of(path):
    return path.read_bytes().decode().removesuffix("\n").split("\n")


def words_of(line):
    return re.findall(r"[^ \t\r\v\f]+", line)


def windows(tokens, length, firsts):
    starts = np.asarray(firsts)[:, None] * length + np.arange(length)
    return torch.from_numpy(tokens[starts]), torch.from_numpy(tokens[starts + 1]).flatten()


def lstm(iterations, _, batch=8):
    """Return the LSTM recipe: each column of a batch continues to read its own part of the text."""
    lines = lines_of(folder_of_data("wikitext-2/wiki.train.tokens"))
    words = [word for line in lines for word in (*words_of(line), "<eos>")]
    numbers = {word: k for k, (word, _) in enumerate(Counter(words).most_common(10000))}
    tokens = np.array([numbers.get(word, numbers["<unk>"])
                       for word in words[:iterations * batch * 35 + 1]])
    return Recipe({"type": "lstm", "hidden": 200, "layers": 2, "dropout": 0}, [35], 10000,
                  {"type": "wikitext2", "vocabulary": 10000, "sequence": 35, "batch_size": batch,
                   "partition": "stream", "limit": {"train": iterations * batch, "test": 2}},
                  lambda t: windows(tokens, 35, np.arange(batch) * iterations + t),
                  {"type": "sgd", "lr": 20, "clip_norm": 0.25}, {"type": "cosine", "lr_min": 0.2})


def gpt(iterations, _, batch=8):
    path = folder_of_data("wikitext-2/wiki.train.tokens")
    tokens = np.fromfile(path, np.uint8, iterations * batch * 128 + 1).astype(np.int64)
    return Recipe({"type": "gpt", "layers": 4, "heads": 4, "width": 128, "dropout": 0}, [128], 256,
                  {"type": "text", "path": str(path), "sequence": 128, "batch_size": batch,
                   "partition": "contiguous", "limit": {"train": iterations * batch, "test": 2}},
                  lambda t: windows(tokens, 128, np.arange(batch) + t * batch),
                  {"type": "adamw", "lr": 0.001, "weight_decay": 0.1, "decay": "weights",
                   "clip_norm": 1}, {"type": "cosine", "warmup": {"iterations": iterations // 10}})


# Pairs of sentences in byte pairs, which are read from a file of `dbench data pieces`.

def encoder(path):
    """Return a function that encodes a line as piece numbers.

    In each word it applies the earliest merge first, from the left.
    """
    merges = [tuple(map(int, line.split())) for line in path.read_text().splitlines()[1:]]
    pieces = {pair: 259 + k for k, pair in enumerate(merges)}
    known = {}

    def word(text):
        parts = [3 + byte for byte in text.encode()]
        while found := [pieces[pair] for pair in itertools.pairwise(parts) if pair in pieces]:
            pair, merged, k = merges[min(found) - 259], [], 0
            while k < len(parts):
                here = tuple(parts[k:k + 2]) == pair
                merged.append(min(found) if here else parts[k])
                k += 1 + here
            parts = merged
        return parts

    def line(text):
        out = []
        for each in words_of(text):      # punctuation is a separate word without the blank
            begin, *rest = re.findall(r"[0-9A-Za-z\x80-\U0010ffff]+|[^0-9A-Za-z\x80-\U0010ffff]+",
                                      each)
            for part in (" " + begin, *rest):
                if part not in known:
                    known[part] = word(part)
                out += known[part]
        return out
    return line


def transformer(iterations, folder, tokens=1024):
    train = [folder_of_data(f"multi30k/train.{language}") for language in ("en", "de")]
    subprocess.run([os.environ["DBENCH_PROGRAM"], "data", "pieces", *train, "--output",
                    folder / "pieces.txt", "--pieces", "4000"], check=True,
                   stdout=subprocess.DEVNULL)
    encode = encoder(folder / "pieces.txt")
    count = 60 * iterations       # a batch has about 50 pairs; pairs are sorted from short to long
    sides = [[encode(line) for line in lines_of(path)[:count]] for path in train]
    pairs = sorted(zip(*sides), key=lambda pair: max(map(len, pair)))
    batches = [[]]
    for pair in pairs:
        if (len(batches[-1]) + 1) * (max(map(len, pair)) + 1) > tokens:     # plus one token
            batches.append([])
        batches[-1].append(pair)

    def at(t):
        rows = batches[t % len(batches)]
        length = max(max(map(len, pair)) for pair in rows) + 1
        inputs = torch.zeros(len(rows), 2, length, dtype=torch.int64)
        for row, (source, target) in zip(inputs, rows):
            row[0, :len(source) + 1] = torch.tensor([*source, 2])
            row[1, :len(target) + 1] = torch.tensor([1, *target])
        return inputs, torch.tensor([token for _, target in rows for token in (*target, 2)])

    return Recipe({"type": "transformer", "width": 128, "heads": 4, "layers": 2, "hidden": 512,
                   "dropout": 0}, [2, 40], 4000,
                  {"type": "multi30k", "vocabulary": 4000, "batch_size": {"tokens": tokens},
                   "partition": "contiguous", "limit": {"train": count, "test": 2}}, at,
                  {"type": "adam", "lr": 0.003, "betas": [0.9, 0.98], "eps": 1e-9},
                  {"type": "inverse_sqrt", "warmup": {"iterations": iterations // 3}}, 0.1)


# name: (function of iterations and folder that returns the recipe, default number of iterations)
RECIPES = {"resnet20": (resnet20, 300), "densenet": (densenet, 20), "resnet50": (resnet50, 10),
           "lstm": (lstm, 60), "gpt": (gpt, 60), "transformer": (transformer, 60)}


def ours(recipe, iterations, precision, folder):
    """Return the program's loss of each minibatch, [iterations]."""
    spec = {"replicas": 1, "seed": 1, "precision": precision, "model": recipe.model,
            "implementation": "C_complete", "data": recipe.data, "optimizer": recipe.optimizer,
            "schedule": recipe.schedule, "label_smoothing": recipe.smoothing,
            "length": {"iterations": iterations},
            "evaluate": {"every": None, "batch_size": 2}, "profile": {"norms": False}}
    (folder / "anchor.json").write_text(json.dumps(spec))
    subprocess.run([os.environ["DBENCH_PROGRAM"], "run", folder / "anchor.json", "--quiet",
                    "--output", folder / "anchor.h5"], check=True)
    with h5py.File(folder / "anchor.h5") as file:
        return file["iterations/train_loss"][:, 0].astype(float)


def rate(recipe, t, iterations):
    lr, schedule = recipe.optimizer["lr"], recipe.schedule
    if schedule == "constant":
        return lr
    warm = schedule.get("warmup", {}).get("iterations", 0)
    if t < warm:
        return lr * (t + 1) / warm
    if schedule["type"] == "inverse_sqrt":
        return lr * math.sqrt(max(1, warm) / (t + 1))
    least = schedule.get("lr_min", 0)
    passed = (t - warm) / (iterations - warm)
    return least + (lr - least) * (1 + math.cos(math.pi * passed)) / 2


def optimizer_of(recipe, module):
    options = {key: value for key, value in recipe.optimizer.items() if key != "clip_norm"}
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    groups = [{"params": list(module.parameters())}]
    if options.pop("decay", "all") == "weights":
        groups = [{"params": [p for p in module.parameters() if p.dim() > 1]},
                  {"params": [p for p in module.parameters() if p.dim() == 1], "weight_decay": 0}]
    return kind[options.pop("type")](groups, **options)


def reading_on(module):
    """Return a function that runs the LSTM and keeps its state from batch to batch."""
    state = None

    def forward(tokens):
        nonlocal state
        x, state = module.rnn(module.encoder(tokens), state)
        state = tuple(part.detach() for part in state)
        return module.decoder(x).flatten(0, 1)
    return forward


def theirs(recipe, iterations, precision, folder):
    """Return PyTorch's loss of each minibatch, [iterations]."""
    (start,) = make_runs([{"model": recipe.model, "optimizer": "sgd", "steps": 0, "seed": 1,
                           "input_shape": recipe.shape, "classes": recipe.classes, "batch": 1,
                           "tokens": len(recipe.shape) < 3, "precision": precision}], folder)
    options = {key: value for key, value in recipe.model.items() if key != "type"}
    module = MODELS[recipe.model["type"]](recipe.shape, recipe.classes, **options)
    module = module.to(getattr(torch, precision)).train()
    assert list(start.group("initial")) == [name for name, _ in module.named_parameters()]
    module.load_state_dict(start.group("initial"), strict=False)
    forward = reading_on(module) if recipe.model["type"] == "lstm" else module
    optimizer = optimizer_of(recipe, module)
    losses = []
    for t in range(iterations):
        inputs, labels = recipe.batch(t)
        if inputs.is_floating_point():
            inputs = inputs.to(getattr(torch, precision))
        for group in optimizer.param_groups:
            group["lr"] = rate(recipe, t, iterations)
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(inputs), labels, label_smoothing=recipe.smoothing)
        loss.backward()
        if limit := recipe.optimizer.get("clip_norm"):
            gradients = [p.grad for p in module.parameters()]
            norm = torch.cat([g.flatten() for g in gradients]).norm().item()
            for gradient in gradients:
                gradient *= min(1, limit / norm)
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


def both(application, iterations, precision, folder, **options):
    """Return the losses of the program and of PyTorch, each [iterations]."""
    recipe = RECIPES[application][0](iterations, folder, **options)
    return [train(recipe, iterations, precision, folder) for train in (ours, theirs)]


if __name__ == "__main__":
    application, *rest = sys.argv[1:] or ["resnet20"]
    iterations = int(rest[0]) if rest else RECIPES[application][1]
    precision = rest[1] if len(rest) > 1 else "float32"
    with tempfile.TemporaryDirectory() as temporary:
        losses = both(application, iterations, precision, Path(temporary))
    tenth = max(1, iterations // 10)
    for begin in range(0, iterations, tenth):
        a, b = (each[begin:begin + tenth].mean() for each in losses)
        print(f"{application}, from iteration {begin:5}: dbench {a:.4f}, PyTorch {b:.4f}, "
              f"ratio {a / b:.6f}")
