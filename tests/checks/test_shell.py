"""shellcheck finds nothing in the shell scripts."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# SC1091: files that a script sources on another machine. SC2317: functions that are called
# through a variable.
COMMAND = ["shellcheck", "--external-sources", "--severity=info", "--exclude=SC1091,SC2317"]


@pytest.fixture(autouse=True)
def shellcheck():
    if shutil.which("shellcheck") is None:
        pytest.skip("no shellcheck: scripts/setup installs it")


def shell_scripts():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        if path.is_file():
            first = path.read_bytes()[:64].split(b"\n")[0]
            if path.suffix in (".sh", ".sbatch") or (
                    first.startswith(b"#!") and first.endswith((b"bash", b"/sh"))):
                yield name


def test_scripts_are_checked():
    names = list(shell_scripts())
    assert {".ci/run", "scripts/setup", "scripts/common.sh", "scripts/slurm/run.sbatch"} <= {*names}
    found = subprocess.run([*COMMAND, *names], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_check_refuses(tmp_path):
    (tmp_path / "a.sh").write_text("#!/bin/bash\nrm $1\n")
    found = subprocess.run([*COMMAND, tmp_path / "a.sh"], capture_output=True, text=True)
    assert found.returncode == 1 and "SC2086" in found.stdout
