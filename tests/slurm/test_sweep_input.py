"""Tests of invalid files and unwritable folders: the error is one line, the exit status is 2, and
nothing is written.

Each command is limited to ten seconds and 4 GiB, so that hanging and endless reading are detected.
"""

import json
import os
import subprocess
import time

import h5py
import pytest
from conftest import BASE, stand_in

DEEP = 100000
SPEC = {**BASE, "replicas": 4, "graph": "ring"}


@pytest.fixture
def refused(quick, inside):
    """Return a function that runs a command that must be refused, and returns its one-line
    error."""
    def call(command="plan", *words):
        status, _, said = inside(quick, command, *words)
        assert status == 2 and said.startswith("sweep: error: ") and said.endswith(")\n"), said
        assert said.count("\n") == 1, said
        return said
    return call


@pytest.fixture
def misused(quick, inside):
    """Return a function that runs a command with wrong options, and returns its error."""
    def call(command, *words):
        status, _, said = inside(quick, command, *words)
        assert status == 2 and said.startswith("usage: "), said
        return said
    return call


def given(sweep, text=None, **changes):
    """Write a valid sweep file with changes."""
    sweep.write({"seed": [1, 2]}, SPEC)
    if text is None:
        text = json.dumps({**json.loads(sweep.file.read_text()), **changes})
    sweep.file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return sweep


def hundreds(count, values=100):
    return {f"/x/{k}": list(range(values)) for k in range(count)}


@pytest.mark.parametrize("changes, said", [
    ({"axes": hundreds(6)}, "/axes: 1,000,000,000,000 combinations (100 x 100 x 100 x 100 x 100 x "
     "100; at most 10,000, because the program checks each) (list the wanted ones by"),
    ({"axes": hundreds(100)}, "/axes: over 10^200 combinations"),
    ({"axes": hundreds(101, 1)}, "/axes: 101 axes (at most 100)"),
    ({"axes": {"seed": list(range(10001))}}, "/axes: 10,001 combinations"),
    ({"axes": {"zip": {"seed": list(range(10001))}}}, "/axes: 10,001 combinations"),
    ({"axes": hundreds(2), "exclude": [{"/x/0": list(range(1001))}]},
     "10,000 combinations, each to be compared with 1,001"),
    ({"axes": {"/a=b": [1]}}, "/axes//a=b: no such axis"),
    ({"axes": {"/a\nb": [1]}}, "/axes//a\\nb: no such axis"),
    ({"a\nb": 1}, "/a\\nb: unknown key"),
    ({"name": "{seed}\n"}, "/name: gives '1\\n'"),
    ({"name": "{seed}" + 300 * "x"}, "of 301 letters (at most 200)"),
    ({"name": 2000 * "x"}, "/name: not a string of at most 1000 letters"),
    ({"name": ""}, "/name: gives ''"),
    ({"name": []}, "/name: not a string"),
    ({"name": False}, "/name: not a string"),
    ({"ranks": 2 ** 31}, "/ranks: neither a number"),
    ({"time": 10 ** 90}, "/time: not a duration"),
    ({"time": "90\n"}, "/time: not a duration"),
    ({"time": "९०"}, "/time: not a duration"),
    ({"base": "/dev/zero"}, "/base: /dev/zero is not an ordinary file"),
    ({"base": "a\0b"}, "/base: no file"),
    ({"base": {"base": "/dev/zero"}}, "/base: /dev/zero is not an ordinary file"),
    ({"output": "a\nb"}, "/output: 'a\\nb' holds a control character"),
    ({"output": "a\0b"}, "/output: 'a\\x00b' holds a control character"),
    ({"output": "a\u2028b"}, "/output: 'a\\u2028b' holds a control character"),
    ({"output": "a%Ab"}, "/output: 'a%Ab' holds"),
    ({"output": "a\\b"}, "/output: 'a\\b' holds"),
    ({"output": "sweep.json"}, "sweep.json is not a folder"),
    ({"output": "sweep.json/out"}, "sweep.json is not a folder"),
    ({"output": "/dev/null/out"}, "/dev/null is not a folder"),
    ({"output": "/proc/out"}, "/proc/out/.sweep/checks: cannot be made: No such file"),
    ({"output": 300 * "x"}, "cannot be read: File name too long"),
])
def test_too_many_runs_and_invalid_paths_are_refused(quick, refused, changes, said):
    given(quick, **changes)
    assert said in refused()
    assert not quick.output.exists()


