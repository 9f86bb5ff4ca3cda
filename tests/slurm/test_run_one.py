"""Tests scripts/slurm/run-one and run-pack alone, with a replacement of the program."""

import os
import subprocess
import time

import pytest
from conftest import ROOT

HEAD = b"\x89HDF\r\n\x1a\n\x03\x08\x08"  # first bytes of a result file; the writer's flag follows
OLD = 3600


@pytest.fixture
def run_one(quick):
    """Return a function that runs run-one on an hour-old result file with the given writer's flag,
    and
    returns the number of started runs."""
    def run(mark, status="running"):
        output = quick.folder / "a run.h5"
        quick.environment["DBENCH_STATUS"] = status
        output.write_bytes(HEAD + mark + bytes(36))
        os.utime(output, (time.time() - OLD,) * 2)
        subprocess.run([ROOT / "scripts/slurm/run-one", "spec.json", output], cwd=quick.folder,
                       env=quick.environment, check=True, timeout=20)
        quick.age = time.time() - output.stat().st_mtime
        called = [path.read_text().split("\0")[:-1] for path in quick.folder.glob("notes/run.*")]
        assert all(words == ["run", "spec.json", "--output", str(output), "--resume"]
                   for words in called)
        return len(called)
    run.sweep = quick
    return run


@pytest.mark.parametrize("mark", [b"\x05", b"\x01"])
def test_a_dead_writers_file_is_not_touched_before_the_program_resumes_it(run_one, mark):
    assert run_one(mark) == 1
    # A younger file would seem to have a living writer on another host.
    assert run_one.sweep.age > OLD - 60


def test_a_complete_run_is_left_as_it_is_and_another_is_started(run_one):
    assert run_one(b"\0", "complete") == 0
    assert run_one(b"\0", "failed") == 1


def test_an_output_that_is_not_a_file_does_not_hang(quick):
    os.mkfifo(quick.folder / "fifo.h5")
    for name in ("fifo.h5", "-n.h5"):
        subprocess.run([ROOT / "scripts/slurm/run-one", "spec.json", name], cwd=quick.folder,
                       env=quick.environment, check=True, timeout=20)
    assert len(list(quick.folder.glob("notes/run.*"))) == 2


@pytest.mark.parametrize("total, line", [
    ("a[$(touch PWNED)]", "1 s1"), ("4", "a[$(touch${IFS}PWNED)] s1"), ("4", "0 s1"),
    ("0x4", "1 s1"),
])
def test_a_pack_computes_with_numbers_only(quick, total, line):
    done = subprocess.run(["bash", "-c", '"$0" "$@" 3<<<"$LINE"', ROOT / "scripts/slurm/run-pack",
                           total, "out"],
                          cwd=quick.folder, env={**quick.environment, "LINE": line}, text=True,
                          capture_output=True, timeout=20)
    assert done.returncode == 2 and done.stderr.startswith("run-pack: '")
    assert not (quick.folder / "PWNED").exists()


@pytest.mark.parametrize("job, ranks", [({"SLURM_CPUS_PER_TASK": "7"}, "7"), ({}, "")])
def test_a_job_by_hand_gives_a_rank_the_processors_of_the_job(quick, job, ranks):
    """A rank gets the processors of the job, although srun itself no longer inherits them."""
    done = subprocess.run(
        ["bash", ROOT / "scripts/slurm/run.sbatch", "spec.json", "out.h5"], cwd=quick.folder,
        text=True, capture_output=True, timeout=20,
        env={**quick.environment, **job, "DBENCH_ROOT": str(ROOT), "SLURM_NTASKS": "2",
             "DBENCH_LAUNCHER": "printenv SRUN_CPUS_PER_TASK"})
    assert done.stdout.split("\n")[0] == ranks, done.stderr
