"""Tests sweeps without Slurm: sweep file, plan, local runs, and the batch scripts."""

import ast
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import time

import h5py
import pytest
from conftest import BASE, PROGRAM, ROOT, stand_in
from sweeps import axes, jsonfile, log

PACKAGE = ROOT / "scripts" / "slurm" / "sweeps"


def names(plan):
    return [run["name"] for run in plan["runs"]]


@pytest.mark.parametrize("changes, said", [
    ({"axis": {}}, "/axis: unknown key"),
    ({"base": "no.json"}, "/base: no file"),
    ({"axes": {"graphs": ["ring"]}}, "/axes/graphs: no such axis"),
    ({"axes": {"seed": []}}, "/axes/seed: not a list of values"),
    ({"axes": {"seed": [1], "/seed": [2]}}, "/axes//seed: this axis is given twice"),
    ({"axes": {"zip": [{"seed": [1, 2], "replicas": [4]}]}},
     "/axes/zip/0: lists of different lengths: seed 2, replicas 1"),
    ({"axes": {"/name": ["a"]}}, "/axes//name: the sweep itself sets it"),
    ({"exclude": [{"replicas": 4}]}, "/exclude/0/replicas: not an axis of this sweep"),
    ({"only": [{"seed": 7}]}, "/axes: no run is left"),
    ({"name": "{graph}"}, "/name: {graph} names no axes"),
    ({"name": "a b"}, "/name: gives 'a b'"),
    ({"name": "same"}, "/name: two runs would be called 'same'"),
    ({"ranks": 0}, "/ranks: neither a number nor a rule"),
    ({"ranks": 1, "gpus": 1}, "/gpus: given together with"),
    ({"time": "soon"}, "/time: not a duration"),
])
def test_errors_in_sweep_files_are_reported(sweep, inside, changes, said):
    changes = dict(changes)
    axes, base = changes.pop("axes", {"seed": [1, 2]}), changes.pop("base", None)
    sweep.write(axes, {"replicas": 2, "graph": "ring"}, **changes)
    if base:
        sweep.file.write_text(json.dumps({**json.loads(sweep.file.read_text()), "base": base}))
    status, _, message = inside(sweep, "plan")
    assert status == 2 and said in message and message.rstrip().endswith(")")


def test_axes_are_multiplied_zipped_and_thinned_out(sweep):
    sweep.write({"graph": ["ring", "complete"],
                 "zip": [{"replicas": [2, 4], "/optimizer/lr": [0.1, 0.2]}], "seed": [1, 2]},
                exclude=[{"graph": "complete", "replicas": 4}],
                only=[{"seed": 1}, {"graph": "ring", "seed": [2]}],
                name="{graph}-n{replicas}-lr{lr}-s{seed}")
    plan = sweep.plan()
    assert names(plan) == ["ring-n2-lr0.1-s1", "ring-n2-lr0.1-s2", "ring-n4-lr0.2-s1",
                           "ring-n4-lr0.2-s2", "complete-n2-lr0.1-s1"]
    last = plan["runs"][-1]["spec"]
    assert last["graph"]["type"] == "complete" and last["replicas"] == 2
    assert last["optimizer"]["lr"] == 0.1


def test_bases_are_files_too_and_implementations_an_axis(sweep):
    (sweep.folder / "base.json").write_text(
        '// a comment\n{"base": "first.json", "notes": "http://x // y"}')
    (sweep.folder / "first.json").write_text(json.dumps({**BASE, "replicas": 2, "graph": "ring"}))
    sweep.write({"implementation": ["D_ring", "C_complete"]})
    sweep.file.write_text(json.dumps({**json.loads(sweep.file.read_text()), "base": "base.json"}))
    runs = sweep.plan()["runs"]
    assert [run["spec"]["implementation"] for run in runs] == ["D_ring", "C_complete"]
    (sweep.folder / "first.json").write_text(json.dumps({**BASE, "replicas": 3, "graph": "ring"}))
    assert {run["replicas"] for run in sweep.plan()["runs"]} == {3}  # the cached answer is not used


def test_equal_runs_are_made_once(sweep):
    sweep.write({"graph": ["ring", {"type": "ring"}, {"type": "ring", "lazy": 0.5}], "seed": [1]},
                {"replicas": 4})
    plan = sweep.plan()
    assert names(plan) == ["ring-s1", "ring-lazy0.5-s1"]
    assert plan["duplicates"] == [{"name": "ring-s1", "same_as": "ring-s1"}]


def test_impossible_runs_are_refused_before_the_first_start(sweep):
    sweep.write({"graph": ["ring", "rings"], "replicas": [2, 4]}, ranks=4)
    errors = {run["name"]: run["error"] for run in sweep.plan(expect=2)["runs"]}
    assert "unknown graph 'rings'" in errors["rings-n4"]
    assert "4 ranks for 2 replicas" in errors["ring-n2"] and not errors["ring-n4"]
    assert "3 of 4 runs would fail, nothing was started" in sweep("local", expect=2)
    assert not list(sweep.output.glob("*.h5"))


