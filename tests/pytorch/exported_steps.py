"""Exports models of users by dbench-export, and compares steps of the program with eager PyTorch,
bit for bit."""

import sys
from pathlib import Path

from reference import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "export"), str(ROOT / "tests" / "program")]

IMAGE, TOKENS, FEATURES = ("float32", [3, 16, 16]), ("int64", [12]), ("float32", [20])


def export(source, sample, classes, path, *options):
    """Write the file of a model. `sample` is the type and the shape of its input."""
    from dbench_export import cli
    dtype, shape = sample
    words = [source, "--input", f"{dtype}[{','.join(map(str, shape))}]",
             *(["--classes", str(classes)] if classes else []), *options, "--quiet", "-o",
             str(path)]
    assert cli.main(words) == 0, words


def spec_of_steps(path, sample, classes, batch, precision, seed, steps=3, order="contiguous"):
    """Return a run of reference_dump. `order`: only contiguous images give PyTorch's bits."""
    dtype, shape = sample
    return {"model": {"type": "exported", "path": str(path), "memory_format": order},
            "batch": batch, "input_shape": shape, "classes": classes or 0, "precision": precision,
            "tokens": dtype == "int64", "seed": seed, "steps": steps,
            "optimizer": {"type": "sgd", "lr": 0.1}}


def draw_batch(spec, step):
    """Draw the batch that reference_dump draws, so that later draws of dropout are the same."""
    torch.manual_seed(spec["seed"] + 100 + step)
    shape, dtype = [spec["batch"], *spec["input_shape"]], getattr(torch, spec["precision"])
    inputs = (torch.randint(spec["classes"], shape) if spec["tokens"]
              else torch.randn(shape, dtype=dtype))
    count = inputs.numel() if spec["tokens"] else spec["batch"]
    targets = (torch.randint(spec["classes"], (count,)) if spec["classes"]
               else torch.randn(spec["batch"], dtype=dtype))
    return inputs, targets


def compare(module, spec, run, loss_of, evaluated=True, equal=torch.equal):
    """Assert that losses, gradients, parameters and buffers of all steps are those of the module,
    and with `evaluated` the outputs of eval(). `equal` compares two tensors."""
    dtype = getattr(torch, spec["precision"])
    module.to(dtype)
    torch.set_default_dtype(dtype)
    try:
        assert list(run.group("initial")) == [name for name, _ in module.named_parameters()]
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                parameter.copy_(run[f"initial/{name}"])
        for step in range(spec["steps"]):
            _compare_step(module, spec, run, loss_of, step, evaluated, equal)
    finally:
        torch.set_default_dtype(torch.float32)


def _compare_step(module, spec, run, loss_of, step, evaluated, equal):
    inputs, targets = draw_batch(spec, step)
    assert torch.equal(run[f"{step}/inputs"], inputs)
    assert torch.equal(run[f"{step}/targets"], targets)
    module.train()
    loss = loss_of(module(inputs.clone()), targets)
    module.zero_grad()
    loss.backward()
    assert equal(run[f"{step}/loss"], loss.detach())
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            assert equal(run[f"{step}/gradient/{name}"], gradient), name
            assert equal(run[f"{step}/parameter/{name}"], parameter - 0.1 * gradient), name
            parameter.copy_(run[f"{step}/parameter/{name}"])
        for name, buffer in run.group(f"{step}/buffer").items():
            assert equal(buffer, module.get_buffer(name)), name
    if evaluated:
        module.eval()
        ours = run[f"{step}/evaluated"]
        fast = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)  # it calls other operators than the graph
        with torch.no_grad():
            theirs = module(inputs.clone())
        torch.backends.mha.set_fastpath_enabled(fast)
        assert equal(ours, theirs.reshape(ours.shape))
