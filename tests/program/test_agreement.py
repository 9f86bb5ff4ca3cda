"""Tests that ranks train only if they have read the same data and files, and that a run resumes
only with the data and files that it had before. Each rank has a folder of its own, as
ranks on hosts with copies of the data have."""

import json
import math
import os
import shutil
import signal
import struct
import subprocess
import time
import zlib

import h5py
import numpy as np
import pytest
from conftest import PROGRAM

LIMIT = 40   # seconds; DBENCH_TIMEOUT is longer, so ranks that wait for one another fail the test


def png(path, value):
    """Write a picture of 4x4 grey pixels."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + bytes([value] * 4) for _ in range(4))
    path.parent.mkdir(parents=True, exist_ok=True)
    head = struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def pictures(folder):
    for c, name in enumerate("ab"):
        for k in range(8):
            png(folder / "train" / name / f"{k}.png", 100 * c + k)
        for k in range(2):
            png(folder / "test" / name / f"{k}.png", 100 * c + k)


def arrays(folder):
    rng = np.random.default_rng(1)
    np.savez(folder / "own.npz", x_train=rng.integers(0, 255, (16, 4, 4), np.uint8),
             y_train=np.arange(16) % 2, x_test=rng.integers(0, 255, (4, 4, 4), np.uint8),
             y_test=np.arange(4) % 2)


def texts(folder):
    (folder / "own.txt").write_text("a text of which every byte is a token, " * 8)


def sentences(folder):
    for name in ("en", "de"):
        (folder / f"own.{name}").write_text("".join(f"{name} words {k}\n" for k in range(20)))
    (folder / "pieces.txt").unlink(missing_ok=True)
    subprocess.run([PROGRAM, "data", "pieces", "own.en", "own.de", "--pieces", "264", "--output",
                    "pieces.txt"], cwd=folder, check=True, capture_output=True)


def edges(folder):
    (folder / "own.edges").write_text("0 1\n1 2\n2 3\n3 0\n")


def replace(name, old, new):
    def change(folder):
        path = folder / name
        content = path.read_bytes()
        assert old in content
        path.write_bytes(content.replace(old, new, 1))
    return change


def swap_classes(folder):
    train = folder / "train"
    (train / "a").rename(train / "x")
    (train / "b").rename(train / "a")
    (train / "x").rename(train / "b")


def other_label(folder):
    """Give the last picture of class a to class b: all pixels stay in their order."""
    (folder / "train/a/7.png").rename(folder / "train/b/.7.png")
    (folder / "train/b/.7.png").rename(folder / "train/b/-7.png")


def fewer(folder):
    for k in range(2, 5):
        (folder / f"train/a/{k}.png").unlink()


def other_array(folder):
    with np.load(folder / "own.npz") as old:
        new = {**old, "y_train": 1 - old["y_train"]}
    np.savez(folder / "own.npz", **new)


def padded_photograph(folder):
    with (folder / "train/a/3.png").open("ab") as file:
        file.write(b"\0")


IMAGES = {"data": {"type": "images", "train": "train", "test": "test", "batch_size": 2}}
NPZ = {"data": {"type": "npz", "train": "own.npz", "batch_size": 2}}
TEXT = {"data": {"type": "text", "path": "own.txt", "sequence": 4, "batch_size": 2},
        "model": {"type": "lstm", "hidden": 4, "layers": 1}}
PAIRS = {"data": {"type": "pairs", "source": "own.en", "target": "own.de", "vocabulary": 262,
                  "batch_size": 2},
         "model": {"type": "transformer", "width": 4, "heads": 1, "layers": 1, "hidden": 4}}
PHOTOGRAPHS = {"data": {"type": "imagenet", "train": "train", "test": "test", "size": 8,
                        "batch_size": 2}, "model": "softmax_regression"}
GRAPH = {"graph": {"type": "file", "path": "own.edges"}, "algorithm": "dsgd",
         "implementation": None}
GRAPH_LIST = {**GRAPH, "graph": [{"type": "ring", "until": {"iterations": 4}}, GRAPH["graph"]]}
# For each: changes to the spec, the files, a change of the files, words of the message.
INPUTS = {
    "swapped classes": (IMAGES, pictures, swap_classes, ["/data", "train", "other content"]),
    "another label": (IMAGES, pictures, other_label, ["/data", "train labels"]),
    "fewer pictures": (IMAGES, pictures, fewer, ["/data", "train", "13 instead of 16"]),
    "npz": (NPZ, arrays, other_array, ["/data", "own.npz", "other content"]),
    "text": (TEXT, texts, replace("own.txt", b"every", b"any"), ["own.txt", "bytes instead of"]),
    "pairs": (PAIRS, sentences, replace("own.de", b"words 3", b"words 4"), ["own.de"]),
    "pieces": ({**PAIRS, "data": {**PAIRS["data"], "pieces": "pieces.txt"}}, sentences,
               lambda folder: subprocess.run(
                   [PROGRAM, "data", "pieces", "own.en", "--pieces", "263", "--force", "--output",
                    "pieces.txt"], cwd=folder, check=True, capture_output=True), ["pieces.txt"]),
    "photographs": (PHOTOGRAPHS, pictures, padded_photograph, ["/data", "train files"]),
    "photographs, swapped": (PHOTOGRAPHS, pictures, swap_classes, ["/data", "train files"]),
    "graph": (GRAPH, edges, replace("own.edges", b"3 0", b"3 1"), ["/graph", "own.edges"]),
    "graph in a list": (GRAPH_LIST, edges, replace("own.edges", b"3 0", b"3 01"),
                        ["/graph", "own.edges", "bytes instead of"]),
}


def on_two_ranks(dbench, *words):
    """Run the program on two ranks, in the folders A and B; return status and messages."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    command += ["--allow-run-as-root"] if os.geteuid() == 0 else []
    for folder, end in (("A", [":"]), ("B", [])):
        command += ["-n", "1", "--wdir", str(dbench.folder / folder), PROGRAM, *words, *end]
    done = subprocess.run(command, cwd=dbench.folder, capture_output=True, text=True,
                          timeout=LIMIT, env=dbench.environment)
    return done.returncode, done.stderr