@pytest.mark.parametrize("text, said", [
    ("[" * DEEP, "nested more than 100 levels deep"),
    ('{"base": ' + '{"a": ' * DEEP + "1" + "}" * DEEP + "}", "nested more than 100 levels deep"),
    ('{"axes": {"seed": [' + "[" * 200 + "]" * 200 + "]}}", "nested more than 100 levels deep"),
    (b'{"base": "\xff\xfe"}', "cannot be read: 'utf-8' codec"),
    (r'{"output": "\udcff"}', r"'\udcff' is half of a character"),
    (r'{"\ud800": 1}', r"'\ud800' is half of a character"),
    ('{"axes": {"seed": [NaN]}}', "NaN is no number here"),
    ('{"axes": {"/optimizer/lr": [1e400]}}', "the number 1e400 is too large"),
    ('{"axes": {"seed": [' + "9" * 5000 + "]}}", "is too large"),
    ('"' + '\\"' * 500000, "not JSON"),
    ("{" + ",".join(f'"{k}": 1' for k in range(100000)) + ', "7": 1}',
     'the key "7" is given twice'),
    (" " * 5000000, "larger than 4 MiB"),
    ("", "not JSON"),
], ids=lambda value: str(value)[:20])
def test_files_that_are_not_sweeps(quick, refused, text, said):
    began = time.time()
    given(quick, text)
    assert said in refused()
    assert time.time() < began + 5 and not quick.output.exists()


def not_files(folder):
    os.mkfifo(folder / "fifo")
    (folder / "dangling").symlink_to(folder / "nothing")
    (folder / "circle").symlink_to(folder / "circle")
    (folder / "folder").mkdir()
    return ["fifo", "dangling", "circle", "folder", "/dev/zero", "/dev/full"]


def test_fifos_devices_and_links_to_nothing_instead_of_files(quick, refused):
    for name in not_files(quick.folder):
        given(quick, base=name)
        assert "/base: " in refused()
        (quick.folder / "base.json").write_text(json.dumps({**SPEC, "base": name}))
        given(quick, base="base.json")
        assert "cannot be read: " in refused()
        given(quick)
        assert "cannot be read: " in refused("submit", "--dry-run", "--site", name)
        quick.file = quick.folder / name
        assert "cannot be read: " in refused()
    assert not quick.output.exists()


def test_an_output_that_is_a_link_to_nothing(quick, refused):
    not_files(quick.folder)
    for name in ("dangling", "circle", "fifo"):
        given(quick, output=name)
        assert f"{name} is not a folder" in refused()


def test_a_refused_sweep_leaves_nothing_and_an_accepted_one_is_remembered(quick):
    program = quick.folder / "bin" / "dbench"
    accepts = program.read_text()
    stand_in(quick, "dbench", accepts.replace("answer() {", """answer() {
    [[ $1 != *'"/seed": 2'* ]] || { echo '{"error": "no luck"}'; return; }"""))
    given(quick)
    assert "refused: no luck" in quick("plan", expect=2)
    assert not quick.output.exists()
    assert "1 of 2 runs would fail" in quick("submit", expect=2) and not quick.output.exists()
    stand_in(quick, "dbench", accepts)
    quick("plan")
    asked = (quick.folder / "notes" / "asked").read_text()
    quick("plan")
    assert (quick.folder / "notes" / "asked").read_text() == asked
    for path in (quick.output / ".sweep" / "checks").iterdir():
        path.write_text("[]")  # a damaged answer is requested again
    quick("plan")
    assert (quick.folder / "notes" / "asked").read_text() == asked + "x\nx\n"


def test_few_starts_check_all_runs_and_those_with_equal_samples_one_after_another(quick):
    program = (quick.folder / "bin" / "dbench").read_text()
    stand_in(quick, "dbench", program.replace('check) answers "$2"', """check)
        questions=$(cat)
        echo "$questions" >>"$DBENCH_NOTES/starts"
        answers "$2" <<<"$questions\""""))
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
    given(quick, axes={"/optimizer/lr": values, "seed": [1, 2]})
    assert [run["name"] for run in quick.plan()["runs"]] == [
        f"{value}-s{seed}" for value in values for seed in (1, 2)]
    starts = (quick.folder / "notes" / "starts").read_text().splitlines()
    points = [[point["set"]["/seed"] for point in json.loads(start)] for start in starts]
    assert len(starts) <= 8 and sorted(sum(points, [])) == [1] * 8 + [2] * 8
    assert all(seeds == sorted(seeds) for seeds in points)


@pytest.mark.parametrize("said", [
    "echo nothing", "echo '[]'", "echo '{\"spec\": []}'", "printf '\\377'",
    "echo '{'$(printf '[%.0s' {1..2000})",
    "echo '{\"spec\": {\"replicas\": null}, \"iterations\": 1}'",
])
def test_unknown_output_of_the_program_is_reported(quick, said):
    stand_in(quick, "dbench", said)
    plan = given(quick).plan(expect=2)
    assert all("dbench" in run["error"] for run in plan["runs"]) and not quick.output.exists()


