"""Tests of ad_psgd and swift with one rank per replica, where ranks proceed in real time."""

import os
import re
import signal
import time

import numpy as np
import pytest
from results import differences, read
from test_failures import children

# Iterations between evaluations, at which all ranks wait for each other. Between two evaluations a
# rank that the machine delays may send nothing; swift's other ranks then keep their first
# parameters.
TOGETHER = 5
RARELY = {"every": {"iterations": 1000}, "variance": {"every": {"iterations": 1000}}}
RUN = {"implementation": None, "graph": "ring", "replicas": 4, "profile": RARELY,
       "length": {"iterations": 40}, "evaluate": {"every": {"iterations": TOGETHER}},
       "optimizer": {"type": "sgd", "lr": 0.01}}
LONG = {**RUN, "length": {"iterations": 1000000}, "evaluate": {"every": None}}
EACH = {"every": {"iterations": 1}, "variance": {"every": {"iterations": 1}}}
LEAST = {"model": "least_squares", "precision": "float64", "init": "independent",
         "data": {"type": "regression", "batch_size": 8}, "optimizer": {"type": "sgd", "lr": 1e-30}}
SLOW = 1
RUNS = {
    "ad_psgd": {"algorithm": "ad_psgd"},
    "swift": {"algorithm": "swift"},
    "matched": {"algorithm": "ad_psgd", "graph": "random_matching", "model": "mlp",
                "optimizer": {"type": "adam", "lr": 1e-3}},
    # All ranks wait for each other in every iteration, so that the result is deterministic.
    "together": {"algorithm": "swift", "profile": EACH, "length": {"iterations": 8}},
    "elsewhere": {"algorithm": "swift", "profile": EACH, "length": {"iterations": 8},
                  "placement": {"type": "random"}},
    "still": {**LEAST, "algorithm": "ad_psgd", "profile": {**RARELY, "variance": {
        "every": {"iterations": 39}}}},
    "slow ad_psgd": {"algorithm": "ad_psgd", "length": {"iterations": 4},
                     "evaluate": {"every": None}, "delays": [{"replicas": [1], "seconds": SLOW}]},
    "slow swift": {"algorithm": "swift", "length": {"iterations": 4},
                   "evaluate": {"every": None}, "delays": [{"replicas": [1], "seconds": SLOW}]},
}


def start_all(program, ranks):
    """Run all specs in one start of the program."""
    specs = [program.spec({**RUN, **changes}, name=f"{name}.json", output=f"{name}-{ranks}.h5")
             for name, changes in RUNS.items()]
    program("run", *specs, "--quiet", ranks=ranks)
    return {name: str(program.folder / f"{name}-{ranks}.h5") for name in RUNS}


@pytest.fixture(scope="module")
def runs(shared):
    return start_all(shared, 4)


@pytest.mark.parametrize("name", ["ad_psgd", "swift", "matched"])
def test_they_learn_and_record_each_replicas_iterations(runs, name):
    loss, stale, ended, sent = (read(runs[name], f"iterations/{column}") for column in
                                ("train_loss", "staleness", "replica_time", "messages"))
    assert loss.shape == stale.shape == ended.shape == (40, 4)
    mean = read(runs[name], "evaluations/mean_loss")
    assert mean[-1] < 0.97 * mean[0]
    assert np.all(np.diff(ended, axis=0) > 0)
    assert np.all(stale >= 0) and np.all(stale == stale.astype(int))
    row = read(runs[name], "tensors/numel").sum() * 4
    assert np.array_equal(read(runs[name], "iterations/bytes_sent"), sent * row)
    if name == "swift":
        assert np.all(sent <= 8)
        assert np.all(sent[::TOGETHER] == 8) and np.all(sent[TOGETHER - 1::TOGETHER] == 8)
        assert stale.max() < TOGETHER
    else:
        assert stale.sum() <= sent.sum()   # an averaging has two messages and counts for both ranks


def test_synchronised_ranks_give_the_bits_of_virtual_time(shared, runs):
    changes = {**RUN, **RUNS["together"], "algorithm": {"type": "swift", "jitter": 0}}
    twin = shared.run(shared.spec(changes, name="twin.json"), "twin.h5")
    assert differences(twin, runs["together"]) == []
    assert not read(runs["together"], "iterations/staleness").any()
    assert differences(twin, runs["elsewhere"]) == []


