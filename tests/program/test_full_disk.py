"""Tests of writes that find no space, for every file that a run writes: some end the run, the
others must not (docs/reliability.md). A library makes the writes to one file fail."""

import os
import shutil
import signal
import subprocess

import h5py
import numpy as np
import pytest
from conftest import ROOT
from results import read
from test_checkpoints import CNN, unfinished
from test_failures import LONG, wait_for_rows
from test_translation import SPEC as TRANSLATION
from test_translation import pairs  # noqa: F401 (a fixture)

OFTEN = {"checkpoint": {"every": {"iterations": 1}}}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "full_disk.so"
    subprocess.run([shutil.which("cc") or "c++", "-x", "c", "-shared", "-fPIC", "-o", path,
                    ROOT / "tests/program/full_disk.c"], check=True)
    return str(path)


@pytest.fixture
def full(dbench, library):
    """Return a function that makes writes to files of a pattern fail, at once or once the file
    `full` exists. Warnings of the sanitizers' runtime about the order of libraries are off."""
    def start(pattern, later=False):
        dbench.environment.update(LD_PRELOAD=library, FULL_DISK=f"*/{pattern}",
                                  ASAN_OPTIONS="verify_asan_link_order=0")
        if later:
            dbench.environment["FULL_DISK_WHEN"] = str(dbench.folder / "full")
    return start


def status(path):
    with h5py.File(path, "r", swmr=True) as file:
        return file.attrs["status"].decode(), file.attrs["error"].decode()


@pytest.mark.parametrize("changes", [{}, OFTEN], ids=["without checkpoints", "with checkpoints"])
def test_a_run_that_cannot_be_recorded_ends(dbench, full, changes):
    full("out.h5", later=True)
    run = dbench.start("run", dbench.spec({**LONG, **changes}), "--output", "out.h5")
    path = dbench.folder / "out.h5"
    wait_for_rows(path, rows=3)
    (dbench.folder / "full").touch()
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 1 and "out.h5 cannot be written any more" in errors, errors
    assert "space" in errors, errors
    with h5py.File(path, "r", swmr=True) as file:
        losses = file["iterations/train_loss"][:]
    assert len(losses) >= 3 and np.isfinite(losses).all()


def test_a_run_whose_file_cannot_be_synced_ends(dbench, full):
    full("out.h5", later=True)
    dbench.environment["FULL_DISK_SYNCS"] = "1"
    run = dbench.start("run", dbench.spec({**LONG, **OFTEN}), "--output", "out.h5")
    wait_for_rows(dbench.folder / "out.h5", rows=3)
    (dbench.folder / "full").touch()
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 1 and "cannot sync it to the disk" in errors, errors


def test_a_file_appears_only_after_it_was_synced(dbench, full):
    full(".out.h5.*")
    dbench.environment["FULL_DISK_SYNCS"] = "1"
    told = dbench("run", dbench.spec(), "--output", "out.h5", expect=2).stderr
    assert "cannot sync it to the disk" in told, told
    assert not list(dbench.folder.glob("*out.h5*.h5")) and not (dbench.folder / "out.h5").exists()


def test_a_checkpoint_that_finds_no_space_is_an_event(dbench, full):
    full("out.h5.checkpoints/*")
    spec = dbench.spec({**CNN, "length": {"iterations": 25}})
    done = dbench("run", spec, "--output", "out.h5")
    path = dbench.folder / "out.h5"
    assert "checkpoint" in done.stderr and "space" in done.stderr, done.stderr
    assert read(path, "iterations/iteration").size == 25 and status(path) == ("complete", "")
    assert b"checkpoint" in list(read(path, "events/kind"))
    assert os.listdir(f"{path}.checkpoints") in ([], ["lock"])


def test_a_signal_whose_checkpoint_finds_no_space_is_a_failure(dbench, full):
    full("out.h5.checkpoints/*")
    run = dbench.start("run", dbench.spec(LONG), "--output", "out.h5")
    path = dbench.folder / "out.h5"
    wait_for_rows(path)
    run.send_signal(signal.SIGTERM)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 1 and "checkpoint" in errors and "space" in errors, errors
    found, why = status(path)
    assert found == "failed" and "checkpoint" in why


def test_a_heartbeat_that_finds_no_space_is_a_warning(dbench, full):
    full("out.h5.heartbeat*")
    done = dbench("run", dbench.spec(), "--output", "out.h5")
    assert done.stderr.count("warning: the heartbeat") == 1 and "space" in done.stderr, done.stderr
    assert status(dbench.folder / "out.h5") == ("complete", "")
    assert not list(dbench.folder.glob("*.heartbeat*"))


def test_texts_that_find_no_space_end_the_run(dbench, full, pairs):  # noqa: F811
    full("out.h5.texts/*")
    done = dbench("run", dbench.spec(TRANSLATION), "--output", "out.h5", expect=1)
    assert "the texts" in done.stderr and "space" in done.stderr, done.stderr
    found, why = status(dbench.folder / "out.h5")
    assert found == "failed" and "the texts" in why


def test_a_crash_log_that_finds_no_space_hides_nothing(dbench, full):
    full("out.h5.crash-0.log")
    diverges = {"nonfinite": "stop", "optimizer": {"type": "sgd", "lr": 1e38}}
    done = dbench("run", dbench.spec(diverges), "--output", "out.h5", expect=1)
    assert "not finite" in done.stderr, done.stderr
    found, why = status(dbench.folder / "out.h5")
    assert found == "failed" and "not finite" in why


def test_a_file_of_links_appears_whole_or_not_at_all(dbench, full):
    full("links.txt*")
    done = dbench("doctor", "--links", "links.txt", ranks=2, expect=2)
    assert done.stderr.count("error:") == 1 and "--links: links.txt" in done.stderr, done.stderr
    assert "space" in done.stderr and os.listdir(dbench.folder) == [], done.stderr


def test_a_copy_of_the_earlier_file_is_whole_or_the_run_is_refused(dbench, full):
    spec = dbench.spec({**CNN, "replicas": 4, "length": {"iterations": 25},
                        "data": {**CNN["data"], "batch_size": {"global": 32}},
                        "checkpoint": {**CNN["checkpoint"], "replicas": "clone"}})
    path = unfinished(dbench.run(spec, "whole.h5"), str(dbench.folder / "out.h5"))
    kept = dbench.folder / "out.h5.until-20.h5"
    kept.write_text("of an earlier start")
    before = open(path, "rb").read()
    full("out.h5.until*")
    told = dbench("run", spec, "--output", path, "--resume", "--set", "/replicas=8",
                  expect=2).stderr
    assert "cannot be copied" in told and "space" in told, told
    assert open(path, "rb").read() == before and kept.read_text() == "of an earlier start"
    assert not list(dbench.folder.glob("*.partial"))


def test_a_file_of_pieces_is_whole_or_as_it_was(dbench, full):
    learn = ("data", "pieces", ROOT / "README.md", "--pieces", 300, "--output", "pieces.txt")
    dbench(*learn)
    before = (dbench.folder / "pieces.txt").read_bytes()
    full("*.partial")
    told = dbench(*learn, "--force", expect=2).stderr
    assert "the pieces" in told and "space" in told, told
    assert (dbench.folder / "pieces.txt").read_bytes() == before
    assert os.listdir(dbench.folder) == ["pieces.txt"]
