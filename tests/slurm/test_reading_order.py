"""Tests that runs which end while a command looks at them are never called failed."""

import json
import os
import subprocess
import time

import pytest
from conftest import ROOT, stand_in
from sweeps import heartbeat
from sweeps.results import Results
from test_sweep import beat, crash, result, submitted


def finished_later(sweep, name):
    """Write the complete result of a run beside the place where it belongs; return both paths."""
    result(sweep, name, "complete")
    place = sweep.output / f"{name}.h5"
    return place.rename(sweep.folder / f"{name}.done"), place


def ends_in_squeue(sweep, wait=0):
    """Make the job of s1 end, with its result, in the moment in which squeue is asked."""
    source, place = finished_later(sweep, "s1")
    stand_in(sweep, "squeue", f"(sleep {wait}; mv {source} {place}) >/dev/null 2>&1 &\n"
             f"{'wait' if not wait else ''}\necho '5_0|COMPLETED|None'")


def test_a_job_that_ends_while_the_queue_is_read_is_complete(quick, inside):
    submitted(quick, ["RUNNING"])
    ends_in_squeue(quick)
    status, said, _ = inside(quick, "status", "--watch", 0.1)
    assert status == 0 and "1 runs: 1 complete" in said


@pytest.mark.parametrize("command", ["submit", "resubmit"])
def test_it_is_not_submitted_again(quick, inside, command):
    submitted(quick, ["RUNNING"])
    ends_in_squeue(quick)
    stand_in(quick, "sbatch", "echo 6")
    status, said, _ = inside(quick, command)
    assert status == 0 and said == "nothing to submit\n"


def test_a_result_that_appears_later_than_the_end_of_its_job_is_awaited(quick, inside):
    """A folder that hosts share may show what another host wrote only seconds later."""
    submitted(quick, ["RUNNING"])
    ends_in_squeue(quick, 0.7)
    assert "1 runs: 1 complete" in inside(quick, "status")[1]


def test_a_job_without_a_result_is_still_called_failed(quick, inside):
    submitted(quick, ["COMPLETED"])
    status, said, _ = inside(quick, "status")
    assert status == 1 and "its job ended without a result" in said


def test_a_run_by_hand_that_ends_before_its_heartbeat_is_read_is_complete(quick, inside,
                                                                          monkeypatch):
    submitted(quick, [""])
    source, place = finished_later(quick, "s1")
    result(quick, "s1", "running")

    def ending(output, since=0):  # the program removes the heartbeat of a finished run
        if source.exists():
            source.rename(place)

    monkeypatch.setattr(heartbeat, "read", ending)
    assert "1 runs: 1 complete" in inside(quick, "status")[1]


def test_a_change_that_leaves_size_and_time_as_they_were_is_seen(quick):
    submitted(quick, [""])
    results, place = Results(str(quick.output)), quick.output / "s1.h5"
    result(quick, "s1", "running_")
    before = place.stat()
    assert results.read().at(str(place))["status"] == "running_"
    result(quick, "s1", "complete")
    place.write_bytes(place.read_bytes().ljust(before.st_size, b"\0"))
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert results.read().at(str(place))["status"] == "complete"


def test_times_in_the_future_do_not_show_a_living_run(quick, inside):
    submitted(quick, ["", "RUNNING", "RUNNING"])
    beat(quick, "s1", age=-86400)
    result(quick, "s1", "running")
    crash(quick, "s2", 0, "of an earlier job", age=-86400)
    result(quick, "s2", "failed", "an earlier job's error")
    os.utime(quick.output / "s2.h5", (time.time() + 86400,) * 2)
    beat(quick, "s3", age=-7200)
    _, said, _ = inside(quick, "status", "--json")
    found = {run["name"]: (run["state"], run["detail"]) for run in json.loads(said)["runs"]}
    assert found["s1"][0] == "interrupted"
    assert "its last sign of life is dated" in found["s1"][1] and "future" in found["s1"][1]
    assert found["s2"] == ("running", "starts")
    assert found["s3"][0] == "running" and "in the future" in found["s3"][1]


def test_a_sweep_is_submitted_by_one_process_at_a_time(quick, inside):
    """The second `submit` reads the list of jobs before the first one has written it."""
    quick.write({"seed": [1]}, {"graph": "ring", "replicas": 2})
    stand_in(quick, "squeue", "exit 0")
    stand_in(quick, "sbatch", f"touch {quick.folder}/asked; sleep 3; echo 5")
    first = subprocess.Popen(quick.command("submit"), cwd=quick.folder, env=quick.environment)
    until = time.monotonic() + 60
    while not (quick.folder / "asked").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    status, _, said = inside(quick, "submit")
    assert status == 2 and "another process is submitting this sweep" in said
    assert first.wait(timeout=60) == 0
    jobs = json.loads((quick.output / ".sweep/jobs.json").read_text())
    assert len(jobs) == 1


def test_cancelling_jobs_that_have_ended_meanwhile_is_no_error(quick, inside):
    submitted(quick, ["RUNNING"])
    gone = quick.folder / "gone"
    stand_in(quick, "squeue", f"[ -e {gone} ] || echo '5_0|RUNNING|None'")
    stand_in(quick, "scancel", f"touch {gone}; echo 'scancel: error: Invalid job id' >&2; exit 1")
    assert inside(quick, "cancel")[0] == 0
    gone.unlink()
    stand_in(quick, "scancel", "echo 'scancel: error: no permission' >&2; exit 1")
    status, _, said = inside(quick, "cancel")
    assert status == 2 and "no permission" in said


def test_a_local_run_whose_launcher_fails_after_its_end_is_done(quick, inside):
    quick.write({"seed": [1]}, {"graph": "ring", "replicas": 2})
    assert inside(quick, "plan")[0] == 0
    stand_in(quick, "squeue", "exit 0")
    stand_in(quick, "sbatch", "echo 5")
    inside(quick, "submit")  # writes the spec
    source, place = finished_later(quick, "s1")
    program = (quick.folder / "bin" / "dbench").read_text()
    stand_in(quick, "dbench", program.replace("run) ", f"run) mv {source} {place}; exit 1; "))
    status, said, _ = inside(quick, "local")
    assert status == 0 and "1 runs done, 0 failed" in said


def test_run_one_keeps_a_file_that_changes_while_it_is_examined(quick):
    """Another process may be writing the file that cannot be opened."""
    output = quick.folder / "s1.h5"
    body = ('#!/bin/bash\n[ $1 = doctor ] || exit 0\n{}echo "  contents         cannot open"\n')
    for change, kept in (("", False), ('printf x >>"$2"; ', True)):
        stand_in(quick, "dbench", body.format(change))
        output.write_bytes(b"\x89HDF\r\n\x1a\n\x03\x08\x08" + bytes(37))
        subprocess.run([ROOT / "scripts/slurm/run-one", "spec.json", output], cwd=quick.folder,
                       env=quick.environment, check=True, timeout=20)
        assert output.exists() == kept
