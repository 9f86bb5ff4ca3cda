"""Tests of damaged files: every command ends with a status and one line that names the file, and
never with a traceback. `show` reads no more of a long run than it prints."""

import json
import multiprocessing
import os
import shutil
import time

import h5py
import numpy as np
import pytest
from dbench_analysis.cli import main
from dbench_analysis.reading import hdf5
from synthetic import Plan, write

COMMANDS = (["show", "{file}"], ["show", "{file}", "--verify"], ["show", "{file}", "{good}"],
            ["table", "{file}", "--columns", "all"], ["table", "{file}", "--rows", "name"],
            ["collect", "{file}", "-o", "{out}/c.csv"], ["compare", "{file}", "{good}"],
            ["ranks", "{file}", "{good}"], ["reproduce", "dbench", "{file}", "{good}"],
            ["reproduce", "promise", "{file}"])
DRAWN = (["plot", "{file}", "{good}", "-o", "{out}", "--dpi", "20"],
         ["report", "{file}", "-o", "{out}/r.html"], ["report", "{file}", "{good}", "-o",
                                                      "{out}/r.html"])
SPECS = ({"data": 3, "optimizer": [], "seed": {}, "graph": 7}, {"data": {"batch_size": "x"}},
         {"replicas": {}, "optimizer": {"lr": {}}, "model": None, "algorithm": 1.5},
         {"data": {"batch_size": {"global": []}}, "optimizer": None, "implementation": 3})
VALUES = (0, -1, 2**31, 2**63 - 1, float("nan"), float("inf"), -1e300)


def places(file) -> list[str]:
    found: list[str] = []
    file.visititems(lambda name, thing: found.append(name) if isinstance(thing, h5py.Dataset)
                    else None)
    return found


def attribute(file, rng):
    name = rng.choice(sorted(file.attrs))
    del file.attrs[name]
    if rng.random() < 0.7:
        file.attrs[name] = [-3, 0, "words", 2.5, np.arange(3), b"\xff\xfe"][rng.integers(6)]


def gone(file, rng):
    del file[rng.choice([*places(file), *file])]


def renamed(file, rng):
    """Replace a column by a group, or by a column of another shape and type."""
    name = rng.choice(places(file))
    del file[name]
    if rng.random() < 0.2:
        file.create_group(name)
    else:
        shape = [(), (0,), (3,), (100,), (100, 3), (2, 3, 4)][rng.integers(6)]
        file[name] = np.full(shape, [1.5, 7, b"words", 3 + 4j, True][rng.integers(5)])


def cut(file, rng):
    data = file[rng.choice([name for name in places(file) if file[name].ndim])]
    axis = int(rng.integers(data.ndim)) if rng.random() < 0.3 else 0
    if data.maxshape[axis] is None:
        data.resize(int(rng.integers(0, data.shape[axis] + 3)), axis=axis)


def values(file, rng):
    data = file[rng.choice([name for name in places(file) if file[name].dtype.kind in "if"
                            and file[name].size])]
    value = VALUES[rng.integers(len(VALUES))]
    if data.dtype.kind == "i" and not np.isfinite(value):
        value = -7
    with np.errstate(all="ignore"):
        data[tuple(int(rng.integers(size)) for size in data.shape)] = np.asarray(value).astype(
            data.dtype)


def texts(file, rng):
    name = rng.choice(["spec", "provenance"])
    del file[name]
    content = [b"{", b"[1]", b"3", b"\xff", b"", b"[" * 100_000,
               *(json.dumps(spec).encode() for spec in SPECS)]
    file[name] = np.array(content[rng.integers(len(content))] or b"\0")


def certificate(file, rng):
    said = ["{", "[]", '{"rho": "x", "degree": []}', '{"degree": {"mean": "x"}}']
    file["graphs"].attrs["certificate"] = said[rng.integers(len(said))]


WAYS = (attribute, gone, renamed, cut, values, texts, certificate)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "good.h5"
    write(path, Plan(name="good", epochs=2, per_epoch=10, after=True, validation=True))
    return path


