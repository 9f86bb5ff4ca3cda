"""Small models with the operators of well-known architectures, as users write them
(test_exported_models.py). Each is called as a function without arguments."""

import math

import torch
from torch import nn
from torch.nn import functional

CLASSES, WORDS, LENGTH = 10, 50, 12


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.encoder, self.fc = nn.Embedding(WORDS, 8), nn.Linear(16, WORDS)
        self.rnn = layer(8, 8, 2, batch_first=True, bidirectional=True)

    def forward(self, tokens):
        return self.fc(self.rnn(self.encoder(tokens))[0])


def lstm():
    return Recurrent(nn.LSTM)


def gru():
    return Recurrent(nn.GRU)


class EvoNorm(nn.Module):
    """EvoNorm-S0 (Liu et al. 2020)."""

    def __init__(self, width, groups=2):
        super().__init__()
        self.groups = groups
        self.gamma, self.beta, self.v = (nn.Parameter(torch.full((1, width, 1, 1), value))
                                         for value in (1.0, 0.0, 1.0))

    def forward(self, x):
        grouped = x.reshape(x.shape[0], self.groups, -1)
        deviation = (grouped.var(2, keepdim=True) + 1e-5).sqrt()
        normed = (x * torch.sigmoid(self.v * x)).view_as(grouped) / deviation
        return normed.view_as(x) * self.gamma + self.beta


class Block(nn.Module):
    """A residual block (He et al. 2015) whose shortcut pads channels with zeros."""

    def __init__(self, inside, width, stride, norm):
        super().__init__()
        self.first, self.norm = nn.Conv2d(inside, width, 3, stride, 1, bias=False), norm(width)
        self.second, self.last = nn.Conv2d(width, width, 3, 1, 1, bias=False), norm(width)
        self.stride, self.more = stride, width - inside

    def forward(self, x):
        y = self.last(self.second(functional.relu(self.norm(self.first(x)))))
        shortcut = functional.pad(x[:, :, ::self.stride, ::self.stride],
                                  (0, 0, 0, 0, self.more // 2, self.more - self.more // 2))
        return functional.relu(y + shortcut)


def residual(norm):
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), Block(4, 4, 1, norm),
                         Block(4, 8, 2, norm), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(8, CLASSES))


def resnet_groupnorm():
    return residual(lambda width: nn.GroupNorm(2, width))


def resnet_evonorm():
    return residual(EvoNorm)


def resnet_batchnorm():
    return residual(nn.BatchNorm2d)


def lenet():
    return nn.Sequential(nn.Conv2d(3, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2),
                         nn.Conv2d(6, 8, 3), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
                         nn.Linear(72, 16), nn.Tanh(),
                         nn.Linear(16, CLASSES))


def vgg11_bn():
    layers, inside = [], 3
    for width in (4, "M", 8, "M", 8, 8):
        if width == "M":
            layers.append(nn.MaxPool2d(2, 2))
            continue
        layers += [nn.Conv2d(inside, width, 3, padding=1), nn.BatchNorm2d(width),
                   nn.ReLU(inplace=True)]
        inside = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(), nn.Linear(32, 16),
                         nn.ReLU(True), nn.Dropout(0.5), nn.Linear(16, CLASSES))


