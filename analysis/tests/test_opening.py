"""Tests that files open in every state that a writer can leave, and that errors name the file and
the reason."""

import fcntl
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import dbench_analysis as da
import h5py
import numpy as np
import pytest
from dbench_analysis.reading import hdf5, writer
from dbench_analysis.reading.checksum import lookup3

SYNTHETIC = Path(__file__).with_name("synthetic.py")


def test_lookup3_known_answers():
    assert lookup3(b"") == 0xDEADBEEF
    assert lookup3(b"Four score and seven years ago") == 0x17770551


def test_checksum_is_that_of_hdf5(make):
    head = make().read_bytes()[:48]
    assert head[8] >= 3 and lookup3(head[:44]) == int.from_bytes(head[44:], "little")


def test_finished_file(make):
    with da.open(make(replicas=8, ranks=2)) as run:
        assert (run.name, run.status, run.state, run.replicas,
                run.rank_count) == ("ring", "complete", "complete", 8, 2)
        assert run.finished == "2025-01-01T10:05:00Z"
        assert run.spec["implementation"] == "D_ring" and run.certificate["connected"] is True
        assert run.provenance["versions"]["dbench"] == "0.1"


@pytest.mark.parametrize("how, flags", [("--die", 0x05), ("--die-closing", 0x01)])
def test_killed_writer(tmp_path, how, flags):
    path = tmp_path / "dead.h5"
    assert subprocess.run([sys.executable, SYNTHETIC, path, how]).returncode == -9
    assert hdf5.writer_flags(path) & 0x05 == flags
    with pytest.raises(OSError):
        h5py.File(path, "r")
    before = path.read_bytes()
    with da.open(path) as run:
        assert run.status == "running" and len(run.iterations) == 100
        assert da.verify(run)["agrees"].all()
    assert path.read_bytes() == before, "a reader must not touch the file"


def test_state_of_the_writer(make, monkeypatch):
    path = make(status="running")
    with da.open(path) as run:
        assert run.state.startswith(
            "running, or its writer is dead, last written"), "it may live on node01"
        monkeypatch.setattr(socket, "gethostname", lambda: "node01")
        assert run.state.startswith("running, but its writer is dead")
        with open(path, "r+b") as file:
            lock = struct.pack(writer.LOCK, fcntl.F_RDLCK, os.SEEK_SET, writer.GUARD_BYTE, 1, 0)
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, lock)
            assert run.state.startswith("running, last written")
        monkeypatch.undo()
        os.utime(path, (0, 0))
        assert "writer is dead" in run.state and run.state.endswith(" d ago")


WRITER = """
import sys
import h5py
sys.path.insert(0, {tests!r})
from synthetic import Plan, write
file = write({path!r}, Plan(), "swmr")
print("written", flush=True)
sys.stdin.readline()
for name in ("iteration", "epoch"):
    data = file["iterations"][name]
    data.resize(103, axis=0)
    data[100:] = 100
    data.flush()
print("grown", flush=True)
sys.stdin.readline()
"""


def test_file_that_is_being_written(tmp_path):
    path = tmp_path / "live.h5"
    code = WRITER.format(tests=str(SYNTHETIC.parent), path=str(path))
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "written\n"
        with da.open(path) as run:
            assert run.status == "running" and len(run.iterations.frame()) == 100
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "grown\n"
        with da.open(path) as run:  # a frame ends with the shortest column
            assert len(run.iterations["epoch"]) == 103
            assert len(run.iterations["lr"]) == 100 and len(run.iterations.frame()) == 100
        process.stdin.write("\n")


def no_file(folder):
    return folder / "nowhere.h5"


def empty(folder):
    (folder / "f.h5").touch()
    return folder / "f.h5"


def prose(folder):
    (folder / "f.h5").write_text("accuracy was good, we think\n" * 10)
    return folder / "f.h5"


def cut(folder):
    subprocess.run([sys.executable, SYNTHETIC, folder / "f.h5"], check=True)
    with open(folder / "f.h5", "r+b") as file:
        file.truncate(5000)
    return folder / "f.h5"


def other(folder):
    h5py.File(folder / "f.h5", "w").close()
    return folder / "f.h5"


def newer(folder):
    with h5py.File(folder / "f.h5", "w") as file:
        file.attrs["schema"], file.attrs["schema_version"] = "dbench-run", 2
    return folder / "f.h5"


@pytest.mark.parametrize("fault, reason", [
    (no_file, "no such file"), (empty, "the file is empty"), (prose, "not an HDF5 file"),
    (cut, "HDF5 cannot open it"),
    (other, "not a dbench result"), (newer, "schema version 2"),
    (lambda folder: folder, "is a folder"),
])
def test_faults_name_file_and_reason(tmp_path, fault, reason, monkeypatch):
    monkeypatch.setattr(hdf5, "PATIENCE", 0.2)
    path = fault(tmp_path)
    with pytest.raises(da.AnalysisError, match=reason) as error:
        da.open(path)
    assert str(path) in str(error.value) and "(" in str(
        error.value), "the remedy stands in brackets"


def test_missing_column_names_what_there_is(make):
    with da.open(make()) as run, pytest.raises(da.AnalysisError,
                                               match="no /parameters/sketch.*gini"):
        run.parameters["sketch"]


def test_columns_are_labelled_arrays(make):
    with da.open(make(replicas=8)) as run:
        norm = run.parameters["norm"]
        assert norm.shape == (100, 8, 5) and norm.axes == "JnT" and norm.unit == "1"
        assert norm[-1].shape == (8, 5) and norm[..., 0].shape == (100, 8) and norm[
            2:4, 1].shape == (2, 5)
        assert np.array_equal(np.concatenate([b for _, b in norm.blocks()]), norm[:])
        frame = run.parameters["gini"].frame()
        assert list(frame.columns)[0] == "conv.weight" and frame.index.name == "iteration"
        assert run.parameters["norm"].frame().columns.names == ["replica", "tensor"]
        assert run.evaluations["local_accuracy"].frame().shape == (6, 4)
        assert list(run.evaluations["local_accuracy"].frame().columns) == [0, 2, 4, 6]
        W = run.matrix(0)
        assert np.allclose(W.sum(axis=1), 1) and W[0, 1] == pytest.approx(1 / 3) and W[0, 2] == 0
