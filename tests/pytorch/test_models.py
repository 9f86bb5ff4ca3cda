"""Compares one training step of each model with its PyTorch reimplementation: loss, gradients,
parameters."""

import pytest
from reference import assert_close, make_runs, torch
from torch_models import MODELS

CASES = [
    ({"type": "softmax_regression"}, [3, 8, 8], 10),
    ({"type": "least_squares"}, [40], 0),
    ({"type": "mlp"}, [1, 28, 28], 10),
    ({"type": "mlp", "hidden": [17]}, [30], 3),
    ({"type": "cnn"}, [3, 32, 32], 10),
    ({"type": "cnn", "width": 5}, [1, 13, 10], 4),
    ({"type": "resnet20"}, [3, 32, 32], 10),
    ({"type": "resnet20", "zero_init": True}, [1, 28, 28], 10),
    ({"type": "resnet32"}, [3, 8, 8], 10),
    ({"type": "wide_resnet", "depth": 10, "widen": 2}, [3, 16, 16], 10),
    ({"type": "densenet", "depth": 22, "growth": 6}, [3, 16, 16], 10),
    ({"type": "densenet", "depth": 13, "growth": 5, "bottleneck": False, "compression": 1},
     [1, 12, 12], 4),
    ({"type": "lenet"}, [1, 28, 28], 10),
    ({"type": "lenet", "norm": "group"}, [3, 32, 32], 10),
    ({"type": "vgg11", "width": 16, "dropout": 0}, [3, 32, 32], 10),
    ({"type": "vgg11", "width": 16, "norm": "group"}, [3, 32, 32], 10),
    ({"type": "resnet50", "width": 8}, [3, 64, 64], 7),
    ({"type": "lstm", "hidden": 20, "dropout": 0}, [12], 60),
    ({"type": "lstm", "hidden": 20, "dropout": 0, "tied": True}, [12], 60),
    ({"type": "gpt", "layers": 2, "heads": 4, "width": 16, "dropout": 0}, [12], 80),
    ({"type": "transformer", "layers": 2, "heads": 4, "width": 16, "hidden": 24, "dropout": 0},
     [2, 12], 80),
    ({"type": "transformer", "layers": 2, "heads": 4, "width": 16, "hidden": 24, "dropout": 0,
      "norm": "pre"}, [2, 12], 80),
]
DEEP = ("resnet20", "resnet32", "wide_resnet", "densenet", "resnet50")
SPECS = [
    {"model": model, "input_shape": shape, "classes": classes, "batch": 8, "precision": precision,
     "tokens": model["type"] in ("lstm", "gpt", "transformer"),
     "optimizer": {"type": "sgd", "lr": 0.1, "weight_decay": 0.001}, "steps": 1, "seed": 1 + number}
    for number, (model, shape, classes) in enumerate(CASES) for precision in ("float32", "float64")
]


MIXED = [
    {"model": model, "input_shape": shape, "classes": classes, "batch": 8, "precision": "float32",
     "compute": "bfloat16", "tokens": model["type"] == "lstm", "optimizer": "sgd", "steps": 1,
     "seed": 7}
    for model, shape, classes in (({"type": "mlp"}, [1, 28, 28], 10),
                                  ({"type": "resnet20"}, [3, 16, 16], 10),
                                  ({"type": "densenet", "depth": 22, "growth": 6}, [3, 16, 16], 10),
                                  ({"type": "lenet"}, [1, 28, 28], 10),
                                  ({"type": "lenet", "norm": "group"}, [3, 32, 32], 10),
                                  ({"type": "vgg11", "width": 16, "dropout": 0}, [3, 32, 32], 10),
                                  ({"type": "vgg11", "width": 16, "norm": "group"}, [3, 32, 32],
                                   10),
                                  ({"type": "lstm", "hidden": 20, "dropout": 0}, [12], 60))]


def label(spec):
    return f"{spec['model']['type']}-{'x'.join(map(str, spec['input_shape']))}-{spec['precision']}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return make_runs(SPECS, tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize("number, spec", list(enumerate(SPECS)),
                         ids=[label(spec) for spec in SPECS])
