"""Tests of the help that errors give: the right key or value, and remedies that work."""

import json
import re
import time

import numpy as np
import pytest

TWO_PAIRS, NOT_0 = "0 1\n2 3\n", "1 2\n2 3\n3 4\n4 1\n"
DSGD = {"implementation": None, "algorithm": "dsgd"}


def listed(dbench, content, **more):
    """Write a list of edges; return a spec whose graph it is."""
    (dbench.folder / "g.txt").write_text(content)
    return dbench.spec({**DSGD, "graph": {"type": "file", "path": "g.txt"}, **more})


def resolved(dbench, spec, *settings):
    words = [word for setting in settings for word in ("--set", setting)]
    return json.loads(dbench("check", spec, "--json", *words).stdout)["spec"]


def refused(dbench, spec, *settings):
    words = [word for setting in settings for word in ("--set", setting)]
    return dbench("check", spec, *words, expect=2).stderr


def test_a_graph_in_parts_is_refused_unless_accepted(dbench):
    for command in ("check", "run"):
        for content, n, said in ((TWO_PAIRS, 4, "replicas 0, 1 exchange nothing"),
                                 (NOT_0, 5, "replicas count from 0")):
            spec = listed(dbench, content, replicas=n)
            told = dbench(command, spec, expect=2).stderr
            assert said in told and '"allow_disconnected": true' in told
            done = dbench(command, spec, "--set", "allow_disconnected=true", "--set",
                          f"name={command}{n}")
            assert "warning: /graph" in done.stderr and "never agree" in done.stderr


def test_the_remedies_of_a_graph_in_parts_work(dbench):
    told = refused(dbench, listed(dbench, "0 1\n1 2\n2 3\n3 0\n", replicas=16))
    fewer = re.search(r"set /replicas to (\d+)", told)[1]
    dbench("check", dbench.folder / "spec.json", "--set", f"replicas={fewer}")
    told = refused(dbench, listed(dbench, "0 1 1\n1 2 1\n2 3 1\n3 0 1\n"))
    assert "spectral gap of 0" in told
    lazy = re.search(r'"lazy": ([\d.]+)', told)[1]
    dbench("check", dbench.folder / "spec.json", "--set", f"graph.lazy={lazy}")


@pytest.mark.parametrize("changes", [
    {"graph": [{"type": "file", "path": "g.txt", "until": {"iterations": 3}}, "ring"]},
    {"graph": {"type": "file", "path": "g.txt"}, "algorithm": {"type": "gossip_pga", "period": 2}},
    {"graph": {"type": "hierarchical", "gpus_per_node": 2, "outer": "ring"}},
    {"replicas": 1, "graph": "ring"},
], ids=["a phase of a list", "global averages", "two levels", "one replica"])
def test_phases_without_a_path_between_all_replicas_are_accepted(dbench, changes):
    (dbench.folder / "g.txt").write_text(TWO_PAIRS)
    dbench("check", dbench.spec({**DSGD, **changes}))


def test_weighted_lists_with_each_edge_once_are_undirected(dbench):
    (dbench.folder / "w.txt").write_text("0 1 0.25\n0 3 0.25\n1 2 0.25\n2 3 0.25\n")
    graph = ("graph", "file", "--n", 4, "--path", "w.txt", "--json")
    for more in ((), ("--directed", "false"), ("--weights", "metropolis")):
        found = json.loads(dbench(*graph, *more).stdout)
        assert found["symmetric"] and found["connected"], more
    assert found["gap"] == pytest.approx(2 / 3)
    assert not json.loads(dbench(*graph, "--directed", "true").stdout)["symmetric"]
    (dbench.folder / "w.txt").write_text("0 1 0.5\n1 0 0.25\n")
    told = dbench("graph", "file", "--n", 2, "--path", "w.txt", "--directed", "false",
                  expect=2).stderr
    assert "the edges 0 1 and 1 0 have the weights 0.5 and 0.25" in told


def test_the_remedies_of_a_directed_list_work(dbench):
    graph = {"type": "file", "path": "g.txt", "directed": True}
    told = refused(dbench, listed(dbench, "0 1 0.3\n0 3 0.3\n1 2 0.3\n2 3 0.3\n3 0 0.3\n",
                                  graph=graph))
    assert "not doubly stochastic" in told and "metropolis" not in told
    assert "choose an undirected graph, or the algorithm sgp with \"weights\": \"column\"" in told
    spec = str(dbench.folder / "spec.json")
    dbench("check", spec, "--set", "graph.weights=column", "--set", "algorithm=sgp")
    dbench("check", spec, "--set", "graph.directed=false")


