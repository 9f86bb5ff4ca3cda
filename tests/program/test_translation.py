"""Tests of pairs of sentences, the Transformer and BLEU; and of options for every model:
accumulation of gradients, label smoothing."""

import json
import os
import random
import re
from collections import Counter

import h5py
import numpy as np
import pytest
from conftest import ROOT
from results import differences, read
from test_bad_input import refused
from together import checked

README = str(ROOT / "README.md")
SMALL = {"type": "transformer", "width": 16, "heads": 2, "layers": 1, "hidden": 32, "dropout": 0.2}
PAIRS = {"type": "pairs", "source": "all.x", "target": "all.y", "vocabulary": 300,
         "batch_size": {"tokens": 60}}
SPEC = {"model": SMALL, "data": PAIRS, "replicas": 4, "implementation": "D_ring",
        "label_smoothing": 0.1, "optimizer": {"type": "adam", "lr": 0.02},
        "schedule": {"type": "inverse_sqrt", "warmup": {"iterations": 5}, "warmup_from": 0.1},
        "length": {"iterations": 12},
        "evaluate": {"every": {"iterations": 6}, "batch_size": 7,
                     "metrics": ["perplexity", "bleu"]}}
LEARNS = {"implementation": "C_complete", "label_smoothing": 0, "length": {"iterations": 160},
          "model": {**SMALL, "width": 32, "hidden": 64, "dropout": 0, "norm": "pre"},
          "optimizer": {"type": "adam", "lr": 0.01}}
WORDS = "a little cat sat on the big mat, and two dogs ran to their house.".split()


@pytest.fixture
def pairs(dbench):
    draw = random.Random(1)
    lines = [" ".join(draw.choices(WORDS, k=draw.randint(2, 9))) for _ in range(200)]
    (dbench.folder / "all.x").write_text("\n".join(lines) + "\n")
    (dbench.folder / "all.y").write_text("\n".join(line.upper() for line in lines) + "\n")
    return lines


def test_the_same_bits_on_any_ranks(dbench, pairs):
    spec = dbench.spec(SPEC, data={**PAIRS, "accumulate": 3})
    one = dbench.run(spec, "1.h5")
    for ranks in (2, 4):
        assert differences(one, dbench.run(spec, f"{ranks}.h5", ranks=ranks)) == []
    loss = read(one, "evaluations/mean_loss").astype(float)
    np.testing.assert_allclose(read(one, "evaluations/mean_perplexity"), np.exp(loss), rtol=1e-6)
    assert loss[-1] < 0.8 * loss[0]
    # Accuracies are means over tokens, whose number differs from minibatch to minibatch.
    accuracy = read(one, "iterations/train_accuracy")
    assert np.all((accuracy >= 0) & (accuracy <= 1)) and len(np.unique(accuracy)) > 5
    with h5py.File(one) as file:
        assert re.search(r"byte pairs.{1,9}crc32:", str(file["provenance"][()]))


def test_pieces_from_a_file_equal_learnt_ones(dbench, pairs):
    for side in "xy":       # the training set is everything except the last tenth
        lines = (dbench.folder / f"all.{side}").read_text().splitlines(keepends=True)
        (dbench.folder / f"train.{side}").write_text("".join(lines[:180]))
    learn = ("data", "pieces", "train.y", "train.x", "--output", "pieces.txt")
    told = dbench(*learn, "--pieces", 320).stdout
    assert re.fullmatch(r"320 pieces, crc32:[0-9a-f]{8}\n", told)
    assert dbench("data", "verify", "pieces.txt").stdout == told
    spec = dbench.spec(SPEC, length={"iterations": 2})
    of_file = ("--set", "/data/pieces=pieces.txt")
    one, two = dbench.run(spec, "1.h5"), dbench.run(spec, "2.h5", *of_file, ranks=2)
    assert differences(one, two) == []
    learnt, filed = (json.loads(read(path, "provenance"))["data"] for path in (one, two))
    assert filed.pop("pieces.txt") in told and filed == learnt

    assert "pieces.txt exists already" in dbench(*learn, expect=2).stderr
    told = dbench(*learn, "--force").stdout       # no other pair occurs twice
    assert 320 < int(told.split()[0]) < 4000
    few = ("--set", "/data/vocabulary=3000")
    message = dbench("check", spec, *of_file, *few, expect=2).stderr
    assert "/data/vocabulary: 3000 is more than the" in message and "pieces.txt" in message
    text = (dbench.folder / "pieces.txt").read_text()
    (dbench.folder / "pieces.txt").write_text(text[:-2])
    for command in (("check", spec, *of_file), ("data", "verify", "pieces.txt")):
        assert "pieces.txt: is damaged" in dbench(*command, expect=2).stderr
    assert "/data/pieces: there is no file none" in dbench(
        "check", spec, "--set", "/data/pieces=none", expect=2).stderr
    assert "none.en: cannot be read" in dbench("data", "pieces", "none.en", "--output", "n",
                                               expect=2).stderr


