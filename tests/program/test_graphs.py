"""Tests of every graph in runs, of schedules that change graphs, and of the graph command."""

import json
import re

import h5py
import numpy as np
import pytest
from conftest import ROOT
from results import differences, read
from together import Together, checked

# A valid number of replicas for each graph, with parameters if the defaults do not fit it.
GRAPHS = {
    "ring": 8, "one_way_ring": 8, "path": 6, "torus": 12, "grid": 6, "exponential": 12,
    "complete": 6, "star": 6,
    "ring_lattice": 9, "hypercube": 8, "erdos_renyi": 9, "random_regular": 8, "watts_strogatz": 9,
    "margulis": 9,
    "chordal_cycle": 7, "u_equistatic": 9, "d_equistatic": 9, "tree": 7, "one_peer_exponential": 12,
    "one_peer_hypercube": 8, "p_peer_exponential": 9, "alternating_ring": 8, "shift_one": 8,
    "simple_base_k": 10,
    "base_k": 10, "hyper_hypercube": 8, "double_binary_tree": 7, "aer:gpus_per_node=2": 8,
    "hierarchical:gpus_per_node=2": 8, "random_matching": 8, "epidemic": 8, "random_pairs": 6,
    "matcha": 8,
    "od_equidyn": 9, "ou_equidyn": 9, "participation": 8,
}


def parameters(graph):
    name, *pairs = graph.split(":")
    return {"type": name, **{k: int(v) for k, v in (pair.split("=") for pair in pairs)}}


@pytest.fixture(scope="module")
def certificates():
    """Return the cache of certificates by number of replicas."""
    return {}


def only_mixing(graph):
    n = GRAPHS[graph]
    return {"precision": "float64", "implementation": None, "graph": parameters(graph),
            "algorithm": "dsgd", "replicas": n,
            "data": {"type": "shapes", "train": 8 * n, "test": 8, "batch_size": 1},
            "init": "independent", "optimizer": {"type": "sgd", "lr": 0},
            "length": {"iterations": 24}, "evaluate": {"every": {"iterations": 12}, "replicas": 1}}


@pytest.fixture(scope="module")
def mixing(shared):
    return Together(shared, "mixing", {graph: only_mixing(graph) for graph in GRAPHS})


@pytest.mark.parametrize("graph", GRAPHS)
def test_disagreement_decays_as_certified(dbench, mixing, graph, certificates):
    """With learning rate 0, runs over MPI only mix: disagreement decays as certified, and the mean
    model does not change."""
    n = GRAPHS[graph]
    if n not in certificates:
        alike = [name for name in GRAPHS if GRAPHS[name] == n]
        told = dbench("graph", "--compare", ",".join(alike), "--n", n, "--json").stdout
        certificates[n] = dict(zip(alike, json.loads(told), strict=True))
    promised = certificates[n][graph]
    run = mixing.result(graph, ranks=2)
    distance = read(run, "parameters/consensus_distance")
    assert promised["connected"] and promised["row_stochastic"] and promised["column_stochastic"]
    assert distance[0] > 0.01 and np.all(np.diff(distance) <= 1e-12)
    loss = read(run, "evaluations/mean_loss")
    assert len(loss) > 1
    np.testing.assert_allclose(loss, loss[0], rtol=1e-12)
    if promised["finite_time"] is not None and promised["finite_time"] < len(distance):
        assert distance[promised["finite_time"]] <= 1e-10 * distance[0]
    if promised["rho_period"] is not None and promised["period"] < len(distance):
        assert distance[promised["period"]] <= (promised["rho_period"] + 1e-9) * distance[0]
    if promised["period"] is None:
        assert distance[-1] < 0.9 * distance[0]
    with h5py.File(run) as file:
        assert json.loads(file["graphs"].attrs["certificate"])["rho"] == promised["rho"]


