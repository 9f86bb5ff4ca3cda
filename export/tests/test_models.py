"""Exported files hold what the module computes, with the names and the losses of the module."""

import pytest
from exporting import torch

CNN = """
class make(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm, self.relu = nn.BatchNorm2d(8), nn.ReLU(inplace=True)
        self.second, self.last = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.fc, self.dropout = nn.Linear(8, 10), nn.Dropout(0.5)

    def forward(self, x):
        x = functional.max_pool2d(self.relu(self.norm(self.first(x))), 2)
        y = self.last(self.second(x))
        y += x
        return self.fc(self.dropout(self.relu(y).mean((2, 3))))
"""
GPT = """
class make(nn.Module):
    def __init__(self, words=50, length=12, width=16, heads=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm, self.heads, self.dropout = nn.LayerNorm(width), heads, nn.Dropout(0.1)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.words.weight
        self.register_buffer("mask", torch.ones(length, length).tril()[None, None])

    def forward(self, tokens):
        count, length = tokens.shape
        x = self.dropout(self.words(tokens) + self.places(torch.arange(length)))
        q, k, v = (each.view(count, length, self.heads, -1).transpose(1, 2)
                   for each in self.qkv(self.norm(x)).chunk(3, 2))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(self.mask == 0, -math.inf).softmax(-1)
        return self.head(x + self.out((self.dropout(scores) @ v).transpose(1, 2).flatten(2)))
"""
RECURRENT = """
class make(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.fc = nn.Embedding(50, 16), nn.Linear(16, 50)
        self.rnn = nn.{layer}(16, 16, 2, batch_first=True, dropout=0.2)

    def forward(self, tokens):
        return self.fc(self.rnn(self.encoder(tokens))[0]).flatten(0, 1)
"""
REGIONS = """
class make(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(20, 20), nn.utils.parametrizations.weight_norm(
            nn.Linear(20, 10))
        self.register_buffer("rates", torch.arange(20) / 20, persistent=False)

    def forward(self, x):
        y = self.fc(x)
        with torch.no_grad():
            turned = (self.rates * x.shape[0]).cos()
        with torch.autocast("cpu", enabled=False):
            z = y * turned
        return self.out(z)
"""
AUXILIARY = """
class make(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.more = nn.Linear(20, 10), nn.Linear(20, 10)

    def forward(self, x):
        return (self.fc(x), self.more(x)) if self.training else self.fc(x)
"""
NAMED = """
class make(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 10)

    def forward(self, x):
        y = self.fc(x)
        return {"hidden": [x, y.exp()], "scores": {"last": y}}
"""
BUFFERS = """
class make(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(20, 10), nn.BatchNorm1d(20)
        self.register_buffer("mean", torch.zeros(20))
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("mask", torch.ones(1, 1).expand(4, 20))
        halves = torch.ones(20).split(10)  # disjoint parts of one memory
        self.first, self.second = (nn.Parameter(half) for half in halves)

    def forward(self, x):
        x = self.norm(self.norm(x)) * self.mask[0] * torch.cat([self.first, self.second])
        if self.training:
            with torch.no_grad():
                self.mean.mul_(0.9).add_(x.mean(0))
            self.ready.fill_(True)
            return self.fc(x)
        return self.fc(x - self.mean)
"""
SEQUENTIAL = "make = lambda: nn.Sequential(%s)"
IMAGE, FEATURES, TOKENS = "float32[3,8,8]", "float32[20]", "int64[12]"
CASES = {
    "cnn": (CNN, IMAGE, 10, []),
    "gpt": (GPT, TOKENS, 50, []),
    "lstm": (RECURRENT.replace("{layer}", "LSTM"), TOKENS, 50, []),
    "gru": (RECURRENT.replace("{layer}", "GRU"), TOKENS, 50, []),
    "mlp": (SEQUENTIAL % "nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 10)", FEATURES, 10, []),
    "group norm": (SEQUENTIAL % "nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.Flatten(), "
                   "nn.Linear(288, 10)", IMAGE, 10, []),
    "encoder": (SEQUENTIAL % "nn.Unflatten(1, (4, 5)), nn.Linear(5, 8), nn.TransformerEncoderLayer("
                "8, 2, 16, batch_first=True), nn.Flatten(), nn.Linear(32, 10)", FEATURES, 10, []),
    "regions": (REGIONS, FEATURES, 10, []),
    "values": (SEQUENTIAL % "nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 1)", FEATURES, None, []),
    "values without a dimension": (SEQUENTIAL % "nn.Linear(20, 1), nn.Flatten(0)", FEATURES, None,
                                   []),
    "buffers": (BUFFERS, FEATURES, 10, []),
    "an object": ("make = nn.Linear(20, 10)", FEATURES, 10, []),
    "auxiliary": (AUXILIARY, FEATURES, 10, ["--logits", "0"]),
    "named": (NAMED, FEATURES, 10, ["--logits", "scores.last"]),
}


