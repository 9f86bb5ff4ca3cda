"""Keeps the parameters and buffers of a module as they are while checks call it."""

import contextlib
from collections.abc import Iterator

import torch
from torch import nn


def tensors_of_module(module: nn.Module) -> dict[str, torch.Tensor]:
    """Return all parameters and buffers by name."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Return True if two tensors of one shape and type have the same bits."""
    return torch.equal(*(each.detach().contiguous().reshape(-1).view(torch.uint8)
                         for each in (a, b)))


@contextlib.contextmanager
def restored(module: nn.Module) -> Iterator[dict[str, torch.Tensor]]:
    """Give copies of all parameters and buffers, and restore those that change. PyTorch cannot
    write to tensors whose elements share memory, such as those of expand(), but nor can forward().
    """
    before = {name: each.detach().clone() for name, each in tensors_of_module(module).items()}
    try:
        yield before
    finally:
        with torch.no_grad():
            for name, each in tensors_of_module(module).items():
                if name in before and not same_bits(each, before[name]):
                    each.copy_(before[name])
