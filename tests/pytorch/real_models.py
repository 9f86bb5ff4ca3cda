"""Models of torchvision, timm and Hugging Face, with the options by which dbench-export writes
them. As a program it exports them, trains two replicas of each on one rank and on two ranks under
mpirun, compares the bits of the two runs, and prints a table (docs/your-model.md):

  PYTHON tests/pytorch/real_models.py [NAME...]

PYTHON has torch, torchvision, transformers, timm for its models, and h5py. DBENCH_PROGRAM names the
program (default: build/dbench). All weights are random. Without NAME, models of more than 100 M
parameters are left out: each of their runs takes minutes and gigabytes."""

import contextlib
import io
import json
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
WORDS = 256  # the data set `text` has bytes


@dataclass(frozen=True)
class RealModel:
    """A model, its input, and what dbench-export says if it refuses the model."""

    source: str  # torchvision:NAME, or a file that `files` holds
    inputs: tuple[str, ...]
    classes: int = 10
    options: tuple[str, ...] = ()
    files: dict[str, Any] = field(default_factory=dict)
    refused: str = ""
    large: bool = False  # it is tried if it is named

    def command(self, folder: Path, output: Path) -> list[str]:
        """Write the files into `folder`, and return the arguments of dbench-export."""
        for name, content in self.files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / name).write_text(text)
        source = str(folder / self.source) if self.files else self.source
        return [source, *(word for each in self.inputs for word in ("--input", each)),
                "--classes", str(self.classes), *self.options, "--quiet", "-o", str(output)]


def _of_torchvision(name: str, side: int = 64, auxiliary: tuple[str, ...] = ()) -> RealModel:
    options = tuple(word for each in auxiliary for word in ("--auxiliary", f"{each}=0.3"))
    return RealModel(f"torchvision:{name}", (f"float32[3,{side},{side}]",), options=options)


def _of_timm(name: str, side: int = 64) -> RealModel:
    content = TIMM.format(name=name)
    return RealModel("model.py:make", (f"float32[3,{side},{side}]",), files={"model.py": content})


def _of_hugging_face(kind: str, name: str, inputs: tuple[str, ...], classes: int = 10,
                     refused: str = "", **keys: Any) -> RealModel:
    config = {"model_type": kind, "architectures": [name], **keys}
    return RealModel("config.json", inputs, classes, files={"config.json": config},
                     refused=refused)


TEXT = ("int64[64]",)
MASKED = ("input_ids=int64[64]:256", "attention_mask=bool[64]")
TIMM = """
import timm


def make():
    return timm.create_model("{name}", num_classes=10)
"""
BOTH = """
import torch
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration


class make(nn.Module):
    '''Predicts a text from itself, as an autoencoder.'''

    def __init__(self):
        super().__init__()
        self.t5 = T5ForConditionalGeneration(T5Config(
            vocab_size=256, num_layers=6, d_model=128, d_ff=512, num_heads=8, d_kv=16,
            use_cache=False))

    def forward(self, tokens):
        before = torch.nn.functional.pad(tokens[:, :-1], (1, 0))
        return self.t5(input_ids=tokens, decoder_input_ids=before).logits
"""
T5 = {"num_layers": 6, "d_model": 128, "d_ff": 512, "num_heads": 8, "d_kv": 16, "vocab_size": WORDS}
BERT = {"vocab_size": 256, "num_hidden_layers": 4, "hidden_size": 128, "num_attention_heads": 4,
        "intermediate_size": 512}
