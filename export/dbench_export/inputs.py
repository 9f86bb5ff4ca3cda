"""The type and shape of one sample, as `--input` gives them."""

import math
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .errors import ExportError

_FORM = "DTYPE[SHAPE], such as float32[3,32,32] or int64[128]"


_NAMED = "NAME=DTYPE[SHAPE], such as ids=int64[32]:1000 or mask=bool[32]"


@dataclass(frozen=True)
class Part:
    """One of several inputs: an argument of forward(), and an array of the data."""

    name: str
    dtype: str  # float32, int64 or bool
    shape: tuple[int, ...]
    count: int  # whole numbers are smaller than this number

    def draw(self, batch: int, generator: torch.Generator) -> torch.Tensor:
        """Return random numbers (batch, numbers of a sample)."""
        shape = (batch, math.prod(self.shape))
        if self.dtype == "float32":
            return torch.randn(shape, generator=generator)
        return torch.randint(self.count, shape, generator=generator).float()

    def restore(self, flat: torch.Tensor) -> torch.Tensor:
        """Return the argument of forward() from its numbers in a row of features."""
        each = flat.reshape(flat.shape[0], *self.shape)
        if self.dtype == "float32":
            return each
        return each.to(torch.int64) if self.dtype == "int64" else each != 0


@dataclass(frozen=True)
class Input:
    """One sample, without the batch dimension."""

    kind: str  # image, features or tokens, as in the manifest
    shape: tuple[int, ...]
    words: int = 0  # tokens are smaller than this number
    parts: tuple[Part, ...] = ()  # of features: several inputs, one after another

    @property
    def text(self) -> str:
        """Return the input as `--input` writes it."""
        dtype = "int64" if self.kind == "tokens" else "float32"
        return f"{dtype}[{','.join(map(str, self.shape))}]"

    def draw(self, batch: int, seed: int) -> torch.Tensor:
        """Return random samples: standard normal numbers, or tokens."""
        generator = torch.Generator().manual_seed(seed)
        if self.parts:
            return torch.cat([part.draw(batch, generator) for part in self.parts], 1)
        if self.kind == "tokens":
            return torch.randint(self.words, (batch, *self.shape), generator=generator)
        return torch.randn((batch, *self.shape), generator=generator)


def read_inputs(texts: list[str], classes: int | None) -> Input:
    """Return the sample that all `--input` describe: one input, or several inputs with names."""
    named = [re.match(r"\s*\w+\s*=", text) is not None for text in texts]
    if len(texts) == 1 and not named[0]:
        return read_input(texts[0], classes)
    if not all(named):
        raise ExportError(f"--input: several inputs need names: write {_NAMED}, where NAME is an "
                          "argument of forward() and an array of the data")
    parts = tuple(_read_part(text) for text in texts)
    if len({part.name for part in parts}) < len(parts):
        raise ExportError("--input: two inputs have the same name: give each its own name")
    return Input("features", (sum(math.prod(part.shape) for part in parts),), parts=parts)


def _read_part(text: str) -> Part:
    match = re.fullmatch(r"\s*(\w+)\s*=\s*(\w+)\s*\[([\d\s,]*)\]\s*(?::\s*(\d+)\s*)?", text)
    if not match:
        raise ExportError(f"--input: '{text}' is not {_NAMED}")
    name, dtype, sizes, count = match.groups()
    shape = _shape(sizes, text, _NAMED)
    if 0 in shape:
        raise ExportError(f"--input: '{text}' needs sizes of at least 1, without the batch")
    if dtype not in ("float32", "int64", "bool"):
        raise ExportError(f"--input: '{dtype}' is neither float32, int64 nor bool")
    if (count is not None) != (dtype == "int64") or (count and not 0 < int(count) <= 2**24):
        raise ExportError(f"--input: '{text}': whole numbers, and only they, need a bound up to "
                          f"2^24, below which all of them are: write {name}=int64[{sizes}]:COUNT")
    return Part(name, dtype, shape, int(count or 2))


def _shape(sizes: str, text: str, form: str) -> tuple[int, ...]:
    """Return the sizes between the brackets of `text`; () if there are none."""
    try:
        return tuple(map(int, sizes.split(","))) if sizes.strip() else ()
    except ValueError:
        raise ExportError(f"--input: '{text}': each size must be one whole number: write "
                          f"{form}") from None


def join_inputs(module: nn.Module, sample: Input) -> None:
    """Make forward() read the parts of a sample from one tensor of features."""
    if not sample.parts:
        return
    forward, sizes = module.forward, [math.prod(part.shape) for part in sample.parts]

    def joined(features: torch.Tensor) -> Any:
        flat = features.split(sizes, 1)
        return forward(**{part.name: part.restore(each)
                          for part, each in zip(sample.parts, flat)})

    module.forward = joined  # type: ignore[method-assign]


def read_input(text: str, classes: int | None) -> Input:
    """Return the input that `--input` describes. `classes` is the number of words of tokens."""
    match = re.fullmatch(r"\s*(\w+)\s*\[([\d\s,]*)\]\s*", text)
    if not match:
        raise ExportError(f"--input: '{text}' is not {_FORM}")
    dtype, sizes = match.groups()
    shape = _shape(sizes, text, _FORM)
    if not shape or 0 in shape:
        raise ExportError(f"--input: '{text}' needs sizes of at least 1, without the batch: write "
                          f"{_FORM}")
    if dtype == "int64":
        if len(shape) != 1:
            raise ExportError(f"--input: '{text}' has {len(shape)} dimensions, but tokens have one "
                              "(the length of a sample): write int64[LENGTH]")
        if classes is None:
            raise ExportError("--classes: it is missing, but a model of tokens needs it: give the "
                              "number of different tokens")
        return Input("tokens", shape, classes)
    if dtype != "float32":
        raise ExportError(f"--input: '{dtype}' is neither float32 (images, features) nor int64 "
                          "(tokens): the spec's `precision` chooses float64 later")
    if len(shape) not in (1, 3):
        raise ExportError(f"--input: '{text}' has {len(shape)} dimensions, but data sets supply "
                          "images (3: channels, height, width) or features (1): add the missing "
                          "ones, and reshape in forward()")
    return Input("image" if len(shape) == 3 else "features", shape)