def test_a_value_longer_than_a_command_line(quick):
    given(quick, axes={"/notes": ["x" * 200000]}, name="long")
    assert quick.plan()["totals"]["needed"] == 1


def written(path, spec):
    with h5py.File(path, "w") as file:
        file.attrs.update({"status": "complete", "error": "", "started": "", "finished": ""})
        file["spec"], file["iterations/iteration"] = spec, [0]


def test_invalid_result_files(quick):
    given(quick, axes={"seed": [1, 2, 3, 4, 5, 6]})
    out = quick.output
    out.mkdir()
    os.mkfifo(out / "s1.h5")
    (out / "s2.h5").symlink_to(out / "nothing")
    (out / "s3.h5").mkdir()
    runs = {run["name"]: run["error"] for run in quick.plan(expect=2)["runs"]}
    assert [name for name in runs if runs[name]] == ["s1", "s2", "s3"]
    assert "s1.h5 is not an ordinary file" in runs["s1"] and "is a link to nothing" in runs["s2"]
    for name in ("s1", "s2"):
        (out / f"{name}.h5").unlink()
    (out / "s3.h5").rmdir()
    for name, spec in (("s4", "[1, 2]"), ("s5", "null"), ("s6", "[" * DEEP),
                       ("deep", '{"a":' * 900 + "1" + "}" * 900)):
        written(out / f"{name}.h5", spec)
    (out / "a\nb.h5").write_bytes(b"")
    with open(os.fsencode(out) + b"/\xff.h5", "wb"):
        pass
    assert quick.plan()["totals"]["needed"] == 6
    stand_in(quick, "squeue", "exit 0")
    found = quick.status()
    assert [name for name in found if found[name] == "failed"] == ["s4", "s5", "s6"]
    assert "/spec is no JSON object" in quick.detail["s4"]


def test_a_complete_file_with_a_name_that_is_not_text(quick):
    given(quick, axes={"seed": [1]})
    written(quick.folder / "a.h5", json.dumps(quick.plan()["runs"][0]["spec"]))
    os.rename(quick.folder / "a.h5", os.fsencode(quick.output) + b"/\xff\n.h5")
    for locale in ("C.UTF-8", "C"):
        quick.environment["LC_ALL"] = locale
        assert "1 complete" in quick("plan")


def submitted(sweep):
    """Make the sweep look as if it is in the queue as job 5."""
    stand_in(sweep, "squeue", "echo '5_0|RUNNING|None'; echo '5_1|PENDING|None'")
    stand_in(sweep, "sbatch", 'cat >/dev/null; echo x >>"$DBENCH_NOTES/submitted"; echo 5')
    given(sweep)
    sweep("submit")
    return sweep.output / ".sweep" / "jobs.json"


def test_damaged_notes_of_jobs_are_left_alone(quick, refused):
    jobs = submitted(quick)
    entry = json.loads(jobs.read_text())[0]
    damaged = ["", "{", "{}", "[1]", "[{}]", "null", "[" * DEEP, b"\xff",
               *(json.dumps([{**entry, key: value}]) for key, value in
                 [("job", None), ("job", 5), ("job", "-5"), ("job", "5 6"), ("kind", ""),
                  ("submitted", "now"),
                  ("runs", "s1"), ("runs", [1]), ("site", 1)])]
    for text in damaged:
        jobs.write_bytes(text if isinstance(text, bytes) else text.encode())
        before = jobs.read_bytes()
        for command in ("status", "submit", "resubmit", "cancel"):
            assert "jobs.json: " in refused(command)
        assert jobs.read_bytes() == before
    jobs.unlink()
    os.mkfifo(jobs)
    assert "not an ordinary file" in refused("status")
    assert (quick.folder / "notes" / "submitted").read_text() == "x\n"


@pytest.mark.parametrize("option", ["--tries", "--pack", "--throttle", "--max-jobs"])
def test_counts_start_at_one(quick, misused, option):
    jobs = submitted(quick)
    before = jobs.read_bytes()
    for value in ("0", "-1", "1.5", "x", "", "nan", "9" * 5000, "٣"):
        for command in ("submit", "resubmit"):
            assert "is not a whole number from 1 up" in misused(command, option, value)
    assert jobs.read_bytes() == before
    assert (quick.folder / "notes" / "submitted").read_text() == "x\n"


@pytest.mark.parametrize("command, option", [("submit", "--wait"), ("status", "--watch")])
def test_seconds_are_above_zero(quick, misused, command, option):
    given(quick)
    for value in ("0", "-1", "nan", "inf", "1e300", "x"):
        assert "is not a number of seconds" in misused(command, f"{option}={value}")


