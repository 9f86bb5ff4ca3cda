"""A rank that stands still: the others end within the deadline, and say which rank it was."""

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
def test_a_rank_that_stands_still_at_the_start_is_named(dbench, rank):
    """It is stopped before the program's first line, so MPI itself waits for it."""
    command = mpirun(3) + ["sh", "-c", STOPPED.format(rank), PROGRAM, "run", dbench.spec(),
                           "--output", "out.h5"]
    start = time.monotonic()
    run = subprocess.Popen(command, cwd=dbench.folder, text=True, stderr=subprocess.PIPE,
                           env={**dbench.environment, "DBENCH_TIMEOUT": "4"})
    try:
        _, errors = run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        run.kill()
        pytest.fail("it hangs")
    assert run.returncode != 0 and time.monotonic() - start < 45
    assert "the start stalled" in errors and "DBENCH_TIMEOUT" in errors, errors
    assert re.search(rf"rank {rank} is stopped \(process \d+\)", errors), errors
    others = ", ".join(str(r) for r in range(3) if r != rank)
    assert f"ranks {others} of this host came" in errors, errors
    assert not (dbench.folder / "out.h5").exists()


@pytest.mark.parametrize("rank", [0, 2])
def test_the_culprit_is_named_and_not_those_who_wait_for_it(dbench, rank):
    """On a ring each rank waits for two; who waits for the stopped one owes others, too."""
    dbench.environment["DBENCH_TIMEOUT"] = "4"
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