class UNet(nn.Module):
    """Down, up by a transposed convolution and by interpolation, with skip connections."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1), \
            nn.Conv2d(8, 8, 3, padding=1)
        self.up, self.d = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(12, 4, 3, padding=1)
        self.last, self.fc = nn.Conv2d(8, 2, 1), nn.Linear(512, CLASSES)

    def forward(self, x):
        a = self.a(x).relu()
        b = self.b(functional.max_pool2d(a, 2)).relu()
        c = self.up(self.c(functional.max_pool2d(b, 2)).relu())
        d = self.d(torch.cat([b, c], 1)).relu()
        e = functional.interpolate(d, scale_factor=2, mode="bilinear", align_corners=False)
        return self.fc(self.last(torch.cat([a, e], 1)).flatten(1))


def weight_norm():
    normed = nn.utils.parametrizations.weight_norm
    return nn.Sequential(normed(nn.Linear(20, 16)), nn.ELU(), normed(nn.Linear(16, CLASSES)))


class Mixer(nn.Module):
    """MLP-Mixer (Tolstikhin et al. 2021): products over places, then over channels."""

    def __init__(self, width=8, places=16):
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, width, 4, 4), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(places, 16), nn.GELU(), nn.Linear(16, places))
        self.channels = nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width))
        self.between, self.fc = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.patches(x).flatten(2).mT
        x = x + self.tokens(self.norm(x).mT).mT
        return self.fc((x + self.channels(self.between(x))).mean(1))


class GatedMlp(nn.Module):
    """gMLP (Liu et al. 2021) on texts: a gate over earlier places."""

    def __init__(self, width=8):
        super().__init__()
        self.words, self.norm = nn.Embedding(WORDS, width), nn.LayerNorm(width)
        self.wide, self.gate = nn.Linear(width, 4 * width), nn.LayerNorm(2 * width)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, LENGTH))
        self.narrow, self.head = nn.Linear(2 * width, width), nn.Linear(width, WORDS)

    def forward(self, tokens):
        x = self.words(tokens)
        u, v = functional.gelu(self.wide(self.norm(x))).chunk(2, -1)
        v = torch.einsum("ij,bjd->bid", self.places.tril(), self.gate(v)) + 1
        return self.head(x + self.narrow(u * v))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Llama(nn.Module):
    """A layer with rotary places, grouped keys, RMSNorm and SwiGLU (Touvron et al. 2023)."""

    def __init__(self, width=16, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, size = heads, groups, width // heads
        self.words, self.norm, self.between = nn.Embedding(WORDS, width), RmsNorm(width), \
            RmsNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * groups * size, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 24, bias=False), nn.Linear(width, 24, bias=False)
        self.down, self.head = nn.Linear(24, width, bias=False), nn.Linear(width, WORDS, bias=False)
        rates = 1.0 / 10000 ** (torch.arange(0, size, 2) / size)
        self.register_buffer("rates", rates, persistent=False)

    def turn(self, x, cos, sin):
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin

    def forward(self, tokens):
        count, length = tokens.shape
        x = self.words(tokens)
        with torch.no_grad():
            angles = torch.outer(torch.arange(length, device=tokens.device).to(self.rates.dtype),
                                 self.rates)
            angles = torch.cat([angles, angles], -1)
            cos, sin = angles.cos(), angles.sin()
        h = self.norm(x)
        q = self.q(h).view(count, length, self.heads, -1).transpose(1, 2)
        k, v = self.kv(h).view(count, length, 2, self.groups, -1).permute(2, 0, 3, 1, 4).unbind(0)
        k, v = (each.repeat_interleave(self.heads // self.groups, 1)
                for each in (self.turn(k, cos, sin), v))
        seen = functional.scaled_dot_product_attention(self.turn(q, cos, sin), k, v,
                                                       is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(count, length, -1))
        h = self.between(x)
        return self.head(x + self.down(functional.silu(self.gate(h)) * self.up(h)))


class MobileNet(nn.Module):
    """An inverted residual block with squeeze and excitation (Howard et al. 2019)."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8),
                                  nn.Hardswish(inplace=True))
        self.deep = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8, bias=False),
                                  nn.BatchNorm2d(8, eps=1e-3, momentum=0.01), nn.ReLU6())
        self.squeeze, self.excite = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.fc = nn.Linear(8, CLASSES)

    def forward(self, x):
        x = self.stem(x)
        y = self.deep(x)
        scale = functional.adaptive_avg_pool2d(y, 1)
        scale = functional.hardsigmoid(self.excite(functional.relu(self.squeeze(scale))))
        return self.fc((x + scale * y).mean([2, 3]))


