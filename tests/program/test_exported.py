"""Tests of the model `exported`, on files that tests/fuzz/exported_archive.py writes."""

import json
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from conftest import ROOT
from results import differences, read
from together import checked

sys.path.insert(0, str(ROOT / "tests" / "fuzz"))

import exported_archive as archive

MODEL = {"type": "exported", "path": "model.pt2"}
SHORT = {"model": MODEL, "data": {"type": "shapes", "train": 160, "test": 48, "batch_size": 8},
         "optimizer": {"type": "sgd", "lr": 0.05, "momentum": 0.9}, "length": {"iterations": 5},
         "seed": 3}


def write(dbench, data, name="model.pt2"):
    (dbench.folder / name).write_bytes(data)


def test_a_linear_model_computes_what_the_built_in_one_does(dbench):
    """Both start with zeros; all recorded numbers are the same bits."""
    write(dbench, archive.linear())
    own = dbench.run(dbench.spec(SHORT, init="zeros"), "own.h5")
    built_in = dbench.run(dbench.spec(SHORT, init="zeros", model="softmax_regression"), "in.h5")
    changed = [name for name in differences(own, built_in) if not name.startswith("tensors")]
    assert changed == []
    assert [name.decode() for name in read(own, "tensors/name")] == ["fc.weight", "fc.bias"]


def test_the_same_bits_on_any_number_of_ranks(dbench):
    """The model has BatchNorm and dropout; the file is where the spec is, not where runs start."""
    (dbench.folder / "specs").mkdir()
    write(dbench, archive.network(), "specs/model.pt2")
    spec = dbench.spec(SHORT, "specs/spec.json")
    one = dbench.run(spec, "1.h5")
    for ranks in (2, 4):
        assert differences(one, dbench.run(spec, f"{ranks}.h5", ranks=ranks)) == []
    again = dbench.run(dbench.spec(SHORT, "specs/spec.json", seed=4), "seed.h5")
    assert "iterations/train_loss" in differences(one, again)
    with h5py.File(one) as file:
        inputs = json.loads(file["provenance"][()])["inputs"]
    assert [each["name"] for each in inputs if each["key"] == "/model"] == ["model.pt2"]


def test_recalibrated_statistics_depend_neither_on_momentum_nor_on_ranks(dbench):
    """Batches of the recalibration draw dropout, too."""
    changes = {**SHORT, "evaluate": {"batchnorm": "recalibrate"}}
    found = {}
    for momentum in (0.1, 0.02):
        write(dbench, archive.network(momentum=momentum))
        found[momentum] = [dbench.run(dbench.spec(changes), f"{momentum}-{ranks}.h5", ranks=ranks)
                           for ranks in (1, 2)]
        assert differences(*found[momentum]) == []
    one, other = (read(runs[0], "evaluations/mean_loss") for runs in found.values())
    np.testing.assert_allclose(one, other, rtol=1e-4)
    write(dbench, archive.network(momentum=0.02))
    pooled = read(dbench.run(dbench.spec(SHORT), "pooled.h5"), "evaluations/mean_loss")
    assert np.any(np.abs(pooled / other - 1) > 1e-3)


@pytest.mark.parametrize("changes, tolerance", [
    ({"precision": "float64"}, 1e-4), ({"compute": "bfloat16"}, 0.02),
    ({"model": {**MODEL, "memory_format": "contiguous"}}, 1e-4),
    ({"evaluate": {"batchnorm": "recalibrate"}}, 0), ({"data": {**SHORT["data"],
                                                              "accumulate": 2}}, 0.2)])
def test_other_arithmetic(dbench, changes, tolerance):
    write(dbench, archive.network(dropout=0.0))
    plain = dbench.run(dbench.spec(SHORT), "plain.h5")
    run = dbench.run(dbench.spec({**SHORT, **changes}), "changed.h5")
    np.testing.assert_allclose(read(run, "iterations/train_loss"),
                               read(plain, "iterations/train_loss"), rtol=tolerance)
    assert np.isfinite(read(run, "evaluations/mean_loss")).all()
    assert differences(plain, run)