CONTROLLERS = {
    "ada": {"type": "ada", "k0": 6, "gamma_k": 2},
    "ada, random regular": {"type": "ada", "k0": 6, "gamma_k": 2, "family": "random_regular"},
    "ada_variance": {"type": "ada_variance", "every": {"iterations": 2}, "patience": 1, "k0": 2,
                     "k_max": 6, "low": 0.7,
                     "high": 0.9},
    "ada_variance by variance": {"type": "ada_variance", "measure": "variance",
                                 "tensors": ["conv*"], "k0": 2, "k_max": 6,
                                 "every": {"iterations": 2}, "patience": 1, "low": 0.7,
                                 "high": 0.9},
    "consensus_control": {"type": "consensus_control", "fraction": 0.3},
    "consensus_control by degree": {"type": "consensus_control", "by": "degree", "k_max": 6},
    "budget": {"type": "budget", "order": "uniform", "models": 3,
               "dense": {"type": "ring_lattice", "k": 6}},
    "list": [{"type": "ring_lattice", "k": 4, "until": {"epochs": 1}}, "one_peer_exponential"],
}
CNN = {"model": {"type": "cnn", "width": 4}, "replicas": 8, "implementation": None,
       "algorithm": "dsgd",
       "data": {"type": "shapes", "train": 320, "test": 48, "batch_size": 8},
       "length": {"epochs": 3},
       "optimizer": {"type": "sgd", "lr": 0.05, "momentum": 0.9}}


@pytest.fixture(scope="module")
def controlled(shared):
    return Together(shared, "controlled", {name: {**CNN, "graph": graph}
                                           for name, graph in CONTROLLERS.items()})


@pytest.fixture(scope="module")
def bare(shared):
    off = {"norms": False, "variance": {"kind": "off"}}
    return Together(shared, "bare", {name: {**CNN, "graph": graph, "profile": off}
                                     for name, graph in CONTROLLERS.items()})


@pytest.mark.parametrize("name", CONTROLLERS)
def test_controllers_decide_alike_on_any_number_of_ranks(controlled, bare, name):
    alone = controlled.result(name)
    assert differences(alone, controlled.result(name, ranks=3)) == []
    # A controller's measurements do not depend on what is recorded.
    for column in ("degree", "rounds", "bytes_sent", "control_bytes", "train_loss"):
        assert np.array_equal(read(alone, f"iterations/{column}"),
                              read(bare.result(name), f"iterations/{column}"))
    degree, rounds = read(alone, "iterations/degree"), read(alone, "iterations/rounds")
    assert len(set(degree)) > 1 or rounds.max() > 1
    measured = not isinstance(CONTROLLERS[name],
                              list) and CONTROLLERS[name]["type"] in ("ada_variance",
                                                                                         "consensus_control")
    assert (read(alone, "iterations/control_bytes").sum() > 0) == measured
    with h5py.File(alone) as file:
        changes = np.flatnonzero(np.diff(degree)) + 1
        assert set(changes) <= set(file["events/iteration"][:]) and b"graph" in set(
            file["events/kind"][:])


ORDERS = ["adapt_then_combine", "combine_while_adapt", "combine_then_adapt"]


@pytest.fixture(scope="module")
def ordered(shared):
    graph = {"type": "consensus_control", "fraction": 0.4, "max_rounds": 50}
    return Together(shared, "ordered", {
        order: {**CNN, "graph": graph, "algorithm": {"type": "dsgd", "order": order},
                "profile": {"after": True}} for order in ORDERS})


@pytest.mark.parametrize("order", ORDERS)
def test_consensus_control_reaches_its_target_in_every_order(ordered, order):
    run = ordered.result(order, ranks=2)
    before, after = (read(run, f"parameters/consensus_distance{which}") for which in ("", "_after"))
    target = 0.4 * np.maximum.accumulate(before)
    assert np.all(after <= target * (1 + 1e-6))
    rounds = read(run, "iterations/rounds")
    assert rounds.max() > 1
    assert np.array_equal(read(run, "iterations/messages"), rounds * 8 * 2)


def test_the_slowest_replicas_are_left_out(dbench):
    graph = {"type": "participation", "graph": "ring", "policy": "slowest", "fraction": 0.5,
             "every": {"iterations": 3}}
    run = dbench.run(dbench.spec(CNN, graph=graph), ranks=4)
    degree = read(run, "iterations/degree")
    assert np.all(degree[:3] == 2) and np.all(degree[3:] < 2)
    with h5py.File(run) as file:
        texts = [text.decode() for text in file["events/text"][:]]
        assert any("left out as slowest" in text for text in texts)
        assert file["iterations/control_bytes"][2] == 8 * 7 * 8


def test_a_biased_graph_is_refused_unless_accepted(dbench):
    spec = dbench.spec(implementation=None, algorithm="dsgd",
                       graph={"type": "star", "weights": "uniform"})
    refused = dbench("run", spec, expect=2).stderr
    assert ("not doubly stochastic" in refused and "metropolis" in refused
            and "allow_biased" in refused)
    done = dbench("run", spec, "--set", "/allow_biased=true", "--output", "biased.h5")
    assert "not doubly stochastic" in done.stderr
    later = [{"type": "ring", "until": {"iterations": 2}}, {"type": "star", "weights": "uniform"}]
    assert "star weights=uniform is not" in dbench(
        "run", dbench.spec(implementation=None, algorithm="dsgd", graph=later),
                                   expect=2).stderr


