"""Models with several inputs, as users write them (test_exported_inputs.py)."""

import torch
from torch import nn


class Classifier(nn.Module):
    """Classifies a text with a mask, by attention."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(100, 16), nn.Parameter(torch.randn(1, 12, 16))
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.fc = nn.Linear(16, 4)

    def forward(self, ids, mask, kind=None):
        h = self.layer(self.words(ids) + self.places, src_key_padding_mask=~mask)
        return self.fc((h * mask[..., None]).sum(1) / (1 + mask.sum(1, keepdim=True)))


class Pair(nn.Module):
    """Compares two images, with a weight of each pair."""

    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 4, 3), nn.Linear(9, 1)

    def forward(self, left, right, weight):
        a, b = (self.conv(x).relu().mean((2, 3)) for x in (left, right))
        return self.fc(torch.cat([a, b, weight[:, None]], 1))
