"""Compares the graphs of a written file with the module.

Their numbers have the same bits if both call the same operators. Some modules call others while
they are exported, such as the attention of Hugging Face's Llama, which then gets a mask. Their
numbers may differ by rounding."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.export import ExportedProgram
from torch.utils._python_dispatch import TorchDispatchMode

from .errors import ExportError, first_line, place_of
from .graphs import place_of_node
from .inputs import Input
from .losses import Loss, Outputs, draw_targets
from .outputs import tensors_of
from .state import restored

SEED, BATCH = 1, 3
ROUNDING = 1e-5  # the largest relative difference of float32 numbers that rounding explains
_SHOWN = 4  # names of tensors in a message


@dataclass
class Numbers:
    """All that one batch of a module or a graph gives."""

    evaluations: list[Outputs] = field(default_factory=list)  # of batches of 1, 3 and 7
    training: Outputs = ()
    loss: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    gradients: dict[str, torch.Tensor | None] = field(default_factory=dict)
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)


Forward = Callable[[bool, torch.Tensor], Outputs]  # (training, inputs) -> outputs
LossOf = Callable[[Outputs, torch.Tensor], torch.Tensor]  # (outputs, targets) -> mean loss


def measure(forward: Forward, parameters: dict[str, torch.Tensor],
            buffers: dict[str, torch.Tensor], sample: Input, loss_of: LossOf,
            classes: int | None) -> Numbers:
    """Return the numbers of one model, whose tensors the arguments are. The batches, the targets
    and dropout follow from SEED."""
    numbers = Numbers()
    for batch in (1, BATCH, 7):
        # Under torch.no_grad() modules such as nn.MultiheadAttention call other operators.
        outputs = forward(False, sample.draw(batch, SEED))
        numbers.evaluations.append(tuple(each.detach() for each in outputs))
    torch.manual_seed(SEED)
    outputs = forward(True, sample.draw(BATCH, SEED))
    loss = loss_of(outputs, draw_targets(sample, BATCH, classes, SEED))
    loss.backward()
    numbers.training = tuple(each.detach() for each in outputs)
    numbers.loss = loss.detach()
    numbers.gradients = {name: each.grad for name, each in parameters.items()}
    numbers.buffers = dict(buffers)
    return numbers


def measure_module(module: nn.Module, sample: Input, loss: Loss) -> Numbers:
    """Return the numbers of the user's module. The module has the same tensors afterwards."""
    parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())

    def forward(training: bool, inputs: torch.Tensor) -> Outputs:
        module.train(training)
        try:
            return tensors_of(module(inputs))
        except Exception as error:
            raise ExportError(f"{place_of(error) or 'forward()'}: the module fails on a batch of "
                              f"{len(inputs)} ({first_line(error)}): it must accept batches of "
                              "every size") from error

    with restored(module):
        numbers = measure(forward, parameters, buffers, sample, loss, loss.classes)
        numbers.buffers = {name: each.clone() for name, each in buffers.items()}
        module.zero_grad(set_to_none=True)
    return numbers


class Graphs:
    """The programs of a file over one set of tensors."""

    def __init__(self, programs: dict[str, ExportedProgram]) -> None:
        self.programs = programs
        self.tensors: dict[str, torch.Tensor] = {}
        self.node: Any = None  # the node that is being computed
        copies: dict[Any, torch.Tensor] = {}  # names of one tensor share a copy
        for name, each in programs["train"].state_dict.items():
            key = (each.data_ptr() or id(each), each.shape, each.stride())
            if key not in copies:
                copies[key] = each.detach().clone().requires_grad_(each.requires_grad)
            self.tensors[name] = copies[key]
        self.constants = {name: {key: value.clone() if isinstance(value, torch.Tensor) else value
                                 for key, value in program.constants.items()}
                          for name, program in programs.items()}

    def forward(self, training: bool, inputs: torch.Tensor) -> Outputs:
        """Return the outputs of one of the two graphs."""
        return self.run("train" if training else "eval", inputs)

    def run(self, name: str, *inputs: torch.Tensor) -> Outputs:
        """Return the outputs of a graph."""
        program, given, users = self.programs[name], [], iter(inputs)
        for each in program.graph_signature.input_specs:
            if each.target is None:
                given.append(next(users))
            elif each.target in self.tensors:
                given.append(self.tensors[each.target])
            else:
                given.append(self.constants[name][each.target])
        return tuple(_Watched(program.graph_module, self).run(*given))


