"""Tests that a resumed run equals an uninterrupted one in every recorded number except times."""

import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np
import pytest
from conftest import ROOT
from results import differences, read
from together import Together

CNN = {"model": {"type": "cnn", "width": 4}, "replicas": 6, "graph": "ring", "implementation": None,
       "algorithm": "dsgd",
       "data": {"type": "shapes", "train": 240, "test": 48, "batch_size": 8, "augment": True},
       "optimizer": {"type": "sgd", "lr": 0.02}, "length": {"iterations": 100},
       "profile": {"every": {"iterations": 3}},
       "evaluate": {"every": {"iterations": 50}}, "checkpoint": {"every": {"iterations": 10}}}
# STOPPED has few iterations of a small model, unless a state depends on the CNN. With SLOWED, a
# part of a run sleeps in each iteration, so that a signal arrives before the end.
SLOWED = ("--set", '/delays=[{"replicas": [0], "seconds": 0.02}]')
ON_CNN = {"model": CNN["model"]}
STOPPED = {**CNN, "model": {"type": "mlp", "hidden": [8]}, "length": {"iterations": 60},
           "evaluate": {"every": {"iterations": 30}}, "checkpoint": {"every": {"iterations": 6}}}
STATES = {  # every kind of state that a checkpoint holds
    "momentum, random sequence": {**ON_CNN, "optimizer": {"type": "sgd", "lr": 0.02,
                                                          "momentum": 0.9},
                                  "graph": "random_matching"},
    "momentum tracking": {"algorithm": "momentum_tracking", "graph": "ring"},
    "tracking, one-peer": {"algorithm": "gradient_tracking", "graph": "one_peer_exponential"},
    "outer steps, adam": {"algorithm": {"type": "diloco", "period": 7},
                          "optimizer": {"type": "adam", "lr": 0.002}},
    "measured graph": {**ON_CNN, "graph": {"type": "ada_variance", "k_max": 4,
                                           "every": {"iterations": 11}}},
    "relays": {"algorithm": "relaysgd", "graph": "path"},
    "running maximum": {"algorithm": {"type": "consensus_control", "fraction": 0.4}},
    "averaging under way": {"algorithm": {"type": "overlap_local_sgd", "period": 7}},
    "fragments under way": {"algorithm": {"type": "diloco", "period": 14, "fragments": 2,
                                          "delay": 5, "alpha": 0.5}},
    "batches once more": {"algorithm": {"type": "feddkd", "period": 7}},
    "push-sum, sums in flight": {"algorithm": {"type": "osgp", "tau": 3},
                                 "graph": {"type": "star", "weights": "column"}},
    "public copies, keyed noise": {"algorithm": "beer", "message": {"type": "qsgd", "bits": 4}},
    "linearised anew": {"algorithm": {"type": "ntk_dfl", "steps": 4, "candidates": 2},
                        "model": {"type": "mlp", "hidden": [2]}, "length": {"iterations": 48},
                        "data": {"type": "shapes", "train": 120, "test": 24, "batch_size": 2},
                        "graph": {"type": "epidemic", "degree": 2}},
    "vectors of links": {"algorithm": "powergossip"},
    "a count that is told at the end": {**ON_CNN, "algorithm": {"type": "moniqua", "theta": 0.01}},
    "virtual time": {**ON_CNN, "algorithm": "ad_psgd", "graph": "random_matching",
                     "optimizer": {"type": "adam", "lr": 0.002},
                     "profile": {"every": {"iterations": 16}, "variance": "off"}},
    "texts that go on, dropout": {
        "model": {"type": "lstm", "hidden": 12, "layers": 2, "dropout": 0.3},
        "data": {"type": "text", "path": str(ROOT / "README.md"), "sequence": 8, "batch_size": 2,
                 "partition": "stream", "limit": {"train": 200, "test": 16}},
        "optimizer": {"type": "sgd", "lr": 0.5, "clip_norm": 1}},
    "pairs of sentences by tokens": {
        "model": {"type": "transformer", "width": 8, "heads": 2, "layers": 1, "hidden": 8,
                  "dropout": 0.3},
        "data": {"type": "pairs", "source": str(ROOT / "README.md"), "vocabulary": 400,
                 "target": str(ROOT / "README.md"), "batch_size": {"tokens": 150},
                 "accumulate": 2, "limit": {"train": None, "test": 4}},
        "label_smoothing": 0.1, "optimizer": {"type": "adam", "lr": 0.002}},
    "batch norm": {"model": "resnet20", "replicas": 2, "length": {"iterations": 16},
                   "checkpoint": {"every": {"iterations": 2}}},
    "batch norm, dropout, top-5, in bfloat16": {
        "compute": "bfloat16",
        "model": {"type": "densenet", "depth": 10, "growth": 4, "dropout": 0.2}, "replicas": 3,
        "evaluate": {"every": {"iterations": 10}, "metrics": ["top5"]},
        "length": {"iterations": 24}, "checkpoint": {"every": {"iterations": 3}}},
}


