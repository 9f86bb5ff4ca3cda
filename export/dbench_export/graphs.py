"""Exports the graphs of train() and eval(), and says what to change if PyTorch cannot."""

import contextlib
import io
import logging
import operator
import os
import re
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.export import Dim, ExportedProgram
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from .errors import ExportError, current_place, first_line, is_of_user, place_of
from .losses import Loss, LossModule

BATCH = 4  # of the example; the graphs accept every size of a batch
_CONTROL = {"cond", "while_loop", "map", "map_impl", "scan", "associative_scan", "flex_attention"}
_NAMESPACES = {"aten", "higher_order"}


def export_graphs(module: nn.Module, example: torch.Tensor) -> dict[str, ExportedProgram]:
    """Return the programs "train" and "eval"; both refer to the module's own tensors."""
    programs = {}
    for name in ("train", "eval"):
        module.train(name == "train")
        programs[name] = _export(module, (example,), ({0: Dim("batch", min=1)},))
        _check(programs[name])
    return programs


def export_loss(loss: Loss, outputs: tuple[torch.Tensor, ...],
                targets: torch.Tensor) -> ExportedProgram:
    """Return the program of the user's loss function. `outputs` and `targets` are an example for
    BATCH samples."""
    batch = Dim("batch", min=1)
    rows = [{0: each.shape[0] // BATCH * batch if each.shape[0] > BATCH else batch} if each.dim()
            else {} for each in outputs]
    program = _export(LossModule(loss), ([each.detach() for each in outputs],
                                         loss.shape_targets(targets)), (rows, {0: batch}))
    _check(program)
    random = draws(program)
    if random:
        raise ExportError(f"--loss {loss.source}: it draws random numbers ({', '.join(random)}): "
                          "draw them in forward(), and return them")
    return program


def _export(module: nn.Module, example: tuple[Any, ...], sizes: tuple[Any, ...]) -> ExportedProgram:
    fixed: list[str] = []
    try:
        with _quiet(), _watch_sizes(fixed):
            return torch.export.export(module, example, strict=False, dynamic_shapes=sizes)
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(_explain(error, fixed)) from error


def _explain(error: Exception, fixed: list[str]) -> str:
    text, place = str(error), place_of(error)
    if re.search(r"data-dependent|Data-dependent|DataDependent", type(error).__name__ + text):
        return (f"{place or 'forward()'}: the Python code depends on the values of a tensor (an "
                "if, a loop, int(), bool() or .item()), but a graph holds only one way: choose "
                "with torch.where(condition, a, b), or decide by shapes or self.training")
    if re.search(r"Constraints violated|specialized it to be a constant|marked batch as dynamic",
                 text):
        advice = re.findall(r"^  (\w+ = .*)$", text.partition("Suggested fixes:")[2], re.M)
        if "specialized it" not in text and any(not re.fullmatch(r"\w+ = \d+", each)
                                                for each in advice):
            return (f"{place or 'forward()'}: the code accepts only some sizes of a batch (PyTorch "
                    f"says {'; '.join(advice)}), but DBench calls the model with every size from "
                    "1: let no if, assert or view() depend on x.shape[0]")
        return (f"{(fixed or [place])[0] or 'forward()'}: the code fixes the batch size to that of "
                "the example: take it from x.shape[0], or let view() and reshape() find it by -1")
    if "numpy" in text.lower() or "non-Tensor" in text:
        return (f"{place or 'forward()'}: the code leaves PyTorch ({first_line(error)}): compute "
                "with tensors instead of NumPy arrays")
    return (f"{place or 'forward()'}: torch.export cannot write this ({first_line(error)}): write "
            "the line with other operators of PyTorch; its own explanation follows\n"
            + text[:2000])


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hide what PyTorch prints: dbench-export writes its own message."""
    logger = logging.getLogger("torch")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _watch_sizes(places: list[str]) -> Iterator[None]:
    """Append the lines of the user's code at which the size of the batch becomes a constant."""
    replace = getattr(ShapeEnv, "_set_replacement", None)
    if replace is None:  # another version of PyTorch: messages name no line
        yield
        return

    def watched(self: ShapeEnv, symbol: Any, target: Any, *more: Any, **named: Any) -> Any:
        if getattr(target, "is_number", False):
            places.append(current_place())
        return replace(self, symbol, target, *more, **named)

    ShapeEnv._set_replacement = watched
    try:
        yield
    finally:
        ShapeEnv._set_replacement = replace


def place_of_node(node: Any) -> str:
    """Return the line of the user's code that made a node of a graph."""
    return place_in_trace((getattr(node, "meta", None) or {}).get("stack_trace") or "")


def place_in_trace(trace: str) -> str:
    """Return the innermost line of the user's code in a stack trace."""
    lines = re.findall(r'File "([^"]+)", line (\d+), in [^\n]*\n\s+([^\n]+)', trace)
    lines = [line for line in lines if os.path.isfile(line[0])]  # not <code that torch made>
    if not lines:
        return ""
    own = [line for line in lines if is_of_user(line[0])] or lines
    file, number, code = own[-1]
    return f"{os.path.relpath(file)}:{number} ({code.strip()})"


def _place(module: Any, node: torch.fx.Node) -> str:
    """Return the line of the user's code that made a node, or the first node of its region."""
    inside = [each for argument in node.all_input_nodes if argument.op == "get_attr"
              for each in getattr(getattr(module, str(argument.target)), "graph", None).nodes]
    return next(filter(None, map(place_of_node, [node, *inside])), "")


def _runs(node: torch.fx.Node, kind: str) -> bool:
    """Return whether DBench runs a higher-order operator: regions without gradients or autocast."""
    return kind == "wrap_with_set_grad_enabled" or (kind == "wrap_with_autocast"
                                                    and node.args[2] is False)


def _check(program: ExportedProgram) -> None:
    """Raise ExportError if the graph has an operator that DBench cannot run. Otherwise make it one
    that PyTorch can read again."""
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            name = str(node.target)
            operator = getattr(node.target, "namespace", None)
            kind = getattr(node.target, "__name__", name)
            if node.op != "call_function":
                continue
            place = _place(module, node) or "forward()"
            if kind.split(".")[0] in _CONTROL and operator == "higher_order":
                raise ExportError(f"{place}: the operator {kind} holds control flow, which DBench "
                                  "does not run: choose with torch.where, or write the loop out")
            if kind == "wrap_with_autocast" and not _runs(node, kind):
                raise ExportError(f"{place}: torch.autocast chooses the types of operators, which "
                                  "DBench does itself: leave it out, and write \"compute\": "
                                  "\"bfloat16\" in the spec")
            if operator == "higher_order" and not _runs(node, kind):
                raise ExportError(f"{place}: DBench cannot run the operator {kind}: write the line "
                                  "with other operators of PyTorch")
            if operator is not None and operator not in _NAMESPACES:
                raise ExportError(f"{place}: {name} is no operator of PyTorch itself, so that "
                                  "DBench does not have it: write it with operators of PyTorch")
    _complete_regions(program.graph_module)


def _complete_regions(module: torch.fx.GraphModule) -> None:
    """Let every region return a tensor, and remove empty ones. PyTorch writes regions without
    results, such as those that only change a buffer under torch.no_grad(), but does not read them.
    """
    for node in list(module.graph.nodes):
        if node.op != "call_function" or getattr(node.target, "namespace", "") != "higher_order":
            continue
        (attribute,) = [each for each in node.all_input_nodes if each.op == "get_attr"]
        region = getattr(module, str(attribute.target))
        _complete_regions(region)
        output = region.graph.output_node()
        tensors = [each for each in region.graph.nodes if each.op == "call_function"
                   and isinstance(each.meta.get("val"), torch.Tensor)]
        if output.args[0]:
            continue
        if not tensors:
            module.graph.erase_node(node)
            module.graph.erase_node(attribute)
            continue
        value = tensors[-1].meta["val"]
        output.args, output.meta["val"] = ((tensors[-1],),), (value,)
        node.meta["val"] = (value,)
        with module.graph.inserting_after(node):
            result = module.graph.call_function(operator.getitem, (node, 0))
        result.meta["val"] = value
        region.recompile()
    module.recompile()


def draws(program: ExportedProgram) -> list[str]:
    """Return the names of the graph's operators that draw random numbers."""
    return sorted({str(node.target) for node in program.graph.nodes
                   if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())})