MODELS = {
    **{name: _of_torchvision(name) for name in (
        "alexnet", "vgg11", "vgg11_bn", "resnet18", "resnet50", "resnext50_32x4d",
        "wide_resnet50_2", "densenet121", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0",
        "regnet_y_400mf", "shufflenet_v2_x0_5", "squeezenet1_1", "convnext_tiny")},
    "googlenet": _of_torchvision("googlenet", auxiliary=("aux_logits2", "aux_logits1")),
    "inception_v3": _of_torchvision("inception_v3", 299, ("aux_logits",)),
    **{name: _of_torchvision(name, 224) for name in ("vit_b_16", "swin_t", "maxvit_t")},
    **{f"timm {name}": _of_timm(name) for name in (
        "resnet26d", "mobilenetv3_small_100", "efficientnetv2_rw_t", "regnety_002", "ghostnet_100",
        "convnext_atto", "edgenext_xx_small", "mobilevit_xxs", "poolformer_s12")},
    **{f"timm {name}": _of_timm(name, 224) for name in (
        "vit_tiny_patch16_224", "mixer_s32_224", "pvt_v2_b0")},
    "gpt2": _of_hugging_face("gpt2", "GPT2LMHeadModel", TEXT, WORDS, vocab_size=WORDS, n_layer=12,
                             n_embd=192, n_head=12),
    "llama": _of_hugging_face("llama", "LlamaForCausalLM", TEXT, WORDS, vocab_size=WORDS,
                              num_hidden_layers=4, hidden_size=256, intermediate_size=688,
                              num_attention_heads=8, num_key_value_heads=4),
    "bert (masked words)": _of_hugging_face("bert", "BertForMaskedLM", TEXT, WORDS, **BERT),
    "bert (text and mask)": _of_hugging_face("bert", "BertForSequenceClassification", MASKED,
                                             num_labels=10, **BERT),
    "distilbert": _of_hugging_face("distilbert", "DistilBertForSequenceClassification", MASKED,
                                   num_labels=10, vocab_size=256, n_layers=4, dim=128,
                                   hidden_dim=512, n_heads=4),
    "vit": _of_hugging_face("vit", "ViTForImageClassification", ("float32[3,224,224]",),
                            num_labels=10, hidden_size=192, num_hidden_layers=12,
                            num_attention_heads=3, intermediate_size=768),
    "gpt2 (full size)": replace(_of_hugging_face("gpt2", "GPT2LMHeadModel", TEXT, 50257),
                                large=True),
    "bert (full size)": replace(_of_hugging_face(
        "bert", "BertForSequenceClassification",
        ("input_ids=int64[64]:30522", "attention_mask=bool[64]"), num_labels=10), large=True),
    "t5-small (one text)": RealModel("t5.py:make", TEXT, WORDS, files={"t5.py": BOTH}),
    "t5-small (without a decoder's text)": _of_hugging_face(
        "t5", "T5ForConditionalGeneration", TEXT, WORDS, "?", **T5),
    "t5-small (two texts)": _of_hugging_face(
        "t5", "T5ForConditionalGeneration",
        ("input_ids=int64[64]:256", "decoder_input_ids=int64[32]:256"), WORDS, "?", **T5),
}


def write_data(model: RealModel, folder: Path, samples: int = 16) -> dict[str, Any]:
    """Write random data for a model; return the spec's `data`."""
    random = np.random.default_rng(0)
    if model.inputs == TEXT:
        (folder / "my.txt").write_bytes(random.integers(97, 123, 64 * 64).astype("u1").tobytes())
        return {"type": "text", "path": "my.txt", "sequence": 64, "batch_size": 2}
    arrays: dict[str, Any] = {}
    names = []
    for text in model.inputs:
        name, _, form = text.rpartition("=")
        shape = [int(size) for size in form.partition("[")[2].partition("]")[0].split(",")]
        for split in ("train", "test"):
            size = (samples, *shape)
            arrays[f"{name or 'x'}_{split}"] = (
                random.normal(size=size).astype("float32") if form.startswith("float32") else
                random.integers(0, 256, size) if form.startswith("int64") else
                np.arange(shape[0]) < random.integers(1, shape[0] + 1, (samples, 1)))
            arrays[f"y_{split}"] = np.arange(samples) % model.classes
        names += [name] if name else []
    np.savez(folder / "data.npz", **arrays)
    data = {"type": "npz", "train": "data.npz", "batch_size": 2}
    return {**data, **({"inputs": names} if names else {"layout": "channels_first"})}


def try_model(model: RealModel, folder: Path) -> str:
    """Export and train a model; return the columns of the table."""
    from conftest import Dbench
    from dbench_export import cli
    from results import differences, read
    output, printed, began = folder / "model.pt2", io.StringIO(), time.monotonic()
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
        status = cli.main(model.command(folder, output))
    exported = time.monotonic() - began
    if status:
        return f"refused: {printed.getvalue().strip()}"
    with zipfile.ZipFile(output) as archive:
        (name,) = [each for each in archive.namelist() if each.endswith("extra/dbench.json")]
        count = json.loads(archive.read(name))["parameters"]
    dbench = Dbench(folder)
    spec = dbench.spec({"model": {"type": "exported", "path": "model.pt2"}, "replicas": 2,
                        "data": write_data(model, folder), "length": {"iterations": 3},
                        "optimizer": {"type": "sgd", "lr": 1e-3, "momentum": 0.9},
                        "evaluate": {"every": {"iterations": 3}, "batch_size": 2}})
    began = time.monotonic()
    one = dbench.run(spec, "one.h5", timeout=900)
    two = dbench.run(spec, "two.h5", ranks=2, timeout=900)
    trained = time.monotonic() - began
    different = differences(one, two)
    losses = read(two, "iterations/train_loss").mean(-1)
    same = "the same bits" if not different else f"DIFFERENT: {different}"
    return (f"{count:,} | {losses[0]:.3f} {losses[-1]:.3f} | {same} | {exported:.0f} s | "
            f"{trained:.0f} s")


def main(names: list[str]) -> None:
    """Try the models of these names, or all."""
    sys.path[:0] = [str(ROOT / "export"), str(ROOT / "tests" / "program")]
    for name in names or [name for name, model in MODELS.items() if not model.large]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = try_model(MODELS[name], Path(folder))
            except Exception as error:  # the other models are tried, too
                result = f"FAILED: {error}"
            print(f"| {name} | {result} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
