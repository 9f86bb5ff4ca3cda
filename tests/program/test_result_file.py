"""Tests of the result file and its checkpoints when others move, remove, truncate or damage them,
or confuse them with those of another run."""

import os
import re
import resource
import select
import shutil
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest
from test_failures import LONG, wait_for_rows

SAVED = {"replicas": 4, "length": {"iterations": 60}, "evaluate": {"every": {"iterations": 20}},
         "checkpoint": {"every": {"iterations": 20}}}


def said(run, words, seconds=30):
    """Read the output of a running program until it contains the words; return it."""
    text, end = "", time.monotonic() + seconds
    while words not in text:
        assert time.monotonic() < end and run.poll() is None, f"no {words!r} in: {text}"
        if select.select([run.stderr], [], [], 0.1)[0]:
            text += os.read(run.stderr.fileno(), 1 << 16).decode()
    return text


def fail(path):
    """Mark a complete file as that of a failed run."""
    with h5py.File(path, "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))


def flip_chunk(path, name):
    """Flip one bit of the first stored chunk of a data set."""
    with h5py.File(path) as file:
        at = file[name].id.get_chunk_info(0)
    with open(path, "r+b") as file:
        file.seek(at.byte_offset + at.size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 16]))


def test_a_run_finishes_only_its_own_file(dbench):
    """The first run's file is moved, and a second run starts at its path and is killed."""
    first = dbench.start("run", dbench.spec(LONG), "--output", "out.h5")
    path, moved = dbench.folder / "out.h5", dbench.folder / "moved.h5"
    wait_for_rows(path)
    os.rename(path, moved)
    said(first, "was moved")
    second = dbench.start("run", dbench.spec({**LONG, "checkpoint": {"every": {"iterations": 50}}},
                                             name="second.json"), "--output", "out.h5")
    wait_for_rows(path, rows=200)
    second.kill()
    second.communicate(timeout=30)
    saved = sorted(os.listdir(f"{path}.checkpoints"))
    first.send_signal(signal.SIGUSR1)
    _, errors = first.communicate(timeout=60)
    assert first.returncode == 1 and "moved.h5" in errors, errors
    assert sorted(os.listdir(f"{path}.checkpoints")) == saved
    with h5py.File(path, swmr=True) as file:
        assert file.attrs["status"] == b"running"
    with h5py.File(moved) as file:
        assert file.attrs["status"] == b"failed" and file["iterations/iteration"].shape[0] > 0


def test_checkpoints_are_locked_by_their_run(dbench):
    spec = dbench.spec({**LONG, "checkpoint": {"every": {"iterations": 50}}})
    run = dbench.start("run", spec, "--output", "out.h5")
    try:
        wait_for_rows(dbench.folder / "out.h5", rows=200)
        os.rename(dbench.folder / "out.h5", dbench.folder / "moved.h5")
        before = sorted(os.listdir(dbench.folder / "out.h5.checkpoints"))
        said(run, "no more checkpoints")
        told = dbench("run", spec, "--output", "out.h5", "--overwrite", expect=2,
                      timeout=60).stderr
        assert "another run holds" in told and "out.h5.checkpoints" in told, told
        assert sorted(os.listdir(dbench.folder / "out.h5.checkpoints"))[-1:] == before[-1:]
        assert run.poll() is None
    finally:
        run.kill()
        run.communicate(timeout=30)


@pytest.mark.parametrize("deed, words", [("remove", "was removed"), ("cut", "was cut"),
                                         ("replace", "was moved, and another file")])
