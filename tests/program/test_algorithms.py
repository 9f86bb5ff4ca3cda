"""Tests runs of every algorithm in the table; `dbench conform` checks the updates themselves."""

import json
import os
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from results import differences, read
from together import Together, checked

# Cases by name: the algorithm, and the differences from the default spec. Algorithms that are not
# here are tried with their default keys.
NTK = {"model": {"type": "mlp", "hidden": [8]}, "schedule": {"type": "exponential", "decay": 0.1},
       "length": {"iterations": 7}}  # a model without BatchNorm; iterations have several steps
ALGORITHMS = {
    "centralized": {"algorithm": "centralized", "graph": None},
    "dsgd": {"algorithm": "dsgd"},
    "dsgd awc adam": {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"},
                      "optimizer": {"type": "adam", "lr": 0.01}},
    "dsgd cta": {"algorithm": {"type": "dsgd", "order": "combine_then_adapt"}},
    "averaged_momentum": {"algorithm": {"type": "averaged_momentum", "beta": 0.5}},
    "decentlam": {"algorithm": {"type": "decentlam", "beta": 0.5}},
    "qg_dsgdm": {"algorithm": {"type": "qg_dsgdm", "beta": 0.5}},
    "qg_dsgdm nesterov": {"algorithm": {"type": "qg_dsgdm", "beta": 0.5, "nesterov": True}},
    "qg_adam": {"algorithm": "qg_adam",
                "optimizer": {"type": "sgd", "lr": 0.0005, "weight_decay": 0.001}},
    "dadam": {"algorithm": "dadam", "optimizer": {"type": "sgd", "lr": 0.005}},
    "d_amsgrad": {"algorithm": "d_amsgrad", "optimizer": {"type": "sgd", "lr": 0.002}},
    "d2": {"algorithm": "d2", "graph": {"type": "ring", "lazy": 0.5}},
    "d2 relay": {"algorithm": {"type": "d2", "form": "relay"},
                 "graph": {"type": "ring", "lazy": 0.5}},
    "exact_diffusion": {"algorithm": "exact_diffusion"},
    "gradient_tracking": {"algorithm": "gradient_tracking"},
    "gradient_tracking diging": {"algorithm": {"type": "gradient_tracking", "form": "diging"}},
    "gradient_tracking averaged": {"algorithm": {"type": "gradient_tracking",
                                                 "start": "averaged"}},
    "gradient_tracking diging averaged": {"algorithm": {"type": "gradient_tracking",
                                                        "form": "diging", "start": "averaged"}},
    "momentum_tracking": {"algorithm": {"type": "momentum_tracking", "beta": 0.5}},
    "momentum_tracking local": {"algorithm": {"type": "momentum_tracking", "beta": 0.5,
                                              "start": "local"}},
    "gut": {"algorithm": {"type": "gut", "mu": 0.5}},
    "qg_gutm": {"algorithm": {"type": "qg_gutm", "beta": 0.5}},
    "relaysgd": {"algorithm": "relaysgd", "graph": "path"},
    "relaysgd grad": {"algorithm": {"type": "relaysgd", "form": "grad"}, "graph": "tree"},
    "relaysgd trees": {"algorithm": "relaysgd", "graph": "double_binary_tree"},
    "relaysgd start": {"algorithm": {"type": "relaysgd", "missing": "start"}, "graph": "path"},
    "local_sgd": {"algorithm": {"type": "local_sgd", "period": 3}},
    "local_sgd post": {"algorithm": {"type": "local_sgd", "period": 3, "start": {"iterations": 2}}},
    "gossip_pga": {"algorithm": {"type": "gossip_pga", "period": 3}},
    "hierarchical_averaging": {"algorithm": {"type": "hierarchical_averaging", "gpus_per_node": 4,
                                             "outer_period": 3}},
    "slowmo": {"algorithm": {"type": "slowmo", "period": 3}},
    "slowmo qg": {"algorithm": {"type": "slowmo", "period": 3,
                                "base": {"type": "qg_dsgdm", "beta": 0.5}}},
    "consensus_control": {"algorithm": {"type": "consensus_control", "fraction": 0.3}},
    "dsgd_ac": {"algorithm": {"type": "dsgd_ac", "start_epoch": 0}, "schedule": "cosine"},
    "diloco": {"algorithm": {"type": "diloco", "period": 3}},
    "diloco streaming": {"algorithm": {"type": "diloco", "period": 4, "fragments": 2, "delay": 1,
                                       "alpha": 0.5}},
    "diloco nodes": {"algorithm": {"type": "diloco", "period": 3, "gpus_per_node": 4}},
    "noloco": {"algorithm": {"type": "noloco", "period": 3}, "graph": "random_matching"},
    "gasloc": {"algorithm": {"type": "gasloc", "period": 3, "gamma": 0.1}},
    "cocod_sgd": {"algorithm": {"type": "cocod_sgd", "period": 3}},
    "overlap_local_sgd": {"algorithm": {"type": "overlap_local_sgd", "period": 3}},
    "feddkd": {"algorithm": {"type": "feddkd", "period": 3}},
    "feddkd warm": {"algorithm": {"type": "feddkd", "period": 3, "distill_steps": 4,
                                  "distill_lr": 0.1, "temperature": 3}},
    "ntk_dfl": {"algorithm": {"type": "ntk_dfl", "steps": 12, "candidates": 4}, **NTK},
    "ntk_dfl new graphs": {"algorithm": {"type": "ntk_dfl", "steps": 3, "candidates": 1}, **NTK,
                           "graph": {"type": "epidemic", "degree": 3}},
    "sgp": {"algorithm": "sgp", "graph": {"type": "star", "weights": "column"}},
    "sgp awc": {"algorithm": {"type": "sgp", "order": "awc"},
                "graph": {"type": "erdos_renyi", "p": 0.5, "weights": "column"}},
    "osgp": {"algorithm": {"type": "osgp", "tau": 2}, "graph": "one_peer_exponential"},
    "quantized_push_sum": {"algorithm": "quantized_push_sum",
                           "graph": {"type": "star", "weights": "column"},
                           "message": {"type": "qsgd", "bits": 8, "unbiased": True}},
    "choco": {"algorithm": {"type": "choco", "gamma": 0.4},
              "message": {"type": "top_k", "ratio": 0.2}},
    "choco parallel sign": {"algorithm": {"type": "choco", "order": "parallel", "gamma": 0.4},
                            "message": "sign"},
    "choco local adam": {"algorithm": {"type": "choco", "period": 3, "gamma": 0.4},
                         "optimizer": {"type": "adam", "lr": 0.01},
                         "message": {"type": "random_k", "ratio": 0.25}},
    "choco low_rank": {"algorithm": "choco", "message": {"type": "low_rank", "rank": 2}},
    "adagossip": {"algorithm": "adagossip", "message": {"type": "top_k", "ratio": 0.2}},
    "dcd": {"algorithm": "dcd", "message": {"type": "qsgd", "bits": 8, "unbiased": True}},
    "ecd": {"algorithm": "ecd", "message": {"type": "float16", "stochastic": True}},
    "deepsqueeze": {"algorithm": "deepsqueeze", "message": {"type": "qsgd", "bits": 4}},
    "beer": {"algorithm": "beer", "message": {"type": "top_k", "ratio": 0.2}},
    "motef": {"algorithm": "motef", "message": {"type": "top_k", "ratio": 0.2}},
    "moniqua": {"algorithm": "moniqua"},
    "moniqua while": {"algorithm": {"type": "moniqua", "form": "combine_while_adapt"}},
    "moniqua two bits": {"algorithm": {"type": "moniqua", "bits": 2, "theta": 0.5, "gamma": 0.1}},
    "powergossip": {"algorithm": "powergossip"},
}
# These run in virtual time in one process; test_asynchronous.py has further tests of them.
ASYNCHRONOUS = {"ad_psgd": {"algorithm": "ad_psgd", "graph": "random_matching"},
                "swift": {"algorithm": "swift"}}