def folder(path):
    return f"{path}.checkpoints"


def generations(path):
    return (sorted(int(n) for n in os.listdir(folder(path)) if n.isdigit())
            if os.path.isdir(folder(path)) else [])


def interrupt(dbench, spec, path, number, ranks=None, seconds=0.0, resume=False, slowed=SLOWED):
    """Start or resume a run, wait for a new checkpoint and `seconds` more, and send the signal.
    Return the exit status and stderr."""
    before = generations(path)
    run = dbench.start("run", spec, "--output", path, "--quiet", *slowed,
                       *(["--resume"] if resume else []), ranks=ranks)
    end = time.monotonic() + 90
    while generations(path) == before and run.poll() is None:
        assert time.monotonic() < end, "no checkpoint"
        time.sleep(0.01)
    time.sleep(seconds)
    run.send_signal(number)
    _, errors = run.communicate(timeout=90)
    if run.returncode == 75:
        assert "could not be agreed on" not in errors, errors
    return run.returncode, errors


# How often a run is stopped, and the seed of the moments. Set the variables for longer tests.
STOPS = int(os.environ.get("DBENCH_TEST_STOPS", "2"))
SEED = int(os.environ.get("DBENCH_TEST_SEED", "0"))


@pytest.fixture(scope="module")
def wholes(shared):
    return Together(shared, "whole", {state: {**STOPPED, **STATES[state]} for state in STATES})


def stopped(dbench, state, spec, path):
    """Start a run and stop it repeatedly. Return the reasons of its ends in order."""
    generator = np.random.default_rng([len(state), SEED])
    asked = [signal.SIGUSR1, signal.SIGTERM][generator.integers(2)]
    stops = [asked, signal.SIGKILL] + list(
        generator.choice([signal.SIGUSR1, signal.SIGTERM, signal.SIGKILL], STOPS - 2))
    reasons = []
    for number in stops:
        status, errors = interrupt(dbench, spec, path, number, resume=bool(reasons),
                                   slowed=() if on_one_rank(state) else SLOWED,
                                   seconds=generator.uniform(0, 0.1))  # about one more checkpoint
        if status == 0:   # the run completed before the signal arrived
            break
        reasons.append(b"killed" if number == signal.SIGKILL else b"preempted")
        assert status == (-signal.SIGKILL if number == signal.SIGKILL else 75), errors
        if status == 75:
            assert "--resume" in errors, errors
            with h5py.File(path) as file:
                assert file.attrs["status"] == b"preempted" and signal.Signals(
                    number).name.encode() in file.attrs["error"]
                assert len(file["iterations/iteration"]) == generations(path)[-1]
    assert len(reasons) >= 2
    return reasons


def on_one_rank(state):
    return state == "virtual time"   # on several ranks these algorithms run in real time


