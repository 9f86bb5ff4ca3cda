"""Tests of several specs in one command: each run equals a run alone, and the exit status is that
of the runs."""

import json
import re
import signal
import time

import h5py
import pytest
from results import differences, read
from test_failures import LONG, wait_for_rows

SPECS = {
    "cnn": {"model": {"type": "cnn", "width": 4}, "replicas": 6,
            "data": {"type": "shapes", "train": 240, "test": 48, "batch_size": 8, "augment": True}},
    "mlp": {"model": {"type": "mlp", "hidden": [16]}, "replicas": 8, "implementation": None,
            "graph": {"type": "consensus_control", "fraction": 0.3}, "init": "independent",
            "algorithm": {"type": "dsgd", "order": "combine_while_adapt"},
            "optimizer": {"type": "adam", "lr": 0.01}},
}
SPECS["again"] = SPECS["cnn"]


def write(dbench, specs):
    return [dbench.spec({**changes, "name": name}, f"{name}.json")
            for name, changes in specs.items()]


def status(path):
    with h5py.File(path) as file:
        return file.attrs["status"].decode()


@pytest.fixture(scope="module")
def alone(shared):
    return {name: shared.run(path, f"{name}.h5")
            for name, path in zip(SPECS, write(shared, SPECS), strict=True)}


@pytest.mark.parametrize("ranks", [None, 4])
def test_each_run_is_as_if_alone(dbench, alone, ranks):
    start = time.monotonic()
    dbench("run", *write(dbench, SPECS), "--output", "together", "--quiet", ranks=ranks)
    seconds = time.monotonic() - start
    for name in SPECS:
        together = dbench.folder / "together" / f"{name}.h5"
        assert differences(alone[name], together) == []
        with h5py.File(alone[name]) as a, h5py.File(together) as b:
            assert list(a["events/text"]) == list(b["events/text"])
            assert json.loads(a["spec"][()]) == json.loads(b["spec"][()])
            assert len(b["ranks/host"]) == (ranks or 1)
        begun, ended = (read(together, "evaluations/elapsed")[k] for k in (0, -1))
        assert 0 < begun < ended < seconds
    assert {path.stem for path in (dbench.folder / "together").iterdir()} == set(SPECS)


def test_results_use_the_outputs_of_the_specs_and_settings_are_shared(dbench):
    a, b = write(dbench, {"a": {"output": "here/{name}.h5"}, "b": {"replicas": 2}})
    dbench("run", a, b, "--set", "/length/iterations=3")
    for path in ("here/a.h5", "results/b.h5"):
        assert read(dbench.folder / path, "iterations/iteration").size == 3


@pytest.mark.parametrize("second, words, said", [
    ({"replicas": 0}, [], ["b.json: /replicas", "at least 1"]),
    ({}, ["--set", "/name=same"], ["a.json", "b.json", "both write results/same.h5", "/name"]),
    ({}, ["--output", "a.json"], ["--output", "a.json is a file", "folder"]),
    ({"output": "old.h5"}, [], ["b.json: the output old.h5 exists", "--overwrite"]),
])
def test_errors_in_later_specs_are_reported_before_the_first_run(dbench, second, words, said):
    (dbench.folder / "old.h5").write_bytes(b"")
    before = sorted(dbench.folder.glob("**/*.h5"))
    message = dbench("run", *write(dbench, {"a": {}, "b": second}), *words, expect=2).stderr
    for word in said:
        assert word in message, message
    assert sorted(dbench.folder.glob("**/*.h5")) == before


def test_a_run_that_fails_ends_the_command(dbench):
    diverging = {"optimizer": {"type": "sgd", "lr": 1e38}, "nonfinite": "stop"}
    paths = write(dbench, {"a": {}, "b": diverging, "c": {}, "d": {}})
    message = dbench("run", *paths, "--quiet", ranks=2, expect=1).stderr
    assert "b.json, spec 2 of 4; not run: " in message and "not finite" in message, message
    assert f"{paths[2]}, {paths[3]}" in message
    results = dbench.folder / "results"
    assert status(results / "a.h5") == "complete" and status(results / "b.h5") == "failed"
    assert not (results / "c.h5").exists()
    assert (results / "b.h5.crash-0.log").exists() and not (results / "a.h5.crash-0.log").exists()