def test_training_step(runs, number, spec):
    run, precision = runs[number], spec["precision"]
    options = {key: value for key, value in spec["model"].items() if key != "type"}
    module = MODELS[spec["model"]["type"]](spec["input_shape"], spec["classes"], **options)
    module = module.to(getattr(torch, precision)).train()

    initial = run.group("initial")
    assert list(initial) == [name for name, _ in module.named_parameters()]
    module.load_state_dict(initial, strict=False)

    output, targets = module(run["0/inputs"]), run["0/targets"]
    if spec["classes"]:
        loss = torch.nn.functional.cross_entropy(output, targets)
    else:
        loss = (output - targets).square().sum() / 2 / len(targets)
    loss.backward()
    # Rounding errors grow through the layers. In float32 they switch single ReLUs on or off, at
    # different places on each kind of processor: a few elements then differ much, whole tensors
    # less; tensors of 50 layers differ by up to a fifth (over 7 seeds). In float64 all elements are
    # equal up to rounding.
    deep, whole = spec["model"]["type"] in DEEP, {}
    scale = 50 if deep else 1
    if deep and precision == "float32":
        scale = 10000 if spec["model"]["type"] == "resnet50" else 2000
        whole = {"size": torch.linalg.vector_norm}
    assert_close(run["0/loss"], loss.detach(), precision)
    for name, parameter in module.named_parameters():
        assert_close(run.group("0/gradient")[name], parameter.grad, precision, scale, **whole)

    torch.optim.SGD(module.parameters(), lr=0.1, weight_decay=0.001).step()
    for name, parameter in module.named_parameters():
        assert_close(run.group("0/parameter")[name], parameter.detach(), precision, scale, **whole)
    buffers = {name: b for name, b in module.named_buffers() if "num_batches" not in name}
    assert list(run.group("0/buffer")) == list(buffers)
    for name, buffer in buffers.items():
        assert_close(run.group("0/buffer")[name], buffer, precision, 20 if deep else 1)


def test_mixed_precision_is_autocast(tmp_path):
    """Compare bits: both run the same operations in the same order."""
    for spec, run in zip(MIXED, make_runs(MIXED, tmp_path)):
        options = {key: value for key, value in spec["model"].items() if key != "type"}
        module = MODELS[spec["model"]["type"]](spec["input_shape"], spec["classes"], **options)
        module.train().load_state_dict(run.group("initial"), strict=False)
        inputs = run["0/inputs"]
        if spec["model"]["type"] in (*DEEP, "lenet", "vgg11"):
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        with torch.autocast("cpu", torch.bfloat16):
            output = module(inputs)
            loss = torch.nn.functional.cross_entropy(output, run["0/targets"])
        assert output.dtype == torch.bfloat16
        loss.backward()
        assert torch.equal(run["0/loss"], loss.detach())
        for name, parameter in module.named_parameters():
            assert torch.equal(run.group("0/gradient")[name], parameter.grad), name
        for name, buffer in module.named_buffers():
            assert "num_batches" in name or torch.equal(run.group("0/buffer")[name], buffer), name


@pytest.mark.parametrize("number", range(0, len(SPECS), 2),
                         ids=[label(spec) for spec in SPECS[::2]])
def test_initial_spread(runs, number):
    """Check that large initial tensors have the standard deviation of PyTorch's initialisation.

    The tolerance is five standard errors of the difference of two such estimates.
    """
    spec = SPECS[number]
    options = {key: value for key, value in spec["model"].items() if key != "type"}
    torch.manual_seed(number)
    module = MODELS[spec["model"]["type"]](spec["input_shape"], spec["classes"], **options)
    for name, parameter in module.named_parameters():
        ours = runs[number].group("initial")[name]
        if parameter.numel() >= 1000:
            assert ours.std().item() == pytest.approx(parameter.std().item(),
                                                      rel=5 / parameter.numel()**0.5)
        if parameter.numel() >= 4000:  # with fewer elements the largest varies too much
            assert ours.abs().max().item() == pytest.approx(parameter.abs().max().item(), rel=0.35)
