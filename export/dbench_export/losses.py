"""The loss with which DBench trains: built in, with auxiliary losses, or a function of the user."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils import _pytree as pytree

from .errors import ExportError, first_line, place_of
from .inputs import Input

Outputs = tuple[torch.Tensor, ...]


def mean_loss(output: torch.Tensor, targets: torch.Tensor, classes: int | None) -> torch.Tensor:
    """Return the mean cross-entropy, or the mean squared error."""
    if classes is None:
        return functional.mse_loss(output.flatten(), targets)
    return functional.cross_entropy(output.flatten(0, -2), targets)


def draw_targets(sample: Input, batch: int, classes: int | None, seed: int) -> torch.Tensor:
    """Return random targets: one per sample, or one per token."""
    generator = torch.Generator().manual_seed(seed + 1)
    if classes is None:
        return torch.randn(batch, generator=generator)
    count = batch * (sample.shape[0] if sample.kind == "tokens" else 1)
    return torch.randint(classes, (count,), generator=generator)


def read_function(found: Any, source: str) -> Callable[..., Any]:
    """Return the loss function that `--loss` names: a function, a module, or a class of modules."""
    if isinstance(found, type) and issubclass(found, nn.Module):
        try:
            found = found()
        except Exception as error:
            raise ExportError(f"--loss {source}: making it failed ({first_line(error)}): name a "
                              "function of outputs and targets") from error
    if not callable(found):
        raise ExportError(f"--loss {source}: it is {type(found).__name__} instead of a function of "
                          "outputs and targets")
    if isinstance(found, nn.Module) and list(found.parameters()):
        raise ExportError(f"--loss {source}: it has parameters, but DBench trains only those of "
                          "the model: move them into the model, and return what they compute")
    return found


@dataclass
class Structure:
    """The result of forward() without its tensors."""

    values: list[Any] = field(default_factory=list)  # the leaves; those of tensors are None
    places: list[int] = field(default_factory=list)  # of the tensors in `values`
    tree: Any = None

    @classmethod
    def of(cls, value: Any) -> "Structure":
        values, tree = pytree.tree_flatten(value)
        places = [k for k, each in enumerate(values) if isinstance(each, torch.Tensor)]
        return cls([None if k in places else each for k, each in enumerate(values)], places, tree)

    def join(self, tensors: Sequence[torch.Tensor]) -> Any:
        """Return what forward() would return with these tensors."""
        values = list(self.values)
        for place, each in zip(self.places, tensors):
            values[place] = each
        return pytree.tree_unflatten(values, self.tree)


@dataclass
class Loss:
    """The loss of the tensors that the graphs return. Targets are (batch) or (batch * tokens)."""

    classes: int | None
    tokens: bool = False
    main: int = 0                                       # the output with the logits or values
    weights: list[float] = field(default_factory=list)  # of the outputs 1, 2, ... in training
    function: Callable[..., Any] | None = None
    structure: Structure = field(default_factory=Structure)
    source: str = ""                                    # of the function, for messages
    length: int = 1                                     # tokens of a sample

    def __call__(self, outputs: Outputs, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a batch."""
        if self.function is not None:
            return self.call_function(outputs, self.shape_targets(targets)).mean()
        main = outputs[0]
        total = mean_loss(main, targets, self.classes)
        for weight, each in zip(self.weights, outputs[1:]):
            total = total + weight * (mean_loss(each, targets, self.classes)
                                      if each.shape == main.shape else each.mean())
        return total

    def shape_targets(self, targets: torch.Tensor) -> torch.Tensor:
        """Return the targets as the function receives them: (batch), or (batch, tokens)."""
        if self.tokens and self.classes is not None:
            return targets.view(-1, self.length)
        return targets

    def call_function(self, outputs: Outputs, targets: torch.Tensor) -> torch.Tensor:
        """Call the user's function, and check what it returns."""
        assert self.function is not None
        try:
            value = self.function(self.structure.join(outputs), targets)
        except ExportError:
            raise
        except Exception as error:
            raise ExportError(f"{place_of(error) or '--loss ' + self.source}: the loss function "
                              f"fails on targets of {targets.dtype} {tuple(targets.shape)} "
                              f"({first_line(error)}): it receives what forward() returns, and the "
                              "targets of the batch") from error
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            what = value.dtype if isinstance(value, torch.Tensor) else type(value).__name__
            raise ExportError(f"--loss {self.source}: it returns {what} instead of a loss: return "
                              "one number, or one for each sample")
        if value.dim() and value.shape[0] % len(targets):
            raise ExportError(f"--loss {self.source}: it returns the shape {tuple(value.shape)} "
                              f"for {len(targets)} samples: return one number, or one for each "
                              "sample")
        return value


class LossModule(nn.Module):
    """A loss function with its outputs in a list, for torch.export."""

    def __init__(self, loss: Loss) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, outputs: list[torch.Tensor], targets: torch.Tensor) -> Any:
        assert self.loss.function is not None
        return self.loss.function(self.loss.structure.join(outputs), targets)