def test_local_runs_everything_once_and_knows_results_by_content(sweep):
    sweep.write({"zip": {"replicas": [2, 2, 4], "seed": [1, 2, 1]}}, {"graph": "ring"},
                ranks={"replicas_per_rank": 2})
    assert "3 runs done, 0 failed" in sweep("local")
    (sweep.output / "n4-s1.h5").rename(sweep.output / "another-name.h5")
    assert sweep.plan()["totals"]["needed"] == 0 and "complete in another-name.h5" in sweep("plan")
    (sweep.output / "n2-s1.h5").unlink()
    damaged = sweep.output / "n2-s2.h5"
    damaged.write_bytes(damaged.read_bytes()[:3000])
    assert {r["name"] for r in sweep.plan()["runs"] if not r["complete"]} == {"n2-s1", "n2-s2"}
    assert "2 runs done, 0 failed" in sweep("local", "--jobs", 2)
    assert (sweep.output / "n2-s2.h5.damaged").stat().st_size == 3000
    assert "0 runs done" in sweep("local")


def test_another_experiment_is_never_overwritten(sweep):
    sweep.write({"seed": [1]}, {"graph": "ring", "replicas": 2})
    sweep("local")
    kept = (sweep.output / "s1.h5").read_bytes()
    sweep.write({"seed": [1]}, {"graph": "complete", "replicas": 2})
    assert "another experiment's complete result" in sweep("local", expect=2)
    assert (sweep.output / "s1.h5").read_bytes() == kept


def test_a_failed_run_is_named_with_its_reason_and_tried_again(sweep):
    sweep.write({"seed": [1, 2]}, {"graph": "ring", "replicas": 2})
    sweep.program('[ "$name" != s1 ] || [ $count -gt 1 ] || '
                  '{ echo "dbench: error: bad luck" >&2; exit 1; }')
    said = sweep("local", expect=1)
    assert "s1  FAILED: dbench: error: bad luck" in said and "1 runs done, 1 failed" in said
    assert "1 runs done, 0 failed" in sweep("local") and sweep.starts("s2") == 1


def test_local_leaves_a_run_alone_that_is_running(sweep):
    sweep.write({"seed": [1, 2, 3]}, {"graph": "ring", "replicas": 2})
    (sweep.output / ".sweep/logs").mkdir(parents=True)
    for name in ("s1", "s2"):
        (sweep.output / f".sweep/logs/{name}.log").write_text("dbench: error: of before\n")
    beat(sweep, "s1", host="elsewhere")
    beat(sweep, "s2", host=socket.gethostname(), pid=2 ** 22 + 1)  # no process has this number
    beat(sweep, "s3", age=100)
    sweep.program('[ "$name" != s2 ] || [ $count -gt 1 ] || exit 9')
    said = sweep("local", expect=1)
    assert "s1  is running already (42 % (420 of 1000)" in said
    assert "s2  FAILED: status 9" in said  # the log of an earlier try gives no reason
    assert "1 runs done, 1 failed, 1 running already in" in said
    assert (sweep.output / ".sweep/logs/s1.log").read_text() == "dbench: error: of before\n"
    (sweep.output / "s1.h5.heartbeat").unlink()
    assert "2 runs done, 0 failed in" in sweep("local")
    assert "error: of before" in (sweep.output / ".sweep/logs/s1.log").read_text()


def test_a_hangup_stops_local_runs(sweep):
    sweep.write({"seed": [1, 2]}, {"graph": "ring", "replicas": 2})
    sweep.program(f'trap "touch {sweep.folder}/stopped; exit 75" USR1\n'
                  f'touch {sweep.folder}/begun; for _ in $(seq 1000); do sleep 0.05; done')
    terminal, inside = pty.openpty()
    local = subprocess.Popen(sweep.command("local", "--jobs", 1), cwd=sweep.folder,
                             env=sweep.environment, stdout=inside, stderr=inside,
                             stdin=subprocess.DEVNULL)
    os.close(inside)
    end = time.monotonic() + 30
    while not (sweep.folder / "begun").exists():
        assert time.monotonic() < end and local.poll() is None
        time.sleep(0.02)
    for _ in range(2):  # the shell and the kernel each send one
        local.send_signal(signal.SIGHUP)
        os.closerange(terminal, terminal + 1)
    assert local.wait(timeout=30) == 1
    assert (sweep.folder / "stopped").exists() and sweep.starts("s2") == 0


@pytest.mark.parametrize("lines, why", [
    (["slurmstepd: error: *** STEP 5.0 ON n1 CANCELLED AT 2026-01-31 DUE TO TIME LIMIT ***",
      "srun: error: n1: task 0: Terminated"], 0),
    (["slurmstepd: error: Detected 1 oom_kill event in StepId=5.0.", "bash: error: x",
      "srun: error: n1: task 0: Out Of Memory", "srun: error: n2: task 1: Exited"], 2),
    (["slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2026-01-31T12:00:00 ***",
      "srun: error: n1: task 0: Terminated", "a signal"], 0),
    (["dbench: error: the first", "srun: error: DUE TO it", "dbench: error: second"], 0),
    (["no room in this zoom", "bash: error: x"], 1)])
