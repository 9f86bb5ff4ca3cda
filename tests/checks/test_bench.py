"""Tests that benchmarks find the Python that they need, or say in one line how to get it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BARE = [sys.executable, "-S", "-E"]  # a Python without the packages of its environment


@pytest.fixture
def checkout(tmp_path):
    """Return a copy of the benchmarks without a Python environment."""
    for folder in ("bench", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def ended(*command, **variables):
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **variables})


@pytest.mark.parametrize("name", ["recording", "ranks", "scale", "startup", "peers", "gpu",
                                  "predict", "compression"])
def test_without_h5py(checkout, name):
    found = ended(*BARE, checkout / "bench" / name)
    assert found.returncode == 2 and "run scripts/setup" in found.stderr
    assert found.stderr.count("\n") == 1
    for environment in ".venv-cuda", ".venv":  # .venv is preferred if both exist
        own = checkout / environment / "bin" / "python"
        own.parent.mkdir(parents=True)
        own.write_text(f"#!/bin/sh\necho that of {environment}: $*\n")
        own.chmod(0o755)
        found = ended(*BARE, checkout / "bench" / name, "7")
        assert found.stdout == f"that of {environment}: {checkout / 'bench' / name} 7\n"


def test_without_torch(checkout):
    found = ended(checkout / "bench" / "throughput", DBENCH_TORCH_PYTHON="/bin/false")
    assert found.returncode == 2 and "DBENCH_TORCH_PYTHON" in found.stderr
    assert found.stderr.count("\n") == 1
    found = ended(*BARE, checkout / "bench" / "pytorch_throughput.py")
    assert found.returncode == 2 and "cannot import torch" in found.stderr


COMMANDS = sorted(path.name for path in (ROOT / "bench").iterdir()
                  if path.is_file() and os.access(path, os.X_OK))


@pytest.mark.parametrize("name", COMMANDS)
def test_each_benchmark_has_a_help_text(name):
    path = ROOT / "bench" / name
    words = [sys.executable] if "python" in path.read_text().split("\n", 1)[0] else []
    found = ended(*words, path, "--help")
    assert found.returncode == 0 and f"bench/{name}" in found.stdout, found.stderr
