"""Tests that the JSON Schema of `dbench list schema` accepts and refuses the same specs as
dbench."""

import json
import re

import pytest
from conftest import ROOT, SMALL
from together import checked

jsonschema = pytest.importorskip("jsonschema", reason="no jsonschema in this Python")

CONFIGS = [path for path in sorted((ROOT / "configs").rglob("*.json"))
           if path.parent.name != "sweeps" and path.name != "reproduction.json"]


@pytest.fixture(scope="module")
def validator(shared):
    schema = json.loads(shared("list", "schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def without_comments(path):
    return json.loads(re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M))


def faults(validator, spec):
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(spec)]


def test_every_config_is_accepted_as_written(validator):
    assert len(CONFIGS) > 30
    for path in CONFIGS:
        assert not faults(validator, without_comments(path)), path


GRAPHS = ["ring", {"type": "ring_lattice", "k": 4, "lazy": 0.5},
          [{"type": "complete", "until": {"epochs": 1}}, "ring"],
          {"type": "hierarchical", "gpus_per_node": 2, "outer": {"type": "ring"}},
          {"type": "ada_variance", "tensors": ["weight"]}]
GOOD = [
    {},
    {"seed": {"init": 3}, "compute": "bfloat16", "stacking": "auto", "capture": "off"},
    {"data": {**SMALL["data"], "resident": "off"}},
    {"data": {**SMALL["data"], "batch_size": {"global": 32}}},
    {"data": {**SMALL["data"], "batch_size": "full", "partition": {"type": "iid"}}},
    {"evaluate": {"every": None, "replicas": "all"}},
    {"profile": {"variance": "off", "every": [{"until": {"epochs": 1}, "every": {"samples": 64}},
                                              {"every": None}]}},
    {"placement": "node_major"},
    {"placement": {"type": "optimised", "links": "links.txt"}},
    {"delays": [{"seconds": 0}, {"replicas": [0, 3], "seconds": 0.5, "probability": 0.1,
                                 "distribution": "uniform"}]},
    {"optimizer": {"lr": 0.1}}, {"schedule": {"warmup": {"iterations": 3}}},
    {"optimizer": {"type": "adamw", "betas": [0.8, 0.9], "clip_norm": None}},
    *({"implementation": None, "algorithm": "dsgd", "graph": graph} for graph in GRAPHS),
    {"implementation": None, "algorithm": {"type": "slowmo", "base": "local_sgd"},
     "graph": "complete"},
]


def changed(changes):
    return {key: value for key, value in {**SMALL, **changes}.items() if value is not None}


def test_valid_specs_and_resolved_specs_are_accepted(dbench, validator):
    specs = {k: dbench.text(changes, replicas=8) for k, changes in enumerate(GOOD)}
    for k, found in checked(dbench, specs).items():
        assert not faults(validator, changed(GOOD[k])), GOOD[k]
        assert not faults(validator, found["spec"]), GOOD[k]


BAD = [
    {"replica": 4},
    {"replicas": 0},
    {"replicas": "four"},
    {"replicas": None},
    {"model": None},
    {"name": "a/b"},
    {"seed": -1},
    {"seed": {"inits": 1}},
    {"precision": "float8"},
    {"placement": "fastest"},
    {"placement": {"type": "linear", "links": "links.txt"}},
    {"implementation": "D_star"},
    {"length": {"epochs": 1, "iterations": 3}},
    {"length": {"weeks": 1}},
    {"length": {"epochs": 0}},
    {"length": {"iterations": 2.5}},
    {"evaluate": {"replicas": 0}},
    {"evaluate": {"evry": None}},
    {"profile": {"variance": {"kind": "some"}}},
    {"profile": {"every": []}},
    {"checkpoint": {"keep": 0}},
    {"delays": {"seconds": 1}},
    {"delays": [{"replicas": [0]}]},
    {"delays": [{"seconds": -1}]},
    {"delays": [{"seconds": 1, "replicas": []}]},
    {"optimizer": {"type": "sgd", "betas": [0.9, 0.9]}},
    {"optimizer": {"type": "sgd", "lr": True}},
    {"model": {"type": "cnn", "hidden": [3]}},
    {"data": {"type": "shapes", "partition": {"type": "dirichlet", "alfa": 1}}},
    {"data": {"type": "shapes", "root": "."}},
    {"data": {"type": "npz", "train": 1}},
    {"implementation": None, "algorithm": "dsgd", "graph": {"type": "ring", "k": 2}},
    {"implementation": None, "algorithm": "dsgd",
     "graph": {"type": "ring", "until": {"epochs": 1}}},
    {"implementation": None, "algorithm": "dsgd", "graph": []},
    {"implementation": None, "algorithm": "dsgd",
     "graph": {"type": "hierarchical", "outer": "rings"}},
]


def test_bad_specs_are_refused_by_both(dbench, validator):
    for k, told in checked(dbench, {k: dbench.text(bad) for k, bad in enumerate(BAD)}).items():
        assert faults(validator, changed(BAD[k])) and "error" in told, BAD[k]


def test_a_file_with_a_base_may_omit_required_keys(validator):
    assert not faults(validator, {"base": "b.json", "optimizer": {"lr": 0.2}, "replicas": 4})
    assert faults(validator, {"base": "b.json", "optimizer": {"rate": 0.2}})
    assert faults(validator, {"base": 3})
