"""A small language model for texts of bytes: two blocks of attention that sees only the past."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Attention to earlier tokens and two linear layers, each after a LayerNorm."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(0.1)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        count, length, width = x.shape
        q, k, v = (each.view(count, length, self.heads, -1).transpose(1, 2)
                   for each in self.qkv(self.before(x)).chunk(3, 2))
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(seen.transpose(1, 2).reshape(count, length, width)))
        return x + self.dropout(self.narrow(functional.gelu(self.wide(self.between(x)))))


class Words(nn.Module):
    def __init__(self, words=256, length=64, width=64, depth=2, heads=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        nn.init.normal_(self.words.weight, std=0.02)
        self.head.weight = self.words.weight  # DBench trains a shared tensor as one parameter

    def forward(self, tokens):
        places = self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(self.words(tokens) + places)))