class _Watched(torch.fx.Interpreter):
    """Remembers the node that is being computed."""

    def __init__(self, module: torch.fx.GraphModule, graphs: Graphs) -> None:
        super().__init__(module)
        self.graphs = graphs

    def run_node(self, node: torch.fx.Node) -> Any:
        self.graphs.node = node
        return super().run_node(node)


def measure_graphs(graphs: Graphs, names: list[str], sample: Input, loss: Loss) -> Numbers:
    """Return the numbers of a file's graphs. `names` are those of the module's parameters."""
    parameters = {name: graphs.tensors[name] for name in names}
    buffers = {name: each for name, each in {**graphs.constants["train"], **graphs.tensors}.items()
               if name not in parameters and isinstance(each, torch.Tensor)}

    def loss_of(outputs: Outputs, targets: torch.Tensor) -> torch.Tensor:
        if loss.function is None:
            return loss(outputs, targets)
        return graphs.run("loss", *outputs, loss.shape_targets(targets))[0].mean()

    return measure(graphs.forward, parameters, buffers, sample, loss_of, loss.classes)


def compare(module: nn.Module, expected: Numbers, programs: dict[str, ExportedProgram],
            sample: Input, loss: Loss) -> float:
    """Return the largest difference between numbers of the graphs and of the module, which are
    `expected`, relative to the largest number of their tensor: 0 if all bits are the same. Raise
    ExportError if they differ by more than rounding."""
    graphs = Graphs(programs)
    found = measure_graphs(graphs, list(expected.gradients), sample, loss)
    largest = 0.0
    for k, batch in enumerate((1, BATCH, 7)):
        largest = max(largest, difference(expected.evaluations[k], found.evaluations[k]))
        if largest > ROUNDING:
            raise ExportError(_first_difference(module, programs, sample, False, batch))
    largest = max(largest, difference(expected.training, found.training))
    if largest > ROUNDING:
        raise ExportError(_first_difference(module, programs, sample, True, BATCH))
    largest = max(largest, difference((expected.loss,), (found.loss,)))
    if largest > ROUNDING:
        raise ExportError(f"--loss {loss.source}: the graph of the function computes "
                          f"{found.loss.item():.9g} and the function {expected.loss.item():.9g} "
                          "(numbers that Python computed during the export are constants in the "
                          "graph): compute them from tensors, and draw no random numbers")
    distances = _gradient_differences(expected.gradients, found.gradients)
    wrong = [name for name, each in distances.items() if each > ROUNDING]
    if wrong:
        raise ExportError(f"the graph's outputs are those of the module, but the gradients of "
                          f"{_some(wrong)} differ (a hook or a custom backward pass may change "
                          "them): remove hooks, and let autograd compute the backward pass")
    changed = {name: difference((each,), (found.buffers[name],))
               for name, each in expected.buffers.items() if name in found.buffers}
    wrong = [name for name, each in changed.items() if each > ROUNDING]
    if wrong:
        raise ExportError(f"after one forward pass in train(), the buffers {_some(wrong)} of the "
                          "graph differ from the module's: change float32 buffers, by operations "
                          "in place, such as self.mean.lerp_(new, 0.1)")
    return max(largest, *distances.values(), *changed.values())


def difference(expected: Outputs, found: Outputs) -> float:
    """Return the largest difference between elements, relative to the largest element of each
    tensor: 0 if all bits are the same, infinity if a shape, a type or a whole number differs."""
    if len(expected) != len(found):
        return math.inf
    return max((_distance(a, b, 0) for a, b in zip(expected, found)), default=0.0)


