"""The models once more, as one would write them in PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F


class SoftmaxRegression(nn.Linear):
    def __init__(self, shape, classes):
        super().__init__(torch.Size(shape).numel(), classes)

    def forward(self, x):
        return super().forward(x.flatten(1))


class LeastSquares(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(shape))

    def forward(self, x):
        return x @ self.weight


class Mlp(nn.Module):
    def __init__(self, shape, classes, hidden=(128, 64)):
        super().__init__()
        sizes = [torch.Size(shape).numel(), *hidden, classes]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class Cnn(nn.Module):
    def __init__(self, shape, classes, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(shape[0], width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, 2 * width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(2 * width)
        self.conv3 = nn.Conv2d(2 * width, 4 * width, 3, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.fc = nn.Linear(4 * width, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.relu(self.bn3(self.conv3(x)))
        return self.fc(x.mean((2, 3)))


class Block(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.added = after - before
        self.conv1 = nn.Conv2d(before, after, 3, stride=2 if self.added else 1, padding=1,
                               bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.added:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.added // 2, self.added // 2))
        return F.relu(y + x)


class ResNet20(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(shape[0], 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Block(16, 16), Block(16, 16), Block(16, 16))
        self.layer2 = nn.Sequential(Block(16, 32), Block(32, 32), Block(32, 32))
        self.layer3 = nn.Sequential(Block(32, 64), Block(64, 64), Block(64, 64))
        self.fc = nn.Linear(64, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


class Lstm(nn.Module):
    def __init__(self, shape, classes, hidden=650, layers=2, tied=False, dropout=0.5):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(classes, hidden)
        self.rnn = nn.LSTM(hidden, hidden, layers, dropout=dropout, batch_first=True)
        self.decoder = nn.Linear(hidden, classes)
        if tied:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, tokens):
        x, _ = self.rnn(self.drop(self.encoder(tokens)))
        return self.decoder(self.drop(x)).flatten(0, 1)


class GptBlock(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(width)
        self.attn = nn.ModuleDict({"c_attn": nn.Linear(width, 3 * width),
                                   "c_proj": nn.Linear(width, width)})
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width),
                                  "c_proj": nn.Linear(4 * width, width)})

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2)
                   for part in self.attn["c_attn"](self.ln_1(x)).chunk(3, 2))
        scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5
        later = torch.ones(scores.shape[2:], dtype=torch.bool).triu(1)
        seen = scores.masked_fill(later, -torch.inf).softmax(3) @ v
        x = x + self.attn["c_proj"](seen.transpose(1, 2).flatten(2))
        hidden = F.gelu(self.mlp["c_fc"](self.ln_2(x)), approximate="tanh")
        return x + self.mlp["c_proj"](hidden)


class Gpt(nn.Module):
    def __init__(self, shape, classes, layers=12, heads=12, width=768, dropout=0.1):
        super().__init__()
        assert dropout == 0
        self.wte, self.wpe = nn.Embedding(classes, width), nn.Embedding(shape[0], width)
        self.h = nn.ModuleList(GptBlock(heads, width) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if name.endswith("weight") and "ln_" not in name:
                nn.init.normal_(parameter, std=0.02 / (2 * layers) ** 0.5
                                if name.endswith("c_proj.weight") else 0.02)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return (self.ln_f(x) @ self.wte.weight.T).flatten(0, 1)


MODELS = {
    "softmax_regression": SoftmaxRegression,
    "least_squares": LeastSquares,
    "mlp": Mlp,
    "cnn": Cnn,
    "resnet20": ResNet20,
    "lstm": Lstm,
    "gpt": Gpt,
}
