"""Tests sweeps on a Slurm cluster of several emulated hosts; skipped if Slurm is not installed."""

import csv
import json
import time

import pytest
from conftest import BASE, HELD, ROOT, sweep_on
from results import differences

LONG = {"length": {"iterations": 1000000}, "profile": {"every": {"iterations": 1000}},
        "evaluate": {"every": {"iterations": 100000}}}
CHECKPOINTS = {"graph": "ring", "replicas": 4, "length": {"iterations": 60},
               "checkpoint": {"every": {"iterations": 5}}}


def complete(found):
    return set(found.values()) == {"complete"}


def tell_to_stop(sweep, name):
    """Send the signal that --signal=B:USR1@120 sends two minutes before the time limit."""
    sweep.cluster.slurm("scancel", "--batch", "--signal=USR1", sweep.job[name])


@pytest.fixture(scope="module", autouse=True)
def beyond_their_limit(cluster):
    """Submit two jobs with a limit of one minute: s1 stops at the signal before its limit, s2
    ignores it. Both are paused meanwhile. They start first, since Slurm checks limits only twice a
    minute."""
    with sweep_on(cluster) as sweep:
        sweep.write({"seed": [1, 2]}, CHECKPOINTS, time="00:00:05")
        sweep.program(f"""if [ $count = 1 ]; then
    [ $name = s1 ] || {{ trap "" USR1; exec sleep 1000; }}
    {HELD}
fi""")
        (sweep.folder / "site.json").write_text(json.dumps({"signal_seconds": 55}))
        assert "00:01:00" in sweep("submit", "--site", sweep.folder / "site.json")
        yield sweep


def test_a_run_outlives_its_host_and_the_controller_to_the_same_numbers(on_cluster):
    # This test is early in the file, because a new controller first checks limits after 30 seconds.
    cluster = on_cluster.cluster
    sweep = on_cluster.write({"seed": [1]}, CHECKPOINTS, ranks=2)
    sweep.program(HELD)
    # The run is alone on the host that dies.
    (sweep.folder / "site.json").write_text('{"sbatch": ["--exclusive"]}')
    sweep("submit", "--site", sweep.folder / "site.json")
    sweep.until(lambda found: found == {"s1": "running"}
                and list(sweep.output.glob("*.checkpoints/*/manifest.json")))
    host = cluster.slurm("squeue", "-h", "-r", "-j", sweep.job["s1"], "-o", "%N").strip()
    cluster("restart")
    # The run is not affected by the restart of the controller.
    assert sweep.status() == {"s1": "running"} and sweep.starts("s1") == 1
    cluster("kill", host[1:])
    try:
        sweep.until(complete)
    finally:
        cluster("start", host[1:])
    assert sweep.starts("s1") == 2 and "continuing from iteration" in sweep.logs()
    assert differences(sweep.whole("s1"), str(sweep.output / "s1.h5")) == []


def test_arrays_and_jobs_by_hand_complete_and_are_not_submitted_again(on_cluster):
    sweep = on_cluster.write({"graph": ["ring", "complete"], "replicas": [2, 4]},
                             ranks={"replicas_per_rank": 2})
    said = sweep("submit", "--throttle", 2, "--max-jobs", 3)
    assert said.count("job ") == 2 and "1 runs were left for later" in said
    sweep.cluster.slurm("sbatch", f"--export=ALL,DBENCH_ROOT={ROOT}", "-n", "2",
                        str(ROOT / "scripts/slurm/run.sbatch"),
                        str(sweep.output / ".sweep/specs/ring-n4.json"),
                        str(sweep.output / "by-hand.h5"))
    found = sweep.status()
    assert list(found.values()).count("to do") == 1
    sweep.until(lambda found: list(found.values()).count("complete") == 3)
    assert "an array of 1 runs" in sweep("submit")
    sweep.until(complete)
    assert "nothing to submit" in sweep("submit")
    assert sweep.plan()["totals"]["needed"] == 0
    assert differences(str(sweep.output / "ring-n4.h5"), str(sweep.output / "by-hand.h5")) == []


def test_a_pack_runs_all_in_one_job_and_continues(on_cluster):
    sweep = on_cluster.write({"replicas": [2, 4], "seed": [1, 2]}, {"graph": "ring"},
                             ranks="replicas")
    # The first start of n4-s1 never ends; on the signal it stops as if at a checkpoint.
    sweep.program("""if [ $name = n4-s1 ] && [ -z "${SLURM_RESTART_COUNT:-}" ]; then
    trap "exit 75" USR1
    touch "$4.ready-$SLURM_PROCID"
    while :; do sleep 0.2; done
fi""")
    assert "one job of 6 ranks for 4 runs" in sweep("submit", "--pack", 6)
    sweep.until(lambda found: len(list(sweep.output.glob("n4-s1.h5.ready-*"))) == 4)
    assert sweep.status() == {"n2-s1": "pending", "n2-s2": "pending", "n4-s1": "running",
                              "n4-s2": "pending"}
    tell_to_stop(sweep, "n4-s1")
    sweep.until(complete)
    # The last result file is complete a moment before the job writes its last line.
    sweep.until(lambda _: "4 done, 0 failed, 0 at a" in sweep.logs())
    log = sweep.logs()
    assert "0 done, 0 failed, 1 at a checkpoint, 3 not begun" in log
    again = log[log.index("3 not begun"):]
    first, second, third = (again.index(f"{name}: starts on")
                            for name in ("n4-s1", "n4-s2", "n2-s1"))
    assert first < second < third
    assert "status 0" in again[:second]  # two runs of 4 ranks do not fit into 6 tasks
    assert "status" not in again[second:third]  # runs of 4 and 2 ranks fit


