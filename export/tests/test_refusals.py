"""Models that DBench cannot train: the message says what is wrong, where, and what to write."""

import pytest
from exporting import HEAD

FEATURES = ["--input", "float32[20]", "--classes", "10"]
TOKENS = ["--input", "int64[12]", "--classes", "50"]


def module(forward, init="", before=""):
    """Return the code of a module that has a linear layer from 20 features to 10 classes."""
    return (before + "\nclass make(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.fc = nn.Linear(20, 10)\n" +
            "".join(f"        {line}\n" for line in init.split("\n")) +
            "\n    def forward(self, x):\n" +
            "".join(f"        {line}\n" for line in forward.split("\n")))


CUSTOM = """
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient
"""
OPERATOR = """
@torch.library.custom_op("mine_of_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x
@twice.register_fake
def _(x):
    return torch.empty_like(x)
twice.register_autograd(lambda ctx, gradient: 2 * gradient)
"""
TEXT = "nn.Sequential(nn.Embedding(50, 8, sparse=True), nn.Linear(8, 50))"
CASES = {
    "control flow": (module("if x.sum() > 0:\n    x = 2 * x\nreturn self.fc(x)"), FEATURES,
                     ["if x.sum() > 0", "torch.where"]),
    "a number of a tensor": (module("return self.fc(x) * float(x.mean())"), FEATURES,
                             ["float(x.mean())", "torch.where"]),
    "a custom function": (module("return Twice.apply(self.fc(x))", before=CUSTOM), FEATURES,
                          ["mine.Twice", "custom torch.autograd.Function"]),
    "a custom operator": (module("return twice(self.fc(x))", before=OPERATOR), FEATURES,
                          ["mine_of_test.twice", "no operator of PyTorch itself"]),
    "complex": (module("return self.fc(x) * self.c.abs()",
                       "self.c = nn.Parameter(torch.ones(1, dtype=torch.complex64))"), FEATURES,
                ["c: it is a complex parameter", "two parameters"]),
    "sparse": (f"make = {TEXT}", TOKENS, ["0: it is an Embedding", "sparse=False"]),
    "sparse function": (module("return self.last(functional.embedding(x, self.w, sparse=True))",
                               "self.w = nn.Parameter(torch.ones(50, 4))\n"
                               "self.last = nn.Linear(4, 50)"), TOKENS,
                        ["w: its gradient is sparse"]),
    "frozen": (module("return self.fc(x)", "self.fc.bias.requires_grad_(False)"), FEATURES,
               ["fc.bias: requires_grad is False", "register_buffer"]),
    "half": (module("return self.fc(x)", "self.half()"), FEATURES, ["module.float()"]),
    "fixed batch": (module("return self.fc(x.view(4, -1))"), FEATURES,
                    ["mine.py:", "x.view(4, -1)", "x.shape[0]"]),
    "dropout in eval": (module("return self.fc(functional.dropout(x, 0.5))"), FEATURES,
                        ["functional.dropout(x, 0.5)", "in eval()", "self.training"]),
    "buffer in eval": (module("self.count.add_(1)\nreturn self.fc(x)",
                              "self.register_buffer('count', torch.zeros(1))"), FEATURES,
                       ["count: forward() changes this buffer in eval()"]),
    "two parameters in one memory": (
        module("return self.fc(self.a(self.b(x)))",
               "self.a, self.b = nn.Linear(20, 20), nn.Linear(20, 20)\n"
               "self.b.weight = nn.Parameter(self.a.weight.t())"), FEATURES,
        ["b.weight: it shares memory with a.weight", "assign the Parameter itself"]),
    "a changed buffer of float64": (
        module("if self.training:\n    self.m.mul_(0.9)\nreturn self.fc(x + self.m.float())",
               "self.register_buffer('m', torch.ones(20, dtype=torch.float64))"), FEATURES,
        ["m: forward() changes this buffer of torch.float64", "buffer of torch.float32"]),
    "a counter that is read": (
        module("if self.training:\n    self.n.add_(1)\nreturn self.fc(x) / (1 + self.n)",
               "self.register_buffer('n', torch.tensor(0))"), FEATURES,
        ["self.n.add_(1)", "buffer n of torch.int64", "torch.zeros(()) instead of"]),
    "a counter that eval() reads": (
        module("if self.training:\n    with torch.no_grad():\n        self.n.add_(1)\n"
               "    return self.fc(x)\nreturn self.fc(x) / (1 + self.n)",
               "self.register_buffer('n', torch.tensor(0))"), FEATURES,
        ["self.n.add_(1)", "buffer n of torch.int64", "torch.zeros(()) instead of"]),
    "a mean of all batches": (
        module("return self.fc(self.norm(x))", "self.norm = nn.BatchNorm1d(20, momentum=None)"),
        FEATURES, ["norm: it is a BatchNorm1d with momentum=None", "such as 0.1"]),
    "a changed parameter": (
        "make = lambda: nn.Sequential(nn.Embedding(50, 8, max_norm=0.1), nn.Linear(8, 50))", TOKENS,
        ["0.weight: forward() changes this parameter", "leave max_norm out"]),
    "a parameter that keeps its value": (
        module("with torch.no_grad():\n    self.fc.bias.mul_(1.0)\nreturn self.fc(x)"), FEATURES,
        ["self.fc.bias.mul_(1.0)", "it changes the parameter fc.bias"]),
    "autocast": (
        module("with torch.autocast('cpu', torch.bfloat16):\n    y = self.fc(x)\n"
               "return y.float()"), FEATURES, ["y = self.fc(x)", '"compute": "bfloat16"']),
    "no single sample": (
        module("return self.fc(x) if x.shape[0] > 2 else self.fc(2 * x)"), FEATURES,
        ["accepts only some sizes of a batch", "Dim('batch', min=3)"]),
    "a number that PyTorch does not store": (
        module("return self.fc(x) + math.floor(x.shape[0] / 2)"), FEATURES,
        ["math.floor(x.shape[0] / 2)", "PyTorch cannot store floor", "n // 2"]),
    "an operator that PyTorch does not read": (
        module("if self.training:\n    x = x + torch.empty_like(x).uniform_()\n"
               "return self.fc(x)"), FEATURES,
        ["torch.empty_like(x).uniform_()", "aten.uniform_.default", "torch.rand_like(x)"]),
    "random of Python": (module("return self.fc(x) * random.random()"), FEATURES,
                         ["random.random()", "aten.mul.Tensor is the first operator"]),
    "state of Python": (module("self.calls += 1\nreturn self.fc(x) * self.calls", "self.calls = 0"),
                        FEATURES, ["* self.calls", "is the first operator"]),
    "NumPy": (module("return self.fc(torch.from_numpy(x.detach().numpy() * 2))"), FEATURES,
              ["x.detach().numpy()", "instead of NumPy"]),
    "control operator": (module("return torch.cond(x.sum() > 0, lambda y: 2 * y, lambda y: 3 * y, "
                                "(self.fc(x),))"), FEATURES,
                         ["the operator cond holds control flow"]),
    "hook": (module("return self.fc(x)", "self.fc.bias.register_hook(lambda g: 2 * g)"), FEATURES,
             ["the gradients of fc.bias differ", "remove hooks"]),
    "two inputs": (module("return self.fc(x)"), [*FEATURES, "--input", "float32[2]"],
                   ["several inputs need names"]),
    "another input": (module("return self.fc(x)"), ["--input", "x=float32[20]", "--input",
                                                    "y=bool[2]", "--classes", "10"],
                      ["unexpected keyword argument 'y'"]),
    "no bound": (module("return self.fc(x)"), ["--input", "x=int64[20]", "--classes", "10"],
                 ["write x=int64[20]:COUNT"]),
    "one name": (module("return self.fc(x)"), [*["--input", "x=bool[20]"] * 2, "--classes", "10"],
                 ["two inputs have the same name"]),
    "space": (module("return self.fc(x)"), ["--input", "x=float32[4 5]", "--classes", "10"],
              ["each size must be one whole number", "write NAME=DTYPE[SHAPE]"]),
    "no size": (module("return self.fc(x)"), ["--input", "x=float32[20,]", "--classes", "10"],
                ["each size must be one whole number"]),
    "named type": (module("return self.fc(x)"), ["--input", "x=int8[20]", "--classes", "10"],
                   ["'int8' is neither float32, int64 nor bool"]),
    "shape": (module("return self.fc(x)"), ["--input", "float32[21]", "--classes", "10"],
              ["return self.fc(x)", "the module fails", "is --input"]),
    "classes": (module("return self.fc(x)"), ["--input", "float32[20]", "--classes", "7"],
                ["returns (4, 10)", "instead of (4, 7)"]),
    "values": (module("return self.fc(x)"), ["--input", "float32[20]"],
               ["returns (4, 10)", "one real number per sample"]),
    "labels": (module("return self.fc(x).argmax(1)"), FEATURES, ["before argmax"]),
    "many outputs": (module("y = self.fc(x)\nreturn y, x"), FEATURES,
                     ["several tensors", "0 of shape (4, 10)", "--logits"]),
    "wrong output": (module("return {'a': self.fc(x)}"), [*FEATURES, "--logits", "b"],
                     ["returns no 'b'", "a of shape (4, 10)"]),
    "no gradient": (module("return self.fc(x).detach()"), FEATURES, ["remove detach()"]),
    "no name": (module("return self.fc(x)"), [*FEATURES, "--logits", "a"],
                ["which has no name 'a'"]),
    "in place": (module("return self.fc(x).exp().add_(1)"), FEATURES,
                 ["cannot compute its gradient", "replace operations in place"]),
    "no parameters": ("make = nn.ReLU()", FEATURES, ["no parameters"]),
    "no module": ("def make(): return 3", FEATURES, ["returned int", "torch.nn.Module"]),
    "no function": ("def made(): pass", FEATURES, ["it has no make", "made"]),
    "import": ("import no_such_package", FEATURES, ["import no_such_package", "No module named"]),
    "maker": ("def make():\n    return nn.Linear(3)", FEATURES, ["return nn.Linear(3)", "failed"]),
    "no classes": (module("return self.fc(x)"), ["--input", "int64[12]"], ["--classes"]),
    "type": (module("return self.fc(x)"), ["--input", "float64[20]"], ["'float64' is neither"]),
    "form": (module("return self.fc(x)"), ["--input", "20"], ["'20' is not DTYPE[SHAPE]"]),
}


