"""Runs the example of docs/sweep-to-table.md, command by command, in one shell."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import CLUSTER, PROGRAM, ROOT, lacking_for_a_cluster, plain_environment

COMMAND = r"    (scripts/slurm/|eval |\.venv/bin/dbench-analyze )"
ANALYZE = os.path.join(os.path.dirname(sys.executable), "dbench-analyze")


@pytest.fixture
def place():
    """Return a folder like the project's that every emulated host sees, unlike /tmp."""
    if lacking_for_a_cluster():
        pytest.skip(f"no local Slurm cluster here: {lacking_for_a_cluster()} is missing")
    (ROOT / ".cache").mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=ROOT / ".cache", prefix="slurm-"))
    for name in ("configs", "scripts"):
        (folder / name).symlink_to(ROOT / name)
    yield folder
    subprocess.run([CLUSTER, "down"], env={**os.environ, "DBENCH_CLUSTER": str(folder / "c")},
                   timeout=60, check=False)
    shutil.rmtree(folder, ignore_errors=True)


def test_every_command_in_its_order(place):
    lines = (ROOT / "docs/sweep-to-table.md").read_text().splitlines()
    commands = [line.strip().replace(".venv/bin/dbench-analyze", ANALYZE) for line in lines
                if re.match(COMMAND, line)]
    steps = [f"{command}\necho '# done: '{k}\n" for k, command in enumerate(commands)]
    (place / "all").write_text("set -e\n" + "".join(steps))
    environment = {**plain_environment(), "DBENCH_PROGRAM": PROGRAM,
                   "DBENCH_CLUSTER": str(place / "c")}
    done = subprocess.run(["bash", "all"], cwd=place, env=environment, text=True,
                          capture_output=True, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    told = re.split(r"# done: \d+\n", done.stdout)
    said = dict(zip(commands, told))
    assert len(said) == len(commands) > 12

    def of(*words):
        return next(text for command, text in said.items()
                    if all(word in command for word in words))

    assert "12 to do, 0 refused" in of("plan") and "#SBATCH --array=0-11" in of("--dry-run")
    assert of("--watch").rstrip().endswith("12 runs: 12 complete")
    assert "nothing to submit" in of("resubmit")
    table = of("table", "accuracy_min")
    assert re.search(r"C_complete .*±.* D_ring .*±", table, re.S)
    assert "n = 3 runs in each cell" in table
    assert "Too few seeds" in of("compare") and "Too few seeds" in of("compare", "accuracy_min")
    results = place / "results/sweeps/example"
    assert len((results / "runs.csv").read_text().splitlines()) == 13
    assert len(list((results / "plots").iterdir())) >= 2
    assert "D_ring-n16-s3" in (results / "report.html").read_text()
    assert not (place / "c").exists()  # the cluster was shut down
