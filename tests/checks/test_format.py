"""Tests that clang-format would not change any C++ source (version 14, which scripts/setup
installs)."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def formatter():
    beside_python = Path(sys.executable).parent / "clang-format"
    found = str(beside_python) if beside_python.exists() else shutil.which("clang-format")
    if not found:
        pytest.skip("no clang-format: scripts/setup installs it")
    version = subprocess.run([found, "--version"], capture_output=True, text=True).stdout
    if "version 14." not in version:
        pytest.skip(
            f"other versions format otherwise ({version.strip()}): scripts/setup installs 14")
    return found


def test_sources_are_formatted():
    tracked = subprocess.run(
        ["git", "ls-files", "*.hpp", "*.cpp", "*.cu"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    files = [name for name in tracked if name and (ROOT / name).exists()]
    assert files
    check = subprocess.run([formatter(), "--dry-run", "-Werror", *files],
                           cwd=ROOT, capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in check.stderr.split("\n") if "error:" in line})
    assert not wrong, "clang-format -i " + " ".join(wrong)