@pytest.mark.parametrize("name", CASES)
def test_refusals(exporter, name):
    code, options, words = CASES[name]
    exporter.write(code)
    error = exporter("mine.py:make", *options, expect=2)
    for word in words:
        assert word in error, error
    assert error.startswith("dbench-export: ")


def test_the_line_is_that_of_the_users_file(exporter):
    code = module("if x.sum() > 0:\n    x = 2 * x\nreturn self.fc(x)")
    exporter.write(code)
    line = 1 + (HEAD + code).splitlines().index("        if x.sum() > 0:")
    assert f"mine.py:{line} (if x.sum() > 0:): the" in exporter("mine.py:make", *FEATURES, expect=2)


def test_sources_that_do_not_exist(exporter):
    assert "no such file" in exporter("lost.py:make", *FEATURES, expect=2)
    assert "FILE.py:FUNCTION" in exporter("lost", *FEATURES, expect=2)
    assert "torchvision" in exporter("torchvision:no_such_model", *FEATURES, expect=2)


def test_a_file_may_have_the_name_of_a_module(exporter):
    exporter.write(module("return self.fc(x)"), "json.py")
    exporter("json.py:make", *FEATURES)
    assert exporter.manifest()["parameters"] == 210


@pytest.mark.parametrize(("error", "said"), [
    (ValueError("unforeseen"), "PyTorch failed (ValueError"),
    (ModuleNotFoundError("No module named 'sympy'", name="sympy"), "no package sympy")])
