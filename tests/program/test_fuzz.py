"""Runs the fuzz targets on their corpora, and on mutated inputs for DBENCH_FUZZ_SECONDS (2) each,
with the seed DBENCH_FUZZ_SEED (1). A failing input is saved in DBENCH_FUZZ_KEEP, if that is set."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT

sys.path.insert(0, str(ROOT / "tests" / "fuzz"))

import corpora

SECONDS = float(os.environ.get("DBENCH_FUZZ_SECONDS", "2"))
SEED = os.environ.get("DBENCH_FUZZ_SEED", "1")


@pytest.mark.parametrize("target", ["spec", "graph", "data", "result", "checkpoint", "exported"])
def test_mutated_inputs_are_refused_or_read(dbench, target):
    program = Path(PROGRAM).parent / "tests" / f"fuzz_{target}"
    if not program.exists():
        pytest.fail(f"{program}: no program (build it first)")
    made = (corpora.result(dbench.run(dbench.spec(checkpoint={"every": {"iterations": 2}})))
            if target == "result" else getattr(corpora, target)())
    folder = dbench.folder / "corpus"
    folder.mkdir()
    for name, data in made.items():
        (folder / name).write_bytes(data)
    done = subprocess.run([str(program), str(folder), str(SECONDS), SEED], cwd=dbench.folder,
                          text=True, errors="replace", capture_output=True, timeout=SECONDS + 120)
    failed = dbench.folder / "fuzz_failed.bin"
    if failed.exists() and os.environ.get("DBENCH_FUZZ_KEEP"):
        shutil.copy(failed, os.environ["DBENCH_FUZZ_KEEP"])
    assert done.returncode == 0 and "none failed" in done.stdout, done.stderr[-2000:]
    print(done.stdout)