def strided(graph):
    graph.add("as_strided.default", "part", self="conv", size=[1], stride=[1])


@pytest.mark.parametrize("changes, chosen", [({}, "channels_last"), ({"pool": 2}, "contiguous"),
                                             ({"edit": strided}, "contiguous")])
def test_the_memory_order_of_images(dbench, changes, chosen):
    """It is channels_last, unless an operator refuses that (view of several pixels) or has other
    results then (as_strided)."""
    write(dbench, archive.network(dropout=0.0, **changes))
    runs = [dbench.run(dbench.spec(SHORT, model={**MODEL, "memory_format": order}), f"{order}.h5")
            for order in ("auto", chosen)]
    assert differences(*runs) == []
    if "pool" in changes:
        refused = dbench("check", dbench.spec(SHORT, model={
            **MODEL, "memory_format": "channels_last"}), expect=2).stderr
        assert "torch.ops.aten.view.default" in refused


def test_a_resumed_run_reads_the_same_model(dbench):
    """Another content of the file is refused; another path to the same content is not."""
    write(dbench, archive.network())
    spec = dbench.spec(SHORT, length={"iterations": 8}, checkpoint={"every": {"iterations": 2}})
    whole = dbench.run(spec, "whole.h5")
    run = dbench.start("run", spec, "--output", "part.h5", "--quiet", "--set",
                       '/delays=[{"seconds": 0.3}]')
    folder = dbench.folder / "part.h5.checkpoints"
    while run.poll() is None and not any(folder.glob("*")):
        time.sleep(0.02)
    run.send_signal(signal.SIGUSR1)
    assert run.wait(60) == 75
    write(dbench, archive.network(seed=1))
    refused = dbench("run", spec, "--output", "part.h5", "--resume", expect=2).stderr
    assert "model.pt2 has other content" in refused
    (dbench.folder / "moved").mkdir()
    write(dbench, archive.network(), "moved/model.pt2")
    dbench("run", spec, "--output", "part.h5", "--resume", "--quiet", "--set",
           "/model/path=moved/model.pt2")
    assert differences(whole, str(dbench.folder / "part.h5")) == []


def test_replicas_together_compute_what_they_compute_alone(dbench):
    """Operators that vmap runs; the others give a reason."""
    write(dbench, archive.linear(edit=lambda graph: [
        graph.add("gelu.default", "bent", self="out"), graph.add("mul.Tensor", "twice",
                                                                 self="bent", other=2.0)]))
    losses = [read(dbench.run(dbench.spec(SHORT, stacking=way), f"{way}.h5"),
                   "iterations/train_loss") for way in ("off", "batched")]
    np.testing.assert_allclose(*losses, rtol=1e-5)
    write(dbench, archive.network(dropout=0.0))
    refused = dbench("check", dbench.spec(SHORT, stacking="batched"), expect=2).stderr
    assert "change the buffer norm.running_mean of one replica" in refused


def test_a_device_in_the_graph_is_that_of_the_run(dbench):
    """`x.to(device=..., dtype=...)` has a device that the operator requires."""
    write(dbench, archive.linear())
    plain = dbench.run(dbench.spec(SHORT), "plain.h5")
    write(dbench, archive.linear(edit=lambda graph: graph.add(
        "to.device", "moved", self="out", device={"as_device": {"type": "cuda", "index": 0}},
        dtype={"as_scalar_type": 7})))
    assert differences(plain, dbench.run(dbench.spec(SHORT), "moved.h5")) == []


def cross_entropy(graph, reduction=0):
    graph.add("cross_entropy_loss.default", "loss", self="y", target="t", reduction=reduction)


