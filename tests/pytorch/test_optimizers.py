"""Compares ten steps of each optimizer with torch.optim, or with the published rule if torch has no
such optimizer, on the same gradients and for all combinations of options."""

from itertools import product

import pytest
from accum_adam import AccumAdam, AccumAdamW
from reference import assert_close, make_runs, torch

STEPS = 10
DECAYS = [(0, "all"), (0.05, "all"), (0.05, "weights")]


def optimizers():
    for momentum, nesterov, (decay, which) in product((0, 0.9), (False, True), DECAYS):
        if momentum or not nesterov:
            yield {"type": "sgd", "lr": 0.1, "momentum": momentum, "nesterov": nesterov,
                   "weight_decay": decay, "decay": which}
    for kind, betas, eps, (decay, which) in product(
            ("adam", "adamw"), ([0.9, 0.999], [0.7, 0.8]), (1e-8, 1e-2), DECAYS):
        yield {"type": kind, "lr": 0.01, "betas": betas, "eps": eps,
               "weight_decay": decay, "decay": which}
    for kind, (decay, which) in product(("adam", "adamw"), DECAYS):
        yield {"type": kind, "lr": 0.01, "betas": [0.7, 0.6], "eps": 1e-8, "amsgrad": True,
               "weight_decay": decay, "decay": which}
    for kind, window, (decay, which) in product(("accum_adam", "accum_adamw"), (1, 3, 4), DECAYS):
        yield {"type": kind, "lr": 0.01, "betas": [0.8, 0.9], "eps": 1e-8, "window": window,
               "weight_decay": decay, "decay": which}


SPECS = [
    {"model": {"type": "cnn", "width": 3}, "input_shape": [3, 9, 9], "classes": 7, "batch": 4,
     "precision": precision, "optimizer": optimizer, "steps": STEPS, "seed": 5}
    for optimizer in optimizers() for precision in ("float32", "float64")
]


def label(spec):
    return "-".join(str(value) for value in [*spec["optimizer"].values(), spec["precision"]])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return make_runs(SPECS, tmp_path_factory.mktemp("optimizers"))


def theirs(options, groups):
    options = {key: value for key, value in options.items() if key != "decay"}
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
            "accum_adam": AccumAdam, "accum_adamw": AccumAdamW}
    return kind[options.pop("type")](groups, **options)


@pytest.mark.parametrize("number, spec", list(enumerate(SPECS)),
                         ids=[label(spec) for spec in SPECS])
def test_ten_steps(runs, number, spec):
    run, options = runs[number], spec["optimizer"]
    parameters = {name: t.clone().requires_grad_() for name, t in run.group("initial").items()}
    spared = [name for name in parameters
              if options["decay"] == "weights" and run.kinds[name] != "weight"]
    optimizer = theirs(options, [
        {"params": [p for name, p in parameters.items() if name not in spared]},
        *([{"params": [parameters[name] for name in spared], "weight_decay": 0}] if spared else []),
    ])
    for t in range(STEPS):
        for name, gradient in run.group(f"{t}/gradient").items():
            parameters[name].grad = gradient
        optimizer.step()
        for name, ours in run.group(f"{t}/parameter").items():
            assert_close(ours, parameters[name].detach(), spec["precision"])
    moved = (run.group(f"{STEPS - 1}/parameter")["fc.weight"] - run.group("initial")["fc.weight"])
    assert moved.abs().max() > 0.01


@pytest.mark.parametrize("ours, torchs",
                         [(AccumAdam, torch.optim.Adam), (AccumAdamW, torch.optim.AdamW)])
def test_the_published_rule_with_window_1_is_torchs(ours, torchs):
    torch.manual_seed(1)
    start, options = torch.randn(50, dtype=torch.float64), {"lr": 0.01, "betas": (0.8, 0.9),
                                                            "eps": 1e-8,
                                                            "weight_decay": 0.05}
    x, y = start.clone().requires_grad_(), start.clone().requires_grad_()
    one, other = ours([x], window=1, **options), torchs([y], **options)
    for _ in range(STEPS):
        x.grad = torch.randn(50, dtype=torch.float64)
        y.grad = x.grad.clone()
        one.step()
        other.step()
    assert_close(x.detach(), y.detach(), "float64")