@pytest.mark.parametrize("kind", INPUTS)
def test_ranks_that_read_other_data_are_refused(dbench, kind):
    changes, make, change, words = INPUTS[kind]
    spec = dbench.spec(changes, length={"iterations": 3})
    (dbench.folder / "A").mkdir()
    make(dbench.folder / "A")
    shutil.copytree(dbench.folder / "A", dbench.folder / "B")
    output = str(dbench.folder / "out.h5")
    if kind in ("swapped classes", "graph"):
        status, message = on_two_ranks(dbench, "run", spec, "--output", output, "--quiet")
        assert status == 0, message
        os.remove(output)
    change(dbench.folder / "B")
    status, message = on_two_ranks(dbench, "run", spec, "--output", output)
    assert status == 2, message
    assert not os.path.exists(output)
    assert message.count("error:") == 1, message
    for word in ["rank 1 on host", "rank 0", *words]:
        assert word in message, message


def test_check_compares_ranks_too(dbench):
    spec = dbench.spec(NPZ)
    for name in "AB":
        (dbench.folder / name).mkdir()
        arrays(dbench.folder / name)
    assert on_two_ranks(dbench, "check", spec)[0] == 0
    other_array(dbench.folder / "B")
    status, message = on_two_ranks(dbench, "check", spec)
    assert status == 2 and "own.npz" in message, message


def stopped(dbench, spec):
    """Start a run, and stop it after its first checkpoint."""
    run = dbench.start("run", spec, "--output", "out.h5", "--quiet")
    folder = dbench.folder / "out.h5.checkpoints"
    deadline = time.monotonic() + LIMIT
    while not list(folder.glob("[0-9]*/manifest.json")):
        assert run.poll() is None and time.monotonic() < deadline, run.communicate()
        time.sleep(0.02)
    run.send_signal(signal.SIGUSR1)
    assert run.wait(LIMIT) == 75


SLOW = {"length": {"iterations": 60}, "checkpoint": {"every": {"iterations": 2}},
        "delays": [{"seconds": 0.01}], "evaluate": {"every": None}}


def provenance(dbench):
    with h5py.File(dbench.folder / "out.h5") as file:
        return json.loads(file["provenance"][()])


@pytest.mark.parametrize("kind", ["swapped classes", "another label", "npz", "graph",
                                  "photographs"])
def test_a_run_does_not_resume_with_other_data(dbench, kind):
    changes, make, change, words = INPUTS[kind]
    make(dbench.folder)
    spec = dbench.spec(changes, **SLOW)
    stopped(dbench, spec)
    change(dbench.folder)
    before = (dbench.folder / "out.h5").read_bytes()
    message = dbench("run", spec, "--output", "out.h5", "--resume", expect=2).stderr
    for word in ["--resume", "--accept-changed-data", *words]:
        assert word in message or word.startswith("/"), message
    assert (dbench.folder / "out.h5").read_bytes() == before


def test_changed_data_are_accepted_and_recorded_on_request(dbench):
    arrays(dbench.folder)
    spec = dbench.spec(NPZ, **SLOW)
    stopped(dbench, spec)
    first = provenance(dbench)
    assert "earlier_inputs" not in first
    other_array(dbench.folder)
    words = ["run", spec, "--output", "out.h5", "--resume"]
    dbench("run", spec, "--accept-changed-data", expect=2)   # only with --resume
    done = dbench(*words, "--accept-changed-data")
    assert "own.npz" in done.stderr
    last = provenance(dbench)
    assert last["data"]["own.npz"] != first["data"]["own.npz"]
    (earlier,) = last["earlier_inputs"]
    assert earlier["inputs"] == first["inputs"]
    with h5py.File(dbench.folder / "out.h5") as file:
        kinds = [kind.decode() for kind in file["events/kind"]]
        at = kinds.index("data")
        assert "own.npz" in file["events/text"][at].decode()
        assert file["events/iteration"][at] == earlier["until_iteration"] - 1
        assert file.attrs["status"] == b"complete"
    # The complete file was made with the last data.
    dbench(*words)
    other_array(dbench.folder)
    assert "was completed" in dbench(*words, expect=2).stderr


