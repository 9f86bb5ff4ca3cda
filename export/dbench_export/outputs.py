"""Reduces what a module returns to its logits or values."""

import functools
from typing import Any

import torch
from torch import nn

from .errors import ExportError, first_line, place_of
from .inputs import Input


def leaves(value: Any, name: str = "") -> dict[str, torch.Tensor]:
    """Return the tensors in a module's output by name: keys of dicts and of Hugging Face's outputs,
    fields of named tuples, positions in others, joined by dots."""
    if isinstance(value, torch.Tensor):
        return {name: value}
    if isinstance(value, dict):
        parts = [(str(key), each) for key, each in value.items()]
    elif isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", range(len(value)))
        parts = [(str(key), each) for key, each in zip(names, value)]
    else:
        return {}
    found: dict[str, torch.Tensor] = {}
    for key, each in parts:
        found.update(leaves(each, f"{name}.{key}" if name else key))
    return found


def choose(value: Any, wanted: str | None) -> str:
    """Return the name of the output that holds the logits: `wanted`, or the only tensor, or the one
    that is called `logits`."""
    found = leaves(value)
    listed = ", ".join(f"{key or '(the only one)'} of shape {tuple(each.shape)}"
                       for key, each in found.items())
    if not found:
        raise ExportError(f"forward() returns {type(value).__name__} without tensors: return the "
                          "logits")
    if wanted is not None:
        if wanted not in found:
            raise ExportError(f"--logits: forward() returns no '{wanted}': choose from {listed}")
        return wanted
    if len(found) == 1:
        return next(iter(found))
    if "logits" in found:
        return "logits"
    raise ExportError(f"forward() returns several tensors ({listed}): choose the logits by "
                      "--logits NAME")


def reduce_outputs(module: nn.Module, sample: torch.Tensor, wanted: str | None) -> list[str]:
    """Make forward() return only the logits, in train() and in eval(). Return the names of the
    other outputs of train(), which DBench does not use."""
    forward = module.forward
    chosen, others = {}, []
    for training in (True, False):
        module.train(training)
        state = {name: each.clone() for name, each in module.named_buffers()}
        with torch.no_grad():
            value = _run(module, sample)
            for name, each in module.named_buffers():  # BatchNorm's statistics are still unused
                each.copy_(state[name])
        only = list(leaves(value)) == [""]  # auxiliary outputs may exist only in train()
        chosen[training] = "" if only and wanted else choose(value, wanted)
        others += [key for key in leaves(value) if training and key != chosen[training]]

    if wanted is not None and set(chosen.values()) == {""}:
        raise ExportError(f"--logits: forward() returns one tensor, which has no name '{wanted}': "
                          "leave the option out")
    if chosen != {True: "", False: ""}:
        @functools.wraps(forward)
        def logits(*arguments: Any, **named: Any) -> torch.Tensor:
            return leaves(forward(*arguments, **named))[chosen[module.training]]

        module.forward = logits  # type: ignore[method-assign]
    return others


def _run(module: nn.Module, sample: torch.Tensor) -> Any:
    try:
        return module(sample)
    except Exception as error:
        raise ExportError(f"{place_of(error) or 'forward()'}: the module fails on a batch of "
                          f"{sample.dtype} {tuple(sample.shape)} ({first_line(error)}): is --input "
                          "the type and shape of one sample?") from error


def check_shape(output: torch.Tensor, sample: Input, batch: int, classes: int | None) -> None:
    """Raise ExportError unless the output is logits of all classes, or one value per sample."""
    shape = tuple(output.shape)
    if not output.dtype.is_floating_point:
        raise ExportError(f"forward() returns {output.dtype} instead of logits: return the numbers "
                          "before argmax")
    if classes is None:
        allowed = [(batch,), (batch, 1)]
    elif sample.kind == "tokens":
        length = sample.shape[0]
        allowed = [(batch, length, classes), (batch * length, classes)]
    else:
        allowed = [(batch, classes)]
    if shape not in allowed:
        wanted = " or ".join(map(str, allowed))
        why = ("without --classes the outputs are one real number per sample" if classes is None
               else "--input and --classes say so")
        raise ExportError(f"forward() returns {shape} for a batch of {batch} instead of {wanted} "
                          f"({why}): change the last layer, --classes or --input, or choose "
                          "another output by --logits")
