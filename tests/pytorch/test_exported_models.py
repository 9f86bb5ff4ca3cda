"""Well-known architectures as exported models: three steps against eager PyTorch to the bit, the
same bits on any number of ranks, stacked runs, and resumed runs. models_of_users.py has small
models with their operators. Those of torchvision, timm and Hugging Face are exported if these
packages are installed: some of the first two, and all with DBENCH_REAL_MODELS=all (ten minutes)."""

import functools
import json
import os
import signal
import time
from pathlib import Path

from reference import make_runs, torch  # isort: skip  (it skips the tests without torch)

import models_of_users as users
import numpy as np
import pytest
import real_models
from exported_steps import FEATURES, IMAGE, TOKENS, compare, export, spec_of_steps
from torch.nn import functional

from conftest import Dbench  # isort: skip

IMAGES = ["lenet", "vgg11_bn", "resnet_batchnorm", "resnet_groupnorm", "resnet_evonorm", "UNet",
          "Mixer", "MobileNet", "ShuffleNet", "ConvNext", "Swin"]
TEXTS = ["lstm", "gru", "GatedMlp", "Llama", "Bert"]
STATES = ["Totals", "Aliases", "Nested", "Instances", "Numbers"]
SAMPLES = {**dict.fromkeys(IMAGES, IMAGE), **dict.fromkeys(TEXTS, TOKENS), "weight_norm": FEATURES,
           **dict.fromkeys(STATES, FEATURES)}
CASES = [(name, batch, precision) for name in SAMPLES
         for batch, precision in ((1, "float32"), (3, "float64"), (7, "float32"))]
STACKED = ["lenet", "resnet_groupnorm", "Mixer", "ConvNext", "weight_norm"]
TORCHVISION = ["shufflenet_v2_x0_5", "googlenet"]
TIMM = ["mobilenetv3_small_100"]
if os.environ.get("DBENCH_REAL_MODELS") == "all":
    TORCHVISION += ["resnet18", "mobilenet_v3_small", "squeezenet1_1", "alexnet", "vgg11",
                    "vgg11_bn", "resnet50", "resnext50_32x4d", "wide_resnet50_2", "densenet121",
                    "mobilenet_v2", "efficientnet_b0", "regnet_y_400mf", "inception_v3",
                    "convnext_tiny", "vit_b_16", "swin_t", "maxvit_t"]
    TIMM += ["resnet26d", "efficientnetv2_rw_t", "regnety_002", "ghostnet_100", "convnext_atto",
             "edgenext_xx_small", "mobilevit_xxs", "poolformer_s12", "vit_tiny_patch16_224",
             "mixer_s32_224", "pvt_v2_b0"]
HUGGING_FACE = {
    "gpt2": {"n_layer": 1, "n_head": 2, "n_embd": 16, "n_positions": 12},
    "llama": {"num_hidden_layers": 4, "hidden_size": 16, "intermediate_size": 32,
              "num_attention_heads": 2, "max_position_embeddings": 12},
    "bert": {"num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 32,
             "num_attention_heads": 2, "max_position_embeddings": 12},
}


def classes_of(name):
    return users.WORDS if SAMPLES[name] is TOKENS else users.CLASSES


def cross_entropy(output, targets):
    return functional.cross_entropy(output.flatten(0, -2), targets)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, sample in SAMPLES.items():
        export(f"{users.__file__}:{name}", sample, classes_of(name), folder / f"{name}.pt2")
    return folder


@pytest.fixture(scope="module")
def runs(folder):
    specs = [spec_of_steps(folder / f"{name}.pt2", SAMPLES[name], classes_of(name), batch,
                           precision, 1 + k) for k, (name, batch, precision) in enumerate(CASES)]
    return dict(zip(CASES, zip(specs, make_runs(specs, folder))))


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_three_steps_are_those_of_pytorch_to_the_bit(runs, case):
    spec, run = runs[case]
    torch.manual_seed(0)
    compare(getattr(users, case[0])(), spec, run, cross_entropy)


@pytest.fixture(scope="module")
def reordered(folder):
    """Steps with the memory order that the program chooses, which is channels_last for most."""
    specs = [spec_of_steps(folder / f"{name}.pt2", IMAGE, users.CLASSES, 3, "float64", 1,
                           order="auto") for name in IMAGES]
    own = folder / "reordered"
    own.mkdir()
    return dict(zip(IMAGES, zip(specs, make_runs(specs, own))))


@pytest.mark.parametrize("name", IMAGES)
def test_another_memory_order_changes_numbers_by_rounding(reordered, name):
    spec, run = reordered[name]
    torch.manual_seed(0)
    compare(getattr(users, name)(), spec, run, cross_entropy,
            equal=functools.partial(torch.allclose, rtol=1e-9, atol=1e-11))


@pytest.fixture(scope="module")
def dbench(folder):
    pytest.importorskip("h5py", reason="no h5py in this Python")
    random = np.random.default_rng(0)
    for kind, shape in (("image", (3, 16, 16)), ("features", (20,))):
        arrays = {}
        for split, count in (("train", 96), ("test", 16)):
            arrays[f"x_{split}"] = random.normal(size=(count, *shape)).astype("float32")
            arrays[f"y_{split}"] = np.arange(count) % users.CLASSES
        np.savez(folder / f"{kind}.npz", **arrays)
    return Dbench(folder)


