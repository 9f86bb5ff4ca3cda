"""A small vision transformer (Dosovitskiy et al. 2021) for images of 3x32x32 and 4 classes."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Attention and two linear layers, each after a LayerNorm."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        count, length, width = x.shape
        q, k, v = (each.view(count, length, self.heads, -1).transpose(1, 2)
                   for each in self.qkv(self.before(x)).chunk(3, 2))
        seen = functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(seen.transpose(1, 2).reshape(count, length, width))
        return x + self.narrow(functional.gelu(self.wide(self.between(x))))


class ViT(nn.Module):
    def __init__(self, size=32, patch=8, width=32, depth=2, heads=4, classes=4):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.places = nn.Parameter(0.02 * torch.randn(1, (size // patch) ** 2, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2) + self.places
        return self.head(self.norm(self.blocks(x)).mean(1))


def make():
    """Return the model that dbench-export writes."""
    return ViT()
