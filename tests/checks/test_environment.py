"""Tests that docs/command-line.md lists all environment variables of the project."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READ = r"""(?:getenv\(|environ(?:\.get\(|\[))["'](DBENCH_\w+)"""
SCRIPT = r"\$\{(DBENCH_\w+):-"  # a default of run.sbatch


def read_by(folder, pattern):
    """Yield the variables that files of a folder read."""
    for path in sorted((ROOT / folder).rglob("*")):
        if path.is_file() and path.suffix in ("", ".py", ".cpp", ".sbatch"):
            yield from re.findall(pattern, path.read_text())


def test_variables_are_documented():
    wanted = {name for folder in ("src", "scripts", "bench", "analysis/dbench_analysis")
              for name in read_by(folder, READ)}
    wanted |= set(re.findall(SCRIPT, (ROOT / "scripts/slurm/run.sbatch").read_text()))
    assert {"DBENCH_PROGRAM", "DBENCH_SITE", "DBENCH_LAUNCHER", "DBENCH_NCCL"} <= wanted
    rows = re.findall(r"^\| (`[^|]*`) \|", (ROOT / "docs/command-line.md").read_text(), re.M)
    assert wanted <= set(re.findall("`(DBENCH_\\w+)`", " ".join(rows)))