class ShuffleNet(nn.Module):
    """Shuffled channels (Ma et al. 2018), and dense connections (Huang et al. 2017)."""

    def __init__(self):
        super().__init__()
        self.stem, self.branch = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.norm, self.dense = nn.BatchNorm2d(8), nn.Conv2d(8, 4, 1)
        self.fc = nn.Linear(12, CLASSES)

    def forward(self, x):
        a, b = self.stem(x).chunk(2, dim=1)
        x = torch.cat((a, self.branch(b)), 1)
        count, channels, height, width = x.size()
        x = x.view(count, 2, channels // 2, height, width).transpose(1, 2).contiguous()
        x = x.view(count, channels, height, width)
        x = torch.cat([x, self.dense(functional.relu(self.norm(x)))], 1)
        return self.fc(torch.flatten(functional.adaptive_avg_pool2d(x, (1, 1)), 1))


class ConvNext(nn.Module):
    """A block with a LayerNorm of channels and scaled layers (Liu et al. 2022; also CaiT)."""

    def __init__(self, width=8):
        super().__init__()
        self.stem, self.deep = nn.Conv2d(3, width, 4, 4), nn.Conv2d(width, width, 7, padding=3,
                                                                    groups=width)
        self.norm, self.wide, self.narrow = nn.LayerNorm(width, eps=1e-6), \
            nn.Linear(width, 16), nn.Linear(16, width)
        self.scale, self.fc = nn.Parameter(torch.full((width,), 0.1)), nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.deep(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(functional.gelu(self.wide(y)))
        return self.fc((x + y.permute(0, 3, 1, 2)).mean((-2, -1)))


class Swin(nn.Module):
    """Attention in shifted windows, with a table of relative places (Liu et al. 2021)."""

    def __init__(self, width=8, heads=2, window=2):
        super().__init__()
        self.heads, self.window = heads, window
        self.patches, self.norm = nn.Conv2d(3, width, 4, 4), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(0.02 * torch.randn((2 * window - 1) ** 2, heads))
        grid = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window),
                                          indexing="ij")).flatten(1)
        offsets = (grid[:, :, None] - grid[:, None, :]) + window - 1
        self.register_buffer("index", offsets[0] * (2 * window - 1) + offsets[1])
        self.fc = nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.patches(x).permute(0, 2, 3, 1)
        count, height, width, channels = x.shape
        w = self.window
        y = torch.roll(self.norm(x), (-1, -1), (1, 2))
        y = y.view(count, height // w, w, width // w, w, channels).transpose(2, 3)
        y = y.reshape(-1, w * w, channels)
        q, k, v = self.qkv(y).view(y.shape[0], w * w, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(channels // self.heads)
        bias = self.table[self.index.flatten()].view(w * w, w * w, -1).permute(2, 0, 1)
        y = (functional.softmax(scores + bias[None], -1) @ v).transpose(1, 2).flatten(2)
        y = self.out(y).view(count, height // w, width // w, w, w, channels).transpose(2, 3)
        y = torch.roll(y.reshape(count, height, width, channels), (1, 1), (1, 2))
        return self.fc((x + y).mean((1, 2)))


class Bert(nn.Module):
    """PyTorch's own encoder, read in both directions, with dropout."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, 16), nn.Embedding(LENGTH, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True,
                                           activation="gelu")
        self.encoder, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), \
            nn.Linear(16, WORDS)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.encoder(self.words(tokens) + self.places(places)))


class Totals(nn.Module):
    """Adds up in train() what only eval() reads, and keeps a flag that nothing reads."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, CLASSES)
        self.register_buffer("total", torch.zeros(20))
        self.register_buffer("count", torch.ones(()))
        self.register_buffer("ready", torch.tensor(False))

    def forward(self, x):
        if not self.training:
            return self.fc(x - self.total / self.count)
        with torch.no_grad():
            self.total.add_(x.mean(0))
        self.count.add_(1)
        self.ready.fill_(True)
        return self.fc(x - x.mean(0))


class Aliases(nn.Module):
    """Changes its input and a buffer through results that are the same tensors."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, CLASSES)
        self.register_buffer("mean", torch.zeros(20))

    def forward(self, x):
        mean, y = self.mean.type_as(x), torch.atleast_2d(x)
        if self.training:
            mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        y.mul_(2)
        return self.fc(y - mean)


class Nested(nn.Module):
    """One BatchNorm twice, and gradients inside of a region without them."""

    def __init__(self):
        super().__init__()
        self.norm, self.middle = nn.BatchNorm1d(4), nn.Linear(20, 20)
        self.fc = nn.Linear(20, CLASSES)

    def forward(self, x):
        x = self.norm(self.norm(x.view(-1, 4, 5))).flatten(1)
        with torch.no_grad():
            z = self.middle(x).tanh()
            with torch.enable_grad():
                y = self.middle(z)
        return self.fc(x + y)


class Instances(nn.Module):
    """Running statistics of InstanceNorm, which writes them back in eval(), and another operator in
    place."""

    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(4, affine=True, track_running_stats=True)
        self.act, self.fc = nn.ReLU(inplace=True), nn.Linear(20, CLASSES)

    def forward(self, x):
        return self.fc(self.act(self.norm(x.view(-1, 4, 5))).flatten(1))


class Numbers(nn.Module):
    """Complex numbers, and bits of the size of the batch."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, CLASSES)

    def forward(self, x):
        n = x.shape[0]
        turned = torch.fft.rfft(x) * (1 + 2j) + torch.tensor([0.5j])
        scale = 1 + (n >> 1) / (n + 1) + (n << 2) / 100 + (n & 3) / 8
        return self.fc(torch.fft.irfft(turned, n=20)) * scale
