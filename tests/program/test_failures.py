"""Tests of runs that end early: the result file remains readable and says what happened, and no
rank hangs."""

import json
import os
import re
import resource
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest

# These long runs sleep in each iteration, because other tests need the cores.
LONG = {"replicas": 4, "length": {"iterations": 1000000}, "evaluate": {"every": None},
        "delays": [{"seconds": 0.005}]}


def wait_for_rows(path, rows=1, seconds=120, table="iterations"):
    """Wait until a reader of the growing file sees `rows` rows of a table."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with h5py.File(path, "r", swmr=True) as file:
                if file[f"{table}/iteration"].shape[0] >= rows:
                    return
        except OSError:
            pass
        time.sleep(0.1)
    pytest.fail(f"{path}: no {rows} {table} within {seconds} s")


def children(pid):
    """Return the dbench processes below `pid`, in order of rank."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    name, rest = file.read().rsplit(")", 1)
                if name.endswith("(dbench") and int(rest.split()[1]) == pid:
                    with open(f"/proc/{entry}/environ", "rb") as file:
                        variables = dict(v.split(b"=", 1)
                                         for v in file.read().split(b"\0") if b"=" in v)
                    found.append((int(variables[b"OMPI_COMM_WORLD_RANK"]), int(entry)))
            except (OSError, KeyError):
                pass
    return [pid for _, pid in sorted(found)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP])
def test_a_signal_ends_the_run_after_a_checkpoint(dbench, number):
    run = dbench.start("run", dbench.spec(LONG), "--output", "out.h5")
    wait_for_rows(dbench.folder / "out.h5")
    run.send_signal(number)
    _, errors = run.communicate(timeout=30)
    assert run.returncode == 75, errors
    with h5py.File(dbench.folder / "out.h5") as file:
        assert file.attrs["status"] == b"preempted"
        assert signal.Signals(number).name in file.attrs["error"].decode()
        assert np.isfinite(file["iterations/train_loss"][:]).all()
        completed = len(file["iterations/iteration"])
    assert os.path.isfile(dbench.folder / "out.h5.checkpoints" / str(completed) / "manifest.json")


@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_to_one_rank_is_agreed_on_by_all(dbench, rank):
    run = dbench.start("run", dbench.spec(LONG), "--output", "out.h5", ranks=2)
    wait_for_rows(dbench.folder / "out.h5")
    os.kill(children(run.pid)[rank], signal.SIGTERM)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 75, errors
    with h5py.File(dbench.folder / "out.h5") as file:
        assert file.attrs["status"] == b"preempted"


def test_an_error_on_one_rank_ends_all_ranks(dbench):
    """Replicas train alone (W = I), with a learning rate at which one diverges first, so that its
    rank fails first."""
    (dbench.folder / "identity.txt").write_text("1 0\n0 1\n")
    changes = {"replicas": 2, "model": "least_squares", "implementation": None, "algorithm": "dsgd",
               "graph": {"type": "file", "path": "identity.txt"}, "nonfinite": "stop",
               "allow_disconnected": True,
               "length": {"iterations": 100000},
               "data": {"type": "regression", "batch_size": 8, "heterogeneity": 1},
               "evaluate": {"every": None},
               "optimizer": {"type": "sgd", "lr": 3}}
    failed = set()
    for seed in range(1, 7):
        run = dbench.start("run", dbench.spec(changes, seed=seed), "--output", f"{seed}.h5",
                           ranks=2)
        _, errors = run.communicate(timeout=60)
        assert run.returncode == 1, errors
        with h5py.File(dbench.folder / f"{seed}.h5", "r", swmr=True) as file:
            message = file.attrs["error"].decode()
            assert file.attrs["status"] == b"failed" and "not finite" in message, message
        failed.add("rank 1" in message)
        if failed == {False, True}:
            return
    pytest.fail(f"in no case, or in all, rank 1 failed: {failed}")


def test_a_killed_rank_takes_the_others_with_it(dbench):
    path = dbench.folder / "out.h5"
    run = dbench.start("run", dbench.spec(LONG), "--output", "out.h5", ranks=2)
    wait_for_rows(path)
    os.kill(children(run.pid)[1], signal.SIGKILL)
    run.communicate(timeout=60)
    assert run.returncode != 0
    with h5py.File(path, "r", swmr=True) as file:
        assert file.attrs["status"] == b"running"
        assert file["iterations/iteration"].shape[0] > 0
    with pytest.raises(OSError):
        h5py.File(path, "r+")
    told = dbench("doctor", path).stdout
    assert "dead" in told
    with h5py.File(path) as file:
        assert file.attrs["status"] == b"running"
    dbench("doctor", path)   # a second call has nothing to clear


