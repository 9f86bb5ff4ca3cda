"""Finds tensors of a module that its graphs change in place, and checks that DBench can hold them.
"""

import operator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from .errors import ExportError
from .graphs import place_of_node


@dataclass
class _Uses:
    """How a graph uses parameters and buffers."""

    reads: set[str] = field(default_factory=set)
    writes: dict[str, torch.fx.Node] = field(default_factory=dict)
    types: dict[str, torch.dtype] = field(default_factory=dict)
    parameters: set[str] = field(default_factory=set)


def _uses_of(program: ExportedProgram) -> _Uses:
    uses, names = _Uses(), {}
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    for each in program.graph_signature.input_specs:
        if each.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            names[nodes[each.arg.name]] = each.target
            uses.types[each.target] = nodes[each.arg.name].meta["val"].dtype
            if each.kind is InputKind.PARAMETER:
                uses.parameters.add(each.target)
    uses.reads.update(name for name in _follow(program.graph_module, names, uses) if name)
    return uses


def _follow(module: torch.fx.GraphModule, names: dict[torch.fx.Node, Any],
            uses: _Uses) -> list[str | None]:
    """Note all uses of the tensors whose names are `names`. Return the names of the outputs."""
    regions: dict[torch.fx.Node, list[str | None]] = {}
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        given = [each for each in node.args if isinstance(each, torch.fx.Node)]
        if getattr(node.target, "namespace", None) == "higher_order":
            (region,) = [each for each in given if each.op == "get_attr"]
            inside = getattr(module, str(region.target))
            inputs = [each for each in inside.graph.nodes if each.op == "placeholder"]
            outside = [names.get(each) for each in given if each is not region]
            regions[node] = _follow(inside, dict(zip(inputs, outside)), uses)
        elif node.target is operator.getitem and node.args[0] in regions:
            names[node] = regions[node.args[0]][node.args[1]]
        else:
            others, written = node.all_input_nodes, _written(node)
            if written is not None and names.get(written):
                names[node] = names[written]
                uses.writes.setdefault(names[written], node)
                others = [each for each in others if each is not written]
            uses.reads.update(names[each] for each in others if names.get(each))
    (results,) = module.graph.output_node().args
    return [names.get(each) if isinstance(each, torch.fx.Node) else None for each in results]


def _written(node: torch.fx.Node) -> Any:
    """Return the first argument of an operator that changes it, and None for other operators."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.arguments or not node.args:
        return None
    alias = schema.arguments[0].alias_info
    return node.args[0] if alias is not None and alias.is_write else None


def check_changes(programs: dict[str, ExportedProgram]) -> None:
    """Raise ExportError if the graphs change tensors that a replica does not hold."""
    train, evaluate = _uses_of(programs["train"]), _uses_of(programs["eval"])
    for name, node in {**evaluate.writes, **train.writes}.items():
        place = place_of_node(node) or "forward()"
        if name in train.parameters:
            raise ExportError(f"{place}: it changes the parameter {name}, but only the optimizer "
                              "may: compute a changed copy, or store the tensor with "
                              "self.register_buffer(name, tensor)")
        if name in evaluate.writes:
            raise ExportError(f"{place}: it changes the buffer {name} in eval(): change it only if "
                              "self.training")
        if not train.types[name].is_floating_point and name in train.reads | evaluate.reads:
            raise ExportError(f"{place}: it changes the buffer {name} of {train.types[name]}, and "
                              "forward() reads it, but replicas hold real numbers: write "
                              "torch.zeros(()) instead of torch.tensor(0)")
