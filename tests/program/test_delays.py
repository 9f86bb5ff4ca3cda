"""Tests of simulated delays of replicas: they change times and nothing else."""

import json
import re
import signal
import time

import h5py
import numpy as np
import pytest
from results import differences, read
from together import checked

RULES = [{"replicas": [1], "seconds": 0.03},
         {"seconds": 0.01, "distribution": "exponential", "probability": 0.5}]
LOCAL = {"implementation": None, "algorithm": {"type": "local_sgd", "period": 3}, "graph": "ring"}


@pytest.fixture(scope="module")
def plain(shared):
    return shared.run(shared.spec(name="plain.json"), "plain.h5")


@pytest.fixture(scope="module")
def delayed(shared):
    spec = shared.spec(delays=RULES, name="delayed.json")
    return {ranks: shared.run(spec, f"delayed{ranks}.h5", ranks=ranks) for ranks in (1, 2, 4)}


def test_only_times_change(plain, delayed):
    for path in delayed.values():
        assert differences(plain, path) == []
    assert not read(plain, "iterations/time_delay").any()


def test_delays_are_those_of_the_replicas_on_any_ranks(delayed):
    alone = {ranks: read(path, "iterations/time_delay") for ranks, path in delayed.items()}
    assert alone[4].shape == (6, 4)
    assert (alone[4][:, 1] >= 0.03).all() and (alone[4][:, [0, 2, 3]] < alone[4][:, [1]]).any()
    np.testing.assert_allclose(alone[2], alone[4].reshape(6, 2, 2).sum(axis=2), rtol=1e-12)
    np.testing.assert_allclose(alone[1][:, 0], alone[4].sum(axis=1), rtol=1e-12)
    random = np.delete(alone[4], 1, axis=1)
    assert (random == 0).any() and (random > 0).any() and len(np.unique(random)) > 4


def test_delays_are_part_of_the_computation_time(delayed):
    for path in delayed.values():
        delay, gradient = (read(path, f"iterations/time_{part}") for part in ("delay", "gradient"))
        assert (gradient >= delay).all()
        assert (read(path, "iterations/step_time") >= gradient).all()


def test_another_seed_draws_other_delays(shared, delayed):
    spec = shared.spec(delays=RULES, seed={"delay": 2}, name="seed.json")
    other = shared.run(spec, "seed.h5", ranks=4)
    assert differences(delayed[4], other) == []
    assert (read(delayed[4], "iterations/time_delay") != read(other, "iterations/time_delay")).any()


@pytest.mark.parametrize("changes", [LOCAL, {"implementation": "C_complete"}],
                         ids=["local_sgd", "all-reduce"])
def test_other_algorithms(dbench, changes):
    spec = dbench.spec(changes)
    rules = json.dumps(RULES)
    assert differences(dbench.run(spec, "a.h5"),
                       dbench.run(spec, "b.h5", "--set", f"delays={rules}", ranks=2)) == []


def test_a_resumed_run_may_have_other_delays(dbench):
    changes = {"checkpoint": {"every": {"iterations": 2}}, "length": {"iterations": 8}}
    whole = dbench.run(dbench.spec(changes), "whole.h5")
    path = dbench.run(dbench.spec(changes, delays=RULES, name="delayed.json"), "parts.h5", ranks=2)
    with h5py.File(path, "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))
    rules = [{"seconds": 0.125}]
    done = dbench("run", dbench.spec(changes, delays=rules, name="other.json"), "--output", path,
                  "--resume", ranks=2)
    assert "continuing from iteration 6" in done.stderr
    assert differences(whole, path) == []
    delay = read(path, "iterations/time_delay")
    assert (delay[6:] == 0.25).all() and (delay[:6] != 0.25).all()
    assert json.loads(read(path, "spec"))["delays"][0]["seconds"] == 0.125


def test_a_spec_replaces_the_delays_of_its_base(dbench):
    dbench.spec(delays=RULES, name="base.json")
    for name, own in {"none": [], "other": [{"seconds": 1}]}.items():
        path = dbench.folder / f"{name}.json"
        path.write_text(json.dumps({"base": "base.json", "delays": own}))
        spec = json.loads(dbench("check", path, "--json").stdout)["spec"]
        assert [rule["seconds"] for rule in spec["delays"]] == [rule["seconds"] for rule in own]
    path.write_text(json.dumps({"base": "base.json"}))
    spec = json.loads(dbench("check", path, "--json", "--set", "delays/1/probability=0.25",
                             "--set", 'delays/2={"seconds": 3}').stdout)["spec"]
    assert [rule["probability"] for rule in spec["delays"]] == [1, 0.25, 1]


def test_check_reports_the_cost_of_delays(dbench):
    rules = [{"replicas": [0], "seconds": 0.4}, {"seconds": 0.2, "probability": 0.5}]
    spec = dbench.spec(delays=rules, length={"iterations": 500})
    delays = json.loads(dbench("check", spec, "--json").stdout)["delays"]
    assert delays["replica"] == pytest.approx(0.2)
    assert delays["rank"] == pytest.approx(0.8)
    assert delays["slowest"] == pytest.approx(0.8, abs=0.04)   # all replicas are on one rank
    delays = json.loads(dbench("check", spec, "--json", ranks=4).stdout)["delays"]
    assert delays["rank"] == pytest.approx(0.5)
    assert delays["slowest"] == pytest.approx(0.5, abs=0.02)   # always the first rank
    assert re.search(r"^delays +.*0\.2 of a replica, 0\.8 of", dbench("check", spec).stdout, re.M)
    assert json.loads(dbench("check", dbench.spec(), "--json").stdout)["delays"] is None


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_signal_ends_delays(dbench, ranks):
    spec = dbench.spec(delays=[{"seconds": 3600}], length={"iterations": 1000})
    run = dbench.start("run", spec, "--output", "out.h5", ranks=ranks)
    while not (dbench.folder / "out.h5").exists():
        assert run.poll() is None
        time.sleep(0.1)
    time.sleep(1)   # the run now sleeps in an iteration; otherwise it stops before the first one
    run.send_signal(signal.SIGUSR1)
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 75, errors
    delay = read(dbench.folder / "out.h5", "iterations/time_delay")
    assert len(delay) < 1000 and (delay == 3600 * 4 / ranks).all()
    assert (read(dbench.folder / "out.h5", "iterations/time_backward") >= 0).all()
    assert (read(dbench.folder / "out.h5", "iterations/time_forward") < 100).all()


BAD = [
    ([{"replicas": [4], "seconds": 1}], "/delays/0/replicas: there is no replica 4"),
    ([{"seconds": 1}, {"seconds": -1}], "/delays/1/seconds: -1"),
    ([{"replicas": [0]}], "/delays/0/seconds: is missing"),
    ([{"seconds": 1, "probability": 2}], "/delays/0/probability: 2"),
    ([{"seconds": 1, "second": 2}], "/delays/0/second: unknown key; did you mean 'seconds'?"),
    ({"seconds": 1}, "/delays: must be a list"),
]


def test_bad_delays_are_refused(dbench):
    told = checked(dbench, {key: dbench.text(delays=rules) for rules, key in BAD})
    for _, key in BAD:
        assert key in told[key]["error"]

