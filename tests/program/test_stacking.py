"""Tests of `"stacking"`: the replicas of a rank pass through the model one by one, or together."""

import json
import re

import h5py
import numpy as np
import pytest
from conftest import ROOT
from results import content, differences
from together import Together, checked

RUN = {"model": {"type": "cnn", "width": 3}, "replicas": 5, "precision": "float64",
       "data": {"type": "shapes", "train": 120, "test": 24, "batch_size": 4, "augment": True},
       "optimizer": {"type": "sgd", "lr": 0.02, "momentum": 0.9}, "length": {"iterations": 4},
       "implementation": None, "algorithm": "dsgd", "graph": "ring"}
CHANGES = {
    "convolutions": {},
    "while averaging": {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}},
    "linear layers": {"model": {"type": "mlp", "hidden": [9]}, "label_smoothing": 0.1},
    "distilled": {"algorithm": {"type": "feddkd", "period": 2}, "graph": "complete",
                  "model": {"type": "mlp", "hidden": [9]}},
    "a text": {"model": {"type": "gpt", "layers": 1, "heads": 2, "width": 8, "dropout": 0},
               "data": {"type": "text", "path": str(ROOT / "README.md"), "sequence": 6,
                        "batch_size": 2, "limit": {"train": 200, "test": 8}}},
}


@pytest.fixture(scope="module")
def runs(shared):
    return {how: Together(shared, how, {name: {**RUN, **CHANGES[name], "stacking": how}
                                        for name in CHANGES}) for how in ("off", "batched")}


def chosen(path):
    with h5py.File(path) as file:
        return json.loads(file["provenance"][()])["environment"]["stacking"]


@pytest.mark.parametrize("name", CHANGES)
def test_stacked_passes_equal_single_ones_up_to_rounding(runs, name):
    """Both ways agree up to rounding. On three ranks, some ranks have only one replica."""
    alone = content(runs["off"].result(name))
    for ranks in (None, 3):
        path = runs["batched"].result(name, ranks=ranks)
        assert chosen(path) == "batched"
        together = content(path)
        assert alone.keys() == together.keys()
        for key, value in alone.items():
            if value.dtype.kind == "f":
                np.testing.assert_allclose(together[key], value, rtol=1e-9, atol=1e-9)


def test_with_one_replica_per_rank_bits_are_equal(dbench):
    for how in ("off", "batched"):
        dbench.run(dbench.spec(RUN, replicas=2, stacking=how), how, ranks=2)
    assert differences(dbench.folder / "off", dbench.folder / "batched") == []
    assert chosen(dbench.folder / "batched") == "off (a rank has one replica)"


def test_auto_reports_its_choice(dbench):
    path = dbench.folder / "auto.h5"
    told = dbench("run", dbench.spec(RUN, stacking="auto"), "--output", path).stderr
    assert f"stacking: {chosen(path)}" in told
    word, rest = chosen(path).split(" ", 1)
    batched, alone = map(float, re.findall(r"([^ ]+) ms", rest))
    assert word == ("batched" if batched < alone else "off") or batched == alone
    same = dbench.run(dbench.spec(RUN, stacking=word), "same.h5")
    assert differences(str(path), same) == []       # the timing does not change results


def test_models_that_cannot_be_stacked_are_refused_and_auto_avoids_it(dbench):
    lstm = {**CHANGES["a text"], "model": {"type": "lstm", "hidden": 4, "dropout": 0}}
    dropout = {"model": {"type": "wide_resnet", "depth": 10, "widen": 1, "dropout": 0.1}}
    refused = {
        "streams": ({"stacking": "streams"}, "the CPU has no streams"),
        "lstm": (lstm, "one replica"),
        "dropout": (dropout, "uses dropout"),
        "parts": ({"data": {**RUN["data"], "accumulate": 2}}, "/data/accumulate"),
        "full": ({"data": {**RUN["data"], "batch_size": "full"}}, "differ in size"),
        "paces": ({"algorithm": "ad_psgd", "graph": "random_matching"}, "one after another"),
        "linearised": ({"algorithm": "ntk_dfl", "optimizer": "sgd",
                        "graph": {"type": "epidemic", "degree": 2},
                        "model": {"type": "mlp", "hidden": [2]}}, "one after another"),
    }
    told = checked(dbench, {name: dbench.text({**RUN, "stacking": "batched", **changes})
                            for name, (changes, _) in refused.items()})
    for name, (_, words) in refused.items():
        assert "/stacking" in told[name]["error"] and words in told[name]["error"], told[name]
    path = dbench.run(dbench.spec({**RUN, **dropout}, stacking="auto", length={"iterations": 1}))
    assert chosen(path).startswith("off (the model uses dropout")