def test_a_lost_result_file_is_reported_at_once(dbench, deed, words):
    run = dbench.start("run", dbench.spec(LONG), "--output", "out.h5")
    path = dbench.folder / "out.h5"
    wait_for_rows(path)
    if deed == "remove":
        os.remove(path)
    elif deed == "cut":
        os.truncate(path, os.path.getsize(path) // 2)
    else:
        os.rename(path, dbench.folder / "old.h5")
        path.write_bytes(b"mine")
    text = said(run, words)
    assert "warning" in text and "out.h5" in text, text
    if deed == "remove":   # follow the advice of the warning
        copy = re.search(r"cp (/proc/\d+/fd/\d+)", text)[1]
        shutil.copy(copy, dbench.folder / "saved.h5")
        with h5py.File(dbench.folder / "saved.h5", swmr=True) as file:
            assert file["iterations/iteration"].shape[0] > 0
    run.send_signal(signal.SIGUSR1)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 1 and words in errors, errors
    assert deed != "replace" or path.read_bytes() == b"mine"


def test_a_new_run_keeps_checkpoints_and_foreign_files(dbench):
    spec = dbench.spec(SAVED)
    path = dbench.run(spec)
    folder = dbench.folder / "out.h5.checkpoints"
    (folder / "notes.txt").write_text("mine")
    (folder / "40" / "more.txt").write_text("mine too")
    os.rename(path, dbench.folder / "away.h5")
    told = dbench("run", spec, "--output", path, expect=2).stderr
    assert "out.h5.checkpoints" in told and "--overwrite" in told and "--resume" in told, told
    assert sorted(os.listdir(folder)) == ["20", "40", "lock", "notes.txt"]
    assert not os.path.exists(path)
    dbench("run", spec, "--output", path, "--overwrite", "--set", "/checkpoint/every=null")
    assert sorted(os.listdir(folder)) == ["40", "lock", "notes.txt"]
    assert os.listdir(folder / "40") == ["more.txt"]
    other = dbench.run(spec, "b.h5")
    dbench("run", spec, "--output", other, "--overwrite", "--set", "/checkpoint/every=null")
    assert not os.path.exists(f"{other}.checkpoints")


def test_a_complete_file_of_another_spec_is_refused(dbench):
    spec = dbench.spec()
    path = dbench.run(spec)
    before = open(path, "rb").read()
    told = dbench("run", spec, "--output", path, "--resume", "--set", "/optimizer/lr=0.5",
                  expect=2).stderr
    assert "/optimizer/lr" in told and "complete" in told and "--overwrite" in told, told
    assert open(path, "rb").read() == before
    fail(path)   # there is no checkpoint that identifies the run
    assert "/seed" in dbench("run", spec, "--output", path, "--resume", "--set", "/seed=7",
                             expect=2).stderr
    dbench("run", spec, "--output", path, "--resume", "--set", '/notes="x"')


def test_damage_is_found_by_doctor_and_on_resume(dbench):
    """One flipped bit in any data set is found. HDF5 alone would read a changed number silently."""
    spec = dbench.spec({**SAVED, "replicas": 6})
    path = dbench.run(spec)
    assert "all good" in dbench("doctor", path).stdout
    with h5py.File(path) as file:
        names = []
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset)
                        and item.chunks and item.size else None)
    assert len(names) > 40
    damaged = str(dbench.folder / "damaged.h5")
    shutil.copy(path, damaged)
    for name in names:
        flip_chunk(damaged, name)
    told = dbench("doctor", damaged, expect=2).stdout
    assert [name for name in names if f"damaged     {name}, rows 0" not in told] == [], told
    damaged = str(dbench.folder / "spec.h5")
    shutil.copy(path, damaged)
    data = open(damaged, "rb").read()
    at = data.index(b'"name": "small"')
    with open(damaged, "r+b") as file:
        file.seek(at + 9)
        file.write(b"S")
    assert "damaged     spec" in dbench("doctor", damaged, expect=2).stdout

    damaged = str(dbench.folder / "marked.h5")   # has a writer's flag and a changed superblock
    with open(damaged, "wb") as file:
        file.write(data[:11] + b"\x05" + data[12:])
    assert "contents" in dbench("doctor", damaged, expect=2, timeout=60).stdout

    damaged = str(dbench.folder / "resumed.h5")
    shutil.copy(path, damaged)
    shutil.copytree(f"{path}.checkpoints", f"{damaged}.checkpoints")
    fail(damaged)
    flip_chunk(damaged, "iterations/train_loss")
    before = open(damaged, "rb").read()
    told = dbench("run", spec, "--output", damaged, "--resume", expect=2).stderr
    assert "iterations/train_loss" in told and "damaged" in told and "--overwrite" in told, told
    assert open(damaged, "rb").read() == before
    assert sorted(os.listdir(f"{damaged}.checkpoints"))[:2] == ["20", "40"]


def test_slow_rows_have_checksums_too(dbench):
    """Chunks that fill slowly are first written without a checksum, and with one when the run
    ends."""
    spec = dbench.spec({**LONG, "delays": [{"seconds": 0.2}]})
    run = dbench.start("run", spec, "--output", "out.h5")
    path = dbench.folder / "out.h5"
    wait_for_rows(path)
    time.sleep(10)
    with h5py.File(path, swmr=True) as file:   # some chunks have been written
        infos = [file["iterations"][name].id.get_chunk_info(0) for name in file["iterations"]]
        losses = file["iterations/train_loss"][()]
    assert any(info.filter_mask for info in infos) and np.isfinite(losses).all()
    run.send_signal(signal.SIGUSR1)
    run.communicate(timeout=60)
    with h5py.File(path) as file:
        for group in file.values():
            for item in group.values() if isinstance(group, h5py.Group) else ():
                checksum = 4 if item.compression else 1   # bit of the last filter, if skipped
                assert not any(item.id.get_chunk_info(k).filter_mask & checksum
                               for k in range(item.id.get_num_chunks())), item.name
                assert item.fletcher32, item.name
        assert np.array_equal(file["iterations/train_loss"][:len(losses)], losses)
    assert "all good" in dbench("doctor", path).stdout