def test_batches_of_tokens_are_counted_as_pairs_and_tokens(dbench, pairs):
    """Without merges a piece is one byte, so that the test can count tokens."""
    spec = dbench.spec(SPEC, replicas=1, implementation="C_complete",
                       data={**PAIRS, "vocabulary": 259, "batch_size": {"tokens": 120}})
    told = dbench("check", spec).stdout
    samples, tokens = map(int, re.search(r"with (\d+) samples, (\d+) tokens", told).groups())
    # A word includes the blank before it, and one more label ends each sentence.
    assert samples == 180
    assert tokens == sum(len(line) + 2 for line in pairs[:180])
    said = dbench("run", spec, "--output", "out.h5").stderr
    assert "tokens/s" in said and "samples/s" not in said


def bleu_of(hypotheses, references):
    """Compute BLEU by its definition, for texts with no punctuation except commas and full
    stops."""
    right, all_grams, lengths = [0] * 4, [0] * 4, [0, 0]
    for lines in zip(hypotheses, references):
        ours, theirs = (re.sub("([,.])", r" \1 ", line).split() for line in lines)
        lengths = [lengths[0] + len(ours), lengths[1] + len(theirs)]
        for n in range(4):
            grams, there = (Counter(tuple(w[k:k + n + 1]) for k in range(len(w) - n))
                            for w in (ours, theirs))
            right[n] += sum((grams & there).values())
            all_grams[n] += sum(grams.values())
    assert min(right) > 0, "no smoothing here"
    brevity = min(1, np.exp(1 - lengths[1] / lengths[0]))
    return 100 * brevity * np.prod(np.divide(right, all_grams)) ** 0.25


def test_the_stored_texts_have_the_recorded_bleu(dbench, pairs):
    spec = dbench.spec({**SPEC, **LEARNS}, data={**PAIRS, "batch_size": {"tokens": 300}},
                       replicas=2, evaluate={"every": None, "batch_size": 3, "metrics": ["bleu"]})
    out = dbench.run(spec, "1.h5", ranks=2)
    folder = dbench.folder / "1.h5.texts"
    assert sorted(os.listdir(folder)) == ["test-0.txt", "test-160.txt"]
    hypotheses = (folder / "test-160.txt").read_text().splitlines()
    references = [line.upper() for line in pairs[-20:]]
    bleu = read(out, "evaluations/mean_bleu")
    assert bleu[0] < 5 and bleu[-1] > 15
    assert len(hypotheses) == 20
    assert bleu_of(hypotheses, references) == pytest.approx(bleu[-1], rel=1e-9)
    sacrebleu = pytest.importorskip("sacrebleu", reason="no sacreBLEU in this Python")
    assert sacrebleu.corpus_bleu(hypotheses, [references]).score == pytest.approx(bleu[-1])


def test_texts_are_written_to_a_folder_of_the_run_alone(dbench, pairs):
    """Texts of an earlier run are removed, and a link is not followed."""
    def run(iterations, *words, expect=0):
        spec = dbench.spec({**SPEC, "length": {"iterations": iterations}},
                           evaluate={"every": None, "metrics": ["bleu"]})
        return dbench("run", spec, "--output", "1.h5", *words, expect=expect).stderr

    run(2)
    folder, elsewhere = dbench.folder / "1.h5.texts", dbench.folder / "elsewhere"
    (folder / "notes.txt").write_text("mine")
    assert sorted(os.listdir(folder)) == ["notes.txt", "test-0.txt", "test-2.txt"]
    run(3, "--overwrite")
    assert sorted(os.listdir(folder)) == ["notes.txt", "test-0.txt", "test-3.txt"]
    folder.rename(elsewhere)
    before = (dbench.folder / "1.h5").read_bytes()
    folder.symlink_to(elsewhere)
    said = run(4, "--overwrite", expect=2)
    assert "1.h5.texts" in said and "it is a link" in said
    assert sorted(os.listdir(elsewhere)) == ["notes.txt", "test-0.txt", "test-3.txt"]
    assert (dbench.folder / "1.h5").read_bytes() == before


@pytest.mark.parametrize("changes", [
    {"model": "mlp", "data": {"type": "shapes", "train": 96, "test": 12, "batch_size": 12}},
    {"model": {**SMALL, "dropout": 0}, "data": {**PAIRS, "batch_size": 6}},
], ids=["images", "pairs"])
def test_a_batch_by_micro_batches_is_the_batch_to_rounding(dbench, pairs, changes):
    whole = dbench.spec({**SPEC, **changes}, precision="float64", evaluate={"every": None},
                        optimizer={"type": "sgd", "lr": 0.05}, length={"iterations": 6})
    one = dbench.run(whole, "1.h5")
    divided = dbench.run(whole, "4.h5", "--set", "/data/accumulate=4", ranks=2)
    for name in ("iterations/train_loss", "iterations/train_accuracy", "iterations/epoch",
                 "parameters/norm", "evaluations/mean_loss"):
        np.testing.assert_allclose(read(divided, name), read(one, name), rtol=1e-9, err_msg=name)
    assert np.any(read(divided, "parameters/norm") != read(one, "parameters/norm"))