def test_a_loss_function_computes_what_the_built_in_loss_does(dbench):
    """The file has the cross-entropy of each sample, or its mean, as a graph."""
    losses = {}
    for name, loss in (("none", None), ("each", cross_entropy),
                       ("mean", lambda graph: cross_entropy(graph, 1))):
        write(dbench, archive.linear(loss=loss))
        run = dbench.run(dbench.spec(SHORT, precision="float64"), f"{name}.h5")
        losses[name] = read(run, "iterations/train_loss"), read(run, "evaluations/mean_loss")
    for name in ("each", "mean"):
        for found, expected in zip(losses[name], losses["none"]):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    refused = dbench("check", dbench.spec(SHORT, stacking="batched"), expect=2).stderr
    assert "the loss function of the exported model returns one number for a batch" in refused
    write(dbench, archive.linear(loss=cross_entropy))
    for way in ("off", "batched"):
        run = dbench.run(dbench.spec(SHORT, stacking=way), f"{way}.h5")
        np.testing.assert_allclose(read(run, "iterations/train_loss"), losses["none"][0], rtol=1e-4)


def test_replicas_stay_apart_if_a_loss_mixes_samples(dbench):
    """The loss of each sample has the mean of all samples in it, and still one number for each."""
    def mixed(graph):
        cross_entropy(graph)
        graph.add("mean.default", "mean", self="loss")
        graph.add("add.Tensor", "sum", self="loss", other="mean")

    write(dbench, archive.linear(loss=mixed))
    refused = dbench("check", dbench.spec(SHORT, stacking="batched"), expect=2).stderr
    assert "computes the loss of a sample from others, too" in refused


def test_an_auxiliary_loss_is_added_in_training_only(dbench):
    """The further output is the logits again, so that half the learning rate gives the same run."""
    def twice(graph):
        graph.outputs.append("out")

    write(dbench, archive.linear(edit=twice, auxiliary=[1.0]))
    changes = {"precision": "float64", "optimizer": {"type": "sgd", "lr": 0.05}}
    own = dbench.run(dbench.spec({**SHORT, **changes}), "own.h5")
    write(dbench, archive.linear())
    changes["optimizer"]["lr"] = 0.1
    plain = dbench.run(dbench.spec({**SHORT, **changes}), "plain.h5")
    for name, factor in (("iterations/train_loss", 2), ("evaluations/mean_loss", 1),
                         ("iterations/train_accuracy", 1)):
        np.testing.assert_allclose(read(own, name), factor * read(plain, name), rtol=1e-9)


def as_values(data):
    """Change the manifest to that of a model of real numbers."""
    manifest = json.loads(data)
    manifest["output"]["classes"] = None
    return json.dumps({**manifest, "loss": "mse", "input": {"kind": "features", "shape": [4]}})


def test_a_distance_of_real_numbers_leaves_out_auxiliary_outputs(dbench):
    """The further output is a third of the values. Its loss has no weight, so that the run must be
    that of the model without it, also where feddkd compares a student with its teacher."""
    random = np.random.default_rng(0)
    x = random.normal(size=(64, 4)).astype("float32")
    np.savez(dbench.folder / "data.npz", x=x, y=x.sum(1))

    def third(graph):
        graph.add("mul.Tensor", "third", self="out", other=1 / 3)
        graph.outputs.append("third")
        graph.output = "out"

    losses = []
    for edit, auxiliary in ((None, None), (third, [0.0])):
        write(dbench, archive.linear(1, (4,), edit=edit, auxiliary=auxiliary,
                                     changes={"extra/dbench.json": as_values}))
        run = dbench.run(dbench.spec(
            replicas=4, model=MODEL, data={"type": "npz", "train": "data.npz", "test": "data.npz",
                                           "batch_size": 4},
            implementation=None, graph={"type": "ring"},
            algorithm={"type": "feddkd", "period": 2, "distill_steps": 2},
            length={"iterations": 8}, precision="float64"), f"{len(losses)}.h5")
        losses.append(read(run, "iterations/train_loss"))
    np.testing.assert_allclose(*losses, rtol=1e-12)


def fixed_loss(graph):
    cross_entropy(graph)
    graph.batch = 2


def node(name, **given):
    return lambda graph: graph.add(name, "more", **given)