def ended(commands, file, good, out, capsys):
    """Check that every command ends with status 0, 1 or 2, and that an error names its file."""
    for command in commands:
        words = [word.format(file=file, good=good, out=out) for word in command]
        status = main(words)
        told = capsys.readouterr().err
        assert status in (0, 1, 2), words
        if status == 2:
            assert told.startswith("dbench-analyze: ") and told.count("\n") <= 2, told
            assert str(file) in told or command[0] in ("compare", "ranks", "collect", "table"), told


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_fields_of_any_kind(good, tmp_path, capsys, seed, monkeypatch):
    monkeypatch.setattr(hdf5, "PATIENCE", 0.0)
    rng, path = np.random.default_rng(seed), tmp_path / "bad.h5"
    shutil.copy(good, path)
    with h5py.File(path, "r+", libver="latest") as file:
        for _ in range(1 + seed % 3):
            WAYS[rng.integers(len(WAYS))](file, rng)
    ended(COMMANDS, path, good, tmp_path, capsys)
    if seed % 8 == 0:
        ended(DRAWN, path, good, tmp_path, capsys)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_bytes_of_any_kind(good, tmp_path, capsys, seed, monkeypatch):
    monkeypatch.setattr(hdf5, "PATIENCE", 0.0)
    rng, path = np.random.default_rng(seed), tmp_path / "bad.h5"
    content = bytearray(good.read_bytes())
    if seed % 4 == 0:
        del content[int(rng.integers(len(content))):]
    else:
        for at in rng.integers(0, len(content) if seed % 4 > 1 else 4096, 1 + seed):
            content[at] = int(rng.integers(256))
    path.write_bytes(content)
    ended(COMMANDS[:1] if seed % 3 else COMMANDS, path, good, tmp_path, capsys)


def ended_in_time(commands, file, good, out, capsys):
    """Do the same as `ended` in a separate process, because an endless loop inside HDF5 cannot be
    stopped."""
    process = multiprocessing.get_context("fork").Process(
        target=ended, args=(commands, file, good, out, capsys))
    process.start()
    process.join(60)
    try:
        assert process.exitcode == 0, "for ever" if process.is_alive() else "see above"
    finally:
        process.kill()
        process.join()


@pytest.fixture(scope="module")
def abandoned(good, tmp_path_factory):
    """Return a file with its writer's mark, which no process writes any more."""
    path = tmp_path_factory.mktemp("abandoned") / "run.h5"
    file = write(path, Plan(name="good", epochs=2, per_epoch=10), "swmr")
    copy = path.with_name("copy.h5")
    shutil.copy(path, copy)  # as a killed writer leaves it
    file.close()
    return copy


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mark", [0x01, 0x02, 0x04, 0x05, 0xFF])
def test_any_mark_of_a_writer(abandoned, good, tmp_path, capsys, mark, monkeypatch):
    """The mark is changed without its checksum, and the rows can still be read."""
    monkeypatch.setattr(hdf5, "PATIENCE", 0.2)
    path, content = tmp_path / "marked.h5", bytearray(abandoned.read_bytes())
    assert content[hdf5.FLAGS_AT] == hdf5.WRITING | hdf5.SWMR
    content[hdf5.FLAGS_AT] = mark
    path.write_bytes(content)
    ended_in_time(COMMANDS[:: 1 if mark == 0x05 else len(COMMANDS)], path, good, tmp_path, capsys)
    assert main(["show", str(path)]) == 0
    assert "20 iterations" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["/", "iterations", "iterations/epoch", "spec"])
def test_damage_that_looks_like_an_unfinished_write(abandoned, good, tmp_path, capsys, name,
                                                    monkeypatch):
    monkeypatch.setattr(hdf5, "PATIENCE", 0.2)
    path, content = tmp_path / "damaged.h5", bytearray(abandoned.read_bytes())
    with hdf5.open_file(abandoned) as file:
        content[h5py.h5o.get_info(file[name].id).addr + 8] ^= 0x10
    path.write_bytes(content)
    ended_in_time(COMMANDS, path, good, tmp_path, capsys)
    assert main(["show", str(path)]) == 2


def test_a_pipe_is_refused(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.h5")
    assert main(["show", str(tmp_path / "pipe.h5")]) == 2
    assert "is not a regular file" in capsys.readouterr().err


def test_show_reads_what_it_prints(make, monkeypatch, capsys):
    """For a long run, `show` reads no norms, and only the last row of columns with a number per
    tensor."""
    path, long = make(per_epoch=5, epochs=2), 1_000_000
    with h5py.File(path, "r+", libver="latest") as file:
        for group in ("iterations", "parameters"):
            for data in file[group].values():
                data.resize(long, axis=0)  # no chunk holds the additional rows, which read as zeros
    read, get = {}, h5py.Dataset.__getitem__

    def counted(self, where, **how):
        found = get(self, where, **how)
        read[self.name] = max(read.get(self.name, 0), np.size(found))
        return found

    monkeypatch.setattr(h5py.Dataset, "__getitem__", counted)
    began = time.process_time()
    assert main(["show", str(path)]) == 0
    assert "1000000 iterations" in capsys.readouterr().out
    assert time.process_time() - began < 20
    assert "/parameters/norm" not in read and read["/parameters/gini"] == 5
    assert "/parameters/variance" not in read and read["/parameters/consensus_distance"] == long