BAD = [
    ({"type": "ada", "k0": 2, "k_min": 4}, "/graph/k_min: 4 is above k0 = 2"),
    ({"type": "ada_variance", "tensors": ["conx*"]},
     "/graph/tensors: the model has no tensor 'conx*'"),
    ({"type": "ada_variance", "low": 2}, "/graph/low"),
    ({"type": "consensus_control", "graph": "one_peer_exponential"}, "/graph/graph: is a sequence"),
    ({"type": "budget", "bytes": 5, "dense": {"type": "ring_lattice", "k": 4}},
     "/graph/bytes: 5 cannot be spent"),
    ([{"type": "ring"}, "star"], "/graph/0: has no \"until\""),
    ([{"type": "ring", "until": {"epochs": 1}}, {"type": "rink"}], "/graph/1"),
    ([], "/graph: an empty list"),
    ({"type": "file", "path": "missing.csv"}, "missing.csv"),
]


def test_bad_schedules(dbench):
    told = checked(dbench, {k: dbench.text(CNN, graph=graph) for k, (graph, _) in enumerate(BAD)})
    for k, (_, message) in enumerate(BAD):
        assert message in told[k]["error"], (BAD[k], told[k])
    graph, message = BAD[0]   # `run` prints the same message and writes nothing
    assert message in dbench("run", dbench.spec(CNN, graph=graph), expect=2).stderr
    assert not list(dbench.folder.glob("**/*.h5"))


def test_osgp_refuses_a_replica_that_keeps_no_weight(dbench):
    """Its weight would be 0 until the first delayed message arrives."""
    (dbench.folder / "W.txt").write_text("0 1 0.5\n0.5 0 0.5\n0.5 0 0\n")
    changes = {"replicas": 3, "graph": {"type": "file", "path": "W.txt"}, "implementation": None}
    late = dbench("check", dbench.spec(changes, algorithm="osgp"), expect=2).stderr
    assert "/graph: replica 0 gives itself the weight 0 in iteration 0" in late
    dbench("check", dbench.spec(changes, algorithm={"type": "osgp", "tau": 0}))


def test_check_shows_the_plan_and_warns_where_it_never_changes(dbench):
    spec = dbench.spec(CNN, graph={"type": "ada", "k0": 6, "gamma_k": 2},
                       evaluate={"every": None, "replicas": 1})
    found = json.loads(dbench("check", spec, "--json").stdout)
    assert found["stages"] == [{"first": 0, "graph": "ring_lattice k=6"},
                               {"first": 5, "graph": "ring_lattice k=4"},
                               {"first": 10, "graph": "ring_lattice k=2"}]
    assert found["spec"]["graph"]["k_min"] == 2 and found["warnings"] == []
    assert "from iteration 5: ring_lattice k=4" in dbench("check", spec).stdout
    never = dbench("check", spec, "--set", "/graph/gamma_k=0.02").stderr
    assert "ada never changes its graph" in never and "for the first time in epoch 100" in never
    late = '/graph={"type": "ada_variance", "every": {"iterations": 100}}'
    assert "nothing is measured in 15 iterations" in dbench("check", spec, "--set", late).stderr
    assert "shorter than" in dbench("check", spec, "--set", "/graph=ring").stderr


def test_compare(dbench):
    words = ("graph", "--compare", "ring,torus,exponential,base_k:k=5", "--n", 96)
    lines = dbench(*words).stdout.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["graph", "ring", "torus", "exponential",
                                                       "base_k:k=5"]
    found = json.loads(dbench(*words, "--json", "--gpus-per-node", 6).stdout)
    assert [c["rho"] for c in found[:3]] == pytest.approx([0.998573, 0.946410, 0.75], abs=1e-6)
    assert found[3]["finite_time"] == 3
    # On a ring of 96 with nodes of 6, one of six links crosses nodes, in both directions.
    assert found[0]["traffic"]["share"] == pytest.approx(1 / 6)
    for c in found:
        assert c["traffic"]["best"]["share"] <= c["traffic"]["share"] + 1e-12
        assert sorted(c["traffic"]["best"]["slots"]) == list(range(96))
    assert "KEY=VALUE" in dbench("graph", "--compare", "ring_lattice:8", "--n", 16, expect=2).stderr
    assert "TYPE is missing" in dbench("graph", "--n", 16, expect=2).stderr