def test_accepted_data_that_change_the_plan_keep_the_earlier_matrices(dbench):
    """The list changes its graph after half an epoch. With more data this is after the run's end,
    so iterations before the resumption would have had another graph."""
    def matrices():
        with h5py.File(dbench.folder / "out.h5") as file:
            offset, edge = file["graphs/offset"][:], file["graphs/edge"][:]
            edges = [edge[a:b].tolist() for a, b in zip(offset[:-1], offset[1:])]
            return [edges[row] for row in file["iterations/graph"][:]]

    arrays(dbench.folder)   # 16 samples: 4 replicas need 2 iterations for an epoch
    graph = [{"type": "ring", "until": {"epochs": 0.5}}, {"type": "complete"}]
    spec = dbench.spec({**NPZ, **GRAPH}, **SLOW, graph=graph)
    stopped(dbench, spec)
    before = matrices()
    with np.load(dbench.folder / "own.npz") as old:
        more = {name: np.concatenate([old[name]] * 100) for name in ("x_train", "y_train")}
        np.savez(dbench.folder / "own.npz", **{**old, **more})
    dbench("run", spec, "--output", "out.h5", "--resume", "--accept-changed-data")
    with h5py.File(dbench.folder / "out.h5") as file:
        first = int(file["segments/first_iteration"][1])
        assert len(file["graphs/degree"]) == 2
    ring, complete = before[:2]
    assert ring != complete
    assert matrices() == [ring] + [complete] * (first - 1) + [ring] * (60 - first)


def change_checkpoint(dbench, change):
    """Leave only the newest checkpoint, with its manifest as `change` changes it."""
    manifest = max((dbench.folder / "out.h5.checkpoints").glob("*/manifest.json"),
                   key=lambda path: int(path.parent.name))
    for other in (dbench.folder / "out.h5.checkpoints").glob("*/"):
        if other != manifest.parent:
            shutil.rmtree(other)
    inside = json.loads(json.loads(manifest.read_text())["manifest"])
    change(inside)
    text = json.dumps(inside)
    manifest.write_text(json.dumps({"manifest": text, "checksum": zlib.crc32(text.encode())}))


def test_a_run_resumes_from_a_version_that_recorded_names_only(dbench):
    """Checkpoints of earlier versions have no inputs; their result files have names and digests."""
    arrays(dbench.folder)
    spec = dbench.spec(NPZ, **SLOW)
    stopped(dbench, spec)
    change_checkpoint(dbench, lambda inside: inside.pop("inputs"))
    other_array(dbench.folder)
    words = ["run", spec, "--output", "out.h5", "--resume"]
    assert "own.npz" in dbench(*words, expect=2).stderr
    other_array(dbench.folder)
    dbench(*words)


def test_files_of_one_name_in_two_folders_have_a_digest_each(dbench):
    for folder, text in (("one", "a text. " * 30), ("two", "another text. " * 30)):
        (dbench.folder / folder).mkdir()
        (dbench.folder / folder / "same.txt").write_text(text)
    dbench.run(dbench.spec(TEXT, data={**TEXT["data"], "path": "one/same.txt",
                                       "test": "two/same.txt"}))
    digests = provenance(dbench)["data"]
    assert len(digests) == 2 and len(set(digests.values())) == 2, digests


@pytest.mark.parametrize("earlier", ["-idx3-ubyte.gz", ".idx3-ubyte", ".idx3-ubyte.gz"])
def test_a_run_resumes_from_a_version_that_recorded_how_a_file_was_packed(dbench, earlier):
    for name, magic, size in [("train-images-idx3-ubyte", 2051, (60000, 28, 28)),
                              ("train-labels-idx1-ubyte", 2049, (60000,)),
                              ("t10k-images-idx3-ubyte", 2051, (10000, 28, 28)),
                              ("t10k-labels-idx1-ubyte", 2049, (10000,))]:
        with open(dbench.folder / name, "wb") as file:
            file.write(struct.pack(f">{1 + len(size)}I", magic, *size))
            file.truncate(file.tell() + math.prod(size))
    spec = dbench.spec(data={"type": "mnist", "root": ".", "limit": {"train": 64, "test": 8},
                             "batch_size": 8}, **SLOW)
    stopped(dbench, spec)

    def rename(inside):
        text = inside["inputs"].replace("train-images-idx3-ubyte", "train-images" + earlier)
        assert text != inside["inputs"]
        inside["inputs"] = text

    change_checkpoint(dbench, rename)
    dbench("run", spec, "--output", "out.h5", "--resume")