def flipped(data):
    return data[:-1] + bytes([data[-1] ^ 1])


def replaced(before, after):
    return lambda data: data.replace(before.encode(), after.encode())


def expanded(data):
    """Add 20 constants of 2^26 bytes that are four bytes in the file."""
    tensor = {"dtype": 7, "sizes": [{"as_int": 4096}] * 2, "strides": [{"as_int": 0}] * 2,
              "requires_grad": False, "storage_offset": {"as_int": 0}, "layout": 7}
    return json.dumps({"config": {f"c{k}": {"path_name": "t", "use_pickle": False,
                                            "tensor_meta": tensor} for k in range(20)}}).encode()


CONFIG = "data/weights/train_weights_config.json"
WRONG = {
    "not an archive": (b"PK", "is not a .pt2 file (an archive of an exported model)"),
    "half": (archive.linear()[:-500], "model.pt2"),
    "no manifest": (archive.linear(changes={"extra/dbench.json": lambda _: None}),
                    "was not written by dbench-export"),
    "outside": (archive.linear(changes={"../../evil": lambda _: b""}),
                "holds an entry outside of the archive"),
    "pickled": (archive.linear(changes={CONFIG: replaced('"use_pickle": false',
                                                         '"use_pickle": true')}),
                "is a pickled object"),
    "complex": (archive.linear(changes={CONFIG: replaced('"dtype": 7', '"dtype": 10')}),
                "is a complex type"),
    "huge": (archive.linear(changes={CONFIG: replaced('"as_int": 3072', '"as_int": 99999999999')}),
             "reads beyond its bytes"),
    "expanded": (archive.linear(changes={
        "data/constants/train_constants_config.json": expanded,
        "data/constants/t": lambda _: bytes(4)}), "than its bytes hold, as other tensors"),
    "sample": (archive.linear(changes={"extra/dbench.json": replaced(
        '"shape": [3, 32, 32]', '"shape": [3000000000, 3000000000, 3]')}),
        "is too large for a sample"),
    "beyond": (archive.linear(changes={CONFIG: replaced('"storage_offset": {"as_int": 0}',
                                                        '"storage_offset": {"as_int": 9}')}),
               "reads beyond its bytes"),
    "frozen": (archive.linear(changes={CONFIG: replaced('"requires_grad": true',
                                                        '"requires_grad": false')}),
               "frozen parameter fc.weight"),
    "version": (archive.linear(changes={"models/eval.json": replaced('"major": 8', '"major": 9')}),
                "is version 9 of torch.export's format"),
    "undefined": (archive.linear(changes={"models/train.json": replaced(
        '"name": "flat"}}, "kind', '"name": "lost"}}, "kind')}),
                  "uses lost before it is computed"),
    "fixed batch": (archive.linear(batch=4), "accepts only batches of 4 samples"),
    "classes": (archive.linear(classes=7), "it has 7 classes, but the data have 10"),
    "shape": (archive.linear(shape=(3, 8, 8)), "it reads samples of 3x8x8, but the data have"),
    "operators": (archive.linear(edit=lambda graph: [
        graph.add("no_such.default", "one", self="out"),
        graph.add("other.Tensor", "two", self="one")]),
        "(torch.ops.aten.no_such.default, torch.ops.aten.other.Tensor)"),
    "argument": (archive.linear(edit=node("relu.default", self="out", slope=1.0)),
                 "has no argument slope"),
    "type": (archive.linear(edit=node("flatten.using_ints", self="out", start_dim=0.5)),
             "has an argument start_dim of another type than int"),
    "size": (archive.linear(edit=node("view.default", self="out", size=[3, 5])),
             "operator 2, torch.ops.aten.view.default: shape '[3, 5]' is invalid"),
    "output": (archive.linear(edit=node("flatten.using_ints", self="out", start_dim=0)),
               "returns 20 numbers for 2 labels instead of 2x10"),
    "in place": (archive.linear(edit=node("add_.Tensor", self="w_fc_bias", other=1)),
                 "changes the parameter fc.bias in place"),
    "counter": (archive.network(edit=node("add.Tensor", self="conv",
                                          other="w_norm_num_batches_tracked")),
                "of whole numbers and reads it again"),
    "hidden write": (archive.linear(edit=lambda graph: [
        graph.add("type_as.default", "alias", self="w_fc_bias", other="x"),
        graph.add("add_.Tensor", "more", self="alias", other=1)]),
        "changes the parameter fc.bias in place"),
    "random": (archive.linear(edit=node("rand_like.default", self="out")),
               "draws random numbers"),
    "loss of classes": (archive.linear(loss=lambda graph: graph.add("argmax.default", "most",
                                                                    self="y")),
                        "returns whole numbers"),
    "loss of a part": (archive.linear(loss=lambda graph: graph.add(
        "slice.Tensor", "part", self="y", dim=0, start=0, end=1)),
        "returns neither one number nor one for each sample"),
    "loss of each class": (archive.linear(loss=lambda graph: graph.add(
        "sum.dim_IntList", "sums", self="y", dim=[0])),
        "returns neither one number nor one for each sample"),
    "output of each class": (archive.linear(edit=lambda graph: graph.outputs.append("w_fc_bias"),
                                            loss=lambda graph: cross_entropy(graph)),
                             "returns output 1 without rows for each sample"),
    "loss that draws": (archive.linear(loss=lambda graph: graph.add("rand_like.default", "drawn",
                                                                    self="y")),
                        "draws random numbers"),
    "loss of the unknown": (archive.linear(loss=lambda graph: graph.add("no_such.default", "lost",
                                                                        self="y")),
                            "does not have (torch.ops.aten.no_such.default)"),
    "loss of one size": (archive.linear(loss=fixed_loss), "accepts only batches of 2 samples"),
    "loss without a graph": (archive.linear(loss=cross_entropy, changes={
        "models/loss.json": lambda _: None}), "holds no models/loss.json"),
    "auxiliary output": (archive.linear(auxiliary=[0.5]), "has no output 1"),
    "auxiliary weight": (archive.linear(auxiliary=["NaN"]), "has a weight that is not finite"),
    "auxiliary shape": (archive.linear(auxiliary=[0.5], edit=lambda graph:
                                       graph.outputs.append("flat")),
                        "neither in the shape of the logits nor as a loss"),
    "format": (archive.linear(changes={"extra/dbench.json": replaced('"format": 1',
                                                                     '"format": 3')}),
               "is neither 1 nor 2"),
}