class Parts:
    """Runs, one for every kind of state, that are stopped repeatedly and then resumed to their
    end."""

    def __init__(self, dbench):
        self.dbench, self.reasons = dbench, {}
        self.runs = {alone: Together(
            dbench, f"parts-{alone}", {state: {**STOPPED, **STATES[state]}
                                       for state in STATES if on_one_rank(state) == alone},
            begun=self.begin, at_once=4) for alone in (False, True)}

    def begin(self, state, spec, path):
        try:
            self.reasons[state] = stopped(self.dbench, state, spec, path)
        except AssertionError as error:
            self.reasons[state] = error

    def result(self, state):
        """Return the result file, and the reason why each part except the last ended."""
        alone = on_one_rank(state)
        path = self.runs[alone].result(state, ranks=None if alone else 2)
        if isinstance(self.reasons[state], AssertionError):
            raise self.reasons[state]
        return path, self.reasons[state]


@pytest.fixture(scope="module")
def parts(shared):
    return Parts(shared)


@pytest.mark.parametrize("state", STATES)
def test_resumed_runs_are_bit_identical(wholes, parts, state):
    """A run that is stopped on one rank and resumed on two gives the same bits."""
    (path, reasons), whole = parts.result(state), wholes.result(state)
    assert differences(whole, path) == []
    with h5py.File(path) as file, h5py.File(whole) as reference:
        segments = {name: list(file["segments"][name][()]) for name in file["segments"]}
        told = [[e["text"][k] for k in range(len(e["kind"]))
                 if e["kind"][k] in (b"graph", b"algorithm")]
                for e in (file["events"], reference["events"])]
    assert segments["reason"] == reasons + [b"complete"]
    assert segments["first_iteration"][1:] == [last + 1 for last in segments["last_iteration"][:-1]]
    assert told[0] == told[1]


def test_resume_with_other_ranks(dbench):
    spec = dbench.spec({**CNN, "algorithm": "qg_dsgdm", "length": {"iterations": 80}})
    whole = dbench.run(spec, "whole.h5", ranks=2)
    path = str(dbench.folder / "parts.h5")
    # mpirun forwards SIGUSR1; after SIGTERM it kills the ranks itself.
    assert interrupt(dbench, spec, path, signal.SIGUSR1, ranks=2)[0] == 75
    assert interrupt(dbench, spec, path, signal.SIGUSR1, ranks=4, resume=True)[0] == 75
    dbench("run", spec, "--output", path, "--quiet", "--resume", ranks=1)
    assert differences(whole, path) == []
    times = read(path, "iterations/step_time")
    assert times.shape == (80, 4)
    assert np.isfinite(times[:, 0]).all() and np.isnan(times[0, 2:]).all() and np.isnan(
        times[-1, 1:]).all()


