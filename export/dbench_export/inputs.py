"""The type and shape of one sample, as `--input` gives them."""

import re
from dataclasses import dataclass

import torch

from .errors import ExportError

_FORM = "DTYPE[SHAPE], such as float32[3,32,32] or int64[128]"


@dataclass(frozen=True)
class Input:
    """One sample, without the batch dimension."""

    kind: str  # image, features or tokens, as in the manifest
    shape: tuple[int, ...]
    words: int = 0  # tokens are smaller than this number

    @property
    def text(self) -> str:
        """Return the input as `--input` writes it."""
        dtype = "int64" if self.kind == "tokens" else "float32"
        return f"{dtype}[{','.join(map(str, self.shape))}]"

    def draw(self, batch: int, seed: int) -> torch.Tensor:
        """Return random samples: standard normal numbers, or tokens."""
        generator = torch.Generator().manual_seed(seed)
        if self.kind == "tokens":
            return torch.randint(self.words, (batch, *self.shape), generator=generator)
        return torch.randn((batch, *self.shape), generator=generator)


def read_input(text: str, classes: int | None) -> Input:
    """Return the input that `--input` describes. `classes` is the number of words of tokens."""
    match = re.fullmatch(r"\s*(\w+)\s*\[([\d\s,]*)\]\s*", text)
    if not match:
        raise ExportError(f"--input: '{text}' is not {_FORM}")
    dtype, sizes = match.groups()
    try:
        shape = tuple(int(size) for size in sizes.split(",") if size.strip() or "," in sizes)
    except ValueError:
        raise ExportError(f"--input: '{text}' has an empty size: write {_FORM}") from None
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