def test_edges_are_read_as_networkx_writes_them(dbench):
    read = ("graph", "file", "--n", 4, "--path", "g.txt", "--matrix")
    (dbench.folder / "g.txt").write_text(
        "\ufeff0 1 {}\n0 3 {}\n1 2 {}\n2 3 {'color': 'red'}\n", encoding="utf-8")
    found, ring = (np.array(done.stdout.split(), float)
                   for done in (dbench(*read), dbench("graph", "ring", "-n", 4, "--matrix")))
    np.testing.assert_allclose(found, ring, rtol=1e-15)
    (dbench.folder / "g.txt").write_text("".join(
        f"{a} {b} {{'weight': 0.25, 'id': 7}}\n" for a, b in ((0, 1), (0, 3), (1, 2), (2, 3))))
    assert dbench(*read).stdout.splitlines()[0] == "0.5 0.25 0 0.25"
    for content, said in (("alice bob\n", "convert_node_labels_to_integers"),
                          ("<?xml version='1.0'?><graphml/>", "write_weighted_edgelist")):
        (dbench.folder / "g.txt").write_text(content)
        assert said in dbench(*read, expect=2).stderr


@pytest.mark.parametrize("setting, key", [
    ("output=~/x/{name}.h5", "/output: ~/x/{name}.h5 begins with ~"),
    ("output=$SCRATCH/x.h5", "/output: $SCRATCH/x.h5 contains $SCRATCH"),
    ("output=x-{seed}.h5", "contains {seed}, which stands for nothing here: known is {name}"),
    ("data.root=~/data", "/data/root: ~/data begins with ~"),
    ("graph={\"type\": \"file\", \"path\": \"${HOME}/g.txt\"}", "/graph/path"),
    ("placement={\"type\": \"file\", \"path\": \"~/slots\"}", "/placement/path"),
    ("base=~/b.json", "/base"),
])
def test_the_notation_of_shells_is_refused_in_paths(dbench, setting, key):
    told = refused(dbench, dbench.spec(DSGD, graph="ring"), setting)
    assert key in told
    assert not (dbench.folder / "~").exists()


def test_the_notation_of_shells_is_refused_in_options(dbench):
    for path, said in (("~/out.h5", "begins with ~"), ("out-{seed}.h5", "{seed}")):
        told = dbench("run", dbench.spec(), f"--output={path}", expect=2).stderr
        assert "--output" in told and said in told
    dbench("run", dbench.spec(), "--output={name}-1.h5")
    assert (dbench.folder / "small-1.h5").exists()


@pytest.mark.parametrize("text", ["7", "007", "1e3", "null", "true", "-1"])
def test_the_type_of_a_value_comes_from_its_key(dbench, text):
    if text != "-1":
        assert resolved(dbench, dbench.spec(), f"name={text}")["name"] == text
    assert resolved(dbench, dbench.spec(), f"notes={text}")["notes"] == text
    assert resolved(dbench, dbench.spec(), 'name="x"')["name"] == "x"


def test_whole_numbers_may_be_written_with_a_point(dbench):
    found = resolved(dbench, dbench.spec(), "data.batch_size=8.0", "replicas=2.0", "seed=3.0")
    assert (found["data"]["batch_size"], found["replicas"], found["seed"]) == (8, 2, 3)
    assert "whole number" in refused(dbench, dbench.spec(), "data.batch_size=8.5")


def test_a_length_in_another_unit_replaces_the_old_one(dbench):
    spec = dbench.spec(evaluate={"replicas": 2}, checkpoint={"every": {"iterations": 5}})
    found = resolved(dbench, spec, "length.epochs=2", "checkpoint.every.epochs=3",
                     "evaluate.batch_size=16", "data.batch_size.global=32")
    assert found["length"] == {"epochs": 2}
    assert found["checkpoint"]["every"] == {"epochs": 3}
    assert (found["evaluate"]["replicas"], found["evaluate"]["batch_size"]) == (2, 16)
    assert found["data"]["batch_size"] == {"global": 32}


def test_a_base_keeps_keys_of_sections_that_hold_one_number(dbench):
    dbench.spec(name="b.json", evaluate={"replicas": 2})
    (dbench.folder / "s.json").write_text('{"base": "b.json", "evaluate": {"batch_size": 16}}')
    found = resolved(dbench, "s.json")["evaluate"]
    assert (found["replicas"], found["batch_size"]) == (2, 16)