def test_a_rank_that_crashes_says_where(dbench):
    """Rank 0 is stopped first, so that rank 1 crashes at a known place: in its wait for a
    message."""
    run = dbench.start("run", dbench.spec(LONG), "--output", "out.h5", ranks=2)
    wait_for_rows(dbench.folder / "out.h5")
    first, second = children(run.pid)
    os.kill(first, signal.SIGSTOP)
    time.sleep(2)
    os.kill(second, signal.SIGSEGV)
    run.communicate(timeout=60)
    assert run.returncode != 0
    log = (dbench.folder / "out.h5.crash-1.log").read_text().splitlines()
    assert log[0] == "fatal signal SEGV" and log[1].startswith("rank 1 on "), log
    found = re.fullmatch(r"iteration (\d+), phase (\w+)", log[2])
    assert found and int(found[1]) > 0 and found[2] != "preparation", log
    assert any("dbench5train" in line for line in log[3:]), log
    assert any("dbench4comm" in line for line in log[3:]), log
    dbench("run", dbench.spec(), "--output", "out.h5", "--overwrite")
    assert not list(dbench.folder.glob("*.crash-*"))


def test_a_signal_that_cannot_be_agreed_on_is_a_failure(dbench):
    """Rank 1 is stopped, so that it neither answers nor dies."""
    dbench.environment["DBENCH_STOP_TIMEOUT"] = "1"
    run = dbench.start("run", dbench.spec(LONG), "--output", "out.h5", ranks=2)
    wait_for_rows(dbench.folder / "out.h5")
    first, second = children(run.pid)
    os.kill(second, signal.SIGSTOP)
    os.kill(first, signal.SIGTERM)
    _, errors = run.communicate(timeout=60)
    assert (run.returncode == 1 and "SIGTERM could not be agreed on" in errors
            and "rank 1" in errors), errors
    with h5py.File(dbench.folder / "out.h5") as file:
        assert file.attrs["status"] == b"failed" and "SIGTERM" in file.attrs["error"].decode()
    assert "SIGTERM" in (dbench.folder / "out.h5.crash-0.log").read_text().splitlines()[0]
    assert not (dbench.folder / "out.h5.checkpoints").exists()


def heartbeat(dbench):
    return json.loads((dbench.folder / "out.h5.heartbeat").read_text())


def test_a_run_writes_heartbeats(dbench):
    run = dbench.start("run", dbench.spec(LONG), "--output", "out.h5", ranks=2)
    wait_for_rows(dbench.folder / "out.h5", rows=100)
    end = time.monotonic() + 60
    while (beat := heartbeat(dbench))["eta_seconds"] is None and time.monotonic() < end:
        time.sleep(0.1)   # there is no estimate before a second was measured
    assert beat["state"] == "training" and 0 < beat["iteration"] < beat[
        "iterations"] == 1000000, beat
    assert beat["eta_seconds"] > 0 and beat["samples_per_second"] > 0 and beat["pid"] == children(
        run.pid)[0], beat
    before = (dbench.folder / "out.h5.heartbeat").read_bytes()
    dbench("run", dbench.spec(), "--output", "out.h5", expect=2)   # must not change the heartbeat
    assert (dbench.folder / "out.h5.heartbeat").read_bytes()[:20] == before[:20]
    run.send_signal(signal.SIGUSR1)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 75, errors
    assert not (dbench.folder / "out.h5.heartbeat").exists()


def test_readable_after_kill_at_any_moment(dbench):
    generator = np.random.default_rng(5)
    for trial in range(4):
        path = dbench.folder / f"{trial}.h5"
        run = dbench.start("run", dbench.spec(LONG), "--output", path)
        wait_for_rows(path)
        time.sleep(generator.uniform(0, 2))
        run.kill()
        run.communicate(timeout=30)
        with h5py.File(path, "r", swmr=True) as file:
            rows = file["iterations/iteration"][:]
            assert np.array_equal(rows, np.arange(len(rows))) and len(rows) > 0
            losses = file["iterations/train_loss"][:]
            assert np.isfinite(losses).all() and (losses > 0).all()


def test_doctor_does_not_change_the_file_of_a_running_run(dbench):
    path = dbench.folder / "out.h5"
    run = dbench.start("run", dbench.spec(LONG), "--output", path)
    try:
        wait_for_rows(path)
        assert "dead" not in dbench("doctor", path).stdout
        before = h5py.File(path, "r", swmr=True)["iterations/iteration"].shape[0]
        wait_for_rows(path, before + 1)
    finally:
        run.terminate()
        run.communicate(timeout=30)


def test_file_that_cannot_grow(dbench):
    """A limit on the file's size emulates a full disk; the run fails, reports it, and ends."""
    spec = dbench.spec({**LONG, "replicas": 8, "model": {"type": "cnn", "width": 4}, "delays": []})
    run = subprocess.Popen(dbench.command("run", spec, "--output", "out.h5"), cwd=dbench.folder,
                           text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dbench.environment,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                 (400_000, 400_000)))
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 1, errors
    assert "out.h5" in errors and ("large" in errors or "space" in errors), errors
    assert "HDF5-DIAG" not in errors


def test_full_disk_at_the_start(dbench):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    folder = dbench.folder / "tiny"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs",
                       str(folder)]).returncode != 0:
        pytest.skip("no right to mount")
    try:
        (folder / "fill").write_bytes(bytes(12 << 10))
        done = subprocess.run(dbench.command("run", dbench.spec(), "--output", "tiny/out.h5"),
                              cwd=dbench.folder,
                              text=True, capture_output=True, timeout=60, env=dbench.environment)
        assert done.returncode in (
            1, 2) and "out.h5" in done.stderr and "space" in done.stderr, done.stderr
    finally:
        subprocess.run(["umount", str(folder)])
