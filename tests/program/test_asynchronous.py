"""Tests of ad_psgd and swift in virtual time: replicas of one process do not wait for each
other."""

import numpy as np
import pytest
from results import differences, read

RARELY = {"every": {"iterations": 100}, "variance": {"every": {"iterations": 100}}}
RUN = {"model": {"type": "cnn", "width": 4}, "replicas": 6, "graph": "ring", "implementation": None,
       "data": {"type": "shapes", "train": 240, "test": 48, "batch_size": 8},
       "optimizer": {"type": "sgd", "lr": 0.05}, "length": {"iterations": 24}, "profile": RARELY,
       "evaluate": {"every": {"iterations": 12}}}
GRAPHS = {"ad_psgd": "random_matching", "swift": "ring"}
ALGORITHMS = sorted(GRAPHS)


def asynchronous(name, **keys):
    return {"type": name, **keys}


@pytest.fixture(scope="module")
def plain(shared):
    return {name: shared.run(shared.spec({**RUN, "algorithm": name}), f"{name}.h5")
            for name in ALGORITHMS}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_repeated_runs_are_bit_identical(shared, plain, name):
    again = shared.run(shared.spec({**RUN, "algorithm": name}), f"{name}-again.h5")
    assert differences(plain[name], again) == []
    for column in ("staleness", "replica_time"):
        values = read(plain[name], f"iterations/{column}")
        assert values.shape == (24, 6) and np.all(np.isfinite(values))
        assert np.array_equal(values, read(again, f"iterations/{column}"))
    assert np.all(np.isfinite(read(plain[name], "iterations/train_loss")))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_replica_has_its_own_time_until_a_barrier(plain, name):
    time = read(plain[name], "iterations/replica_time")
    took = np.diff(time, axis=0, prepend=0)
    # All replicas begin iteration 12 when the last one has ended iteration 11, at an evaluation.
    took[12] = time[12] - time[11].max()
    assert np.all(took > 0.9 - 1e-9) and np.all(took < 1.1 + 1e-9)
    assert len(np.unique(time[11])) == 6


@pytest.mark.parametrize("name", ALGORITHMS)
def test_equally_fast_replicas_train_as_with_dsgd(dbench, name):
    """If all replicas are equally fast, training equals dsgd, also with barriers and momentum."""
    changes = {**RUN, "graph": GRAPHS[name], "precision": "float64", "init": "independent",
               "optimizer": {"type": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.01}}
    mine = dbench.run(dbench.spec({**changes, "algorithm": asynchronous(name, jitter=0)}), "a.h5")
    order = {"type": "dsgd", "order": "combine_while_adapt"}
    dsgd = dbench.run(dbench.spec({**changes, "algorithm": order}), "b.h5")
    for column in ("iterations/train_loss", "parameters/norm", "parameters/gradient_norm",
                   "parameters/update_norm", "parameters/variance", "evaluations/local_loss",
                   "iterations/epoch"):
        np.testing.assert_allclose(read(mine, column), read(dsgd, column), rtol=1e-9,
                                   err_msg=column)
    for column in ("bytes_sent", "degree", "rounds", "graph"):
        assert np.array_equal(read(mine, f"iterations/{column}"),
                              read(dsgd, f"iterations/{column}")), column
    assert set(read(mine, "iterations/staleness").ravel()) == {1 if name == "ad_psgd" else 0}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_slow_replica_delays_no_other_between_barriers(dbench, name):
    changes = {**RUN, "algorithm": asynchronous(name, jitter=0, gradient_seconds=0.5),
               "evaluate": {"every": None}}
    run = dbench.run(dbench.spec({**changes, "delays": [{"replicas": [2], "seconds": 1}]}))
    time, iterations = read(run, "iterations/replica_time"), np.arange(1, 25)
    for i in range(6):
        np.testing.assert_allclose(time[:, i], iterations * (1.5 if i == 2 else 0.5))
    stale = read(run, "iterations/staleness")
    if name == "swift":   # neighbours have ended iteration 3 t + 2 when replica 2 has ended t
        assert stale[:, 2].max() == 0 and np.all(stale[:, [0, 4, 5]] == 0)
        assert stale[-1, 1] == stale[-1, 3] == 23 - 23 // 3
    else:                 # its iterations take three times as long and see more averagings
        assert stale[:8, 2].mean() > 1.5 * np.delete(stale[:8], 2, axis=1).mean()


def test_ad_psgd_counts_the_bytes_of_its_pairs(plain):
    sent, row = (read(plain["ad_psgd"], f"iterations/{name}") for name in ("messages", "degree"))
    bytes_of_row = 4 * read(plain["ad_psgd"], "tensors/numel").sum()
    assert np.array_equal(read(plain["ad_psgd"], "iterations/bytes_sent"), sent * bytes_of_row)
    assert np.all(sent % 2 == 0) and sent.max() <= 12 and 2 <= sent.mean() <= 10
    assert len(np.unique(sent)) > 1 and np.array_equal(row, sent / 6)
    assert np.array_equal(read(plain["ad_psgd"], "iterations/rounds"), (sent > 0).astype(int))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_profiling_each_iteration_synchronises_and_warns(dbench, name):
    spec = dbench.spec({**RUN, "algorithm": name, "profile": {}, "length": {"iterations": 6}})
    said = dbench("run", spec, "--output", "out.h5").stderr
    assert "/profile/every" in said and "wait for one another" in said
    time = read(dbench.folder / "out.h5", "iterations/replica_time")
    took = time - np.concatenate([[0], time.max(axis=1)[:-1]])[:, None]
    assert np.all(took > 0.9 - 1e-9) and np.all(took < 1.1 + 1e-9)
    assert read(dbench.folder / "out.h5", "parameters/norm").shape[0] == 6


REFUSED = {
    "ranks": ({}, "/algorithm", "start 1 or 6"),
    "list of graphs": ({"graph": [{"type": "ring", "until": {"iterations": 3}}, "complete"]},
                       "/graph", "single graph"),
    "controller": ({"graph": {"type": "consensus_control", "family": "ring_lattice"}}, "/graph",
                   ""),
    "after": ({"profile": {**RARELY, "after": True}}, "/profile/after", "leave it out"),
    "16 bits": ({"message": "bfloat16"}, "/message", "float32"),
    "codec": ({"message": {"type": "top_k", "ratio": 0.5}}, "/message", "float32"),
    "directed": ({"algorithm": "ad_psgd", "graph": "one_way_ring"}, "/graph", "undirected"),
    "sequence": ({"algorithm": "swift", "graph": "random_matching"}, "/graph", "static"),
    "pace": ({"algorithm": asynchronous("swift", gradient_seconds=0)},
             "/algorithm/gradient_seconds", ""),
    "jitter": ({"algorithm": asynchronous("swift", jitter=1.5)}, "/algorithm/jitter", ""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_combinations(dbench, case):
    changes, key, remedy = REFUSED[case]
    ranks = 2 if case == "ranks" else None
    errors = dbench("run", dbench.spec({**RUN, "algorithm": "ad_psgd", **changes}), ranks=ranks,
                    expect=2).stderr
    assert key in errors and remedy in errors
