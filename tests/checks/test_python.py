"""Tests that `ruff` accepts every Python file (ruff.toml: line length, imports, likely errors), and
that `mypy` accepts the analysis package and the sweeps (mypy.ini: types)."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(tool, *arguments):
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"no {tool}: scripts/setup installs it")
    return subprocess.run([sys.executable, "-m", tool, *arguments], cwd=ROOT, capture_output=True,
                          text=True)


def python_files():
    """Return all Python files that git knows, including Python scripts without a suffix."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if path.suffix == ".py" and path.is_file():
            yield name
        elif not path.suffix and path.is_file() and path.read_bytes()[:64].startswith(b"#!"):
            if "python" in path.read_bytes()[:64].decode("utf-8", "replace").splitlines()[0]:
                yield name


def test_ruff_finds_nothing():
    found = run("ruff", "check", "--no-cache", "--output-format", "concise", *python_files())
    assert found.returncode == 0, found.stdout + found.stderr


def test_mypy_finds_nothing(tmp_path):
    found = run("mypy", "--cache-dir", str(tmp_path))
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("line, rule", [("import os", "F401"), ("x = " + "1 + " * 30 + "1", "E501"),
                                        ("import sys, json; print(sys, json)", "E401")])
def test_the_check_refuses(tmp_path, line, rule):
    (tmp_path / "a.py").write_text(line + "\n")
    found = run("ruff", "check", "--no-cache", "--config", str(ROOT / "ruff.toml"),
                str(tmp_path / "a.py"))
    assert found.returncode == 1 and rule in found.stdout
