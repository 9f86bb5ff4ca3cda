"""Reduces what a module returns to its logits or values."""

import functools
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram

from .errors import ExportError, first_line, place_of
from .graphs import place_of_node
from .inputs import Input
from .losses import Loss, Structure
from .state import restored


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


def tensors_of(value: Any) -> tuple[torch.Tensor, ...]:
    """Return the tensors in a module's output, in their order."""
    return tuple(leaves(value).values())


def reduce_outputs(module: nn.Module, sample: torch.Tensor, wanted: str | None, loss: Loss,
                   auxiliary: dict[str, float]) -> list[str]:
    """Make forward() return only the tensors that the loss needs, in train() and in eval(): the
    logits, then the auxiliary outputs in train(); or all tensors, if the loss is a function.
    Return the names of the other outputs of train(), which DBench does not use."""
    values = {training: _outputs(module, sample, training) for training in (True, False)}
    if loss.function is not None:
        _keep_all(module, values, wanted, loss)
        return []
    chosen, others = {}, []
    for training, value in values.items():
        only = list(leaves(value)) == [""]  # auxiliary outputs may exist only in train()
        chosen[training] = "" if only and wanted else choose(value, wanted)
        others += [key for key in leaves(value) if training and key != chosen[training]]
    if wanted is not None and set(chosen.values()) == {""}:
        raise ExportError(f"--logits: forward() returns one tensor, which has no name '{wanted}': "
                          "leave the option out")
    for name in auxiliary:
        if name not in others:
            raise ExportError(f"--auxiliary {name}: in train() forward() has no other output of "
                              f"this name: choose from {', '.join(others) or '(none)'}")
    loss.weights = list(auxiliary.values())
    if chosen != {True: "", False: ""}:
        forward = module.forward

        @functools.wraps(forward)
        def reduced(*arguments: Any, **named: Any) -> Any:
            found = leaves(forward(*arguments, **named))
            main = found[chosen[module.training]]
            if not auxiliary or not module.training:
                return main
            return (main, *(found[name] for name in auxiliary))

        module.forward = reduced  # type: ignore[method-assign]
    return [name for name in others if name not in auxiliary]


def _keep_all(module: nn.Module, values: dict[bool, Any], wanted: str | None, loss: Loss) -> None:
    """Make forward() return all tensors as a tuple, and tell the loss their structure."""
    loss.structure = Structure.of(values[True])
    found = {training: leaves(value) for training, value in values.items()}
    shapes = {training: [(name, each.shape, each.dtype) for name, each in all.items()]
              for training, all in found.items()}
    if shapes[True] != shapes[False] or loss.structure != Structure.of(values[False]):
        raise ExportError(f"--loss {loss.source}: forward() returns other outputs in eval() than "
                          "in train(), but the function must suit both: return the same ones")
    if len(loss.structure.places) != len(found[True]):
        raise ExportError(f"--loss {loss.source}: forward() returns a class that hides its "
                          "tensors: return a tensor, a tuple or a dict")
    whole = [name for name, each in found[True].items() if not each.is_floating_point()]
    if whole:
        raise ExportError(f"--loss {loss.source}: forward() returns whole numbers in "
                          f"{whole[0] or 'its output'}: return real numbers")
    if wanted is not None or loss.classes is not None:
        loss.main = list(found[True]).index(choose(values[True], wanted))
    forward = module.forward

    @functools.wraps(forward)
    def flattened(*arguments: Any, **named: Any) -> tuple[torch.Tensor, ...]:
        return tensors_of(forward(*arguments, **named))

    module.forward = flattened  # type: ignore[method-assign]


def _outputs(module: nn.Module, sample: torch.Tensor, training: bool) -> Any:
    """Return what forward() returns. BatchNorm's statistics stay those of an unused module."""
    module.train(training)
    with torch.no_grad(), restored(module):
        return _run(module, sample)


def check_rows(module: nn.Module, sample: Input, batch: int, loss: Loss) -> None:
    """Raise ExportError unless all outputs that the loss needs have rows for each sample, or are
    one number. Auxiliary outputs have the shape of the logits, or are losses."""
    outputs = tensors_of(_outputs(module, sample.draw(batch, 1), True))
    for k, each in enumerate(outputs):
        if each.dim() and (each.shape[0] % batch or not each.numel()):
            raise ExportError(f"forward() returns the shape {tuple(each.shape)} for a batch of "
                              f"{batch}, and the loss reads it: return rows for each sample, or "
                              "one number")
        if loss.function is None and k and each.shape not in (outputs[0].shape, (), (batch,)):
            raise ExportError(f"--auxiliary: its output has the shape {tuple(each.shape)}: it must "
                              f"have the shape {tuple(outputs[0].shape)} of the logits, or be a "
                              "loss: one number, or one for each sample")


def check_growth(program: ExportedProgram) -> None:
    """Raise ExportError if an output of the graph has the same number of rows for every batch."""
    for node in program.graph.output_node().args[0]:
        shape = node.meta["val"].shape
        if shape and isinstance(shape[0], int):
            raise ExportError(f"{place_of_node(node) or 'forward()'}: it returns {shape[0]} rows "
                              "for a batch of every size, and the loss reads them: return rows for "
                              "each sample, or one number")


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