def test_the_reason_in_a_log_is_why_slurm_ended_the_job(tmp_path, lines, why):
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    assert log.reason(tmp_path / "log") == lines[why]


def test_local_gives_each_run_its_own_gpus(sweep):
    """Two of four runs are active at once, each alone on one of the two GPUs that nvidia-smi
    lists."""
    stand_in(sweep, "nvidia-smi", """[ "$*" = -L ] || exit 1
for k in 0 1; do echo "GPU $k: A card (UUID: GPU-$k)"; done""")
    sweep.environment.pop("CUDA_VISIBLE_DEVICES", None)
    sweep.write({"seed": [1, 2, 3, 4]}, {"graph": "ring", "replicas": 2}, gpus=1)
    sweep.with_cuda()
    sweep.program(f"""lock={sweep.folder}/on-$CUDA_VISIBLE_DEVICES-${{OMPI_COMM_WORLD_RANK:-0}}
mkdir $lock || exit 1
echo $CUDA_VISIBLE_DEVICES >>{sweep.folder}/used
echo $(ls -d {sweep.folder}/on-* | wc -l) >>{sweep.folder}/together
sleep 0.5
rmdir $lock""")
    assert "4 runs done, 0 failed" in sweep("local", "--jobs", 4)
    used = (sweep.folder / "used").read_text().split()
    assert set(used) == {"GPU-0", "GPU-1"} and len(used) == 4
    assert "2" in (sweep.folder / "together").read_text().split()
    # A run that requests two GPUs gets both; GPUs that the caller cannot see are not used.
    (sweep.folder / "used").unlink()
    sweep.write({"seed": [5]}, {"graph": "ring", "replicas": 2}, gpus=2)
    sweep.environment["CUDA_VISIBLE_DEVICES"] = "3"
    said = sweep("local", expect=2)
    assert "/gpus: s5 needs 2 GPUs, of 1 here (in CUDA_VISIBLE_DEVICES)" in said
    assert not list(sweep.output.glob("s5*"))
    for visible, used in (("3, 5", "3,5"), ("GPU-1a-1b,MIG-2-1,-1,7", "GPU-1a-1b,MIG-2-1")):
        sweep.environment["CUDA_VISIBLE_DEVICES"] = visible
        assert "1 runs done, 0 failed" in sweep("local")
        assert (sweep.folder / "used").read_text() == f"{used}\n" * 2  # one line per rank
        (sweep.folder / "used").unlink()
        shutil.rmtree(sweep.output)


def test_gpus_need_a_program_with_cuda(sweep):
    """A job on GPUs would train on the CPU without one. The program is asked once."""
    sweep.write({"seed": [1, 2, 3]}, {"graph": "ring", "replicas": 2}, gpus=2)
    if "/device: cuda is refused" in sweep_error(sweep):
        for command in (["plan"], ["local"], ["submit", "--dry-run"]):
            said = sweep(*command, expect=2)
            assert "/gpus: " in said and "cannot train on GPUs (" in said
            assert "DBENCH_PROGRAM" in said and not sweep.output.exists()
    sweep.with_cuda()
    assert "(one GPU per rank" in sweep("plan")
    asked = (sweep.folder / "asked").read_text().splitlines()
    points = [len(json.loads(line)) for line in asked if "cuda" not in line]
    assert len(asked) == 1 + len(points) and sum(points) == 3
    sweep.write({"seed": [1]}, {"graph": "ring", "replicas": 2, "device": "cpu"}, gpus=2)
    assert "refused: /device: \"cpu\", but the sweep file requests GPUs" in sweep(
        "plan", expect=2)


def sweep_error(sweep):
    """Return what the program says about a GPU."""
    done = subprocess.run([PROGRAM, "check", "/dev/stdin", "--set", "/device=cuda"],
                          input=json.dumps({**BASE, "graph": "ring", "replicas": 2}),
                          text=True, capture_output=True)
    return done.stderr


def test_the_plan_says_which_comparisons_are_permitted(sweep):
    sweep.write({"graph": ["ring", "complete"]}, {"replicas": 4})
    said = sweep("plan")
    assert "times     no: reproducible reductions (all runs); \"reduction\": \"library\"" in said
    assert "several replicas on a rank (all runs); \"ranks\" or \"gpus\": \"replicas\"" in said
    assert "accuracy  yes, but each setting has one seed" in said and "bytes     yes" in said
    sweep.write({"graph": ["ring", "complete"], "seed": [1, 2], "replicas": [2, 4]},
                {"reduction": "library"}, ranks="replicas")
    found = sweep.plan()["comparisons"]
    assert found["times"] == {"permitted": True, "text": "yes"}
    assert found["accuracy"]["text"] == "yes, with 2 seeds of each setting"
    sweep.write({"seed": [1, 2]}, {"graph": "ring", "replicas": 2,
                                   "model": "least_squares", "data": "regression"})
    assert "accuracy  no: the data has real targets" in sweep("plan")