def test_two_generations_are_kept_and_a_damaged_one_is_passed_over(dbench):
    spec = dbench.spec({**CNN, "length": {"iterations": 45}})
    whole = dbench.run(spec, "whole.h5")
    assert generations(whole) == [30, 40]
    specs, paths = [], []
    for name, damage in {"bits": lambda p: flip(p),
                         "cut": lambda p: os.truncate(p, os.path.getsize(p) // 2),
                         "gone": os.remove}.items():
        for part in ("part-0.bin", "manifest.json"):
            specs.append(dbench.spec({**CNN, "length": {"iterations": 45},
                                      "name": f"{name}-{part}"}, f"{name}-{part}.json"))
            paths.append(unfinished(whole, str(dbench.folder / f"{name}-{part}.h5")))
            damage(os.path.join(folder(paths[-1]), "40", part))
    done = dbench("run", *specs, "--output", dbench.folder, "--resume")
    for said in ("is skipped", "continuing from iteration 30"):
        assert done.stderr.count(said) == len(specs), done.stderr
    for path in paths:
        assert differences(whole, path) == []


def test_damaged_generations_neither_cost_a_result_nor_outlive_whole_ones(dbench):
    spec = dbench.spec({**CNN, "length": {"iterations": 45},
                        "checkpoint": {"every": {"iterations": 10}, "keep": 1}})
    path = dbench.run(spec, "a.h5")
    with h5py.File(path, "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))
    before = open(path, "rb").read()
    os.remove(os.path.join(folder(path), "40", "part-0.bin"))
    refused = dbench("run", spec, "--output", path, "--resume", expect=2).stderr
    assert "complete and intact" in refused
    assert open(path, "rb").read() == before and generations(path) == [40]
    other = dbench.run(spec, "b.h5")
    with h5py.File(other, "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))
    os.makedirs(os.path.join(folder(other), "44"))  # a later, empty generation
    dbench("run", spec, "--output", other, "--resume", "--set", "/checkpoint/every/iterations=21")
    assert generations(other) == [42]


def test_a_generation_that_a_kill_left_under_its_second_name_is_used(dbench):
    spec = dbench.spec({**CNN, "length": {"iterations": 45},
                        "checkpoint": {"every": {"iterations": 10}, "keep": 1}})
    whole = dbench.run(spec, "whole.h5")
    path = unfinished(whole, str(dbench.folder / "killed.h5"))
    os.rename(os.path.join(folder(path), "40"), os.path.join(folder(path), "40.replaced"))
    done = dbench("run", spec, "--output", path, "--resume")
    assert "continuing from iteration 40" in done.stderr, done.stderr
    assert differences(whole, path) == []


def test_a_kill_while_the_outcome_is_written_does_not_prevent_a_resumption(dbench):
    spec = dbench.spec({**CNN, "length": {"iterations": 25}})
    whole = dbench.run(spec, "whole.h5")
    path = unfinished(whole, str(dbench.folder / "killed.h5"))
    subprocess.run([sys.executable, "-c", "import h5py, os, sys; file = h5py.File(sys.argv[1], "
                    "'r+'); file.flush(); os.kill(os.getpid(), 9)", path], check=False)
    with pytest.raises(OSError), h5py.File(path):
        pass   # it is marked as being written
    dbench("run", spec, "--output", path, "--resume")
    assert differences(whole, path) == []


class Watched:
    """Records what happens to the names in a folder: a list of ("removed" or "renamed", name)."""

    DELETE, MOVED_FROM = 0x200, 0x40

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.file = libc.inotify_init1(os.O_CLOEXEC)
        assert self.file >= 0
        assert libc.inotify_add_watch(self.file, os.fsencode(path),
                                      self.DELETE | self.MOVED_FROM) >= 0

    def events(self):
        data, found, at = os.read(self.file, 1 << 20), [], 0
        while at < len(data):
            _, mask, _, length = struct.unpack_from("iIII", data, at)
            name = data[at + 16:at + 16 + length].rstrip(b"\0").decode()
            found.append(("removed" if mask & self.DELETE else "renamed", name))
            at += 16 + length
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.file)


def test_a_generation_is_not_removed_before_its_replacement_is_there(dbench):
    spec = dbench.spec({**CNN, "length": {"iterations": 45}})
    whole = dbench.run(spec, "whole.h5")
    path = unfinished(whole, str(dbench.folder / "again.h5"))
    flip(os.path.join(folder(path), "40", "part-0.bin"))  # so that iteration 40 is written again
    with Watched(folder(path)) as watched:
        dbench("run", spec, "--output", path, "--resume")
        events = [event for event in watched.events() if event[1].startswith("40")]
    assert events == [("renamed", "40"), ("renamed", "40.partial"), ("removed", "40.replaced")]
    assert generations(path) == [30, 40] and differences(whole, path) == []


def unfinished(whole, path):
    """Copy a result and its checkpoints, and mark the copy as a run that failed at the end."""
    shutil.copy(whole, path)
    shutil.copytree(folder(whole), folder(path))
    with h5py.File(path, "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))
    return path


def flip(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) * 3 // 4)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 8]))


def test_what_resume_refuses(dbench):
    spec = dbench.spec({**CNN, "length": {"iterations": 25}})
    path = dbench.run(spec, "a.h5")
    assert "already complete" in dbench("run", spec, "--output", path, "--resume").stderr
    with h5py.File(path, "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))
    before = open(path, "rb").read()
    changed = dbench("run", spec, "--output", path, "--resume", "--set", "/optimizer/lr=0.5",
                     expect=2).stderr
    assert "/optimizer/lr" in changed and "--overwrite" in changed
    fewer = dbench("run", spec, "--output", path, "--resume", "--set", "/replicas=5",
                   expect=2).stderr
    assert "6 replicas" in fewer
    assert open(path, "rb").read() == before
    os.remove(path)
    assert "is missing" in dbench("run", spec, "--output", path, "--resume", expect=2).stderr
    dbench("run", spec, "--output", "new.h5", "--resume")  # no checkpoint: starts from iteration 0
    assert differences(str(dbench.folder / "new.h5"), dbench.run(spec, "b.h5")) == []
    dbench("run", spec, "--output", path, "--overwrite", "--resume", expect=2)


ELASTIC = {"replicas": 4, "model": "mlp", "implementation": None, "algorithm": "dsgd",
           "graph": "ring",
           "data": {"type": "shapes", "train": 256, "test": 64, "batch_size": {"global": 32}},
           "length": {"iterations": 30}, "evaluate": {"every": {"iterations": 10}},
           "checkpoint": {"every": {"iterations": 10}}}


OF_24 = {"data": {**ELASTIC["data"], "batch_size": {"global": 24}}}
LAZY = {"graph": {"type": "ring", "lazy": 0.5}, **OF_24}
ALIKE = [(8, "clone"), (6, "clone"), (2, "merge"), (3, "merge")]
UNLIKE = [(8, "clone"), (2, "merge")]
CORRECTIONS = {
    "tracking": {"algorithm": "gradient_tracking", **OF_24},
    "diffusion": {"algorithm": "exact_diffusion", **OF_24},
    "d2": {"algorithm": "d2", **LAZY},
    "d2 relay": {"algorithm": {"type": "d2", "form": "relay"}, **LAZY}}
BEFORE = {
    "alike": {"algorithm": "centralized", "graph": None, **OF_24,
              "optimizer": {"type": "adam", "lr": 0.002}},
    "unlike": {"init": "independent", "optimizer": {"type": "sgd", "lr": 1e-30},
               "precision": "float64"},
    "a batch each": {"data": {**ELASTIC["data"], "batch_size": 8}},
    "relays": {"algorithm": "relaysgd", "graph": "path"},
    "vectors": {"algorithm": "powergossip"},
    **CORRECTIONS}
TAKEN = [*(("alike", *case) for case in ALIKE), *(("unlike", *case) for case in UNLIKE),
         *((name, *case) for name in CORRECTIONS for case in UNLIKE)]


class Elastic:
    """Runs of ELASTIC with 4 replicas, and their continuations with other numbers of replicas from
    iteration 20."""

    def __init__(self, dbench):
        self.wholes = Together(dbench, "before", {name: {**ELASTIC, **changes}
                                                  for name, changes in BEFORE.items()})
        self.taken = Together(dbench, "taken", {
            (name, replicas, policy): {
                **ELASTIC, **BEFORE[name], "replicas": replicas,
                "checkpoint": {**ELASTIC["checkpoint"], "replicas": policy}}
            for name, replicas, policy in TAKEN},
            begun=lambda case, spec, path: unfinished(self.wholes.result(case[0]), path))

    def result(self, *case):
        return self.taken.result(case, ranks=2)

    def refused(self, dbench, name, replicas, policy):
        """Return the message that refuses to continue a run with other replicas."""
        path = unfinished(self.wholes.result(name),
                          os.path.join(tempfile.mkdtemp(dir=dbench.folder), "parts.h5"))
        return dbench("run", self.wholes.specs[name], "--output", path, "--resume", "--set",
                      f"/replicas={replicas}", "--set", f"/checkpoint/replicas={policy}",
                      expect=2).stderr


@pytest.fixture(scope="module")
def elastic(shared):
    return Elastic(shared)


@pytest.mark.parametrize("replicas, policy", ALIKE)
def test_resume_with_other_replicas(elastic, replicas, policy):
    """If replicas are equal and average gradients, their number does not change training, up to
    rounding."""
    whole, path = elastic.wholes.result("alike"), elastic.result("alike", replicas, policy)
    for name in ("evaluations/mean_loss", "iterations/epoch", "iterations/lr",
                 "iterations/iteration"):
        assert np.allclose(read(path, name), read(whole, name), rtol=1e-4), name
    losses = read(path, "iterations/train_loss")
    assert losses.shape == (30, replicas) and np.isnan(losses[:20]).all()
    assert np.allclose(losses[20:].mean(axis=1),
                       read(whole, "iterations/train_loss")[20:].mean(axis=1), rtol=1e-3)
    assert np.array_equal(read(path + ".until-20.h5", "iterations/train_loss")[:20],
                          read(whole, "iterations/train_loss")[:20])
    assert b"4 became %d by %s" % (replicas, policy.encode()) in list(read(path, "events/text"))


def test_a_repeated_change_of_replicas_keeps_the_first_copy(dbench, elastic):
    """The first start with 8 replicas ends without a checkpoint, and is repeated."""
    whole = elastic.wholes.result("alike")
    path = unfinished(whole, str(dbench.folder / "twice.h5"))
    other = dbench.folder / "twice.h5.until-20.h5"
    other.write_text("of another run")
    spec = dbench.spec({**ELASTIC, **BEFORE["alike"], "replicas": 8,
                        "checkpoint": {**ELASTIC["checkpoint"], "replicas": "clone"}})
    for _ in range(2):
        dbench("run", spec, "--output", path, "--resume")
        with h5py.File(path, "r+") as file:
            file.attrs.modify("status", np.bytes_(b"failed"))
    assert other.read_text() == "of another run"
    assert np.array_equal(read(path + ".until-20-2.h5", "iterations/train_loss")[:20],
                          read(whole, "iterations/train_loss")[:20])
    assert not os.path.exists(path + ".until-20-3.h5")
    assert list(read(path, "events/kind")).count(b"replicas") == 1


@pytest.mark.parametrize("replicas, policy", UNLIKE)
def test_other_replicas_keep_the_mean(elastic, replicas, policy):
    """If different replicas mix on a ring and learn nothing, the mean model does not change."""
    path = elastic.result("unlike", replicas, policy)
    losses = read(path, "evaluations/mean_loss")
    assert np.allclose(losses, losses[0], rtol=1e-9, atol=0)
    distance = read(path, "parameters/consensus_distance")
    with h5py.File(path + ".until-20.h5") as file:
        before = file["parameters/consensus_distance"][20]
    if policy == "clone":   # copies are as far from the mean as their originals
        assert np.isclose(distance[20], before, rtol=1e-9)
    else:                   # means of neighbours are nearer to the mean
        assert 0 < distance[20] < before


def test_other_replicas_need_a_global_batch_and_no_messages(dbench, elastic):
    said = elastic.refused(dbench, "a batch each", 2, "merge")
    assert "/data/batch_size" in said and "global" in said, said
    said = elastic.refused(dbench, "relays", 2, "merge")
    assert "relaysgd" in said and "messages" in said, said
    said = elastic.refused(dbench, "vectors", 2, "merge")
    assert "powergossip" in said and "messages" in said, said
    assert "/checkpoint/replicas" in elastic.refused(dbench, "unlike", 2, "clone")


@pytest.mark.parametrize("name", CORRECTIONS)
def test_corrections_that_rest_on_means_refuse_uneven_copies(dbench, elastic, name):
    """With 6 replicas made from 4, two would be copied once and two twice, which would break
    mean(y) = mean(g) permanently."""
    said = elastic.refused(dbench, name, 6, "clone")
    assert "/replicas" in said and "means" in said and "8" in said, said
    assert "means" in elastic.refused(dbench, name, 3, "merge")
    for replicas, policy in UNLIKE:
        elastic.result(name, replicas, policy)


def test_times_count_from_the_first_start(dbench):
    """Times of evaluations and events of a resumed run count from its first start."""
    graph = [{"type": "complete", "until": {"iterations": 25}},
             {"type": "torus", "until": {"iterations": 35}}, "ring"]
    spec = dbench.spec({**CNN, "graph": graph, "length": {"iterations": 45},
                        "evaluate": {"every": {"iterations": 5}}})
    path = dbench.run(spec, "a.h5")
    with h5py.File(path, "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))
    shutil.rmtree(os.path.join(folder(path), "40"))  # the run continues from 30
    manifest = os.path.join(folder(path), "30", "manifest.json")
    assert generations(path) == [30]
    before = read(path, "evaluations/elapsed")
    dbench("run", spec, "--output", path, "--resume", "--quiet")
    elapsed, events = read(path, "evaluations/elapsed"), read(path, "events/time")
    assert np.array_equal(elapsed[:7], before[:7]) and len(elapsed) == len(before) == 10
    assert np.all(np.diff(elapsed) > 0) and len(events) == 3 and np.all(np.diff(events) > 0)
    head = json.loads(json.load(open(manifest))["manifest"])
    assert before[6] <= head["elapsed"] < before[7]


def test_a_run_that_begins_again_lists_its_earlier_starts(dbench):
    path = dbench.run(dbench.spec(), "a.h5")
    losses, evaluated = read(path, "iterations/train_loss"), read(path, "evaluations/iteration")
    with h5py.File(path, "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))
        file["segments/reason"][0] = b"failed"
        started = file.attrs["started"]
    dbench("run", dbench.spec(), "--output", path, "--resume", "--quiet")  # without a checkpoint
    assert list(read(path, "segments/reason")) == [b"failed", b"complete"]
    assert list(read(path, "segments/first_iteration")) == [0, 0]
    with h5py.File(path) as file:
        assert file.attrs["started"] == started == file["segments/started"][0]
    assert np.array_equal(read(path, "iterations/train_loss"), losses)
    assert np.array_equal(read(path, "evaluations/iteration"), evaluated)


def test_a_checkpoint_too_large_for_the_disk_does_not_end_the_run(dbench):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    tiny = dbench.folder / "out.h5.checkpoints"
    tiny.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs",
                       str(tiny)]).returncode != 0:
        pytest.skip("no right to mount")
    try:
        done = dbench("run", dbench.spec({**CNN, "model": "cnn", "length": {"iterations": 25}}),
                      "--output", "out.h5")
        assert "checkpoint" in done.stderr and "space" in done.stderr, done.stderr
        assert read(dbench.folder / "out.h5", "iterations/iteration").size == 25
    finally:
        subprocess.run(["umount", str(tiny)])


def test_a_requeued_job_resumes_although_its_host_is_unknown(dbench):
    spec, path = dbench.spec(STOPPED), str(dbench.folder / "parts.h5")
    dbench.environment["SLURM_JOB_ID"] = "77"
    assert interrupt(dbench, spec, path, signal.SIGKILL)[0] == -signal.SIGKILL
    dbench("doctor", path)  # clears the mark, so that this can be changed:
    with h5py.File(path, "r+") as file:
        file["segments/host"][-1] = b"another"
    words = ("run", spec, "--output", path, "--quiet", "--resume", "--set", '/notes="x"')
    for environment in ({}, {"SLURM_JOB_ID": "78", "SLURM_RESTART_COUNT": "1"}):
        assert "a run on another may be writing it" in dbench(*words, expect=2,
                                                              env=environment).stderr
    dbench(*words, env={"SLURM_RESTART_COUNT": "1"})
    assert list(read(path, "segments/reason")) == [b"killed", b"complete"]