@pytest.mark.parametrize("name", CASES)
def test_models(exporter, name):
    """The command compares all numbers; this test computes those of the manifest again."""
    code, sample, classes, options = CASES[name]
    exporter.write(code)
    words = ["--classes", str(classes)] if classes else []
    printed = exporter("mine.py:make", "--input", sample, *words, *options)
    assert "outputs, gradients and buffers are those of the module" in printed
    manifest = exporter.manifest()
    assert manifest["output"] == {"index": 0, "classes": classes}
    assert manifest["loss"] == ("cross_entropy" if classes else "mse")
    checks = manifest["check"]
    programs = torch.export.pt2_archive._package.load_pt2("out.pt2").exported_programs
    weights = {key: each.clone() for key, each in programs["train"].state_dict.items()}
    evaluated = programs["eval"].module(check_guards=False)(exporter.tensor(checks["input"]))
    assert torch.equal(evaluated, exporter.tensor(checks["evaluation"]))
    assert set(checks["gradients"]) <= set(weights)
    assert all(each["norm"] >= 0 for each in checks["gradients"].values())


def test_the_manifest_describes_the_model(exporter):
    exporter.write(GPT)
    exporter("mine.py:make", "--input", TOKENS, "--classes", "50")
    manifest = exporter.manifest()
    assert manifest["format"] == 1
    assert manifest["input"] == {"kind": "tokens", "shape": [12]}
    assert manifest["tied"] == [["words.weight", "head.weight"]]
    assert manifest["random"] == ["aten.dropout.default"]
    assert manifest["source"] == "mine.py:make"
    assert manifest["versions"]["torch"] == torch.__version__
    assert exporter.tensor(manifest["check"]["training"]).shape == (3, 12, 50)


def test_both_graphs_have_the_weights_once(exporter):
    exporter.write(SEQUENTIAL % "nn.Linear(20, 1000), nn.ReLU(), nn.Linear(1000, 10)")
    exporter("mine.py:make", "--input", FEATURES, "--classes", "10")
    stored = 4 * exporter.manifest()["parameters"]
    assert stored < (exporter.folder / "out.pt2").stat().st_size < 1.9 * stored


def test_the_same_model_gives_the_same_weights(exporter):
    exporter.write("make = lambda: nn.Linear(20, 10)")
    digests = []
    for seed in ("1", "1", "2"):
        (exporter.folder / "out.pt2").unlink(missing_ok=True)
        exporter("mine.py:make", "--input", FEATURES, "--classes", "10", "--seed", seed)
        digests.append(exporter.manifest()["sha256"])
    assert digests[0] == digests[1] != digests[2]


def test_notes(exporter):
    """Outputs and parameters that DBench does not use are named."""
    exporter.write(AUXILIARY)
    printed = exporter("mine.py:make", "--input", FEATURES, "--classes", "10", "--logits", "0")
    assert "does not use the other outputs: 1" in printed
    assert "they get no gradient: more.weight, more.bias" in printed


def test_rounding(exporter):
    """While it is exported, the module adds in another order, as attention with a mask does."""
    exporter.write("""
class make(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.out = nn.Linear(20, 20), nn.Linear(20, 10)

    def forward(self, x):
        x = self.fc(x)
        if torch.compiler.is_exporting():
            return self.out(x / 3) + self.out(2 * x / 3)
        return self.out(x) + self.out.bias
""")
    printed = exporter("mine.py:make", "--input", FEATURES, "--classes", "10")
    assert "numbers differ by rounding: by " in printed
    assert "those of the module up to rounding" in printed


def test_help_has_examples(capsys):
    from dbench_export import cli
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "dbench-export mine.py:make --input float32[3,32,32]" in capsys.readouterr().out


def test_torchvision(exporter):
    pytest.importorskip("torchvision", reason="no torchvision in this Python")
    exporter("torchvision:squeezenet1_1", "--input", "float32[3,32,32]", "--classes", "10")
    assert exporter.manifest()["random"] == ["aten.dropout.default"]


def test_hugging_face(exporter):
    pytest.importorskip("transformers", reason="no transformers in this Python")
    (exporter.folder / "config.json").write_text(
        '{"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 16, "vocab_size": 50, '
        '"n_positions": 12, "architectures": ["GPT2LMHeadModel"]}')
    exporter("config.json", "--input", TOKENS, "--classes", "50")
    assert exporter.manifest()["tied"] == [["transformer.wte.weight", "lm_head.weight"]]