LIST = Path(__file__).resolve().parents[2] / "src/algorithms/algorithm_list.hpp"
for listed in re.findall(r"ROW\((\w+)\)", LIST.read_text()):
    if listed not in {case.split()[0] for case in ALGORITHMS | ASYNCHRONOUS}:
        ALGORITHMS[listed] = {"algorithm": listed}
CNN = {"model": {"type": "cnn", "width": 4}, "replicas": 6, "graph": "ring", "implementation": None,
       "data": {"type": "shapes", "train": 240, "test": 48, "batch_size": 8},
       "optimizer": {"type": "sgd", "lr": 0.05}, "length": {"iterations": 7},
       "evaluate": {"every": None, "replicas": 2}, "profile": {"after": True}}


def test_every_algorithm_is_tried(dbench):
    listed = json.loads(dbench("list", "algorithms", "--json").stdout)
    names = set(listed["algorithms"] if "algorithms" in listed else listed)
    assert {name.split()[0] for name in ALGORITHMS} | set(ASYNCHRONOUS) == names


IMAGES = {**CNN, "replicas": 4, "length": {"iterations": 25},
          "optimizer": {"type": "sgd", "lr": 0.1},
          "data": {"type": "fashion_mnist", "batch_size": 16,
                   "limit": {"train": 4000, "test": 500}},
          "profile": {"variance": "off"}, "evaluate": {"every": None, "replicas": 2}}