def run_of(name, **changes):
    kind = "features" if SAMPLES[name] is FEATURES else "image"
    data = {"type": "npz", "train": f"{kind}.npz", "layout": "channels_first", "batch_size": 4}
    return {"model": {"type": "exported", "path": f"{name}.pt2"}, "replicas": 4,
            "data": data, "optimizer": {"type": "sgd", "lr": 0.05, "momentum": 0.9},
            "length": {"iterations": 4}, "evaluate": {"every": {"iterations": 2}}, **changes}


@pytest.fixture(scope="module")
def on_ranks(dbench):
    from together import Together
    return Together(dbench, "ranks", {name: run_of(name) for name in [*IMAGES, "weight_norm"]})


@pytest.mark.parametrize("name", [*IMAGES, "weight_norm"])
def test_two_ranks_compute_the_bits_of_one(on_ranks, name):
    from results import differences
    assert differences(on_ranks.result(name), on_ranks.result(name, ranks=2)) == []


@pytest.fixture(scope="module")
def stacked(dbench):
    from together import Together
    return Together(dbench, "stacked", {
        (name, way): run_of(name, stacking=way, precision="float64")
        for name in STACKED for way in ("off", "batched")})


@pytest.mark.parametrize("name", STACKED)
def test_replicas_together_compute_what_they_compute_alone(stacked, name):
    from results import read
    losses = [read(stacked.result((name, way)), "iterations/train_loss")
              for way in ("off", "batched")]
    np.testing.assert_allclose(*losses, rtol=1e-9)


@pytest.mark.parametrize("name", ["MobileNet", "vgg11_bn"])
def test_a_resumed_run_continues_to_the_bit(dbench, name):
    from results import differences
    spec = dbench.spec(run_of(name, length={"iterations": 8},
                              checkpoint={"every": {"iterations": 2}}), name=f"{name}.json")
    whole = dbench.run(spec, f"{name}.whole.h5")
    run = dbench.start("run", spec, "--output", f"{name}.part.h5", "--quiet", "--set",
                       '/delays=[{"seconds": 0.2}]')
    checkpoints = dbench.folder / f"{name}.part.h5.checkpoints"
    while run.poll() is None and not any(checkpoints.glob("*")):
        time.sleep(0.02)
    run.send_signal(signal.SIGUSR1)
    assert run.wait(60) == 75
    dbench("run", spec, "--output", f"{name}.part.h5", "--resume", "--quiet", ranks=2)
    assert differences(whole, str(dbench.folder / f"{name}.part.h5")) == []


@pytest.mark.parametrize("name", TORCHVISION)
def test_torchvision(tmp_path, name):
    torchvision = pytest.importorskip("torchvision", reason="no torchvision in this Python")
    side = {"inception_v3": 299, "vit_b_16": 224, "swin_t": 224, "maxvit_t": 224}.get(name, 64)
    sample, path = ("float32", [3, side, side]), tmp_path / f"{name}.pt2"
    # Names of outputs in torchvision's GoogLeNetOutputs and InceptionOutputs.
    auxiliary = {"googlenet": ["aux_logits2", "aux_logits1"], "inception_v3": ["aux_logits"]}
    others = auxiliary.get(name, [])
    export(f"torchvision:{name}", sample, 10, path,
           *(word for each in others for word in ("--auxiliary", f"{each}=0.3")))
    spec = spec_of_steps(path, sample, 10, 3, "float32", 1, steps=1)
    (run,) = make_runs([spec], tmp_path)

    def loss_of(output, targets):
        total = cross_entropy(output.logits if others else output, targets)
        for each in others:
            total = total + 0.3 * cross_entropy(getattr(output, each), targets)
        return total

    compare(torchvision.models.get_model(name, weights=None, num_classes=10), spec, run, loss_of)


@pytest.mark.parametrize("name", TIMM)
def test_timm(tmp_path, name):
    timm = pytest.importorskip("timm", reason="no timm in this Python")
    side = 224 if name in ("vit_tiny_patch16_224", "mixer_s32_224", "pvt_v2_b0") else 64
    sample, path = ("float32", [3, side, side]), tmp_path / f"{name}.pt2"
    (tmp_path / "model.py").write_text(real_models.TIMM.format(name=name))
    export(f"{tmp_path / 'model.py'}:make", sample, 10, path)
    spec = spec_of_steps(path, sample, 10, 3, "float32", 1, steps=1)
    (run,) = make_runs([spec], tmp_path)
    compare(timm.create_model(name, num_classes=10), spec, run, cross_entropy)


@pytest.mark.parametrize("name", HUGGING_FACE)
def test_hugging_face(tmp_path, name):
    transformers = pytest.importorskip("transformers", reason="no transformers in this Python")
    config = {"model_type": name, "vocab_size": users.WORDS, **HUGGING_FACE[name]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    path = Path(tmp_path) / "model.pt2"
    export(str(tmp_path / "config.json"), TOKENS, users.WORDS, path)
    spec = spec_of_steps(path, TOKENS, users.WORDS, 3, "float32", 1, steps=1)
    (run,) = make_runs([spec], tmp_path)
    made = transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.from_pretrained(str(tmp_path / "config.json")))
    made.config.use_cache = False
    # Attention gets a mask while it is exported, and calls another kernel than without one.
    compare(made, spec, run, lambda output, targets: cross_entropy(output.logits, targets),
            evaluated=False, equal=functools.partial(torch.allclose, rtol=1e-5, atol=1e-7))
