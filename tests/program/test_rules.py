"""Tests of the numerical rules in docs/numerics.md."""

import numpy as np
import pytest
from results import differences, read
from together import Together

CNN = {"model": {"type": "cnn", "width": 4}, "replicas": 8,
       "data": {"type": "shapes", "train": 320, "test": 48, "batch_size": 8, "augment": True},
       "optimizer": {"type": "sgd", "lr": 0.05, "momentum": 0.9}, "length": {"iterations": 4},
       "profile": {"after": True}}
METHODS = {
    "C_complete": {"implementation": "C_complete"},
    "D_complete": {"implementation": "D_complete"},
    "D_exponential": {"implementation": "D_exponential"},
    "AWC ring": {"implementation": None, "graph": "ring",
                 "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}},
    "CTA random": {"implementation": None, "graph": "erdos_renyi",
                   "algorithm": {"type": "dsgd", "order": "combine_then_adapt"}},
    "dirichlet": {"data": {**CNN["data"], "partition": {"type": "dirichlet", "alpha": 0.3}}},
    "by_label": {"data": {**CNN["data"],
                          "partition": {"type": "by_label", "labels_per_replica": 3}}},
    "bfloat16": {"compute": "bfloat16"},
    "one-peer": {"implementation": None, "graph": "one_peer_exponential", "algorithm": "dsgd"},
}


# Seven updates complete two windows and begin a third.
for order in ("adapt_then_combine", "combine_while_adapt", "combine_then_adapt"):
    METHODS[f"accum_adam {order}"] = {
        "implementation": None, "graph": "ring", "algorithm": {"type": "dsgd", "order": order},
        "optimizer": {"type": "accum_adam", "lr": 0.01, "window": 3, "weight_decay": 0.01},
        "length": {"iterations": 7}}


@pytest.fixture(scope="module")
def runs(shared):
    return Together(shared, "all", {name: {**CNN, **METHODS[name]} for name in METHODS})


@pytest.mark.parametrize("method", METHODS)
def test_the_same_bits_on_any_number_of_ranks(runs, method):
    """The number of ranks does not change results; three ranks hold different numbers of
    replicas."""
    for ranks in (2, 3, 4):
        assert differences(runs.result(method), runs.result(method, ranks=ranks)) == []


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_accum_adam_with_window_1_is_adam_to_the_bit(dbench, kind):
    options = {"lr": 0.01, "weight_decay": 0.01}
    adam = dbench.run(dbench.spec(CNN, optimizer={"type": kind, **options}), "adam.h5")
    for window, same in ((1, True), (2, False)):
        spec = dbench.spec(CNN, optimizer={"type": "accum_" + kind, "window": window, **options})
        assert (differences(adam, dbench.run(spec, f"{window}.h5")) == []) == same


def test_accum_adam_finds_the_minimum(dbench):
    run = dbench.run(dbench.spec(model="least_squares", length={"epochs": 20},
                                 data={"type": "regression", "heterogeneity": 0, "batch_size": 8},
                                 optimizer={"type": "accum_adam", "lr": 0.05, "window": 4}))
    loss = read(run, "evaluations/mean_loss")
    assert loss[-1] < 0.1 * loss[0]


def test_the_same_bits_run_to_run_and_other_bits_from_another_seed(dbench):
    spec = dbench.spec(CNN)
    first = dbench.run(spec, "a.h5")
    assert differences(first, dbench.run(spec, "b.h5")) == []
    dbench("run", spec, "--output", "c.h5", "--quiet", "--set", "/seed=2")
    assert "iterations/train_loss" in differences(first, str(dbench.folder / "c.h5"))


def test_d_complete_is_c_complete_to_rounding(dbench):
    changes = {"precision": "float64", "length": {"iterations": 20}}
    c = dbench.run(dbench.spec(changes, implementation="C_complete"), "c.h5")
    d = dbench.run(dbench.spec(changes, implementation="D_complete"), "d.h5")
    for name in ("iterations/train_loss", "evaluations/mean_loss", "evaluations/local_loss"):
        np.testing.assert_allclose(read(c, name), read(d, name), rtol=1e-11)
    # C_complete's replicas are bit-identical, so their variance is exactly 0; D_complete's replicas
    # differ before averaging.
    assert np.all(read(c, "parameters/variance") == 0) and np.all(read(c, "parameters/gini") == 0)
    assert np.all(read(d, "parameters/variance") > 0)


def test_one_replica_is_the_plain_optimizer(dbench):
    optimizer = {"type": "adam", "lr": 0.01}
    runs = [dbench.run(dbench.spec(replicas=1, implementation=name, optimizer=optimizer),
                       f"{name}.h5")
            for name in ("C_complete", "D_complete", "D_ring", "D_torus", "D_exponential")]
    for run in runs:
        assert np.array_equal(read(run, "iterations/train_loss"),
                              read(runs[0], "iterations/train_loss"))
        assert np.array_equal(read(run, "evaluations/mean_loss"),
                              read(run, "evaluations/local_loss")[:, 0])
        for name in ("bytes_sent", "messages", "rounds"):
            assert np.all(read(run, f"iterations/{name}") == 0)


def test_complete_graph_averages_exactly_in_one_round(dbench):
    run = dbench.run(dbench.spec(implementation="D_complete", init="independent", replicas=6,
                                 length={"iterations": 2},
                                 optimizer={"type": "sgd", "lr": 0}, profile={"after": True}),
                     ranks=2)
    assert np.all(read(run, "parameters/variance")[0] > 0)
    assert np.all(read(run, "parameters/variance")[1] == 0)
    assert np.all(read(run, "parameters/variance_after")[0] == 0)


def test_identical_replicas_have_no_variance(dbench):
    """Replicas that do not train (learning rate 0) remain identical and have no variance."""
    run = dbench.run(dbench.spec(optimizer={"type": "sgd", "lr": 0}, replicas=7), ranks=3)
    assert np.all(read(run, "parameters/variance") == 0)
    assert np.all(read(run, "parameters/coefficient_of_variation") == 0)


def test_profiling_changes_no_result(dbench):
    full = dbench.run(dbench.spec(CNN), "full.h5")
    bare = dbench.run(dbench.spec(CNN, profile={"norms": False, "variance": {"kind": "off"}},
                                  evaluate={"every": None},
                                  name="bare.json"), "bare.h5")
    assert np.array_equal(read(full, "iterations/train_loss"), read(bare, "iterations/train_loss"))
    assert read(full, "evaluations/mean_loss")[-1] == read(bare, "evaluations/mean_loss")[-1]


def test_non_finite_losses_are_recorded_and_reported_once(dbench):
    diverging = {"optimizer": {"type": "sgd", "lr": 1e38}, "replicas": 2,
                 "length": {"iterations": 8}}
    done = dbench("run", dbench.spec(diverging), "--output", "nan.h5", ranks=2)
    assert np.isnan(read(str(dbench.folder / "nan.h5"), "iterations/train_loss")[-1]).all()
    for replica in (0, 1):
        assert done.stderr.count(f"replica {replica}: the training loss is not finite") == 1
    stopped = dbench("run", dbench.spec(diverging, nonfinite="stop"), "--output", "stop.h5",
                     ranks=2, expect=1)
    assert "not finite" in stopped.stderr
    recorded = read(str(dbench.folder / "stop.h5"), "iterations/train_loss")
    assert not np.isfinite(recorded[-1]).all() and np.isfinite(recorded[:-1]).all()
