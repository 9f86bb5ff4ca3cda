"""Tests scripts/slurm/run-one and run-pack alone, with a replacement of the program."""

import os
import signal
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


@pytest.mark.parametrize("before, again", [(True, False), (False, True)])
def test_a_pack_is_requeued_only_if_a_run_was_completed_in_it(tmp_path, before, again):
    """Run a ends, b cannot stop at a checkpoint, and c waits. If a was complete before the job
    began, another start would not bring the pack any further."""
    out, tools = tmp_path / "out", tmp_path / "tools"
    (out / ".sweep" / "logs").mkdir(parents=True)
    tools.mkdir()
    (out / "a.h5").write_bytes(HEAD + b"\0" + bytes(36))
    os.utime(out / "a.h5", (time.time() - OLD,) * 2)
    for name, text in {
            "dbench": 'case "$*" in doctor*a.h5) [ $BEFORE = yes ] && echo "  status  complete" ;;'
                      f' run*b.json*) touch {out}/begun; trap "exit 1" USR1; sleep 20 & wait ;;'
                      f' run*a.json*) touch {out}/a.h5 ;; esac',
            "launch": 'shift 2; exec "$@"', "scontrol": f"touch {out}/requeued"}.items():
        (tools / name).write_text(f"#!/bin/bash\n{text}\n")
        (tools / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "SLURM_JOB_ID": "7",
                   "DBENCH_PROGRAM": str(tools / "dbench"), "DBENCH_REQUEUE": "yes",
                   "BEFORE": "yes" if before else "no"}
    pack = subprocess.Popen(
        ["bash", "-c", 'exec "$0" 1 out launch 3<<<"$LINES"', ROOT / "scripts/slurm/run-pack"],
        cwd=tmp_path, env={**environment, "LINES": "1 a\n1 b\n1 c"})
    end = time.monotonic() + 20
    while not (out / "begun").exists():
        assert time.monotonic() < end and pack.poll() is None
        time.sleep(0.02)
    pack.send_signal(signal.SIGUSR1)
    assert pack.wait(timeout=20) == 1
    assert (out / "requeued").exists() == again


@pytest.mark.parametrize("job, ranks", [({"SLURM_CPUS_PER_TASK": "7"}, "7"), ({}, "")])
def test_a_job_by_hand_gives_a_rank_the_processors_of_the_job(quick, job, ranks):
    """A rank gets the processors of the job, although srun itself no longer inherits them."""
    done = subprocess.run(
        ["bash", ROOT / "scripts/slurm/run.sbatch", "spec.json", "out.h5"], cwd=quick.folder,
        text=True, capture_output=True, timeout=20,
        env={**quick.environment, **job, "DBENCH_ROOT": str(ROOT), "SLURM_NTASKS": "2",
             "DBENCH_LAUNCHER": "printenv SRUN_CPUS_PER_TASK"})
    assert done.stdout.split("\n")[0] == ranks, done.stderr


@pytest.mark.parametrize("nodes, status", [("2", 2), ("1", 0)])
def test_a_job_of_several_nodes_needs_a_number_of_ranks(quick, nodes, status):
    environment = {name: value for name, value in quick.environment.items()
                   if name != "SLURM_NTASKS"}
    done = subprocess.run(
        ["bash", ROOT / "scripts/slurm/run.sbatch", "spec.json", "out.h5"], cwd=quick.folder,
        text=True, capture_output=True, timeout=20,
        env={**environment, "DBENCH_ROOT": str(ROOT), "SLURM_JOB_NUM_NODES": nodes,
             "DBENCH_LAUNCHER": "true"})
    assert done.returncode == status, done.stderr
    assert ("give -n or --ntasks-per-node" in done.stderr) == bool(status)
