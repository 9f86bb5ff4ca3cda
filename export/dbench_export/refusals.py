"""Finds what DBench cannot train before anything is exported."""

from typing import Any

import torch
from torch import nn

from .errors import ExportError, current_place, first_line
from .inputs import Input
from .losses import Loss, draw_targets
from .outputs import tensors_of
from .state import restored, same_bits, tensors_of_module


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
    _check_memory(named)


def _check_memory(named: dict[str, nn.Parameter]) -> None:
    """Raise ExportError if two parameters share elements, but are not one parameter."""
    owners: dict[int, torch.Tensor] = {}  # the number of the parameter at each element, by storage
    for number, (name, each) in enumerate(named.items(), 1):
        storage = each.untyped_storage()
        known = owners.setdefault(storage.data_ptr(), torch.zeros(
            storage.nbytes() // each.element_size(), dtype=torch.int32))
        own = known.as_strided(each.shape, each.stride(), each.storage_offset())
        if own.any():
            raise ExportError(f"{name}: it shares memory with {list(named)[int(own.max()) - 1]}, "
                              "but DBench would train the two apart: assign the Parameter itself, "
                              "as in self.b.weight = self.a.weight, and transpose or slice it in "
                              "forward()")
        own.fill_(number)


def check_modules(module: nn.Module) -> None:
    """Raise ExportError if a layer has sparse gradients, or a mean over all batches."""
    for name, each in module.named_modules():
        if isinstance(each, nn.modules.batchnorm._BatchNorm) and each.momentum is None \
                and each.track_running_stats:
            raise ExportError(f"{name}: it is a {type(each).__name__} with momentum=None, which "
                              "reads a counter of batches, but replicas hold real numbers: give it "
                              "a momentum, such as 0.1")
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
    random = torch.get_rng_state()
    with torch.no_grad(), restored(module) as before:
        module(batch)
        changed = _changed(module, before)
    if not torch.equal(random, torch.get_rng_state()):
        with torch.no_grad(), restored(module), _DrawPlace() as watch:
            module(batch)
        raise ExportError(f"{watch.place or 'forward()'}: it draws random numbers in eval(): give "
                          "functional.dropout training=self.training, and draw only if "
                          "self.training")
    _check_changed_parameters(module, changed, batch)
    if changed:
        raise ExportError(f"{changed[0]}: forward() changes this buffer in eval(): change it only "
                          "if self.training")


def _changed(module: nn.Module, before: dict[str, torch.Tensor]) -> list[str]:
    """Return the names of tensors that are no longer those of `before`."""
    return [name for name, each in tensors_of_module(module).items()
            if not same_bits(each, before[name])]


def _check_changed_parameters(module: nn.Module, changed: list[str], batch: torch.Tensor) -> None:
    """Raise ExportError if a changed tensor is a parameter."""
    parameters = dict(module.named_parameters())
    for name in changed:
        if name not in parameters:
            continue
        with restored(module), _ChangePlace(parameters[name]) as watch:
            module(batch)
        raise ExportError(f"{name}: forward() changes this parameter, at "
                          f"{watch.place or 'a place that PyTorch hides'}, but only the optimizer "
                          "may: compute a changed copy (nn.Embedding: leave max_norm out), or "
                          "store the tensor with self.register_buffer(name, tensor)")


class _Watch(torch.utils._python_dispatch.TorchDispatchMode):
    """Remembers the first line of the user's code whose operator does something."""

    def __init__(self) -> None:
        super().__init__()
        self.place = ""

    def found(self, function: Any) -> bool:
        """Return whether the operator, which has just been computed, does it."""
        raise NotImplementedError

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (),
                           kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if not self.place and self.found(function):
            self.place = current_place()
        return result


class _DrawPlace(_Watch):
    """Remembers the first line that draws random numbers."""

    def found(self, function: Any) -> bool:
        return torch.Tag.nondeterministic_seeded in function.tags


class _ChangePlace(_Watch):
    """Remembers the first line that changes a tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__()
        self.tensor, self.before = tensor, tensor.detach().clone()

    def found(self, function: Any) -> bool:
        with torch.utils._python_dispatch._disable_current_modes():
            return not same_bits(self.tensor, self.before)


def check_training(module: nn.Module, sample: Input, loss_of: Loss) -> list[str]:
    """Raise ExportError if one step of training is not possible. Return the names of parameters
    without a gradient. The module has the same tensors afterwards."""
    module.train()
    batch = sample.draw(4, 1)
    with restored(module) as before:
        loss = loss_of(tensors_of(module(batch)), draw_targets(sample, 4, loss_of.classes, 1))
        changed = _changed(module, before)
        _check_changed_parameters(module, changed, batch)
        if loss.grad_fn is None:
            raise ExportError("forward(): its loss does not depend on parameters: remove detach() "
                              "and torch.no_grad()")
        check_backward(loss)
        try:
            loss.backward()
        except RuntimeError as error:
            raise ExportError("forward(): PyTorch cannot compute its gradient "
                              f"({first_line(error)}): replace operations in place, such as add_, "
                              "by add") from error
        gradients = {name: each.grad for name, each in module.named_parameters()}
        module.zero_grad(set_to_none=True)
    for name in changed:
        dtype = before[name].dtype
        if dtype.is_floating_point and dtype != torch.float32:
            raise ExportError(f"{name}: forward() changes this buffer of {dtype}, but replicas "
                              "hold what changes in the type of the run (the spec's `precision`): "
                              "make it a buffer of torch.float32")
    sparse = [name for name, each in gradients.items() if each is not None and each.is_sparse]
    if sparse:
        raise ExportError(f"{sparse[0]}: its gradient is sparse, but DBench exchanges dense "
                          "gradients: write sparse=False")
    return [name for name, each in gradients.items() if each is None]