DEFAULTS = [name for name in ALGORITHMS if " " not in name] + list(ASYNCHRONOUS)


@pytest.fixture(scope="module")
def on_images(shared):
    data = os.environ.get("DBENCH_DATA")
    if not data or not os.path.isdir(os.path.join(data, "fashion-mnist")):
        pytest.skip("DBENCH_DATA has no Fashion-MNIST")
    return Together(shared, "images", {name: {**IMAGES, **(ALGORITHMS | ASYNCHRONOUS)[name]}
                                      for name in DEFAULTS},
                    env={"DBENCH_DATA": data})


@pytest.mark.parametrize("name", DEFAULTS)
def test_trains_real_images_better_than_chance(on_images, name):
    run = on_images.result(name)
    # Guessing gives 0.1, with a deviation of 0.013 on 500 images.
    assert read(run, "evaluations/mean_accuracy")[-1] > 0.15


# Rows that a replica sends in each of 7 iterations, with period 3 on a ring of 6.
EACH, DUE = [2] * 7, [0, 0, 2, 0, 0, 2, 0]
GLOBAL = 2 * 5 / 6  # rows of an all-reduce of 6
SENT = {
    "dsgd": EACH, "dsgd cta": EACH, "decentlam": EACH, "qg_dsgdm": EACH, "qg_adam": EACH,
    "d2": EACH, "gut": EACH, "dadam": EACH, "d_amsgrad": [4] * 7,
    "exact_diffusion": EACH, "dsgd_ac": EACH, "averaged_momentum": [4] * 7,
    "gradient_tracking": [2] + [4] * 6, "gradient_tracking diging": [4] * 7,
    "gradient_tracking averaged": [4] * 7,
    "gradient_tracking diging averaged": [6] + [4] * 6,
    "momentum_tracking": [4 + GLOBAL] + [4] * 6, "momentum_tracking local": [4] * 7,
    "relaysgd": [10 / 6] * 7, "relaysgd trees": [10 / 6] * 7,  # half a row along each of 2 trees
    "local_sgd": DUE, "local_sgd post": [2, 2, 2, 0, 0, 2, 0], "diloco": DUE, "gasloc": DUE,
    "cocod_sgd": DUE, "overlap_local_sgd": DUE,
    "noloco": [0, 0, 2, 0, 0, 2, 0],  # two rows are sent to one peer
    "feddkd": [0, 0, 12, 0, 0, 12, 0], "feddkd warm": [0, 0, 10, 0, 0, 10, 0],  # 1 + S averagings
    "gossip_pga": [2, 2, GLOBAL, 2, 2, GLOBAL, 2],
    "slowmo": [0, 0, GLOBAL, 0, 0, GLOBAL, 0], "slowmo qg": [2, 2, GLOBAL, 2, 2, GLOBAL, 2],
    # On nodes of 4 and 2 replicas, 4 replicas send 2 * 3/4 rows and 2 replicas send 2 * 1/2 rows.
    "hierarchical_averaging": [(4 * 1.5 + 2 * 1) / 6] * 2 + [2] + [(4 * 1.5 + 2 * 1) / 6] * 2
    + [2, (4 * 1.5 + 2) / 6],
    "diloco nodes": [(4 * 1.5 + 2 * 1) / 6] * 2 + [2] + [(4 * 1.5 + 2 * 1) / 6] * 2
    + [2, (4 * 1.5 + 2) / 6],
}


