"""Models with several outputs, and loss functions, as users write them
(test_exported_losses.py)."""

import torch
from torch import nn
from torch.nn import functional


class Auxiliary(nn.Module):
    """Returns in train() also other logits, a penalty, and a loss of each sample."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.fc, self.more = nn.Linear(8, 10), nn.Linear(8, 10)

    def forward(self, x):
        h = self.norm(self.conv(x)).relu().mean((2, 3))
        if not self.training:
            return self.fc(h)
        return {"aux": self.more(h), "logits": self.fc(h), "penalty": h.square().mean(),
                "each": h.abs().mean(1)}


class Heads(nn.Module):
    """Returns two heads of logits; the loss of the second one can be added."""

    def __init__(self):
        super().__init__()
        self.body, self.fc, self.more = nn.Linear(20, 8), nn.Linear(8, 10), nn.Linear(8, 10)

    def forward(self, x):
        h = self.body(x).tanh()
        return self.fc(h), self.more(h)


class Quantiles(nn.Module):
    """Predicts three quantiles of a real target."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 3))

    def forward(self, x):
        return self.body(x)


def pinball(outputs, targets):
    rates = torch.tensor([0.125, 0.5, 0.875], dtype=outputs.dtype)  # exact in float32
    error = targets[:, None] - outputs
    return torch.maximum(rates * error, (rates - 1) * error).mean(1)


def mean_pinball(outputs, targets):
    return pinball(outputs, targets).mean()


class Scaled(nn.Module):
    """Returns logits and, in a dict, their scale."""

    def __init__(self):
        super().__init__()
        self.fc, self.scale = nn.Linear(20, 10), nn.Linear(20, 1)

    def forward(self, x):
        return self.fc(x), {"scale": self.scale(x)}


def focal(outputs, targets):
    logits, more = outputs
    chances = functional.log_softmax(logits * more["scale"].exp(), 1)
    chosen = chances.gather(1, targets[:, None])[:, 0]
    return -(1 - chosen.exp()) ** 2 * chosen


class Texts(nn.Module):
    """Returns logits of each token, and a penalty of each text and of the batch."""

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(50, 8), nn.Linear(8, 50)

    def forward(self, tokens):
        h = self.words(tokens)
        return {"scores": self.head(h), "each": h.square().mean((1, 2)), "all": h.abs().mean()}


def penalised(outputs, targets):
    chosen = functional.cross_entropy(outputs["scores"].transpose(1, 2), targets,
                                      reduction="none")
    return chosen.mean(1) + 0.1 * outputs["each"] + 0.01 * outputs["all"]


weighted = nn.CrossEntropyLoss(weight=torch.arange(1, 11) / 5, label_smoothing=0.1)


class Shifted(nn.Module):
    """Two of its three constants are one tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("first", torch.linspace(-1, 1, 10))
        self.register_buffer("again", self.first.detach())
        self.register_buffer("last", torch.arange(10) / 4)

    def forward(self, outputs, targets):
        shifted = outputs * self.last + self.first * outputs.tanh() - self.again
        return functional.cross_entropy(shifted, targets, reduction="none")


shifted = Shifted()


def linear():
    return nn.Linear(20, 10)


def regression():
    return nn.Sequential(nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 1))


def balanced(outputs, targets):
    """Divides by the number of samples of the class."""
    count = functional.one_hot(targets, 10).sum(0).to(outputs.dtype)
    return functional.cross_entropy(outputs, targets, reduction="none") / count[targets]


def repelled(outputs, targets):
    """Moves samples of different classes apart."""
    distance = (outputs[:, None] - outputs).square().mean(2)
    others = (targets[:, None] != targets).to(outputs.dtype)
    pushes = (functional.relu(4 - distance) * others).sum(1) / others.sum(1).clamp(min=1)
    return functional.cross_entropy(outputs, targets, reduction="none") + pushes


def shared(outputs, targets):
    return functional.cross_entropy(outputs, targets, reduction="none") / targets.shape[0]


def chances():
    return nn.Sequential(nn.Linear(20, 10), nn.Sigmoid())


def each_chance(outputs, targets):
    """Accepts only numbers from 0 to 1."""
    wanted = functional.one_hot(targets, 10).to(outputs.dtype)
    return functional.binary_cross_entropy(outputs, wanted, reduction="none").mean(1)