def test_a_graph_is_given_by_type_short_form_or_the_json_of_a_spec(dbench):
    words = ("--n", 16, "--matrix")
    expected = dbench("graph", "ring_lattice", "--k", 6, *words).stdout
    assert expected != dbench("graph", "ring_lattice", *words, "--k", 4).stdout
    spec = json.dumps({"type": "ring_lattice", "k": 6})
    for given in (["ring_lattice:k=6"], [spec], ['{"type": "ring_lattice"}', "--k", 6]):
        assert dbench("graph", *given, *words).stdout == expected
    assert dbench("graph", spec, "--n", 16, "--dot").stdout.startswith(
        dbench("graph", "ring_lattice", "--k", 6, "--n", 16, "--dot").stdout.splitlines()[0])
    for given, said in (['{"k": 6}', 'has no "type"'], ['{"type": "ring"', "graph"],
                        ['{"type": "ring", "kk": 6}', "kk"], ["ring_lattice:6", "KEY=VALUE"]):
        assert said in dbench("graph", given, "--n", 16, expect=2).stderr
    assert "not JSON" in dbench("graph", "--compare", spec, "--n", 16, expect=2).stderr


@pytest.mark.parametrize("graph, n", [("torus", 8), ("exponential", 8), ("ring", 9), ("star", 6)])
def test_disagreement_is_that_of_the_eigenvalues(dbench, graph, n):
    """NumPy computes the eigenvalues of the printed matrix, and the sums of docs/graphs.md."""
    text = dbench("graph", graph, "--n", n, "--matrix").stdout
    w = np.array([line.split() for line in text.splitlines() if line[0] != "#"], dtype=float)
    values = np.linalg.eigvals(w)
    values = np.delete(values, np.argmin(np.abs(values - 1)))
    squares, beta = np.abs(values)**2, 0.9
    told = json.loads(dbench("graph", graph, "--n", n, "--json").stdout)["disagreement"]
    assert told == pytest.approx({
        "noise": np.sum(1 / (1 - squares)), "beta": beta,
        "momentum": np.sum((1 - beta**2 * squares)
                           / ((1 - squares) * np.abs(1 - beta * values)**2)),
        "lasting": np.sum(1 / np.abs(1 - values)**2)}, rel=1e-9)
    if (graph, n) == ("torus", 8):
        assert told["lasting"] == pytest.approx(15.4, abs=0.05)
        assert "with momentum 0.9 14.05" in dbench("graph", graph, "--n", n).stdout
    if (graph, n) == ("exponential", 8):
        assert told["lasting"] == pytest.approx(11.0, abs=0.05)


def test_the_result_file_has_the_disagreement(dbench, mixing):
    with h5py.File(mixing.result("torus", ranks=2), "r") as file:
        stored = json.loads(file["graphs"].attrs["certificate"])["disagreement"]
    assert stored == json.loads(dbench("graph", "torus", "--n", 12, "--json").stdout)[
        "disagreement"]


def test_check_names_graphs_that_coincide(dbench):
    """A torus of 4 replicas is the ring; a torus of 8 is none of the other implementations."""
    spec = {**only_mixing("ring"), "graph": "torus", "replicas": 4}
    said = dbench("check", dbench.spec(spec)).stderr
    assert "/graph: with 4 replicas torus is the same graph as ring, grid and hypercube" in said
    assert "averages exactly as much as exponential" in said
    told = json.loads(dbench("check", dbench.spec(spec), "--json").stdout)["warnings"]
    assert any("same graph as ring" in warning for warning in told)
    for name in ("torus", "exponential", "complete", "ring"):
        said = dbench("check", dbench.spec({**spec, "graph": name, "replicas": 12})).stderr
        assert "same graph" not in said and "as much as" not in said


FIVE = "ring,torus,exponential,complete"


def replicas_of(path):
    """Return the numbers of replicas that a spec or a sweep names."""
    (numbers,) = re.findall(r'^ +"replicas": ([\d, \[\]]+),$', path.read_text(), re.M)
    return [int(n) for n in re.findall(r"\d+", numbers)]