def test_the_plan_has_the_memory_of_the_runs_ranks(sweep):
    """A rank among four holds a quarter of the replicas, and activations of one pass."""
    base = {"model": {"type": "mlp", "hidden": [256]}, "graph": "ring", "replicas": 16}
    memory = {}
    for ranks in (1, 4, {"replicas_per_rank": 1}):
        sweep.write({"seed": [1]}, base, ranks=ranks)
        [run] = sweep.plan()["runs"]
        said = json.loads(subprocess.run(
            [PROGRAM, "check", "/dev/stdin", "--json", "--activations", "--ranks",
             str(run["ranks"])], input=json.dumps({**BASE, **base}), text=True,
            capture_output=True, check=True).stdout)
        assert said["ranks"] == run["ranks"] and said["activation_bytes_per_rank"] > 0
        memory[run["ranks"]] = run["memory"]
        assert run["memory"] == (said["memory_bytes_per_rank"]
                                 + said["activation_bytes_per_rank"])
    assert memory[1] > 3 * memory[4] > 6 * memory[16]


def test_the_plan_measures_and_local_says_how_long_the_rest_takes(sweep):
    sweep.write({"seed": [1, 2]},
                {"graph": "ring", "replicas": 2, "length": {"iterations": 2000}}, ranks=2)
    said = sweep("plan", "--measure")
    assert "measured here: " in said and re.search(r"\d MiB +\d\S* (s|min|h) ", said), said
    runs = sweep.plan()["runs"]
    assert "measured" not in runs[0] and not list(sweep.output.glob("*.h5"))
    sweep.write({"seed": [1, 2, 3]}, {"graph": "ring", "replicas": 2})
    sweep.program("sleep 1")
    said = sweep("local", "--jobs", 1)
    assert re.search(r"1 of 3 +s\d  done, about \d\S* (s|min) left\n", said), said


def test_the_plan_counts_the_gpus_of_jobs(sweep):
    """With six GPUs per node, 8 ranks need two nodes, 16 ranks three nodes, and one rank one
    GPU."""
    sweep.write({"replicas": [1, 8, 16]}, {"graph": "ring"}, gpus="replicas", time="01:00:00")
    sweep.with_cuda()
    sweep.environment.pop("DBENCH_SITE", None)
    assert "25.0 rank-hours, 25.0 GPU-hours (one GPU per rank: no site file" in sweep("plan")
    site = sweep.folder / "site.json"
    site.write_text('{"gpus_per_node": 6}')
    assert "25.0 rank-hours, 31.0 GPU-hours, " in sweep("plan", "--site", site)
    sweep.environment["DBENCH_SITE"] = str(site)
    totals = sweep.plan()["totals"]
    assert (totals["rank_hours"], totals["gpu_hours"]) == (25, 1 + 12 + 18)
    sweep.write({"replicas": [2]}, {"graph": "ring"})
    assert "leave it out" in sweep("plan", "--site", site, expect=2)


def test_the_dry_run_shows_what_sbatch_gets(sweep):
    sweep.write({"replicas": [2, 4], "seed": [1, 2]}, {"graph": "ring"}, gpus="replicas")
    sweep.with_cuda()
    site = sweep.folder / "site.json"
    site.write_text(json.dumps({"partition": "p1", "account": "a1", "prologue": ["module load mpi"],
                                "gpus_per_node": 3, "launcher": ["srun", "--mpi=none"],
                                "cpus_per_task": 7,
                                "gpu_launch": ["--gpu-bind=closest"],
                                "signal_seconds": 60, "throttle": 7}))
    text = sweep("submit", "--dry-run", "--site", site)
    for line in ("#SBATCH --partition=p1", "#SBATCH --account=a1", "#SBATCH --array=0-1%7",
                 "#SBATCH --ntasks=4", "#SBATCH --nodes=2", "#SBATCH --gpus-per-node=3",
                 "#SBATCH --cpus-per-task=7", "export SRUN_CPUS_PER_TASK=7",
                 "#SBATCH --gpus-per-node=2", "#SBATCH --time=00:03:00",
                 "#SBATCH --signal=B:USR1@60", "module load mpi", "    n4-s2"):
        assert f"\n{line}\n" in text, line
    assert "srun --mpi=none --gpu-bind=closest -n 4" in text and text.count("#!/bin/bash") == 2
    site.write_text(json.dumps({"gpus_per_node": 3, "time_limit": "00:10:00"}))
    # 2 + 2/2 rounds of 2 minutes, and 2 minutes for the signal.
    packs = sweep("submit", "--dry-run", "--site", site, "--pack", 4)
    assert packs.count("#!/bin/bash") == 1 and "#SBATCH --time=00:08:00" in packs
    assert "\nexport SRUN_CPUS_PER_TASK=1\n" in packs and "unset SLURM_GPUS_PER_NODE\n" in packs
    assert "--exact --gpus-per-task=1" in packs and packs.index("4 n4-s2") < packs.index("2 n2-s1")
    site.write_text(json.dumps({"gpus_per_node": 3, "gpu_type": "a100", "time_limit": "UNLIMITED",
                                "sbatch": ["-H", "-Cgpu", "--nodelist=a"]}))
    assert "\n#SBATCH --gpus-per-node=a100:2\n" in sweep("submit", "--dry-run", "--site", site)
    assert "--exact --gpus-per-task=a100:1" in sweep("submit", "--dry-run", "--site", site,
                                                     "--pack", 4)
    site.write_text(json.dumps({"gpus_per_node": 3, "time_limit": "00:06:00"}))
    assert sweep("submit", "--dry-run", "--site", site, "--pack", 4).count("#!/bin/bash") == 2
    assert not (sweep.output / ".sweep" / "jobs.json").exists()


