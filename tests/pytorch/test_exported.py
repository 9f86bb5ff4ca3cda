"""Compares exported models with the PyTorch modules from which they were made, bit for bit: losses,
gradients, parameters and buffers of three steps, and outputs of the evaluation graph."""

import json
import math

import pytest
from exported_steps import draw_batch
from reference import make_runs, torch
from torch import nn
from torch.export.pt2_archive._package import package_pt2
from torch.nn import functional


class Residual(nn.Module):
    """BatchNorm, a sum and ReLU in place, pooling, dropout."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.last = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.fc = nn.Linear(8, 10)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        x = functional.max_pool2d(self.relu(self.norm(self.first(x))), 2)
        y = self.last(self.second(x))
        y += x
        return self.fc(self.dropout(self.relu(y).mean((2, 3))))


class Text(nn.Module):
    """A block of attention with a mask in a buffer; the last layer is tied to the embedding."""

    def __init__(self, words=50, length=12, width=16, heads=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm, self.heads = nn.LayerNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.head, self.dropout = nn.Linear(width, words, bias=False), nn.Dropout(0.1)
        self.head.weight = self.words.weight
        self.register_buffer("mask", torch.tril(torch.ones(length, length))[None, None])

    def forward(self, tokens):
        count, length = tokens.shape
        x = self.dropout(self.words(tokens) + self.places(torch.arange(length)))
        q, k, v = (each.view(count, length, self.heads, -1).transpose(1, 2)
                   for each in self.qkv(self.norm(x)).chunk(3, 2))
        weights = q @ k.transpose(2, 3) / math.sqrt(q.size(-1))
        weights = weights.masked_fill(self.mask == 0, -math.inf).softmax(-1)
        return self.head(x + self.out((self.dropout(weights) @ v).transpose(1, 2).flatten(2)))


class Fused(Text):
    """A block with PyTorch's attention."""

    def forward(self, tokens):
        count, length = tokens.shape
        x = self.words(tokens) + self.places(torch.arange(length))
        q, k, v = (each.view(count, length, self.heads, -1).transpose(1, 2)
                   for each in self.qkv(self.norm(x)).chunk(3, 2))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(x + self.out(seen.transpose(1, 2).flatten(2)))


class Regions(nn.Module):
    """Computes without gradients and without autocast, as models with rotary positions do."""

    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(20, 20), nn.Linear(20, 10)
        self.register_buffer("rates", torch.arange(20) / 20, persistent=False)

    def forward(self, x):
        y = self.fc(x)
        with torch.no_grad():
            turned = (self.rates * x.shape[0]).cos()
            shift = turned * y
        with torch.autocast("cpu", enabled=False):
            z = y * turned + shift
        return self.out(z)


class Recurrent(nn.Module):
    def __init__(self, words=50, width=16):
        super().__init__()
        self.encoder, self.fc = nn.Embedding(words, width), nn.Linear(width, words)
        self.rnn = nn.LSTM(width, width, 2, batch_first=True, dropout=0.2)

    def forward(self, tokens):
        return self.fc(self.rnn(self.encoder(tokens))[0])


class InPlace(nn.Module):
    """Changes its input in place, and ends in a view."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 10)

    def forward(self, x):
        return self.fc(x.mul_(3.0)).view(x.shape[0] * 2, 5).view(x.shape[0], 10)


def regression():
    return nn.Sequential(nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 1))


MODELS = {"residual": (Residual, "image", [3, 8, 8], 10), "text": (Text, "tokens", [12], 50),
          "fused": (Fused, "tokens", [12], 50), "recurrent": (Recurrent, "tokens", [12], 50),
          "in place": (InPlace, "features", [20], 10),
          "group norm": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(),
                                               nn.AdaptiveAvgPool2d(2), nn.Flatten(),
                                               nn.Linear(32, 10)), "image", [3, 8, 8], 10),
          "regions": (Regions, "features", [20], 10),
          "regression": (regression, "features", [20], 0)}
CASES = [(name, batch, precision) for name in MODELS for batch in (1, 3, 7)
         for precision in ("float32", "float64") if not (name == "residual" and batch == 1)]


def export(module, kind, shape, classes, path):
    example = (torch.randint(classes, (4, *shape)) if kind == "tokens"
               else torch.randn(4, *shape))
    programs = {}
    for name in ("train", "eval"):
        module.train(name == "train")
        programs[name] = torch.export.export(
            module, (example,), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},))
    package_pt2(str(path), exported_programs=programs, extra_files={"dbench.json": json.dumps({
        "format": 1, "train": "train", "eval": "eval", "input": {"kind": kind, "shape": shape},
        "output": {"index": 0, "classes": classes or None},
        "loss": "cross_entropy" if classes else "mse"})})


@pytest.fixture(scope="module")
def modules():
    torch.manual_seed(0)
    return {name: make() for name, (make, *_) in MODELS.items()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, modules):
    folder = tmp_path_factory.mktemp("exported")
    for name, (_, kind, shape, classes) in MODELS.items():
        export(modules[name], kind, shape, classes, folder / f"{name}.pt2")
    specs = [{"model": {"type": "exported", "path": str(folder / f"{name}.pt2"),
                        "memory_format": "contiguous"}, "batch": batch,
              "input_shape": MODELS[name][2], "classes": MODELS[name][3], "precision": precision,
              "tokens": MODELS[name][1] == "tokens", "optimizer": {"type": "sgd", "lr": 0.1},
              "steps": 3, "seed": 1 + k} for k, (name, batch, precision) in enumerate(CASES)]
    return dict(zip(CASES, zip(specs, make_runs(specs, folder))))


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_three_steps_are_those_of_pytorch_to_the_bit(runs, modules, case):
    spec, run = runs[case]
    dtype = getattr(torch, spec["precision"])
    module = MODELS[case[0]][0]()
    module.load_state_dict(modules[case[0]].state_dict())
    module.to(dtype)
    torch.set_default_dtype(dtype)
    try:
        compare(module, spec, run)
    finally:
        torch.set_default_dtype(torch.float32)


def compare(module, spec, run):
    assert list(run.group("initial")) == [name for name, _ in module.named_parameters()]
    for step in range(spec["steps"]):
        inputs, targets = draw_batch(spec, step)
        assert torch.equal(run[f"{step}/inputs"], inputs)
        module.train()
        output = module(inputs.clone())
        loss = (functional.cross_entropy(output.flatten(0, -2), targets) if spec["classes"]
                else functional.mse_loss(output.flatten(), targets))
        module.zero_grad()
        loss.backward()
        assert torch.equal(run[f"{step}/loss"], loss.detach())
        for name, parameter in module.named_parameters():
            assert torch.equal(run[f"{step}/gradient/{name}"], parameter.grad), name
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                parameter.copy_(run[f"{step}/parameter/{name}"])
        for name, buffer in run.group(f"{step}/buffer").items():
            assert torch.equal(buffer, module.get_buffer(name)), name
        module.eval()
        with torch.no_grad():
            evaluated = module(inputs.clone())
        ours = run[f"{step}/evaluated"]
        assert torch.equal(ours, evaluated.reshape(ours.shape))
