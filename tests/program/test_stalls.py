"""Tests of a rank that is stopped: the others end within the deadline and name it."""

import os
import re
import signal
import subprocess
import time

import pytest
from conftest import PROGRAM, mpirun
from test_failures import LONG, children, wait_for_rows

STOPPED = 'if [ "$OMPI_COMM_WORLD_RANK" = {} ]; then kill -STOP $$; fi; exec "$0" "$@"'


@pytest.mark.parametrize("rank", [0, 2])
def test_a_rank_stopped_at_the_start_is_named(dbench, rank):
    """A rank that is stopped before the program's first line, for which MPI itself waits, is
    named."""
    command = mpirun(3) + ["sh", "-c", STOPPED.format(rank), PROGRAM, "run", dbench.spec(),
                           "--output", "out.h5"]
    start = time.monotonic()
    run = subprocess.Popen(command, cwd=dbench.folder, text=True, stderr=subprocess.PIPE,
                           env={**dbench.environment, "DBENCH_TIMEOUT": "8"})
    try:
        _, errors = run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        run.kill()
        pytest.fail("it hangs")
    assert run.returncode != 0 and time.monotonic() - start < 45
    assert "the start stalled" in errors and "DBENCH_TIMEOUT" in errors, errors
    assert re.search(rf"rank {rank} is stopped \(process \d+\)", errors), errors
    others = ", ".join(str(r) for r in range(3) if r != rank)
    assert f"ranks {others} of this host reached it" in errors, errors
    assert not (dbench.folder / "out.h5").exists()


@pytest.mark.parametrize("rank", [0, 2])
def test_only_the_stopped_rank_is_named(dbench, rank):
    """On a ring each rank waits for two others, and ranks that wait for the stopped rank do not
    send either; still only the stopped rank is named."""
    dbench.environment["DBENCH_TIMEOUT"] = "8"
    run = dbench.start("run", dbench.spec(LONG), "--output", "out.h5", ranks=4)
    wait_for_rows(dbench.folder / "out.h5")
    os.kill(children(run.pid)[rank], signal.SIGSTOP)
    try:
        _, errors = run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        run.kill()
        pytest.fail("it hangs")
    assert run.returncode != 0
    blamed = re.findall(r"no answer from (ranks? [\d, ]*\d)", errors)
    assert blamed and set(blamed) == {f"rank {rank}"}, errors
    assert re.search(rf"rank \d waits for ranks? [\d, ]*{rank}", errors), errors
    assert "wait for one another" not in errors