@pytest.fixture(scope="module")
def refusals(shared):
    specs = {}
    for k, (name, (data, _)) in enumerate(WRONG.items()):
        folder = shared.folder / f"wrong-{k}"
        folder.mkdir()
        write(shared, data, f"wrong-{k}/model.pt2")
        specs[name] = shared.text(SHORT, model={**MODEL, "path": f"wrong-{k}/model.pt2"})
    return checked(shared, specs)


@pytest.mark.parametrize("name", WRONG)
def test_refusals(refusals, name):
    assert WRONG[name][1] in refusals[name].get("error", "")
    assert "model.pt2" in refusals[name]["error"]


def test_refusals_of_specs(dbench):
    write(dbench, archive.network())
    for changes, words in (({"init": "independent"}, "/init: must not be independent"),
                           ({"model": "exported"}, "/model/path"),
                           ({"model": {**MODEL, "path": "lost.pt2"}}, "lost.pt2"),
                           ({"replicas": 2, "stacking": "batched"}, "dropout")):
        assert words in dbench("check", dbench.spec({**SHORT, **changes}), expect=2).stderr
    found = json.loads(subprocess.run(
        dbench.command("check", "--json", "/dev/stdin"), input=dbench.text(SHORT), text=True,
        cwd=dbench.folder, env=dbench.environment, stdout=subprocess.PIPE, check=True).stdout)
    assert found["parameters"] == 4 * 27 + 8 + 50 and found["tensors"] == 5