def test_tuning_submits_trials_and_then_runs_at_the_chosen_rate(on_cluster):
    sweep = on_cluster.write(
        {"graph": ["ring"]}, {"replicas": 2, "data": {**BASE["data"], "validation": 64}}, ranks=2,
        tune={"factors": [0.5, 1, 2], "seeds": [101], "final_seeds": [1, 2], "extend": 0})

    def finish(count):
        """Wait until this many runs are complete."""
        deadline = time.time() + 120
        while True:
            runs = json.loads(sweep("tune", "status", "--json"))["runs"]
            if [run["state"] for run in runs].count("complete") == count:
                return
            assert time.time() < deadline, f"{runs}\n{sweep.logs()[-5000:]}"
            time.sleep(0.5)

    said = sweep("tune", "submit")
    assert "an array of 3 runs" in said and "2 runs follow" in said
    assert "nothing to submit" in sweep("tune", "submit")
    finish(3)
    assert "an array of 2 runs" in sweep("tune", "submit")
    finish(5)
    assert "nothing to submit" in sweep("tune", "submit")
    with open(sweep.output / "tuning.csv") as file:
        row, = csv.DictReader(file)
    assert row["state"] == "complete" and row["trials"] == "3" and row["test_accuracy"]


@pytest.mark.parametrize("options", [(), ("--pack", 4)], ids=["array", "pack"])
def test_ranks_get_one_gpu_each(on_cluster, options):
    """On hosts with two GPUs, a run of an array has both GPUs of two hosts, and the runs of a pack
    have one GPU each at the same time."""
    packed = bool(options)
    sweep = on_cluster.write({"seed": [1, 2, 3, 4] if packed else [1]},
                             {"graph": "ring", "replicas": 4}, gpus=1 if packed else 4)
    sweep.with_cuda()
    sweep.program(f"""echo $(hostname) $SLURM_LOCALID ${{CUDA_VISIBLE_DEVICES-all}} \\
    >{sweep.folder}/card-$name-$SLURM_PROCID
for tries in $(seq 100); do
    [ $(ls {sweep.folder}/card-* | wc -l) -lt 4 ] || break
    [ $tries -lt 100 ] || exit 1
    sleep 0.1
done""")
    (sweep.folder / "site.json").write_text('{"gpus_per_node": 2}')
    sweep("submit", "--site", sweep.folder / "site.json", *options)
    sweep.until(complete)
    found = [path.read_text().split() for path in sweep.folder.glob("card-*")]
    hosts = sorted({host for host, _, _ in found})
    assert len(hosts) == 2
    cards = {(host, *number) for host in hosts for number in (("0", "0"), ("0", "1"))}
    if not packed:  # a rank uses the GPU with its local number
        cards = {(host, rank, "0,1") for host in hosts for rank in ("0", "1")}
    assert set(map(tuple, found)) == cards


def test_runs_resume_and_cancelled_or_failed_ones_are_resubmitted(on_cluster):
    sweep = on_cluster.write({"seed": [1, 2, 3]}, {**LONG, "graph": "ring", "replicas": 2})
    sweep.program('[ "$name" != s2 ] || [ -e again ] || '
                  '{ echo "dbench: error: no such luck" >&2; exit 1; }')
    sweep("submit")
    sweep.until(lambda found: found == {"s1": "running", "s2": "failed", "s3": "running"} and
                all("%" in sweep.detail[name] for name in ("s1", "s3")))
    assert "no such luck" in sweep.detail["s2"]
    tell_to_stop(sweep, "s3")
    sweep.until(lambda found: found["s3"] == "pending"
                and "goes on from iteration" in sweep.detail["s3"])
    sweep.until(lambda found: found["s3"] == "running" and sweep.starts("s3") == 2)
    sweep.until(lambda found: "continuing from iteration" in sweep.logs())
    assert "cancelled" in sweep("cancel")
    sweep.until(lambda found: found == {"s1": "cancelled", "s2": "failed", "s3": "cancelled"})
    assert "3 runs ended without completing" in sweep("submit")
    (sweep.folder / "again").touch()
    assert "an array of 3 runs" in sweep("resubmit")
    assert set(sweep.status().values()) <= {"running", "pending"}
    assert "nothing to submit" in sweep("resubmit")


def test_a_time_limit_is_a_checkpoint_or_at_least_resumable(beyond_their_limit):
    sweep = beyond_their_limit
    found = sweep.until(lambda found: found["s1"] == "complete"
                        and found["s2"] not in ("running", "pending"))
    assert sweep.starts("s1") == 2 and "continuing from iteration" in sweep.logs()
    assert differences(sweep.whole("s1"), str(sweep.output / "s1.h5")) == []
    assert found["s2"] == "interrupted" and sweep.detail["s2"] == "TIMEOUT; begins anew"
    assert "an array of 1 runs" in sweep("resubmit")
    sweep.until(complete)


@pytest.mark.parametrize("options", [(), ("--pack", 2)], ids=["array", "pack"])
def test_sbatch_takes_any_path_as_it_is(on_cluster, options):
    sweep = on_cluster
    sweep.output = sweep.folder / "o'u\"t; touch PWNED #$(touch PWNED) é"
    sweep.write({"seed": [1]}, {"graph": "ring", "replicas": 2})
    (sweep.folder / "site.json").write_text(json.dumps({"sbatch": ["--comment=it's \"a\\b\" #c"]}))
    sweep("submit", "--site", sweep.folder / "site.json", *options)
    sweep.until(complete)
    assert list(sweep.output.glob(".sweep/logs/slurm-*.out"))
    job = sweep.cluster.slurm("scontrol", "show", "job", sweep.job["s1"])
    assert "Comment=it's \"a\\b\" #c" in job and f"JobName={sweep.output.name}-" in job
    assert not list(sweep.folder.rglob("PWNED"))
