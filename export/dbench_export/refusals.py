"""Finds what DBench cannot train before anything is exported."""

from typing import Any

import torch
from torch import nn

from .errors import ExportError, current_place, first_line
from .inputs import Input
from .losses import Loss, draw_targets
from .outputs import tensors_of


def check_parameters(module: nn.Module) -> None:
    """Raise ExportError unless all parameters are float32, real, dense, and trained."""
    named = dict(module.named_parameters())
    if not named:
        raise ExportError("the module has no parameters: are its layers attributes of it, or in an "
                          "nn.ModuleList?")
    for name, each in named.items():
        if each.device.type != "cpu":
            raise ExportError(f"{name}: it is on {each.device}: return the module on the CPU (the "
                              "spec's `device` chooses the GPU later)")
        if each.is_complex():
            raise ExportError(f"{name}: it is a complex parameter, which DBench cannot average: "
                              "store the real and the imaginary part as two parameters, and join "
                              "them by torch.complex")
        if each.dtype != torch.float32:
            raise ExportError(f"{name}: it is a parameter of {each.dtype}: return module.float() "
                              "(the spec's `precision` and `compute` choose another type later)")
        if type(each) is not nn.Parameter:
            raise ExportError(f"{name}: it is a {type(each).__name__}, a subclass of Parameter: "
                              "initialise lazy modules by one forward pass, and unwrap others")
    frozen = [name for name, each in named.items() if not each.requires_grad]
    if frozen:
        raise ExportError(f"{', '.join(frozen[:4])}: requires_grad is False for {len(frozen)} "
                          "parameters, but DBench trains all: store a fixed tensor with "
                          "self.register_buffer(name, tensor)")


def check_modules(module: nn.Module) -> None:
    """Raise ExportError if a layer has sparse gradients."""
    for name, each in module.named_modules():
        if getattr(each, "sparse", False) and isinstance(each, (nn.Embedding, nn.EmbeddingBag)):
            raise ExportError(f"{name}: it is an {type(each).__name__} with sparse=True, but "
                              "DBench exchanges dense gradients: write sparse=False")


def check_backward(loss: torch.Tensor) -> None:
    """Raise ExportError if part of the backward pass is written in Python."""
    seen: set[Any] = set()
    todo = [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        function = getattr(type(node), "_forward_cls", type(node))
        if (isinstance(node, torch.autograd.function.BackwardCFunction)
                and function.__module__.partition(".")[0] != "torch"):  # graphs._check sees those
            raise ExportError(f"{function.__module__}.{function.__qualname__}: it is a custom "
                              "torch.autograd.Function, whose backward() is Python code that no "
                              "graph holds: write the forward pass with PyTorch's operators")
        todo += [following for following, _ in node.next_functions]


def check_evaluation(module: nn.Module, batch: torch.Tensor) -> None:
    """Raise ExportError if forward() draws random numbers or changes a buffer in eval()."""
    module.eval()
    buffers = {name: each.clone() for name, each in module.named_buffers()}
    before = torch.get_rng_state()
    with torch.no_grad():
        module(batch)
    if not torch.equal(before, torch.get_rng_state()):
        with torch.no_grad(), _DrawPlace() as watch:
            module(batch)
        raise ExportError(f"{watch.place or 'forward()'}: it draws random numbers in eval(): give "
                          "functional.dropout training=self.training, and draw only if "
                          "self.training")
    for name, each in module.named_buffers():
        if not torch.equal(_bits(buffers[name]), _bits(each)):
            raise ExportError(f"{name}: forward() changes this buffer in eval(): change it only if "
                              "self.training")


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(tensor) if tensor.is_floating_point() else tensor


class _DrawPlace(torch.utils._python_dispatch.TorchDispatchMode):
    """Remembers the first line of the user's code that draws random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.place = ""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (),
                           kwargs: Any = None) -> Any:
        if not self.place and torch.Tag.nondeterministic_seeded in function.tags:
            self.place = current_place()
        return function(*args, **(kwargs or {}))


def check_training(module: nn.Module, sample: Input, loss_of: Loss) -> list[str]:
    """Raise ExportError if one step of training is not possible. Return the names of parameters
    without a gradient. The module has the same tensors afterwards."""
    before = {name: each.detach().clone() for name, each in module.named_buffers()}
    module.train()
    loss = loss_of(tensors_of(module(sample.draw(4, 1))),
                   draw_targets(sample, 4, loss_of.classes, 1))
    if loss.grad_fn is None:
        raise ExportError("forward(): its loss does not depend on parameters: remove detach() "
                          "and torch.no_grad()")
    check_backward(loss)
    try:
        loss.backward()
    except RuntimeError as error:
        raise ExportError(f"forward(): PyTorch cannot compute its gradient ({first_line(error)}): "
                          "replace operations in place, such as add_, by add") from error
    gradients = {name: each.grad for name, each in module.named_parameters()}
    module.zero_grad(set_to_none=True)
    with torch.no_grad():
        for name, each in module.named_buffers():
            each.copy_(before[name])
    sparse = [name for name, each in gradients.items() if each is not None and each.is_sparse]
    if sparse:
        raise ExportError(f"{sparse[0]}: its gradient is sparse, but DBench exchanges dense "
                          "gradients: write sparse=False")
    return [name for name, each in gradients.items() if each is None]