def test_reading_does_not_change_the_time_of_the_last_write(dbench):
    """Reading a file does not change its time of the last write, from which other hosts conclude
    whether its writer is alive."""
    run = dbench.start("run", dbench.spec(LONG), "--output", "out.h5")
    path = dbench.folder / "out.h5"
    wait_for_rows(path)
    run.kill()
    run.communicate(timeout=30)
    long_ago = time.time() - 7200
    os.utime(path, (long_ago, long_ago))
    assert "cleared" in dbench("doctor", path).stdout
    assert abs(os.path.getmtime(path) - long_ago) < 1
    assert "cleared" not in dbench("doctor", path).stdout
    with h5py.File(path):
        pass


def test_crash_logs_are_not_written_through_links_or_pipes(dbench):
    for kind in ("link", "pipe"):
        run = dbench.start("run", dbench.spec(LONG), "--output", f"{kind}.h5")
        wait_for_rows(dbench.folder / f"{kind}.h5")
        log, target = dbench.folder / f"{kind}.h5.crash-0.log", dbench.folder / "target"
        target.write_text("mine")
        os.symlink(target, log) if kind == "link" else os.mkfifo(log)
        run.send_signal(signal.SIGSEGV)
        run.communicate(timeout=30)
        assert target.read_text() == "mine"
        assert not log.is_symlink() and log.read_text().startswith("fatal signal SEGV")


@pytest.mark.parametrize("what", ["data", "result", "graph", "spec", "base"])
def test_pipes_are_refused_in_place_of_files(dbench, what):
    pipe = dbench.folder / "pipe"
    os.mkfifo(pipe)
    words = {"data": ("check", dbench.spec({"data": {"type": "mnist", "root": str(dbench.folder),
                                                     "batch_size": 8}})),
             "result": ("doctor", pipe), "graph": ("graph", "file", "--n", 4, "--path", pipe),
             "spec": ("check", pipe),
             "base": ("check", dbench.spec({"base": str(pipe)}))}[what]
    if what == "data":
        os.rename(pipe, dbench.folder / "train-images-idx3-ubyte")
        for name in ("train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                     "t10k-labels-idx1-ubyte"):
            os.mkfifo(dbench.folder / name)
    told = dbench(*words, expect=2, timeout=20).stderr
    assert "pipe" in told or "ordinary file" in told, told


def test_an_empty_array_is_refused_at_once(dbench):
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (268435456, 0), }"
    header = header.ljust(117) + b"\n"
    (dbench.folder / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
                                          + header)
    done = subprocess.run(
        dbench.command("graph", "file", "--n", 4, "--path", "a.npy"), cwd=dbench.folder, text=True,
        stderr=subprocess.PIPE, timeout=60,   # without the check, it would fill 6 GB meanwhile
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)))
    assert done.returncode == 2 and "the array is empty" in done.stderr, done.stderr


def link_to_another_file(file, other):
    file["iterations/more"] = h5py.ExternalLink(str(other), "/")


def group_of_another_file(file, other):
    del file["evaluations"]
    file["evaluations"] = h5py.ExternalLink(str(other), "/evaluations")


def rows_in_another_file(file, other):
    del file["iterations/step_time"]
    file.create_dataset("iterations/step_time", (6, 1), "f4", external=[(str(other), 0, 24)])


def virtual_rows(file, other):
    del file["iterations/rounds"]
    layout = h5py.VirtualLayout((6,), "i8")
    layout[:] = h5py.VirtualSource(str(other), "iterations/rounds", (6,))
    file.create_virtual_dataset("iterations/rounds", layout)


@pytest.mark.parametrize("change", [link_to_another_file, group_of_another_file,
                                    rows_in_another_file, virtual_rows])
def test_a_result_file_makes_no_program_read_another_file(dbench, change):
    """The other file is a pipe, so a program that opens it waits forever."""
    spec = dbench.spec()
    out, pipe = dbench.run(spec), dbench.folder / "pipe"
    fail(out)
    os.mkfifo(pipe)
    with h5py.File(out, "r+", libver="v110") as file:
        change(file, pipe)
    for command in (("doctor", "out.h5"),
                    ("run", spec, "--output", "out.h5", "--resume")):
        said = dbench(*command, expect=2, timeout=30)
        assert "another file" in said.stdout + said.stderr, said