@pytest.mark.parametrize("site, said", [
    ({"partitions": "a"}, "/partitions: unknown key"),
    ({"launcher": "srun"}, "/launcher: not a valid value"),
    ({"time_limit": "00:01:00"}, "more than the site's limit"),
])
def test_errors_in_site_files_are_reported(sweep, inside, site, said):
    sweep.write({"seed": [1]}, {"graph": "ring", "replicas": 2})
    (sweep.folder / "site.json").write_text(json.dumps(site))
    status, _, message = inside(sweep, "submit", "--dry-run", "--site", "site.json")
    assert status == 2 and said in message


def test_examples_of_sites_and_sweeps_are_accepted(sweep):
    for path in sorted((ROOT / "scripts/slurm/sites").glob("*.json")):
        sweep.write({"seed": [1]}, {"graph": "ring", "replicas": 2})
        assert "#SBATCH --signal=B:USR1@" in sweep("submit", "--dry-run", "--site", path)
    for path in sorted((ROOT / "configs/sweeps").glob("*.json")):
        given = jsonfile.read_object(path)
        said = re.search(r": (\d+) runs", path.read_text()).group(1)
        assert len(list(axes.points(given["axes"]))) == int(said), path
        few = {"seed": 1, **({"replicas": given["axes"]["replicas"][0]}
                             if "replicas" in given["axes"] else {})}
        sweep.file.write_text(json.dumps({**given, "only": [few]}))
        assert sweep.plan()["totals"]["needed"] > 1


def test_only_temporary_refusals_are_retried(sweep):
    sweep.write({"seed": [1]}, {"graph": "ring", "replicas": 2})
    stand_in(sweep, "squeue", "exit 0")
    stand_in(sweep, "sbatch", f"""
echo x >>{sweep.folder}/tries
[ $(wc -l <{sweep.folder}/tries) -ge 3 ] && {{ echo "77;cluster"; exit 0; }}
echo "sbatch: error: QOSMaxSubmitJobPerUserLimit" >&2
echo "sbatch: error: Batch job submission failed: Job violates policy (job submit limit)" >&2
exit 1""")
    began = time.time()
    said = sweep("submit", "--wait", 0.2)
    assert "job 77: an array of 1 runs" in said and said.count("refused (") == 2
    assert time.time() - began > 0.6
    stand_in(sweep, "sbatch", "echo 'sbatch: error: invalid partition specified: p' >&2; exit 1")
    assert "sbatch: sbatch: error: invalid partition" in sweep("resubmit", "--wait", 60, expect=2)


LOST = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"


@pytest.mark.parametrize("options, name", [((), "out-2"), (("--pack", 4), "out-pack")],
                         ids=["array", "pack"])
def test_a_job_whose_answer_was_lost_is_not_submitted_twice(quick, options, name):
    quick.write({"seed": [1]}, ranks=2)
    notes = quick.folder / "notes"
    (notes / "queue").write_text(f"6|{name}\n7|other\n")
    stand_in(quick, "squeue", 'cat "$DBENCH_NOTES/queue"')
    stand_in(quick, "sbatch", f"""
cat >/dev/null; echo x >>"$DBENCH_NOTES/submitted"
printf '8|another\n77|{name}\n' >>"$DBENCH_NOTES/queue"
echo '{LOST}' >&2
exit 1""")
    assert "job 77: " in quick("submit", "--wait", 0.1, *options)
    assert (notes / "submitted").read_text() == "x\n"
    (job,) = json.loads((quick.output / ".sweep/jobs.json").read_text())
    assert job["job"] == "77"


@pytest.mark.parametrize("queue", ["echo '6|out-2'", "exit 1"], ids=["same", "no answer"])
def test_a_job_that_is_not_in_the_queue_is_submitted_again(quick, queue):
    quick.write({"seed": [1]}, ranks=2)
    stand_in(quick, "squeue", queue)
    stand_in(quick, "sbatch", f"""
cat >/dev/null; echo x >>"$DBENCH_NOTES/submitted"
[ $(wc -l <"$DBENCH_NOTES/submitted") -lt 2 ] || {{ echo 9; exit 0; }}
echo '{LOST}' >&2
exit 1""")
    assert "job 9: " in quick("submit", "--wait", 0.1)