def test_a_refused_run_ends_the_command(dbench):
    paths = write(dbench, {"a": {}, "b": {"replicas": 1}, "c": {}})
    message = dbench("run", *paths, ranks=2, expect=2).stderr
    assert "2 ranks for 1 replicas" in message and f"not run: {paths[2]}" in message, message
    assert [path.name for path in (dbench.folder / "results").iterdir()] == ["a.h5"]


def test_a_signal_before_the_second_training_says_what_is_complete(dbench):
    slow = {"data": {"type": "shapes", "train": 50000, "test": 64, "batch_size": 8}}
    paths = write(dbench, {"a": {}, "b": slow})
    run = dbench.start("run", *paths, "--output", "all")
    while "spec 2 of 2" not in (line := run.stderr.readline()):
        assert line, "the command ended"
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 75 and "before training of " in errors, errors
    assert "spec 2 of 2 began: the results of the specs before it are complete" in errors, errors
    assert "has written nothing" not in errors and not (dbench.folder / "all/b.h5").exists()


def test_a_signal_ends_the_command_and_resume_continues(dbench):
    long = {**LONG, "length": {"iterations": 4000}}
    paths = write(dbench, {"a": {}, "b": long, "c": {}})
    run = dbench.start("run", *paths, "--output", "all")
    results = dbench.folder / "all"
    wait_for_rows(results / "b.h5")
    run.send_signal(signal.SIGUSR1)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 75 and f"not run: {paths[2]}" in errors, errors
    assert status(results / "b.h5") == "preempted" and not (results / "c.h5").exists()
    write(dbench, {"b": {**long, "delays": []}})  # the rest of the run is fast
    message = dbench("run", *paths, "--output", "all", "--resume").stderr
    assert "a.h5 is already complete" in message and "continuing from iteration" in message
    assert [status(results / f"{name}.h5") for name in "abc"] == ["complete"] * 3


def test_a_crash_is_logged_next_to_the_current_run(dbench):
    run = dbench.start("run", *write(dbench, {"a": {}, "b": LONG}), "--output", "all")
    wait_for_rows(dbench.folder / "all" / "b.h5", 100)
    run.send_signal(signal.SIGSEGV)
    run.communicate(timeout=60)
    assert [path.name for path in (dbench.folder / "all").glob("*.log")] == ["b.h5.crash-0.log"]


@pytest.mark.parametrize("in_place", ["1", "0"])
def test_memory_does_not_grow_from_run_to_run(dbench, in_place):
    """The largest memory of each rank over 50 runs is that of the first 10, to 5 %."""
    count, first = 50, 10
    changes = {"model": {"type": "mlp", "hidden": [256]}, "replicas": 4,
               "data": {"type": "shapes", "train": 32, "test": 8, "batch_size": 8},
               "length": {"iterations": 2}, "evaluate": {"every": None, "replicas": 1}}
    specs = write(dbench, {f"run-{k:02}": changes for k in range(count)})
    dbench.environment["DBENCH_READ_IN_PLACE"] = in_place
    command = dbench.start("run", *specs, "--output", "all", "--quiet", ranks=2)
    early, late = {}, {}   # by process: its largest memory so far, in KiB
    while command.poll() is None:
        done = len(list((dbench.folder / "all").glob("run-*.h5")))
        if done <= first:
            early.update(largest_memory(command.pid))
        elif done > first + 1:
            late.update(largest_memory(command.pid))
        time.sleep(0.02)
    assert command.returncode == 0, command.communicate()[1]
    assert len(late) == 2 and early.keys() == late.keys()
    for process, kib in late.items():
        assert kib < 1.05 * early[process], (early, late)


def largest_memory(launcher):
    """Return the largest resident memory so far of the launcher's ranks, in KiB, by process."""
    found = {}
    for child in children(launcher):
        try:
            with open(f"/proc/{child}/status") as file:
                text = file.read()
        except OSError:   # it has ended
            continue
        match = re.search(r"VmHWM:\s+(\d+) kB", text)
        if match and "Name:\tdbench\n" in text:
            found[child] = int(match[1])
    return found


def children(process):
    try:
        with open(f"/proc/{process}/task/{process}/children") as file:
            return file.read().split()
    except OSError:   # it has ended
        return []
