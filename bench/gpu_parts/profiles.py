"""Profiles: the share of time in which a kernel runs, the kernels that need most of the time, and
the time of each kind of kernel in an iteration."""

import csv
import shutil
from collections import defaultdict

from . import ratios
from .busy import Busy
from .journal import FAILED, MISSING, OK, Stop
from .setting import Step, last_line, reason

BUSY = "device busy, ResNet-20, batch 32"
# cuDNN tries its algorithms in the first iterations, with several thousand launches. A profile
# leaves these out and covers a few iterations after them.
ITERATIONS, SKIPPED, PROFILED = 400, 30000, 700
# The kinds of kernels, by the first pattern that the name contains (in lower case).
KINDS = (("convolution, data", ("dgrad",)),
         ("convolution, weights", ("wgrad",)),
         ("copies", ("nchwtonhwc", "nhwctonchw")),
         ("normalisation", ("norm", "scalerelu", "bn_")),
         ("convolution, forward", ("fprop", "convolve", "conv2d", "implicit", "winograd", "nchw",
                                   "nhwc")),
         ("update and averaging", ("updateandmix",)),
         ("update", ("sgd", "adam", "multi_tensor", "fused_")),
         ("averaging", ("weightedsums", "treesum", "codedmean")),
         ("matrix products", ("gemm", "gemv", "cutlass", "cublas")),
         ("copies", ("copy", "memcpy", "memset", "gather", "index", "zero", "fill", "convert",
                     "cat")))


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
    found = worker.ask(do="profile", of="eager")
    rows = [(row["name"], row["ms"] * 1e6) for row in found.pop("all", found["kernels"])]
    return {"status": OK, **found, "kinds": kinds_of(rows, 1)}


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


def kind_of(kernel):
    """Return the kind of a kernel by its name."""
    name = kernel.lower()
    return next((kind for kind, parts in KINDS if any(part in name for part in parts)), "others")


def kinds_of(rows, iterations):
    """Return the milliseconds per iteration of each kind, the largest first, from rows (name,
    nanoseconds) of a number of iterations."""
    total = defaultdict(float)
    for name, spent in rows:
        total[kind_of(name)] += spent * 1e-6 / iterations
    return dict(sorted(total.items(), key=lambda row: -row[1]))


def iterations_in(rows):
    """Return the number of iterations in a profile with a row for each launch: an iteration
    launches one update."""
    updates = sum(kind_of(name) in ("update", "update and averaging") for name, _ in rows)
    if updates == 0:
        raise Stop(FAILED, "the profile has no update, so its iterations cannot be counted")
    return updates


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
                        "--launch-skip", SKIPPED, "--launch-count", PROFILED, *command], 120)
    if run.returncode:
        raise Stop(FAILED, last_line(run.stderr or run.stdout))
    return table_of(run.stdout, "Kernel Name", "Metric Value")


def kernels_of_dbench(bench):
    tool = next((found for found in ("nsys", "ncu") if shutil.which(found)), None)
    if tool is None:
        raise Stop(MISSING, "no nsys and no ncu in the search path")
    command = bench.setting.command("profile", {
        **given(bench), "length": {"iterations": ITERATIONS}}, "--overwrite")
    if tool == "nsys":
        return {**most(by_nsys(bench.setting, command)), "tool": tool}
    rows = by_ncu(bench.setting, command)
    return {**most(rows), "tool": tool, "kinds": kinds_of(rows, iterations_in(rows))}


def beside_the_first_case(bench):
    """Return the steps that use the same model and batch size as the first case of the ratios."""
    return [Step("profile", BUSY, 5, lambda: share_of_time(bench), timed=True),
            Step("profile", "PyTorch eager's kernels", 5, lambda: kernels_of_torch(bench),
                 timed=True)]


def of_dbench(bench):
    return Step("profile", "DBench's kernels", 45, lambda: kernels_of_dbench(bench), timed=True)