def test_two_new_jobs_of_one_name_are_not_chosen_from(quick):
    quick.write({"seed": [1]}, ranks=2)
    stand_in(quick, "squeue", 'cat "$DBENCH_NOTES/queue" 2>/dev/null; exit 0')
    stand_in(quick, "sbatch", f"""
cat >/dev/null; printf '8|out-2\n9|out-2\n' >"$DBENCH_NOTES/queue"
echo '{LOST}' >&2
exit 1""")
    assert "2 jobs called out-2 have joined the queue: 8 9" in quick("submit", "--wait", 0.1,
                                                                     expect=2)


def test_packs_obey_the_most_jobs_in_the_queue(quick):
    quick.write({"seed": [1, 2, 3, 4, 5]}, ranks=2)
    site = quick.folder / "site.json"
    site.write_text('{"time_limit": "00:07:00", "max_jobs": 2}')   # two runs of 2 min in a pack
    stand_in(quick, "squeue", "exit 0")
    stand_in(quick, "sacct", "exit 1")
    stand_in(quick, "sbatch", """
cat >/dev/null; echo x >>"$DBENCH_NOTES/submitted"; wc -l <"$DBENCH_NOTES/submitted" """)
    words = ("submit", "--site", site, "--pack", 2)
    assert quick(*words, "--dry-run", "--max-jobs", 1).count("#!/bin/bash") == 1
    said = quick(*words)
    assert said.count("one job of 2 ranks for 2 runs") == 2
    assert "1 runs were left for later (--max-jobs 2)" in said
    stand_in(quick, "squeue", "echo '1|PENDING|None'; echo '2|RUNNING|None'")
    assert "2 jobs are in the queue, the most allowed" in quick(*words)
    stand_in(quick, "squeue", "echo '2|RUNNING|None'")
    assert "job 3: one job of 2 ranks for 1 runs" in quick(*words)


@pytest.mark.parametrize("lines, said", [
    (["QOSMaxWallDurationPerJobLimit",
      "Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's "
      "size and/or time limits)"], "QOSMaxWallDurationPerJobLimit; sbatch: error: Batch job"),
    (["Batch job submission failed: Invalid job array specification"], "lower \"max_array\""),
])
def test_lasting_refusals_are_shown_whole_and_not_retried(quick, lines, said):
    quick.write({"seed": [1]})
    stand_in(quick, "squeue", "exit 0")
    stand_in(quick, "sbatch", "cat >/dev/null\n" + "\n".join(
        f'echo "sbatch: error: {line}" >&2' for line in lines) + "\nexit 1")
    assert said in quick("submit", "--wait", 60, expect=2, timeout=20)


def test_variables_of_the_caller_change_no_job(quick):
    """A sweep is submitted from an interactive job, by a user with defaults for sbatch."""
    quick.write({"seed": [1]}, ranks=2)
    (quick.folder / "site.json").write_text('{"partition": "p", "sbatch": ["-Cgpu"]}')
    mine = {"SBATCH_PARTITION": "debug", "SBATCH_CONSTRAINT": "cpu", "SBATCH_TIMELIMIT": "5",
            "SBATCH_ARRAY_INX": "0-9",
            "SBATCH_OUTPUT": "x", "SBATCH_NO_REQUEUE": "1", "SBATCH_SIGNAL": "INT",
            "SLURM_CPU_BIND": "verbose", "SLURM_MEM_PER_CPU": "100", "SLURM_JOB_ID": "3",
            "SRUN_CPUS_PER_TASK": "9"}
    kept = {"SBATCH_ACCOUNT": "a", "SBATCH_EXPORT": "NONE", "SLURM_CONF": "/c", "HOME": "/h",
            "SLURM_CLUSTERS": "c", "SLURM_MPI_TYPE": "pmix"}
    quick.environment.update(mine, **kept, DBENCH_DATA="/a folder", DBENCH_TIMEOUT="70")
    stand_in(quick, "squeue", "exit 0")
    stand_in(quick, "sacct", "exit 1")
    stand_in(quick, "sbatch", 'env >"$DBENCH_NOTES/env"; cat >"$DBENCH_NOTES/script"; echo 5')
    quick("submit", "--site", quick.folder / "site.json")
    told = (quick.folder / "notes" / "env").read_text().splitlines()
    assert {f"{name}={value}" for name, value in kept.items()} <= set(told)
    assert not {line.split("=")[0] for line in told} & set(mine)
    script = (quick.folder / "notes" / "script").read_text()
    for line in ("export DBENCH_DATA='/a folder'", "export DBENCH_TIMEOUT=70",
                 "unset SLURM_EXPORT_ENV"):
        assert f"\n{line}\n" in script
    quick.environment.update(LOGNAME="somebody", USER="somebody")
    stand_in(quick, "squeue", '[[ " $* " == *" -u $(id -u) "* ]] && echo "5_0|RUNNING|None"')
    assert "nothing to submit" in quick("resubmit")


