"""Auxiliary losses and loss functions of users, which the command exports or refuses."""

import pytest
from exporting import torch

HEADS = """
class make(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.more = nn.Linear(20, 10), nn.Linear(20, 10)

    def forward(self, x):
        return {"main": self.fc(x), "aux": self.more(x), "wide": x, "labels": x.argmax(1),
                "penalty": self.more.weight.square().mean()}
"""
LINEAR = """
make = nn.Linear(20, 10)

def focal(outputs, targets):
    chances = functional.log_softmax(outputs, 1).gather(1, targets[:, None])[:, 0]
    return -(1 - chances.exp()) ** 2 * chances

def other(outputs, targets):
    return outputs.mean()

class Learned(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = nn.Parameter(torch.ones(1))

    def forward(self, outputs, targets):
        return (self.rate * outputs).mean()

def draws(outputs, targets):
    return (outputs * torch.rand_like(outputs)).mean()

def decides(outputs, targets):
    return outputs.mean() if outputs.sum() > 0 else outputs.sum()

def names(outputs, targets):
    return outputs.main.mean()

text = lambda outputs, targets: "small"
some = lambda outputs, targets: outputs[:3].sum(1)
none = lambda outputs, targets: outputs.detach().mean()
number = 3
calls = [0]

def counts(outputs, targets):
    calls[0] += 1
    return outputs.mean() * calls[0]
"""
FEATURES = ["--input", "float32[20]", "--classes", "10"]


def test_auxiliary_losses(exporter):
    exporter.write(HEADS)
    printed = exporter("mine.py:make", *FEATURES, "--logits", "main", "--auxiliary", "aux=0.3",
                       "--auxiliary", "penalty=1e-2")
    assert "does not use the other outputs: wide, labels" in printed
    manifest = exporter.manifest()
    assert manifest["format"] == 2 and manifest["output"] == {"index": 0, "classes": 10}
    assert manifest["auxiliary"] == [{"weight": 0.3}, {"weight": 0.01}]
    programs = torch.export.pt2_archive._package.load_pt2("out.pt2").exported_programs
    assert [len(programs[name].graph_signature.user_outputs) for name in ("train", "eval")] == [3,
                                                                                               1]


def test_a_loss_function(exporter):
    exporter.write(LINEAR)
    exporter("mine.py:make", *FEATURES, "--loss", "mine.py:focal")
    manifest = exporter.manifest()
    assert manifest["format"] == 2 and manifest["loss"] == "graph"
    assert manifest["loss_source"] == "mine.py:focal"
    program = torch.export.pt2_archive._package.load_pt2("out.pt2").exported_programs["loss"]
    for batch in (1, 5):
        outputs, targets = torch.randn(batch, 10), torch.randint(10, (batch,))
        chances = outputs.log_softmax(1).gather(1, targets[:, None])[:, 0]
        found = program.module(check_guards=False)([outputs], targets)
        torch.testing.assert_close(found, -(1 - chances.exp()) ** 2 * chances)


def test_model_and_loss_of_one_file_share_its_classes(exporter):
    """A second import of the file would make another class Output, which the loss refuses."""
    exporter.write("""
    from typing import NamedTuple

    class Output(NamedTuple):
        logits: torch.Tensor
        scale: torch.Tensor

    class make(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(20, 10)

        def forward(self, x):
            return Output(self.fc(x), x.mean(1))

    def loss(outputs, targets):
        assert isinstance(outputs, Output), type(outputs)
        return functional.cross_entropy(outputs.logits, targets, reduction="none") * outputs.scale
    """)
    exporter("mine.py:make", *FEATURES, "--loss", "mine.py:loss")
    assert exporter.manifest()["loss_source"] == "mine.py:loss"


def test_plain_losses_have_the_first_format(exporter):
    exporter.write(LINEAR)
    exporter("mine.py:make", *FEATURES, "--loss", "cross_entropy")
    assert exporter.manifest()["format"] == 1


REFUSED = {
    "no output": (HEADS, ["--logits", "main", "--auxiliary", "lost=1"],
                  "no other output of this name: choose from aux, wide"),
    "no weight": (HEADS, ["--logits", "main", "--auxiliary", "aux"], "it is not NAME=WEIGHT"),
    "endless": (HEADS, ["--logits", "main", "--auxiliary", "aux=inf"], "it is not NAME=WEIGHT"),
    "shape": (HEADS, ["--logits", "main", "--auxiliary", "wide=1"],
              "it must have the shape (4, 10) of the logits"),
    "both": (HEADS, ["--loss", "mine.py:make", "--auxiliary", "aux=1"], "leave this option out"),
    "whole numbers": (HEADS, ["--logits", "main", "--loss", "mine.py:nn"],
                      "it is module instead of a function"),
    "whole outputs": (HEADS + "\ndef f(o, t): return o['main'].mean()",
                      ["--logits", "main", "--loss", "mine.py:f"], "whole numbers in labels"),
    "parameters": (LINEAR, ["--loss", "mine.py:Learned"], "it has parameters"),
    "draws": (LINEAR, ["--loss", "mine.py:draws"], "draws random numbers (aten.rand_like.default)"),
    "decides": (LINEAR, ["--loss", "mine.py:decides"], "if outputs.sum() > 0"),
    "names": (LINEAR, ["--loss", "mine.py:names"], "the loss function fails on targets"),
    "text": (LINEAR, ["--loss", "mine.py:text"], "it returns str instead of a loss"),
    "some": (LINEAR, ["--loss", "mine.py:some"], "it returns the shape (3,) for 4 samples"),
    "none": (LINEAR, ["--loss", "mine.py:none"], "its loss does not depend on parameters"),
    "number": (LINEAR, ["--loss", "mine.py:number"], "it is int instead of a function"),
    "lost": (LINEAR, ["--loss", "mine.py:lost"], "it has no lost"),
    "word": (LINEAR, ["--loss", "hinge"],
             "--loss hinge: it is neither cross_entropy, mse nor FILE.py:FUNCTION"),
    "twice": (HEADS, ["--logits", "main", "--auxiliary", "aux=0.3", "--auxiliary", "aux=0.4"],
              "the output aux already has the weight 0.3"),
    "counts": (LINEAR, ["--loss", "mine.py:counts"], "the graph of the function computes"),
    "table": ("""
class make(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.table = nn.Linear(20, 10), nn.Parameter(torch.randn(8, 10))

    def forward(self, x):
        return self.fc(x), self.table.exp()

def f(outputs, targets):
    return functional.cross_entropy(outputs[0], targets) + outputs[1].mean()
""", ["--logits", "0", "--loss", "mine.py:f"],
              "self.table.exp()): it returns 8 rows for a batch of every size"),
    "modes": ("""
class make(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 10)

    def forward(self, x):
        return (self.fc(x), x) if self.training else self.fc(x)

def f(outputs, targets):
    return outputs[0].mean()
""", ["--logits", "0", "--loss", "mine.py:f"], "other outputs in eval() than in train()"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(exporter, name):
    code, options, words = REFUSED[name]
    exporter.write(code)
    assert words in exporter("mine.py:make", *FEATURES, *options, expect=2)