@pytest.mark.parametrize("printed", ["", "Submitted batch job 5", "5_0", "-5", "null"])
def test_an_invalid_job_id_is_not_stored(quick, refused, printed):
    stand_in(quick, "squeue", "exit 0")
    stand_in(quick, "sbatch", f"cat >/dev/null; echo '{printed}'")
    given(quick)
    assert "sbatch: accepted a job, but printed" in refused("submit")
    assert not (quick.output / ".sweep" / "jobs.json").exists()


def test_other_files_next_to_results_cannot_hang_or_break_status(quick):
    submitted(quick)
    os.mkfifo(quick.output / "s1.h5.heartbeat")
    os.mkfifo(quick.output / "s2.h5.crash-0.log")
    os.mkfifo(quick.output / ".sweep/logs/s1.log")
    assert quick.status() == {"s1": "running", "s2": "pending"}
    (quick.output / "s1.h5.heartbeat").unlink()
    good = {"state": "training", "iteration": 1, "iterations": 9, "eta_seconds": 1,
            "samples_per_second": 1, "updated": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    for text in ("[" * DEEP, "[]", "{}", *(json.dumps({**good, key: value}) for key, value in [
            ("iteration", None), ("iteration", []), ("eta_seconds", "soon"),
            ("samples_per_second", {}),
            ("updated", 5), ("updated", "9999999-99-99")])):
        (quick.output / "s1.h5.heartbeat").write_text(text)
        assert quick.status()["s1"] == "running" and quick.detail["s1"] == "starts"
    (quick.output / "s1.h5.heartbeat").write_text(json.dumps(good))
    assert quick.status()["s1"] == "running" and "11 % (1 of 9)" in quick.detail["s1"]


@pytest.mark.parametrize("site", [
    {"signal_seconds": 10 ** 90}, {"max_jobs": 0}, {"throttle": 0}, {"max_array": 0},
    {"cpus_per_task": True}, {"partition": "a\nb"}, {"account": "a\0b"}, {"qos": "\u2028"},
    {"sbatch": ["--mem 4G"]}, {"sbatch": ["a\nb"]}, {"prologue": ["a\nb"]}, {"launcher": ["a\rb"]},
    {"step": ["\x1b"]}, {"gpu_step": ["\x7f"]}, {"partition": 5}, {"time_limit": "1\n"},
    {"time_limit": ""}, {"launcher": [5]}, {"launcher": []}, {"launcher": [""]},
    {"gpu_type": "a100:4"}, {"gpu_type": ""},
], ids=str)
def test_site_files_that_take_more_than_a_line_or_too_large_a_number(quick, refused, site):
    given(quick)
    (quick.folder / "site.json").write_text(json.dumps(site))
    assert f"/{next(iter(site))}: not a valid value" in refused("submit", "--dry-run", "--site",
                                                                "site.json")


@pytest.mark.parametrize("word, said", [
    ("-C", "'-C' has no value (give both as one word, such as \"-CVALUE\")"),
    ("a100", "'a100' is not an option of sbatch"), ("--=x", "is not an option"),
    ("--array=0-3", "each sweep sets --array itself (leave it out)"), ("-n4", "sets --ntasks"),
    ("--time=60", "sets --time itself (use \"time_limit\")"), ("-ox", "sets --output")])
def test_options_that_sbatch_or_the_sweep_does_not_take(quick, refused, word, said):
    given(quick)
    (quick.folder / "site.json").write_text(json.dumps({"sbatch": ["--exclusive", word]}))
    assert said in refused("submit", "--dry-run", "--site", "site.json")


def test_a_pack_needs_a_launcher_with_steps(quick, refused):
    given(quick)
    for program in ("mpirun", "/opt/mpi/bin/mpiexec.hydra"):
        (quick.folder / "site.json").write_text(json.dumps({"launcher": [program]}))
        words = ("submit", "--dry-run", "--site", "site.json")
        assert f"--pack: '{program}' cannot start steps" in refused(*words, "--pack", 4)
        assert f" {program} -n 1 " in quick(*words)


def test_a_full_disk_is_reported_in_one_line(quick):
    given(quick)
    with open("/dev/full", "w") as full:
        done = subprocess.run(quick.command("plan"), env=quick.environment, cwd=quick.folder,
                              stdout=full, stderr=subprocess.PIPE, text=True, timeout=10)
    assert done.returncode == 2 and done.stderr == "sweep: error: No space left on device\n"


@pytest.mark.parametrize("output", ["~/results", "$SCRATCH/results", "${SCRATCH}/x", "r-{seed}"])
def test_the_notation_of_shells_in_the_output_is_refused(refused, quick, output):
    given(quick, output=output)
    assert "/output" in refused() and "write the whole path" in refused()
