"""Profiles: the share of time in which a kernel runs, and the kernels that need most of the
time."""

import csv
import shutil
from collections import defaultdict

from . import ratios
from .busy import Busy
from .journal import FAILED, MISSING, OK, Stop
from .setting import Step, last_line, reason

BUSY = "device busy, ResNet-20, batch 32"
ITERATIONS = 60  # of a profiled run


def given(bench):
    return ratios.spec(bench.setting, "resnet20", 1, 32)


def share_of_time(bench):
    """Return the median share of samples from the first rounds of the ratio, or from a separate run
    if there are too few."""
    rounds = [bench.journal.alike("ratios").get(f"{ratios.OF_32} / {k}", {}) for k in (1, 2)]
    samples = [share for one in rounds for share in one.get("dbench", {}).get("busy", [])]
    if len(samples) < 5:
        count = 800 if bench.setting.device == "cuda" else ratios.LEAST
        with Busy(bench.setting) as watch:
            samples = ratios.milliseconds(bench.setting, "busy", given(bench), count,
                                          watch=watch)["busy"]
    if len(samples) < 5:
        raise Stop(FAILED, f"nvidia-smi gave {len(samples)} samples")
    return {"status": OK, "share": sorted(samples)[len(samples) // 2], "samples": len(samples)}


def kernels_of_torch(bench):
    worker = bench.workers.of({"model": "resnet20", "batch": 32})
    return {"status": OK, **worker.ask(do="profile", of="eager")}


def table_of(text, name, value):
    """Return the columns `name` and `value` of the first CSV table with a column `name` in a tool's
    output."""
    lines = text.splitlines()
    while lines and name not in next(csv.reader(lines[:1]), []):
        lines.pop(0)
    return [(row[name], float(row[value].replace(",", ""))) for row in csv.DictReader(lines)
            if row.get(value)]


def most(rows):
    """Return the total time and the 12 slowest kernels, from rows (name, nanoseconds)."""
    total = defaultdict(float)
    for name, spent in rows:
        total[name[:80]] += spent * 1e-6
    if not total:
        raise Stop(FAILED, "the profiler saw no kernels")
    longest = sorted(total.items(), key=lambda row: -row[1])[:12]
    return {"status": OK, "kernel_ms": sum(total.values()),
            "kernels": [{"name": name, "ms": ms} for name, ms in longest]}


def by_nsys(setting, command):
    report = setting.output("profile", ".nsys-rep")
    run = setting.call(["nsys", "profile", "-t", "cuda", "-f", "true", "-o",
                        report.with_suffix(""), *command], 180)
    if run.returncode:
        raise Stop(FAILED, reason(run))
    said = setting.call(["nsys", "stats", "-q", "-r", "cuda_gpu_kern_sum", "--format", "csv",
                         report], 120)
    if said.returncode:
        raise Stop(FAILED, last_line(said.stderr))
    return table_of(said.stdout, "Name", "Total Time (ns)")


def by_ncu(setting, command):
    """Profile some hundred launches, after those in which cuDNN selects its algorithms."""
    run = setting.call(["ncu", "--csv", "--metrics", "gpu__time_duration.sum",
                        "--print-units", "base", "--graph-profiling", "node",
                        "--clock-control", "none", "--target-processes", "all",
                        "--launch-skip", 4000, "--launch-count", 400, *command], 120)
    if run.returncode:
        raise Stop(FAILED, last_line(run.stderr or run.stdout))
    return table_of(run.stdout, "Kernel Name", "Metric Value")


def kernels_of_dbench(bench):
    tool = next((found for found in ("nsys", "ncu") if shutil.which(found)), None)
    if tool is None:
        raise Stop(MISSING, "no nsys and no ncu in the search path")
    command = bench.setting.command("profile", {
        **given(bench), "length": {"iterations": ITERATIONS}}, "--overwrite")
    rows = (by_nsys if tool == "nsys" else by_ncu)(bench.setting, command)
    return {**most(rows), "tool": tool}


def beside_the_first_case(bench):
    """Return the steps that use the same model and batch size as the first case of the ratios."""
    return [Step("profile", BUSY, 5, lambda: share_of_time(bench), timed=True),
            Step("profile", "PyTorch eager's kernels", 5, lambda: kernels_of_torch(bench),
                 timed=True)]


def of_dbench(bench):
    return Step("profile", "DBench's kernels", 45, lambda: kernels_of_dbench(bench), timed=True)
