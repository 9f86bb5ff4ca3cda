"""The examples of docs/your-model.md: its commands, in their order, with short runs."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from exporting import torch  # noqa: F401  (skips these tests without PyTorch)

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("DBENCH_PROGRAM", str(ROOT / "build" / "dbench"))
DOCUMENT = (ROOT / "docs" / "your-model.md").read_text()
SHORT = ["--quiet", "--set", '/length={"iterations": 24}', "--set",
         '/evaluate={"every": {"iterations": 12}, "replicas": 2}']


def commands():
    """Return the words of the document's commands on its own two models and their runs."""
    lines = re.findall(r"^    ((?:python |dbench-export \w+\.py|dbench ).*)$", DOCUMENT, re.M)
    return [shlex.split(line) for line in lines]


def execute(words, folder):
    if words[0] == "dbench":
        words = [PROGRAM, *words[1:], *SHORT]
    elif words[0] == "dbench-export":
        words = [sys.executable, "-m", "dbench_export", *words[1:]]
    else:
        words = [sys.executable, *words[1:]]
    path = os.pathsep.join([str(ROOT / "export"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(words, cwd=folder, text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"


def test_the_commands_of_the_document(tmp_path):
    """The models learn, and both runs of the transformer record what the figure shows."""
    h5py = pytest.importorskip("h5py", reason="no h5py: set DBENCH_TORCH_PYTHON to one that has it")
    if not shutil.which(PROGRAM):
        pytest.fail(f"{PROGRAM}: no program (build it first)")
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "export" / "examples", folder)
    (folder / "my.txt").write_text(DOCUMENT * 4)
    listed = commands()
    assert len(listed) == 6
    for words in listed:
        execute(words, folder)
    losses = {}
    for name in ("ring", "all", "words"):
        with h5py.File(folder / "results" / f"{name}.h5") as file:
            losses[name] = file["evaluations/mean_loss"][:]
            assert file["tensors/name"].shape[0] > 20
    assert all(each[-1] < each[0] for each in losses.values()), losses


@pytest.mark.parametrize("name", ["vit", "words"])
def test_the_document_shows_the_files(name):
    spec = (ROOT / "export" / "examples" / f"{name}.json").read_text().split("\n", 1)[1]
    assert "".join(f"    {line}\n" for line in spec.splitlines()) in DOCUMENT
