"""Tests of models for texts: streams, dropout, perplexity, and refused specs."""

import json
import os

import h5py
import numpy as np
import pytest
from conftest import ROOT
from results import differences, read
from together import checked

README = str(ROOT / "README.md")
LSTM = {"type": "lstm", "hidden": 12, "layers": 2, "dropout": 0.3}
GPT = {"type": "gpt", "layers": 1, "heads": 2, "width": 8, "dropout": 0.3}
TEXT = {"type": "text", "path": README, "sequence": 8, "batch_size": 2,
        "limit": {"train": 200, "test": 16}}
CHANGES = {"model": LSTM, "data": {**TEXT, "partition": "stream"}, "replicas": 5,
           "optimizer": {"type": "sgd", "lr": 0.5, "clip_norm": 1}, "length": {"iterations": 30}}


@pytest.mark.parametrize("changes", [{}, {"model": GPT, "data": TEXT}], ids=["lstm", "gpt"])
def test_the_same_bits_on_any_ranks_with_dropout(dbench, changes):
    spec = dbench.spec({**CHANGES, **changes})
    one = dbench.run(spec, "1.h5")
    for ranks in (2, 4):
        assert differences(one, dbench.run(spec, f"{ranks}.h5", ranks=ranks)) == []
    # Dropout is drawn for each replica and iteration, so another dropout seed changes all losses.
    other = dbench.run(dbench.spec({**CHANGES, **changes}, seed={"dropout": 7}), "other.h5")
    assert np.all(read(other, "iterations/train_loss") != read(one, "iterations/train_loss"))


def test_perplexity_and_epochs(dbench):
    out = dbench.run(dbench.spec(CHANGES))
    for of in ("local", "mean"):
        loss = read(out, f"evaluations/{of}_loss").astype(float)
        np.testing.assert_allclose(read(out, f"evaluations/{of}_perplexity"), np.exp(loss),
                                   rtol=1e-6)
    # Without training, all 256 bytes are about equally likely.
    assert read(out, "evaluations/mean_perplexity")[0] == pytest.approx(256, rel=0.05)
    assert read(out, "evaluations/mean_perplexity")[-1] < 150
    # A sample is a window. Each of the 5 replicas uses 2 of 200 per iteration: 20 iterations an
    # epoch.
    np.testing.assert_allclose(read(out, "iterations/epoch"), (np.arange(30) + 1) * 10 / 200)
    # Accuracies are means over the 16 tokens of a minibatch.
    np.testing.assert_allclose(np.round(16 * read(out, "iterations/train_accuracy")),
                               16 * read(out, "iterations/train_accuracy"), atol=1e-9)


def test_the_mean_over_tokens_weighs_all_alike(dbench):
    """The loss does not depend on the evaluation's batch size, even if the last batch is
    shorter."""
    ends = [read(dbench.run(dbench.spec(CHANGES, evaluate={"batch_size": size}), f"{size}.h5"),
                 "evaluations/mean_loss") for size in (16, 5)]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-5)


def test_evaluations_that_carry_state(dbench):
    """An evaluation that carries its state from window to window equals one long window."""
    def loss(windows, name="carried", batch_size=1, sequence=8, ranks=None, output="out.h5"):
        data = {**TEXT, "sequence": sequence, "partition": "stream",
                "limit": {"train": 40, "test": windows}}
        spec = dbench.spec(CHANGES, data=data, precision="float64", length={"iterations": 1},
                           evaluate={"batch_size": batch_size, "state": name})
        return dbench.run(spec, output, "--overwrite", ranks=ranks)

    def mean(*words, **more):
        return read(loss(*words, **more), "evaluations/mean_loss")[0]

    whole, zero = mean(1, "zero", sequence=24), mean(3, "zero")
    assert mean(3) == pytest.approx(whole, rel=1e-12) and abs(zero - whole) > 1e-9
    assert mean(3, batch_size=9) == pytest.approx(zero, rel=1e-12)     # one column per window
    # With two columns, one has the first two windows and the other one the third.
    third = 3 * zero - 2 * mean(2, "zero")
    assert mean(3, batch_size=2) == pytest.approx(
        (2 * mean(1, "zero", sequence=16) + third) / 3, rel=1e-12)
    # This also holds for local models and any number of ranks; training does not change.
    one = loss(16, batch_size=3, output="one.h5")
    assert differences(one, loss(16, batch_size=3, ranks=4)) == []
    np.testing.assert_allclose(read(one, "evaluations/local_loss")[0],
                               read(one, "evaluations/mean_loss")[0], rtol=1e-12)
    other = loss(16, "zero", batch_size=3)
    assert np.array_equal(read(one, "iterations/train_loss"), read(other, "iterations/train_loss"))
    message = dbench("check", dbench.spec(CHANGES, data=TEXT, evaluate={"state": "carried"}),
                     expect=2).stderr
    assert "/evaluate/state" in message and "stream" in message