def test_unforeseen_errors_end_with_status_2(exporter, monkeypatch, error, said):
    from dbench_export import archive

    def fail(*_):
        raise error

    exporter.write(module("return self.fc(x)"))
    monkeypatch.setattr(archive, "write", fail)
    assert said in exporter("mine.py:make", *FEATURES, expect=2)
    assert not list(exporter.folder.glob("*.pt2"))


def test_a_file_of_4_gib_is_not_stored(exporter, monkeypatch):
    from dbench_export import archive
    exporter.write(module("return self.fc(x)"))
    for largest in (800, 1000):  # less than the weights, and less than the file
        monkeypatch.setattr(archive, "LARGEST", largest)
        assert "DBench reads less than 4 GiB" in exporter("mine.py:make", *FEATURES, expect=2)


def test_a_file_that_differs_from_the_module_is_not_stored(exporter, monkeypatch):
    from dbench_export import archive
    read = archive.read

    def changed(file):
        programs = read(file)
        programs["train"].state_dict["fc.weight"].data[0, 0] += 1
        return programs

    exporter.write(module("return self.fc(x)"))
    monkeypatch.setattr(archive, "read", changed)
    error = exporter("mine.py:make", *FEATURES, expect=2)
    assert "return self.fc(x)" in error and "is the first operator of the eval() graph" in error