def test_recipes_compare_different_graphs(dbench):
    """Graphs with the same eigenvalues would differ by chance only."""
    folders = {path.parent for path in (ROOT / "configs").rglob("D_torus.json")}
    compared = {(FIVE, n) for folder in folders for n in replicas_of(folder / "base.json")}
    compared |= {(f"{FIVE},ring_lattice", n)
                 for n in replicas_of(ROOT / "configs/sweeps/dbench.json")}
    assert len(folders) > 8 and len(compared) > 5
    for graphs, n in compared:
        told = json.loads(dbench("graph", "--compare", graphs, "--n", n, "--json").stdout)
        lasting = {round(c["disagreement"]["lasting"], 6) for c in told}
        assert len(lasting) == len(told), (graphs, n)


def test_placements_and_bytes(dbench):
    words = ("graph", "ring", "--n", 24, "--gpus-per-node", 6, "--model-bytes", 1000)
    linear = json.loads(dbench(*words, "--json").stdout)
    assert linear["bytes_sent"] == 2000 and linear["traffic"]["worst_node_bytes"] == 2000
    for placement in ("node_major", "random"):
        worse = json.loads(dbench(*words, "--placement", placement, "--json").stdout)
        assert worse["traffic"]["share"] > linear["traffic"]["share"] and worse["rho"] == linear[
            "rho"]
        assert worse["traffic"]["best"]["share"] <= linear["traffic"]["share"]
    assert "unknown placement 'liner'" in dbench(*words, "--placement", "liner", expect=2).stderr
    assert "best placement found" in dbench(*words).stdout
    aer = json.loads(dbench("graph", "aer", "--n", 24, "--gpus-per-node", 6, "--json").stdout)
    assert aer["traffic"]["share"] < 0.2  # the graph uses the same nodes as the traffic


@pytest.mark.parametrize("kind, drawn",
                         [("--matrix", "one_peer_exponential"), ("--edges", "epidemic")])
def test_several_rounds_at_once(dbench, kind, drawn):
    words = ("graph", drawn, "--n", 6, kind)
    parts = dbench(*words, "--rounds", "2:5").stdout.split("# round ")
    assert parts[0] == "" and [part.split("\n", 1)[0] for part in parts[1:]] == ["2", "3", "4"]
    for part in parts[1:]:
        time, rows = part.split("\n", 1)
        assert rows == dbench(*words, "--round", time).stdout


def test_impossible_rounds_are_refused(dbench):
    words = ("graph", "ring", "--n", 6)
    for wrong in ("3", "3:", "3:3", "-1:2", "1:2:3", "a:b"):
        assert "is not A:B" in dbench(*words, "--edges", f"--rounds={wrong}", expect=2).stderr
    assert "--rounds needs" in dbench(*words, "--rounds", "0:2", expect=2).stderr


@pytest.mark.parametrize("words, option, applies", [
    (("ring", "--round", 1), "--round", "--matrix, --edges and --dot print"),
    (("ring", "--round", 1, "--json"), "--round", "--matrix, --edges and --dot print"),
    (("--compare", "ring,torus", "--round", 1), "--round", "not to --compare"),
    (("--compare", "ring,torus", "--rounds", "0:1"), "--rounds", "not to --compare"),
    (("--compare", "ring,torus", "--edges"), "--edges", "not to --compare"),
    (("ring", "--matrix", "--algorithm", "gut"), "--algorithm", "not to --matrix"),
    (("ring", "--edges", "--gamma", 0.5), "--gamma", "not to --edges"),
    (("ring", "--dot", "--model-bytes", 8), "--model-bytes", "not to --dot"),
    (("ring", "--edges", "--links", "links.txt"), "--links", "not to --edges"),
    (("ring", "--placement", "random"), "--placement", "--gpus-per-node and the cost of --links"),
    (("ring", "--edges", "--gpus-per-node", 2), "--gpus-per-node",
     "not to the edges of ring"),
])
def test_an_option_without_effect_is_refused(dbench, words, option, applies):
    said = dbench("graph", *words, "--n", 8, expect=2).stderr
    assert f"{option} has no effect here: it applies to " in said and applies in said


def test_the_nodes_of_a_graph_are_an_option_of_its_edges(dbench):
    words = ("graph", "aer", "--n", 8, "--edges")
    by_key = dbench(*words, "--gpus_per_node", 4).stdout
    assert dbench(*words, "--gpus-per-node", 4).stdout == by_key != dbench(*words).stdout


def test_dot(dbench):
    text = dbench("graph", "ring", "--n", 5, "--dot").stdout
    assert text.startswith('graph "ring"') and text.count(" -- ") == 5
    text = dbench("graph", "one_peer_exponential", "--n", 5, "--dot", "--round", 1).stdout
    assert text.startswith("digraph") and "0 -> 2" in text and text.count(" -> ") == 5