@pytest.mark.parametrize("key, right", [
    ("lr", "/optimizer/lr"), ("epochs", "/length/epochs"), ("batch_size", "/data/batch_size"),
    ("n", "/replicas"), ("dtype", "/precision"), ("momentum", "/optimizer/momentum"),
    ("BatchSize", "/data/batch_size"), ("learning_rate", "/optimizer/lr"), ("topology", "/graph"),
    ("steps", "/length/iterations"), ("gpus", "/device"), ("graf", "graph"), ("k", "/graph/k"),
    ("data/lr", "/optimizer/lr"), ("optimizer/batch_size", "/data/batch_size"),
    ("graph/replicas", "/replicas"), ("model/n", "/replicas"), ("data/dtype", "/precision"),
])
def test_unknown_keys_are_searched_in_the_whole_spec(dbench, key, right):
    told = refused(dbench, dbench.spec(DSGD, graph="ring"), f"/{key}=8")
    assert f"/{key}: unknown key; did you mean" in told and f"'{right}'" in told


@pytest.mark.parametrize("setting, right", [
    ("algorithm=qgm", "qg_dsgdm"),
    ("device=gpu", "cuda"), ("device=CPU", "cpu"), ("precision=fp32", "float32"),
    ("graph=Ring", "ring"), ("graph=tor", "torus"), ("graph=fully_connected", "complete"),
    ("optimizer=SGD", "sgd"), ("algorithm=allreduce", "centralized"),
    ("graph=one-peer", "one_peer_"),
])
def test_values_are_suggested_without_case_by_beginning_and_by_synonym(dbench, setting, right):
    told = refused(dbench, dbench.spec(DSGD, graph="ring"), setting)
    assert f"did you mean '{right}" in told


def test_an_algorithm_is_not_offered_as_its_own_remedy(dbench):
    spec = dbench.spec(DSGD, graph="ring", algorithm="qg_dsgdm",
                       optimizer={"type": "sgd", "lr": 0.1, "momentum": 0.9})
    told = refused(dbench, spec)
    assert "choose dsgd, which accepts it" in told and "or qg_dsgdm" not in told
    dbench("check", spec, "--set", "algorithm=dsgd")
    dbench("check", spec, "--set", "optimizer.momentum=0", "--set", "algorithm.beta=0.9")


def test_an_optimizer_without_a_type_is_sgd(dbench):
    found = resolved(dbench, dbench.spec(optimizer={"lr": 0.25}))["optimizer"]
    assert (found["type"], found["lr"]) == ("sgd", 0.25)
    found = resolved(dbench, dbench.spec(optimizer=None), "optimizer.lr=0.5")["optimizer"]
    assert (found["type"], found["lr"]) == ("sgd", 0.5)


def test_unknown_commands_name_the_nearest_one(dbench):
    assert "did you mean 'check'" in dbench("checks", expect=2).stderr
    assert "dbench run spec.json" in dbench("spec.json", expect=2).stderr
    assert "did you mean 'verify'" in dbench("data", "verify2", expect=2).stderr
    dbench("graph", "ring", "-n", 8)


def test_messages_and_work_are_bounded(dbench):
    many = {f"k{i}": i for i in range(300000)}
    some = dict(list(many.items())[:9000])
    (dbench.folder / "many.json").write_text(json.dumps(many))
    (dbench.folder / "base.json").write_text(json.dumps({"graph": {"type": "ring", **some}}))
    (dbench.folder / "over.json").write_text('{"base": "base.json", "graph": {"type": "torus"}}')
    (dbench.folder / "digits.json").write_text('{"replicas": ' + "1" * 10**6 + "}")
    (dbench.folder / "bad.json").write_text('{"replicas": ' + "1" * 10**6 + "x}")
    with open(dbench.folder / "sparse.json", "wb") as file:
        file.truncate(5 << 30)
    for name in ("many", "over", "digits", "bad", "sparse"):
        start = time.monotonic()
        told = dbench("check", f"{name}.json", expect=2).stderr
        assert len(told) < 10000 and time.monotonic() - start < 10, name
    assert "larger than 64 MiB" in told
    start = time.monotonic()
    assert "at most 1048576" in refused(dbench, dbench.spec(), "replicas=16777216")
    assert time.monotonic() - start < 10
    told = refused(dbench, dbench.spec(), "replicas=" + "9" * 100000, "name=" + "y" * 30)
    assert len(told) < 10000