@pytest.fixture(scope="module")
def runs(shared):
    """Return runs of all algorithms on a CNN, and of their variants on a model that costs less."""
    less = {"model": {"type": "mlp", "hidden": [8]}}
    return Together(shared, "all", {
        name: {**CNN, **(less if " " in name else {}), **ALGORITHMS[name]} for name in ALGORITHMS})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_same_bits_on_any_number_of_ranks_and_what_is_sent(runs, name):
    alone = runs.result(name)
    assert differences(alone, runs.result(name, ranks=2)) == []
    assert np.all(np.isfinite(read(alone, "iterations/train_loss")))
    if name in SENT:
        sends_as_expected(alone, name)
    if name == "centralized":   # parameters are not averaged, so "after" equals "before"
        for column in ("consensus_distance", "variance"):
            after = read(alone, f"parameters/{column}_after")
            assert after.size > 0 and np.array_equal(after, read(alone, f"parameters/{column}"))


# Bytes of a message about one tensor of `numel` elements, for messages to two neighbours.
def sparse(numel, ratio, element):
    return element * max(1, int(ratio * numel))


MESSAGES = {
    "choco": (lambda m: sparse(m, 0.2, 8), [1] * 7),
    "choco parallel sign": (lambda m: (m + 7) // 8 + 4, [0] + [1] * 6),
    "choco local adam": (lambda m: sparse(m, 0.25, 4), [0, 0, 1, 0, 0, 1, 0]),
    "adagossip": (lambda m: sparse(m, 0.2, 8), [1] * 7),
    "dcd": (lambda m: (9 * m + 7) // 8 + 4, [1] * 7),
    "ecd": (lambda m: 2 * m, [1] * 7),
    "deepsqueeze": (lambda m: (5 * m + 7) // 8 + 4, [1] * 7),
    "beer": (lambda m: sparse(m, 0.2, 8), [1] + [2] * 6),
    "motef": (lambda m: sparse(m, 0.2, 8), [1] + [2] * 6),
    "moniqua": (lambda m: (4 * m + 7) // 8, [1] * 7),
    "moniqua two bits": (lambda m: (2 * m + 7) // 8, [1] * 7),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_what_compressed_messages_occupy(runs, name):
    run = runs.result(name)
    size, counts = MESSAGES[name]
    message = sum(size(int(numel)) for numel in read(run, "tensors/numel"))
    links = 6 * 2 * np.array(counts)
    assert list(read(run, "iterations/bytes_sent")) == list(links * message)
    assert list(read(run, "iterations/messages")) == list(links)


def test_powergossip_sends_a_vector_of_each_matrix_in_turn(dbench):
    run = dbench.run(dbench.spec(CNN, model="softmax_regression", **ALGORITHMS["powergossip"]))
    weights, biases = read(run, "tensors/numel")  # [classes, pixels], [classes]
    p, q = biases + biases, weights // biases + biases
    assert list(read(run, "iterations/messages")) == [0] + [12] * 6
    assert list(read(run, "iterations/bytes_sent")) == [0] + [12 * 4 * p, 12 * 4 * q] * 3


NTK_RUN = {**CNN, **ALGORITHMS["ntk_dfl"], "data": {"type": "shapes", "train": 120, "test": 24,
                                                    "batch_size": 5}, "length": {"iterations": 3}}


def test_ntk_dfl_sends_linearised_models_and_candidates(dbench):
    spec = dbench.spec(NTK_RUN)
    run = dbench.run(spec)
    p, classes = int(read(run, "tensors/numel").sum()), int(read(run, "tensors/numel")[-1])
    block = 4 * 5 * classes * (p + 2)  # J, f and Y of a minibatch
    links = 6 * 2
    assert list(read(run, "iterations/messages")) == [5 * links] * 3
    assert list(read(run, "iterations/rounds")) == [1] * 3
    # Messages hold W x and the weights; J; the candidates and their losses.
    sent = links * (2 * 4 * p + block + 4 * (4 * p + 8))
    assert list(read(run, "iterations/bytes_sent")) == [sent] * 3
    check = json.loads(dbench("check", spec, "--json").stdout)
    assert check["link_message_bytes"] == block and check["bytes_per_step"] == sent
    # Each replica holds its own block and those of two neighbours; on two ranks, also received
    # ones.
    assert check["memory_bytes_per_rank"] > 6 * 3 * block
    two = json.loads(dbench("check", spec, "--json", ranks=2).stdout)
    assert two["memory_bytes_per_rank"] > (3 * 3 + 2) * block
    assert "largest message" in dbench("check", spec).stdout
    plain = json.loads(dbench("check", dbench.spec({**NTK_RUN, "algorithm": "dsgd"}),
                              "--json").stdout)
    assert plain["link_message_bytes"] == 0


def test_a_jacobian_of_an_image_model_is_hundreds_of_megabytes(dbench):
    """A 784-100-10 model and 50 samples need 159 MB; `check` computes this without allocating
    it."""
    data = os.environ.get("DBENCH_DATA")
    if not data or not os.path.isdir(os.path.join(data, "fashion-mnist")):
        pytest.skip("DBENCH_DATA has no Fashion-MNIST")
    spec = {**NTK_RUN, "model": {"type": "mlp", "hidden": [100]},
            "data": {"type": "fashion_mnist", "batch_size": 50}}
    found = json.loads(dbench("check", dbench.spec(spec), "--json",
                              env={"DBENCH_DATA": data}).stdout)
    assert found["link_message_bytes"] == 4 * 50 * 10 * (79510 + 2)


def test_ntk_dfl_with_one_step_on_the_complete_graph_is_centralized(dbench):
    both = {**NTK_RUN, "precision": "float64", "schedule": "constant"}
    step = {"type": "ntk_dfl", "steps": 1, "candidates": 1}
    found = dbench.run(dbench.spec({**both, "algorithm": step, "graph": "complete"}), "ntk.h5")
    expected = dbench.run(dbench.spec({**both, "algorithm": "centralized", "graph": None}), "c.h5")
    for column in ("iterations/train_loss", "evaluations/mean_loss"):
        np.testing.assert_allclose(read(found, column), read(expected, column), rtol=1e-9)


def test_moniqua_reports_too_large_differences(dbench):
    """A bound of 1e-6 is exceeded after the first iteration."""
    told = []
    for ranks in (1, 2):
        spec = dbench.spec(CNN, algorithm={"type": "moniqua", "theta": 1e-6})
        done = dbench("run", spec, "--output", f"{ranks}.h5", ranks=ranks)
        assert "/algorithm/theta" in done.stderr
        kinds = list(read(dbench.folder / f"{ranks}.h5", "events/kind"))
        texts = list(read(dbench.folder / f"{ranks}.h5", "events/text"))
        assert kinds == [b"algorithm"] and b"theta = 1e-06 or more at least" in texts[0]
        told += texts
    assert told[0] == told[1]


def test_push_sum_sends_a_row_and_eight_bytes_over_each_link(runs):
    run = runs.result("sgp")  # 5 links of the star, in both directions
    row = 4 * int(read(run, "tensors/numel").sum())
    assert list(read(run, "iterations/bytes_sent")) == [10 * (row + 8)] * 7


def test_push_sum_accepts_column_stochastic_graphs(dbench):
    """In this star only columns of W sum to 1, so dsgd would be biased towards the hub."""
    graph = {"type": "star", "weights": "column"}
    refused = dbench("run", dbench.spec({**CNN, "algorithm": "dsgd", "graph": graph}), expect=2)
    assert "sgp" in refused.stderr and "doubly stochastic" in refused.stderr
    other = dbench("run", dbench.spec({**CNN, "algorithm": "sgp", "message": "bfloat16"}), expect=2)
    assert "/message" in other.stderr and "quantized_push_sum" in other.stderr


def sends_as_expected(run, name):
    row_bytes = 4 * read(run, "tensors/numel").sum()
    sent = read(run, "iterations/bytes_sent") / (6 * row_bytes)
    np.testing.assert_allclose(sent, SENT[name], rtol=1e-12)
    exchanges = np.array(SENT[name]) > 0
    for column in ("rounds", "degree", "messages"):
        assert np.array_equal(read(run, f"iterations/{column}") > 0, exchanges)
    assert np.array_equal(read(run, "iterations/graph") >= 0, exchanges)
    before, after = read(run, "parameters/consensus_distance"), read(
        run, "parameters/consensus_distance_after")
    assert np.array_equal(after[~exchanges], before[~exchanges])
    # Replicas are equal before the first update; the first one of momentum_tracking is common.
    apart = exchanges & (before > 0)
    assert apart.sum() >= exchanges.sum() - (2 if name == "momentum_tracking" else 1)
    if name not in ("relaysgd", "qg_dsgdm", "cocod_sgd", "overlap_local_sgd"):
        assert np.all(after[apart] < before[apart])


def test_a_sequence_advances_with_every_exchange(dbench):
    """With two rounds and a period of two, using the iteration's round number would only use the
    second round."""
    run = dbench.run(dbench.spec({**CNN, "replicas": 4, "graph": "one_peer_exponential",
                                  "algorithm": {"type": "local_sgd", "period": 2},
                                  "length": {"iterations": 8}}))
    used = read(run, "iterations/graph")
    assert list(used) == [-1, 0, -1, 1, -1, 0, -1, 1]


def test_distillation_finds_the_common_minimiser(dbench):
    """With least squares and different data on each replica, local steps end in local minimisers,
    whose mean is not the common minimiser."""
    least_squares = {**CNN, "model": "least_squares", "graph": "complete", "precision": "float64",
                     "data": {"type": "regression", "dimension": 6, "condition": 4,
                              "batch_size": "full", "partition": "contiguous"},
                     "optimizer": {"type": "sgd", "lr": 0.3},
                     "profile": {"every": {"iterations": 100}}}

    def loss(algorithm, iterations, **changes):
        run = dbench.run(dbench.spec({**least_squares, "length": {"iterations": iterations},
                                      "algorithm": algorithm, **changes}),
                         "out.h5", "--overwrite", ranks=2)
        return read(run, "iterations/train_loss")[-1].mean()
    least = loss("centralized", 601, graph=None)
    taught, averaged = (loss({"type": "feddkd", "period": 300, "distill_steps": steps}, 301)
                        for steps in (300, 0))
    assert taught == pytest.approx(least, rel=1e-9)
    assert averaged > 1.01 * least


def test_clip_norm_bounds_every_replicas_step(dbench):
    changes = {**CNN, "algorithm": "dsgd",
               "optimizer": {"type": "sgd", "lr": 0.1, "clip_norm": 0.2}}
    run = dbench.run(dbench.spec(changes), ranks=2)
    gradient, update = read(run, "parameters/gradient_norm"), read(run, "parameters/update_norm")
    assert np.all(gradient > 0.2)  # the norm is recorded before clipping
    np.testing.assert_allclose(update, 0.1 * 0.2, rtol=1e-5)


REFUSED = {
    "momentum twice": ({"algorithm": "qg_dsgdm", "optimizer": {"type": "sgd", "momentum": 0.9}},
                       "/optimizer/momentum", "/algorithm/beta"),
    "momentum corrected": ({"algorithm": "d2", "optimizer": {"type": "sgd", "momentum": 0.9}},
                           "/optimizer/momentum", "qg_dsgdm"),
    "adam corrected": ({"algorithm": "gradient_tracking", "optimizer": "adam"}, "/optimizer/type",
                       "sgd"),
    "smallest eigenvalue": ({"algorithm": "d2"}, "/graph", "lazy"),
    "directed": ({"algorithm": "exact_diffusion", "graph": "one_way_ring"}, "/graph",
                 "gradient_tracking"),
    "missing updates": ({"algorithm": {"type": "relaysgd", "form": "grad", "missing": "start"},
                         "graph": "path"}, "/algorithm/missing", "model"),
    "different starts": ({"algorithm": {"type": "relaysgd", "missing": "start"}, "graph": "path",
                          "init": "independent"}, "/init", "same"),
    "no tree": ({"algorithm": "relaysgd"}, "/graph", "path"),
    "sequence": ({"algorithm": "consensus_control", "graph": "one_peer_exponential"}, "/graph",
                 "static"),
    "base": ({"algorithm": {"type": "slowmo", "base": "d2"}}, "/algorithm/base", "local_sgd"),
    "unknown base": ({"algorithm": {"type": "slowmo", "base": "dsdg"}}, "/algorithm/base", "dsgd"),
    "unlike anchors": ({"algorithm": "slowmo", "init": "independent"}, "/init", "same"),
    "no multiple": ({"algorithm": {"type": "hierarchical_averaging", "period": 3,
                                   "outer_period": 8}}, "/algorithm/outer_period", "9"),
    "unstable": ({"algorithm": {"type": "qg_gutm", "mu": 0.5}}, "/algorithm/mu", "0.06"),
    "division by 0": ({"algorithm": "qg_dsgdm", "optimizer": {"type": "sgd", "lr": 0}},
                      "/optimizer/lr", "positive"),
    "range": ({"algorithm": {"type": "dsgd_ac", "a_min": 0.5, "a_max": 0.4}}, "/algorithm/a_min",
              "a_max"),
    "not made for it": ({"algorithm": "dsgd", "message": "top_k"}, "/message", "choco"),
    "rounded mean": ({"algorithm": "momentum_tracking", "message": "bfloat16"}, "/message",
                     '"start": "local"'),
    "codec misspelt": ({"algorithm": "choco", "message": "top-k"}, "/message", "top_k"),
    "codec's range": ({"algorithm": "choco", "message": {"type": "top_k", "ratio": 2}},
                      "/message/ratio", "1"),
    "codec and own bits": ({"algorithm": "moniqua", "message": "sign"}, "/message", "choco"),
    "codec and own matrices": ({"algorithm": "powergossip", "message": "bfloat16"}, "/message",
                               "choco"),
    "one bit": ({"algorithm": {"type": "moniqua", "bits": 1}}, "/algorithm/bits", "2"),
    "half a link": ({"algorithm": "powergossip", "graph": "one_way_ring", "allow_biased": True},
                    "/graph", "ring"),
    "no whole turn": ({"algorithm": {"type": "diloco", "period": 9, "fragments": 2}},
                      "/algorithm/fragments", "must divide period"),
    "too late": ({"algorithm": {"type": "diloco", "period": 6, "fragments": 2, "delay": 3}},
                 "/algorithm/delay", "3"),
    "too many fragments": ({"algorithm": {"type": "diloco", "period": 99, "fragments": 99}},
                           "/algorithm/fragments", "tensors"),
    "fragments in nodes": ({"algorithm": {"type": "diloco", "fragments": 2, "gpus_per_node": 2}},
                           "/algorithm/gpus_per_node", "fragments"),
    "no logits": ({"algorithm": {"type": "feddkd", "temperature": 2}, "model": "least_squares",
                   "data": {"type": "regression", "batch_size": 8}},
                  "/algorithm/temperature", "real targets"),
    "statistics of a minibatch": ({"algorithm": "ntk_dfl"}, "/model", "BatchNorm", "mlp"),
    "Jacobians of any size": ({**NTK, "algorithm": "ntk_dfl",
                               "data": {"type": "shapes", "train": 60, "batch_size": "full"}},
                              "/data/batch_size", "50"),
    "Jacobians half a link": ({**NTK, "algorithm": "ntk_dfl", "graph": "one_way_ring",
                               "allow_biased": True}, "/graph", "epidemic"),
    "Jacobians half a link later": ({**NTK, "algorithm": "ntk_dfl", "allow_biased": True, "graph": [
        {"type": "ring", "until": {"iterations": 2}}, "one_way_ring"]}, "/graph", "epidemic"),
    "uneven candidates": ({**NTK, "algorithm": {"type": "ntk_dfl", "steps": 12, "candidates": 5}},
                          "/algorithm/candidates", "4"),
    "nothing to clip": ({**NTK, "algorithm": "ntk_dfl",
                         "optimizer": {"type": "sgd", "clip_norm": 1}}, "/optimizer/clip_norm"),
    "codec of a kernel": ({**NTK, "algorithm": "ntk_dfl", "message": "float16"}, "/message"),
    "unlike starts": ({"algorithm": "dcd", "init": "independent"}, "/init", "same"),
    "misspelt": ({"algorithm": "gradient_traking"}, "/algorithm", "gradient_tracking"),
}


@pytest.fixture(scope="module")
def refusals(shared):
    """Return the refusals of all specs. `check` uses the same setup as `run`."""
    return checked(shared, {case: shared.text({**CNN, **changes})
                            for case, (changes, *_) in REFUSED.items()})


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_key_reason_and_remedy(refusals, case):
    told = refusals[case]
    assert "error" in told
    for word in REFUSED[case][1:]:
        assert word in told["error"], told


def test_the_certificate_names_its_graph(runs):
    for name in ("hierarchical_averaging", "relaysgd"):
        with h5py.File(runs.result(name)) as file:
            graphs = dict(file["graphs"].attrs)
        certified = json.loads(graphs["certificate_of"])
        assert certified["type"] == ALGORITHMS[name].get("graph", CNN["graph"])
        assert json.loads(graphs["certificate"])["type"] == certified["type"]


def test_refused_runs_write_nothing(dbench, refusals):
    message = dbench("run", dbench.spec({**CNN, "algorithm": "d2"}), expect=2).stderr
    assert refusals["smallest eigenvalue"]["error"] in message
    assert not (dbench.folder / "results").exists()


def test_allow_biased_accepts_an_unsuitable_graph(dbench):
    done = dbench("run", dbench.spec({**CNN, "algorithm": "d2", "allow_biased": True}), "--output",
                  "out.h5")
    assert "lambda_n" in done.stderr or "eigenvalue" in done.stderr


def test_conform_prints_deviations_and_fails_on_none(dbench):
    done = dbench("conform", "gradient_tracking", "--quick")
    assert "tracker" in done.stdout and "FAILED" not in done.stdout
    reports = json.loads(dbench("conform", "d2", "--graph", "ring:lazy=0.5", "--n", 6, "--json",
                                ranks=2).stdout)
    assert len(reports) >= 3 and all(report["passed"] for report in reports)
    assert {"reference", "exact", "restart"} <= {check["name"] for check in reports[0]["checks"]}
    assert "directed" in dbench("conform", "d2", "--graph", "one_way_ring").stdout
    assert "gut" in dbench("conform", "gutt", expect=2).stderr
    assert "path" in dbench("conform", "--graph", "pat", expect=2).stderr