def test_checks_and_runs_are_those_of_one_process(sweep):
    """A sweep in `srun -n 4 --pty bash`, whose variables belong to a step of four tasks."""
    sweep.environment.update(SLURM_STEP_NUM_TASKS="4", SLURM_PROCID="0", SLURM_JOB_ID="7",
                             PMI_SIZE="4", PMI_RANK="0", DBENCH_PROGRAM=PROGRAM)
    sweep.write({"seed": [1]}, {"graph": "ring", "replicas": 2})
    assert "1 runs done, 0 failed" in sweep("local")


def test_accounts_of_jobs_that_squeue_does_not_know_keep_no_run_alive(quick):
    quick.write({"seed": [1, 2]})
    stand_in(quick, "sbatch", "cat >/dev/null; echo 5")
    stand_in(quick, "squeue", "exit 0")
    quick("submit")
    stand_in(quick, "sacct", "echo '5_0|RUNNING|None'; echo '5_1|PENDING|None'")
    assert set(quick.status().values()) == {"interrupted"}
    assert "nothing is in the queue" in quick("cancel")
    assert "an array of 2 runs" in quick("resubmit")


def test_slurms_job_states(sweep):
    states = {"TIMEOUT": "interrupted", "NODE_FAIL": "interrupted", "PREEMPTED": "interrupted",
              "REQUEUED": "pending", "PENDING": "pending", "CANCELLED by 0": "cancelled",
              "FAILED": "failed", "OUT_OF_MEMORY": "failed"}
    expected = {f"s{k + 1}": state for k, state in enumerate(states.values())}
    sweep.write({"seed": list(range(1, 9))}, {"graph": "ring", "replicas": 2})
    stand_in(sweep, "sbatch", "echo 5")
    stand_in(sweep, "squeue", "exit 0")
    sweep("submit")
    told = [f"echo '5_{k}|{word}|None'" for k, word in enumerate(states)]
    stand_in(sweep, "squeue", "\n".join(told[3:5]))
    stand_in(sweep, "sacct", "\n".join(told))
    assert sweep.status() == expected
    again = re.findall(r"^    (s\d)$", sweep("resubmit", "--dry-run"), re.M)
    assert again == [name for name, state in expected.items() if state != "pending"]


def submitted(sweep, jobs, **more):
    """Make the sweep s1, s2, ... look as if it was submitted an hour ago; `jobs` holds Slurm's
    state of each job."""
    seeds = list(range(1, len(jobs) + 1))
    sweep.write({"seed": seeds}, {"graph": "ring", "replicas": 2, "length": {"iterations": 1000}},
                **more)
    stand_in(sweep, "sbatch", "echo 5")
    stand_in(sweep, "squeue", "exit 0")
    sweep("submit")
    record = sweep.output / ".sweep/jobs.json"
    told = json.loads(record.read_text())
    told[0]["submitted"] -= 3600
    record.write_text(json.dumps(told))
    stand_in(sweep, "squeue", "\n".join(
        f"echo '5_{k}|{word}|None'" for k, word in enumerate(jobs) if word))


def beat(sweep, name, age=0, **changes):
    """Write a heartbeat like the program's."""
    said = {"state": "training", "iteration": 420, "iterations": 1000, "seconds": 42.0,
            "eta_seconds": 200.0, "samples_per_second": 1234.5, "job": "5", "host": "n1", "pid": 77,
            "updated": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age)),
            **changes}
    (sweep.output / f"{name}.h5.heartbeat").write_text(json.dumps(said))


def crash(sweep, name, rank, message, age=0):
    path = sweep.output / f"{name}.h5.crash-{rank}.log"
    path.write_text(message + "\nand more\n")
    # After the submission, not too far in the future, and equal for equal ages of a test.
    written = sweep.__dict__.setdefault("crashes_at", int(time.time()) + 50) - age
    os.utime(path, (written, written))


def result(sweep, name, status, error="", done=10):
    """Write the parts of a result file that the sweep reads."""
    with h5py.File(sweep.output / f"{name}.h5", "w") as file:
        file.attrs.update({"status": status, "error": error, "started": "", "finished": ""})
        file["spec"] = (sweep.output / f".sweep/specs/{name}.json").read_text()
        file["iterations/iteration"] = list(range(done))


def test_status_follows_heartbeats(sweep):
    submitted(sweep, ["RUNNING"] * 7 + [""])
    beat(sweep, "s1")
    beat(sweep, "s2", state="starting", iteration=0, eta_seconds=None, samples_per_second=None)
    beat(sweep, "s3", eta_seconds=9000, tokens_per_second=56789.0)
    beat(sweep, "s4", age=300)
    beat(sweep, "s5", age=7200)  # written by an earlier job
    (sweep.output / "s6.h5.heartbeat").write_text('{"state": "trai')
    result(sweep, "s7", "running", done=250)
    beat(sweep, "s8", job="")  # started by hand
    assert set(sweep.status().values()) == {"running"}
    assert sweep.detail == {
        "s1": "42 % (420 of 1000), about 3 min left, 1234 samples/s", "s2": "starts",
        "s3": "42 % (420 of 1000), about 2.5 h left, 56789 tokens/s",
        "s4": "42 % (420 of 1000), no sign of life for 5 min", "s5": "starts", "s6": "starts",
        "s7": "25 % (250 of 1000)", "s8": "42 % (420 of 1000), about 3 min left, 1234 samples/s"}
    assert "nothing to submit" in sweep("resubmit")