def test_distillation_of_a_model_with_dropout_and_state(dbench):
    spec = dbench.spec(CHANGES, implementation=None, graph="ring",
                       algorithm={"type": "feddkd", "period": 4, "distill_steps": 2})
    one = dbench.run(spec, "1.h5")
    assert differences(one, dbench.run(spec, "2.h5", ranks=2)) == []


def test_a_stream_cannot_take_other_replicas(dbench):
    spec = dbench.spec(CHANGES, data={**CHANGES["data"], "batch_size": {"global": 20}},
                       checkpoint={"every": {"iterations": 10}, "replicas": "clone"})
    dbench.run(spec, "a.h5")
    more = dbench.spec(json.loads(open(spec).read()), replicas=10)
    with h5py.File(dbench.folder / "a.h5", "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))
    done = dbench("run", more, "--output", "a.h5", "--resume", expect=2)
    assert "/replicas: 5 replicas cannot become 10" in done.stderr


REFUSED = [
    ({"data": {**TEXT, "path": "none.txt"}}, ["/data/path", "none.txt"]),
    ({"data": {**TEXT, "path": "empty.txt"}}, ["empty.txt: is empty"]),
    ({"data": {**TEXT, "path": "empty.txt", "test": README}}, ["empty.txt: is empty"]),
    ({"data": {**TEXT, "sequence": 10**6}}, ["README.md: holds", "/data/sequence"]),
    ({"data": {**TEXT, "augment": True}}, ["/data/augment"]),
    ({"data": {**TEXT, "partition": "dirichlet"}}, ["/data/partition", "each position"]),
    ({"data": "wikitext2"}, ["DBENCH_DATA", "wikitext-2"]),
    ({"data": {"type": "wikitext2", "root": "."}}, ["/data/root", "wikitext-2-v1.zip"]),
    ({"model": "cnn"}, ["/model: cnn", "lstm or gpt"]),
    ({"data": "shapes"}, ["/model: lstm", "wikitext2 or text"]),
    ({"model": {**GPT, "context": 7}}, ["/model/context"]),
    ({"model": {**LSTM, "dropout": 1}}, ["/model/dropout"]),
]


def test_what_cannot_be(dbench):
    (dbench.folder / "empty.txt").write_text("")
    told = checked(dbench, {k: dbench.text({**CHANGES, **changes})
                            for k, (changes, _) in enumerate(REFUSED)})
    for k, (_, words) in enumerate(REFUSED):
        for word in words:
            assert word in told[k]["error"], (REFUSED[k], told[k])


@pytest.mark.parametrize("recipe", ["lstm-wikitext2-small", "gpt-text-small"])
def test_recipes_learn(dbench, recipe):
    """The loss falls within a few iterations of each recipe."""
    data = os.environ.get("DBENCH_DATA")
    if not data or not os.path.exists(os.path.join(data, "wikitext-2")):
        pytest.skip("no wikitext-2 in DBENCH_DATA")
    settings = ['/length={"iterations": 6}', "/replicas=2", "/data/limit/test=8",
                '/evaluate={"every": null, "replicas": 1}', "/data/batch_size=2",
                '/schedule="constant"']
    words = [word for setting in settings for word in ("--set", setting)]
    out = dbench.run(ROOT / "configs" / "applications" / recipe / "D_ring.json", "out.h5", *words,
                     ranks=2, env={"DBENCH_DATA": data})
    perplexity = read(out, "evaluations/mean_perplexity")
    assert perplexity[0] == pytest.approx({"lstm-wikitext2-small": 10000,
                                           "gpt-text-small": 256}[recipe], rel=0.1)
    assert perplexity[-1] < 0.8 * perplexity[0]