def test_label_smoothing_is_of_training_alone(dbench):
    spec = dbench.spec(init="zeros", length={"iterations": 2})
    plain, smooth = (dbench.run(spec, f"{e}.h5", "--set", f"/label_smoothing={e}")
                     for e in (0, 0.5))
    for name in ("iterations/train_loss", "evaluations/mean_loss"):  # classes are equal at first
        np.testing.assert_allclose(read(plain, name)[0], read(smooth, name)[0], rtol=1e-6)
    for name in ("iterations/train_loss", "parameters/gradient_norm"):
        assert np.all(read(plain, name)[1] != read(smooth, name)[1])


REFUSED = [
    ({"data": {**PAIRS, "target": "none.y"}}, "/data/target none.y"),
    ({"data": {**PAIRS, "target": README}}, "/data/target lines"),
    ({"data": {**PAIRS, "vocabulary": 200}}, "/data/vocabulary 259"),
    ({"data": {**PAIRS, "batch_size": {"tokens": 3}}}, "/data/batch_size/tokens longest"),
    ({"data": {**PAIRS, "batch_size": {"words": 3}}}, "/data/batch_size tokens"),
    ({"data": {**PAIRS, "partition": "dirichlet"}}, "/data/partition position"),
    ({"data": {"type": "shapes", "batch_size": {"tokens": 99}}, "model": "mlp"},
     "/data/batch_size/tokens shapes"),
    ({"data": {"type": "multi30k", "root": "."}}, "/data/root Multi30k"),
    ({"model": "gpt"}, "/model transformer"),
    ({"model": "mlp"}, "/model transformer"),
    ({"data": "shapes"}, "/model multi30k"),
    ({"model": {**SMALL, "heads": 3}}, "/model/heads"),
    ({"model": {**SMALL, "width": 15, "heads": 1}}, "/model/width odd"),
    ({"model": "mlp", "data": "shapes"}, "/evaluate/metrics perplexity tokens"),
    ({"model": "mlp", "evaluate": {}, "data": {"type": "shapes", "batch_size": 4, "accumulate": 5}},
     "/data/accumulate 4"),
    ({"model": "least_squares", "data": "regression", "evaluate": {}}, "/label_smoothing real"),
    ({"implementation": None, "graph": "ring", "algorithm": {"type": "feddkd"},
      "data": {**PAIRS, "accumulate": 2}}, "/data/accumulate feddkd"),
    ({"label_smoothing": 1}, "/label_smoothing 0.999"),
    ({"model": {"type": "lstm", "hidden": 4}, "evaluate": {},
      "data": {"type": "text", "path": README, "batch_size": 2, "accumulate": 2,
               "partition": "stream"}}, "/data/accumulate stream"),
]


def test_what_cannot_be(dbench, pairs):
    told = checked(dbench, {k: dbench.text({**SPEC, **changes})
                            for k, (changes, _) in enumerate(REFUSED)})
    for k, (_, words) in enumerate(REFUSED):
        for word in words.split(" "):
            assert word in told[k]["error"], (REFUSED[k], told[k])


def test_the_recipe_learns(dbench):
    """The loss falls within a few iterations on the published pairs."""
    data = os.environ.get("DBENCH_DATA")
    if not data or not os.path.exists(os.path.join(data, "multi30k")):
        pytest.skip("no multi30k in DBENCH_DATA")
    settings = ['/length={"iterations": 5}', "/replicas=1", "/data/limit/test=4",
                '/evaluate={"every": null, "replicas": 1, "metrics": ["bleu"]}',
                "/data/vocabulary=1000", '/data/batch_size={"tokens": 256}',
                '/schedule="constant"', "/implementation=\"C_complete\""]
    words = [word for setting in settings for word in ("--set", setting)]
    out = dbench.run(ROOT / "configs/applications/transformer-multi30k-small/D_ring.json",
                     "out.h5", *words, env={"DBENCH_DATA": data})
    loss = read(out, "evaluations/mean_loss")
    assert loss[0] > np.log(1000) and loss[-1] < 0.95 * loss[0]
    # A file that lacks one byte is not accepted as the published file.
    folder = dbench.folder / "multi30k"
    folder.mkdir()
    for name in os.listdir(os.path.join(data, "multi30k")):
        os.symlink(os.path.join(data, "multi30k", name), folder / name)
    text = (folder / "val.de").read_bytes()
    (folder / "val.de").unlink()
    for damaged, said in ((text[:-1], "too short"), (b"X" + text[1:], "is not the published")):
        (folder / "val.de").write_bytes(damaged)
        message = refused(dbench, dbench.spec(SPEC, data={"type": "multi30k",
                                                          "root": str(dbench.folder)}))
        assert "val.de" in message and said in message
