"""Independent implementations of the models in plain PyTorch."""

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


class LeNet(nn.Module):
    def __init__(self, shape, classes, norm="none"):
        super().__init__()
        self.conv1 = nn.Conv2d(shape[0], 6, 5)
        self.gn1 = nn.GroupNorm(2, 6) if norm == "group" else nn.Identity()
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.gn2 = nn.GroupNorm(4, 16) if norm == "group" else nn.Identity()
        height, width = (((side - 4) // 2 - 4) // 2 for side in shape[1:])
        self.fc1 = nn.Linear(16 * height * width, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, x):
        x = self.gn1(F.max_pool2d(F.relu(self.conv1(x)), 2))
        x = self.gn2(F.max_pool2d(F.relu(self.conv2(x)), 2))
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


class Vgg11(nn.Module):
    def __init__(self, shape, classes, width=64, norm="none", dropout=0.5):
        super().__init__()
        layers, before = [], shape[0]
        for factor in (1, 0, 2, 0, 4, 4, 0, 8, 8, 0, 8, 8, 0):
            if factor == 0:
                layers.append(nn.MaxPool2d(2))
                continue
            after = factor * width
            layers.append(nn.Conv2d(before, after, 3, padding=1))
            if norm == "group":
                layers.append(nn.GroupNorm(8, after))
            layers.append(nn.ReLU())
            before = after
        self.features = nn.Sequential(*layers)
        linear = nn.Linear(before, classes)
        self.classifier = linear if norm == "group" else nn.Sequential(
            nn.Dropout(dropout), nn.Linear(before, before), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(before, before), nn.ReLU(), linear)
        if norm == "none":  # RelaySGD's code begins with N(0, 2 / (9 out)) and biases of 0
            for each in self.features:
                if isinstance(each, nn.Conv2d):
                    nn.init.normal_(each.weight, std=(2 / (9 * each.out_channels))**0.5)
                    nn.init.zeros_(each.bias)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class Block(nn.Module):
    def __init__(self, before, after, zero_init=False):
        super().__init__()
        self.added = after - before
        self.conv1 = nn.Conv2d(before, after, 3, stride=2 if self.added else 1, padding=1,
                               bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        if zero_init:
            nn.init.zeros_(self.bn2.weight)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.added:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.added // 2, self.added // 2))
        return F.relu(y + x)


def he_normal(module):
    for each in module.modules():
        if isinstance(each, nn.Conv2d):
            nn.init.kaiming_normal_(each.weight, mode="fan_out", nonlinearity="relu")


class SmallResNet(nn.Module):
    n = 3

    def __init__(self, shape, classes, zero_init=False):
        super().__init__()
        self.conv1 = nn.Conv2d(shape[0], 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        for name, before, after in (("layer1", 16, 16), ("layer2", 16, 32), ("layer3", 32, 64)):
            widths = [before] + [after] * self.n
            self.add_module(name, nn.Sequential(
                *(Block(a, b, zero_init) for a, b in zip(widths, widths[1:]))))
        self.fc = nn.Linear(64, classes)
        he_normal(self)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


class ResNet32(SmallResNet):
    n = 5


class ResNet56(SmallResNet):
    n = 9


class ResNet110(SmallResNet):
    n = 18


class WideBlock(nn.Module):
    def __init__(self, before, after, stride, dropout):
        super().__init__()
        assert dropout == 0
        self.bn1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.shortcut = (nn.Conv2d(before, after, 1, stride=stride, bias=False)
                         if before != after else None)

    def forward(self, x):
        active = F.relu(self.bn1(x))
        y = self.conv2(F.relu(self.bn2(self.conv1(active))))
        return y + (x if self.shortcut is None else self.shortcut(active))


class WideResNet(nn.Module):
    def __init__(self, shape, classes, depth=28, widen=10, dropout=0):
        super().__init__()
        self.conv1 = nn.Conv2d(shape[0], 16, 3, padding=1, bias=False)
        before = 16
        for stage in (1, 2, 3):
            after, blocks = 8 * 2**stage * widen, []
            for block in range((depth - 4) // 6):
                blocks.append(WideBlock(before, after, 2 if stage > 1 and not block else 1,
                                        dropout))
                before = after
            self.add_module(f"layer{stage}", nn.Sequential(*blocks))
        self.bn = nn.BatchNorm2d(before)
        self.fc = nn.Linear(before, classes)
        he_normal(self)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.conv1(x))))
        return self.fc(F.relu(self.bn(x)).mean((2, 3)))


class DenseLayer(nn.Module):
    def __init__(self, before, growth, bottleneck):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(before)
        self.bottleneck = bottleneck
        if bottleneck:
            self.conv1 = nn.Conv2d(before, 4 * growth, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(4 * growth)
            self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)
        else:
            self.conv1 = nn.Conv2d(before, growth, 3, padding=1, bias=False)

    def forward(self, x):
        y = self.conv1(F.relu(self.norm1(x)))
        if self.bottleneck:
            y = self.conv2(F.relu(self.norm2(y)))
        return torch.cat([x, y], 1)


class DenseNet(nn.Module):
    def __init__(self, shape, classes, depth=100, growth=12, bottleneck=True, compression=0.5,
                 dropout=0):
        super().__init__()
        assert dropout == 0
        channels = 2 * growth if bottleneck and compression < 1 else 16
        self.features = nn.Sequential()
        self.features.add_module("conv0", nn.Conv2d(shape[0], channels, 3, padding=1, bias=False))
        for block in (1, 2, 3):
            layers = nn.Sequential()
            for layer in range((depth - 4) // (6 if bottleneck else 3)):
                layers.add_module(f"denselayer{layer + 1}",
                                  DenseLayer(channels, growth, bottleneck))
                channels += growth
            self.features.add_module(f"denseblock{block}", layers)
            if block < 3:
                kept = int(channels * compression)
                between = nn.Sequential()
                between.add_module("norm", nn.BatchNorm2d(channels))
                between.add_module("relu", nn.ReLU())
                between.add_module("conv", nn.Conv2d(channels, kept, 1, bias=False))
                between.add_module("pool", nn.AvgPool2d(2))
                self.features.add_module(f"transition{block}", between)
                channels = kept
        self.features.add_module("norm", nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, classes)
        he_normal(self)

    def forward(self, x):
        return self.classifier(F.relu(self.features(x)).mean((2, 3)))


class Bottleneck(nn.Module):
    def __init__(self, before, width, stride, zero_init):
        super().__init__()
        after = 4 * width
        self.conv1 = nn.Conv2d(before, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, after, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(after)
        self.downsample = nn.Sequential(
            nn.Conv2d(before, after, 1, stride=stride, bias=False),
            nn.BatchNorm2d(after)) if before != after else nn.Identity()
        if zero_init:
            nn.init.zeros_(self.bn3.weight)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class ResNet50(nn.Module):
    def __init__(self, shape, classes, width=64, zero_init=False):
        super().__init__()
        self.conv1 = nn.Conv2d(shape[0], width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        before = width
        for stage, count in enumerate((3, 4, 6, 3)):
            blocks = []
            for block in range(count):
                blocks.append(Bottleneck(before, width << stage, 2 if stage and not block else 1,
                                         zero_init))
                before = 4 * width << stage
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(32 * width, classes)
        he_normal(self)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, stride=2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
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


class Transformer(nn.Module):
    """nn.Transformer; with norm "post" without the final norms of encoder and decoder."""

    def __init__(self, shape, classes, width=512, heads=8, layers=6, hidden=2048, norm="post",
                 dropout=0.1):
        super().__init__()
        assert dropout == 0
        self.embedding = nn.Embedding(classes, width)
        whole = nn.Transformer(width, heads, layers, layers, hidden, dropout=0, batch_first=True,
                               norm_first=norm == "pre")
        self.encoder, self.decoder = whole.encoder, whole.decoder
        if norm == "post":
            self.encoder.norm = self.decoder.norm = None
        nn.init.normal_(self.embedding.weight, std=width ** -0.5)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1 and name != "embedding.weight":
                nn.init.xavier_uniform_(parameter)

    def embed(self, tokens):
        width = self.embedding.embedding_dim
        angle = (torch.arange(tokens.shape[1], dtype=torch.float64)[:, None]
                 / 10000 ** (torch.arange(0, width, 2, dtype=torch.float64) / width))
        place = torch.empty(tokens.shape[1], width, dtype=torch.float64)
        place[:, 0::2], place[:, 1::2] = angle.sin(), angle.cos()
        weight = self.embedding.weight
        return self.embedding(tokens) * width ** 0.5 + place.to(weight.dtype)

    def forward(self, pairs):
        source, target = pairs.unbind(1)
        later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        memory = self.encoder(self.embed(source), src_key_padding_mask=source == 0)
        x = self.decoder(self.embed(target), memory, tgt_mask=later,
                         tgt_key_padding_mask=target == 0, memory_key_padding_mask=source == 0)
        return x[target != 0] @ self.embedding.weight.T


MODELS = {
    "softmax_regression": SoftmaxRegression,
    "least_squares": LeastSquares,
    "mlp": Mlp,
    "cnn": Cnn,
    "lenet": LeNet,
    "vgg11": Vgg11,
    "resnet20": SmallResNet,
    "resnet32": ResNet32,
    "resnet56": ResNet56,
    "resnet110": ResNet110,
    "wide_resnet": WideResNet,
    "densenet": DenseNet,
    "resnet50": ResNet50,
    "lstm": Lstm,
    "gpt": Gpt,
    "transformer": Transformer,
}