def test_rows_before_a_barrier_are_those_of_virtual_time(dbench):
    """A replica that waits at a barrier publishes nothing. So a slow one averages with the row of
    the other's last gradient, over MPI as in virtual time."""
    changes = {**RUN, **LEAST, "replicas": 2,
               "algorithm": {"type": "swift", "jitter": 0, "gradient_seconds": 0.01},
               "graph": "complete", "optimizer": {"type": "sgd", "lr": 0.1},
               "length": {"iterations": 4}, "evaluate": {"every": {"iterations": 2}},
               "delays": [{"replicas": [1], "seconds": SLOW}]}
    real = dbench.run(dbench.spec(changes, name="real.json"), "real.h5", ranks=2)
    virtual = dbench.run(dbench.spec(changes, name="virtual.json"), "virtual.h5")
    for column in ("evaluations/local_loss", "iterations/staleness", "iterations/train_loss"):
        assert np.array_equal(read(real, column), read(virtual, column)), column
    assert read(real, "iterations/staleness").any()


def test_averages_keep_the_mean_and_bring_replicas_together(runs):
    mean = read(runs["still"], "evaluations/mean_loss")
    np.testing.assert_allclose(mean, mean[0], rtol=1e-9)
    apart = read(runs["still"], "parameters/consensus_distance")
    assert apart[1] < 0.1 * apart[0]


@pytest.mark.parametrize("name", ["slow ad_psgd", "slow swift"])
def test_a_slow_rank_delays_no_other(runs, name):
    """Other ranks still average with a slow rank while it is delayed."""
    ended, delay, gradient = (read(runs[name], f"iterations/{column}") for column in
                              ("replica_time", "time_delay", "time_gradient"))
    quick = np.delete(ended, 1, axis=1)
    assert np.all(quick[-1] < ended[2, 1])
    assert np.all(np.diff(ended[:, 1]) > SLOW)
    assert np.all(delay[:, 1] == SLOW) and not np.delete(delay, 1, axis=1).any()
    assert np.all(gradient[:, 1] > SLOW)
    stale = read(runs[name], "iterations/staleness")
    if name == "slow swift":
        assert stale[-1, 0] >= 1 and not stale[:, 1].any()


def wait_until_it_trains(run, path):
    while not path.exists():
        assert run.poll() is None
        time.sleep(0.05)
    time.sleep(1)


def test_a_signal_to_one_rank_stops_all_at_one_iteration(dbench):
    changes = {**LONG, "replicas": 2, "graph": "complete", "algorithm": "ad_psgd",
               "delays": [{"replicas": [0], "seconds": 0.001}]}
    path = dbench.folder / "out.h5"
    run = dbench.start("run", dbench.spec(changes), "--output", path, ranks=2)
    wait_until_it_trains(run, path)
    os.kill(children(run.pid)[1], signal.SIGTERM)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 75, errors
    done = len(read(path, "iterations/iteration"))
    kept = dbench.folder / "out.h5.checkpoints" / str(done) / "manifest.json"
    assert kept.is_file()
    assert np.all(np.diff(read(path, "iterations/replica_time"), axis=0) > 0)
    # The run continues from the checkpoint, with the delays of the spec.
    run = dbench.start("run", dbench.spec(changes), "--output", path, "--resume", ranks=2)
    while "continuing from iteration" not in run.stderr.readline():
        assert run.poll() is None
    time.sleep(1)
    os.kill(run.pid, signal.SIGUSR1)
    run.communicate(timeout=60)
    assert run.returncode == 75
    ended = read(path, "iterations/replica_time")
    assert len(ended) > done and np.all(np.diff(ended, axis=0) > 0)


@pytest.mark.parametrize("name", ["ad_psgd", "swift"])
def test_a_stopped_rank_is_named(dbench, name):
    dbench.environment["DBENCH_TIMEOUT"] = "3"
    path = dbench.folder / "out.h5"
    changes = {**LONG, "algorithm": name, "replicas": 3}
    run = dbench.start("run", dbench.spec(changes), "--output", path, ranks=3)
    wait_until_it_trains(run, path)
    os.kill(children(run.pid)[1], signal.SIGSTOP)
    _, errors = run.communicate(timeout=60)
    assert run.returncode != 0
    assert set(re.findall(r"no answer from (ranks? [\d, ]*\d)", errors)) == {"rank 1"}, errors


def test_a_killed_rank_takes_the_others_with_it(dbench):
    path = dbench.folder / "out.h5"
    changes = {**LONG, "algorithm": "ad_psgd", "replicas": 2}
    run = dbench.start("run", dbench.spec(changes), "--output", path, ranks=2)
    while not path.exists():
        assert run.poll() is None
        time.sleep(0.05)
    os.kill(children(run.pid)[1], signal.SIGKILL)
    _, errors = run.communicate(timeout=20)
    assert run.returncode != 0 and re.search(r"rank 1 .*signal 9", errors), errors