def _distance(a: torch.Tensor | None, b: torch.Tensor | None, least_size: float) -> float:
    """Return the relative difference of two tensors. Elements of `a` below `least_size` do not
    decide what it is relative to."""
    if same(a, b):
        return 0.0
    if (a is None or b is None or a.shape != b.shape or a.dtype != b.dtype
            or not a.is_floating_point()):
        return math.inf
    finite = torch.isfinite(a)
    if not torch.equal(finite, torch.isfinite(b)) or not same(a[~finite], b[~finite]):
        return math.inf
    size = max(_size(a[finite]), least_size)
    return _size(a[finite] - b[finite]) / size if size else math.inf


def _size(tensor: torch.Tensor) -> float:
    return tensor.abs().max().item() if tensor.numel() else 0.0


def _gradient_differences(expected: dict[str, torch.Tensor | None],
                          found: dict[str, torch.Tensor | None]) -> dict[str, float]:
    """Return the difference of each gradient. Gradients that are zero but for rounding, such as
    that of a bias of attention's keys, are compared with the largest gradient of the model."""
    largest = max((_size(each) for each in expected.values() if each is not None), default=0.0)
    return {name: _distance(each, found[name], 0.01 * largest) for name, each in expected.items()}


def same(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
    """Return True if all elements are equal, also those that are not a number."""
    if a is None or b is None:
        return a is b
    return (a.shape == b.shape and a.dtype == b.dtype
            and torch.allclose(a, b, rtol=0, atol=0, equal_nan=True))


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


@dataclass
class _Call:
    """One operator that PyTorch has executed."""

    name: str
    digest: bytes
    node: Any


class _Recorder(TorchDispatchMode):
    """Records all operators that are executed, with a digest of their results."""

    def __init__(self, graphs: Graphs | None = None) -> None:
        super().__init__()
        self.graphs = graphs
        self.calls: list[_Call] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (),
                           kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        digest = hashlib.sha256()
        for each in torch.utils._pytree.tree_leaves(result):
            if isinstance(each, torch.Tensor):
                flat = each.detach().contiguous().reshape(-1)
                digest.update(str(tuple(each.shape)).encode())
                digest.update(flat.view(torch.uint8).numpy().tobytes())
        self.calls.append(_Call(str(function), digest.digest(), self.graphs and self.graphs.node))
        return result


def _first_difference(module: nn.Module, programs: dict[str, ExportedProgram], sample: Input,
                      training: bool, batch: int) -> str:
    """Return a message that names the first operator whose result differs."""
    mode = "train()" if training else "eval()"
    graphs = Graphs(programs)
    inputs = sample.draw(batch, SEED)
    records = []
    for recorder, run in ((_Recorder(), module.train(training)),
                          (_Recorder(graphs), lambda given: graphs.forward(training, given))):
        torch.manual_seed(SEED)
        with restored(module), recorder:
            run(inputs.clone())
        records.append(recorder.calls)
    eager, graph = records
    at = 0
    for call in graph:
        ahead = [k for k in range(at, len(eager)) if eager[k].name == call.name]
        if not ahead:  # only the graph has it, as operators that copy a constant
            continue
        if eager[ahead[0]].digest != call.digest:
            place = place_of_node(call.node)
            return (f"{place or 'forward()'}: {call.name} is the first operator of the {mode} "
                    f"graph whose result differs from that of the module, for a batch of {batch} "
                    "(numbers that Python computed during the export are constants in the graph): "
                    "compute them from tensors, store them in buffers, and draw random numbers by "
                    "PyTorch")
        at = ahead[0] + 1
    return (f"forward(): the output of the {mode} graph differs from that of the module for a "
            f"batch of {batch}, although every operator agrees (the module may do different things "
            "in each call): keep no state in Python attributes")