def test_a_run_by_hand_after_its_job_has_ended_is_running(sweep):
    submitted(sweep, ["TIMEOUT", "FAILED", "TIMEOUT"])
    beat(sweep, "s1", job="")
    beat(sweep, "s2", job="")
    beat(sweep, "s3")  # of the job that has ended
    assert sweep.status() == {"s1": "running", "s2": "running", "s3": "interrupted"}


def test_status_tells_resumable_runs_from_failed_ones(sweep):
    submitted(sweep, ["TIMEOUT", "NODE_FAIL", "PENDING", "FAILED", "FAILED", "FAILED", "RUNNING",
                      ""])
    (sweep.output / "s1.h5.checkpoints/420").mkdir(parents=True)
    (sweep.output / "s1.h5.checkpoints/90").mkdir()
    result(sweep, "s1", "running")
    crash(sweep, "s2", 1, "rank 3 is gone")  # written by peers of a host that died
    (sweep.output / "s3.h5.checkpoints/7").mkdir(parents=True)
    for rank, age in ((0, 10), (12, 20), (5, 20)):
        crash(sweep, "s4", rank, f"trouble {rank}", age)
    crash(sweep, "s5", 0, "of another job", age=7200)
    (sweep.output / ".sweep/logs/s5.log").write_text("x\ndbench: error: from the log\n")
    crash(sweep, "s6", 0, "a crash log")
    result(sweep, "s6", "failed", "the file's error")
    result(sweep, "s7", "failed", "all ranks end")
    beat(sweep, "s8", age=120)
    result(sweep, "s8", "running")
    found = sweep.status()
    assert {name: (found[name], sweep.detail[name]) for name in found} == {
        "s1": ("interrupted", "TIMEOUT; goes on from iteration 420 of 1000"),
        "s2": ("interrupted", "NODE_FAIL; begins anew"),
        "s3": ("pending", "goes on from iteration 7 of 1000"),
        "s4": ("failed", "rank 5: trouble 5"), "s5": ("failed", "dbench: error: from the log"),
        "s6": ("failed", "the file's error"), "s7": ("failed", "all ranks end"),
        "s8": ("interrupted", "no sign of life for 2 min; begins anew")}
    assert "an array of 7 runs" in sweep("resubmit", "--dry-run")  # all but the pending one


def test_a_crash_inside_a_running_pack_is_reported(sweep):
    sweep.write({"seed": [1, 2]}, {"graph": "ring", "replicas": 2})
    stand_in(sweep, "sbatch", "echo 5")
    stand_in(sweep, "squeue", "echo '5|RUNNING|None'")
    sweep("submit", "--pack", 2)
    crash(sweep, "s1", 0, "no luck")
    assert sweep.status() == {"s1": "failed", "s2": "pending"}
    assert sweep.detail["s1"] == "rank 0: no luck"


def test_watch_refreshes_a_terminal_and_outlasts_a_busy_controller(sweep):
    submitted(sweep, ["RUNNING"] * 8)
    beat(sweep, "s7")
    stand_in(sweep, "squeue", f"""echo x >>{sweep.folder}/looks
case $(wc -l <{sweep.folder}/looks) in
    1) for k in $(seq 0 7); do
           [ $k = 6 ] && echo "5_$k|RUNNING|None" || echo "5_$k|PENDING|None"
       done ;;
    2) echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1 ;;
    *) for k in $(seq 0 7); do echo "5_$k|CANCELLED|None"; done ;;
esac""")
    terminal, inside = pty.openpty()
    sweep.environment.update(LINES="8", COLUMNS="60")
    watched = subprocess.run(sweep.command("status", "--watch", 0.1), cwd=sweep.folder,
                             env=sweep.environment, stdout=inside, stderr=subprocess.PIPE,
                             text=True, timeout=60)
    os.close(inside)
    shown = os.read(terminal, 100000).decode().replace("\r\n", "\n")
    os.close(terminal)
    assert watched.returncode == 0
    assert "Unable to contact" in watched.stderr
    assert watched.stderr.rstrip().endswith("again in 0.1 s")
    first, second = shown.split("\033[H\033[2J")[1:]
    for shown_first in ("42 % (420 of 1000)", "... and 5 more", "8 runs: 1 running, 7 pending"):
        assert shown_first in first
    assert max(len(line) for line in first.splitlines()) <= 60 and len(first.splitlines()) < 8
    assert "8 runs: 8 cancelled" in second


def test_login_nodes_have_python_3_6():
    for path in [*PACKAGE.glob("*.py"), PACKAGE.parent / "sweep", ROOT / "scripts/fetch-data"]:
        ast.parse(path.read_text(), feature_version=(3, 6))
        for newer in ("capture_output", "text=True", "dataclass", "removeprefix"):
            assert newer not in path.read_text(), path
