"""Compare a GPU with the host: kernels bit by bit, runs to 1e-10 in float64, runs that change the
device at a checkpoint, NCCL, and compute-sanitizer."""

import math
import re
import shutil
import signal
import time

import steps

from .journal import DIFFERS, FAILED, IN_PART, MISSING, OK, Stop
from .ratios import how
from .setting import NO_CARD, PREEMPTED, Process, Step, last_line, reason

ITERATIONS = 50
# Learning rates of ResNet-20. At 0.01, two orders of addition on one CPU differ after 50 iterations
# by 3e-10 in float64 and by 0.1 in float32. At these rates they differ by 1e-14 and, in the
# compared columns, by 3e-4.
RATES_OF_RESNET = {"float64": 0.001, "float32": 0.0001}
TOLERANCES = {"float64": 1e-10, "float32": 1e-2}
# The data sets that are compared in float32. Differences between replicas are too small in float32,
# and counts of correct answers can change with one rounding.
IN_FLOAT32 = re.compile(r"iterations/train_loss|evaluations/\w*loss|parameters/(update_)?norm")
SANITIZER_SECONDS = 120
SANITIZERS = ("compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer",
              "/opt/nvidia/compute-sanitizer/compute-sanitizer")
# Data sets about times, the machine and the request; all others in a result file are results.
OF_THE_MACHINE = ("ranks/", "segments/", "provenance", "events/", "spec",
                  "iterations/profile_bytes")


def numbers(path):
    """Return all floating-point numbers of a result file except times, by data set."""
    found = {}

    def visit(name, item):
        if isinstance(item, steps.h5py.Dataset) and item.dtype.kind == "f" and not (
                name.startswith(OF_THE_MACHINE) or "time" in name or "elapsed" in name):
            found[name] = item[()].reshape(-1).tolist() if item.shape else [item[()].item()]

    with steps.h5py.File(path) as file:
        file.visititems(visit)
    return found


def distance(a, b):
    """Return the largest |a - b| relative to the largest magnitude of its data set, and the name of
    that data set; infinity if one side has numbers that the other does not have."""
    if a.keys() != b.keys():
        return math.inf, ", ".join(sorted(a.keys() ^ b.keys()))
    worst, where = 0.0, ""
    for name, values in a.items():
        others = b[name]
        if len(values) != len(others):
            return math.inf, name
        pairs = list(zip(values, others))
        if any(math.isfinite(x) != math.isfinite(y) for x, y in pairs):
            return math.inf, name
        pairs = [(x, y) for x, y in pairs if math.isfinite(x)]
        scale = max((abs(x) for x, _ in pairs), default=0.0) or 1.0
        apart = max((abs(x - y) for x, y in pairs), default=0.0) / scale
        if apart > worst:
            worst, where = apart, name
    return worst, where


EXACT = 1e-6  # larger tolerances are those of float32


def compared(a, b, tolerance):
    sides = [{name: values for name, values in numbers(path).items()
              if tolerance <= EXACT or IN_FLOAT32.fullmatch(name)} for path in (a, b)]
    worst, where = distance(*sides)
    return {"status": OK if worst <= tolerance else DIFFERS, "distance": worst, "where": where,
            "tolerance": tolerance}


def spec(model, device, precision, **more):
    rate = RATES_OF_RESNET[precision] if model == "resnet20" else 0.01
    return {"model": model, "replicas": 2, "device": device, "precision": precision,
            "implementation": "D_ring",
            "data": {"type": "shapes", "train": 512, "test": 32, "batch_size": 8},
            "optimizer": {"type": "sgd", "lr": rate, "momentum": 0.9},
            "length": {"iterations": ITERATIONS},
            "evaluate": {"every": None, "replicas": 2}, **more}


def against_the_host(bench, precision, model, seconds):
    """Return a step that compares the same run on the GPU and on the host. The host's run may start
    earlier, in the background."""
    setting, name = bench.setting, f"{model}-{precision}"

    def on_host():
        return bench.beside.start(f"{name}-host", lambda: setting.start(
            f"{name}-host", spec(model, "cpu", precision), "--overwrite"))

    def run():
        host = on_host()
        card = setting.run(f"{name}-card", spec(model, setting.device, precision), "--overwrite")
        bench.made.add(card)
        setting.end(host)
        return compared(setting.output(f"{name}-host"), card, TOLERANCES[precision])

    return Step("correctness", f"{model}, {precision}, {ITERATIONS} iterations", seconds, run,
                before=on_host)


def captured_and_not(bench):
    """Compare a run with captured passes (that of an earlier step) with a run without capture."""
    setting, given = bench.setting, spec("resnet20", "cuda", "float64")
    if setting.device != "cuda":
        raise Stop(MISSING, "passes are captured only on a GPU")
    captured = setting.output("resnet20-float64-card")
    if captured not in bench.made:
        captured = setting.run("capture-on", given, "--overwrite")
    with steps.h5py.File(captured) as file:
        said = how(file)
    if said["uncaptured"] or not said["capture"].startswith("on"):
        raise Stop(FAILED, ", ".join([f"capture is {said['capture']}", *said["uncaptured"]]))
    without = setting.run("capture-off", {**given, "capture": "off"}, "--overwrite")
    return compared(without, captured, TOLERANCES["float64"])


def until_stopped(setting, name, device, resume):
    """Start or resume a run, and stop it at its next checkpoint."""
    given = spec({"type": "mlp", "hidden": [32, 64]}, device, "float64", name=name,
                 checkpoint={"every": {"iterations": 5}, "keep": 100},
                 delays=[{"seconds": 0.02}])
    folder = setting.output(name, ".h5.checkpoints")

    def generations():
        return {path.name for path in folder.glob("*")} if folder.exists() else set()

    before = generations()
    end = time.monotonic() + min(120, setting.left())
    with setting.start(name, given, "--resume" if resume else "--overwrite") as run:
        while run.popen.poll() is None and generations() <= before and time.monotonic() < end:
            time.sleep(0.02)
        run.popen.send_signal(signal.SIGUSR1)
        try:
            setting.end(run, 60, expect=PREEMPTED)
        except Stop as stop:
            where = f"on {device}{', from a checkpoint' if resume else ''}"
            raise Stop(stop.status, f"{where}: {stop.reason}") from stop


def there_and_back(setting):
    """Compare a run on the host with one that moves to the GPU and back at checkpoints."""
    model = {"type": "mlp", "hidden": [32, 64]}
    whole = setting.run("whole", spec(model, "cpu", "float64", name="moved"), "--overwrite")
    until_stopped(setting, "moved", "cpu", resume=False)
    until_stopped(setting, "moved", setting.device, resume=True)
    moved = setting.run("moved", spec(
        model, "cpu", "float64", name="moved", checkpoint={"every": {"iterations": 5}, "keep": 100},
    ), "--resume")
    return compared(whole, moved, TOLERANCES["float64"])


def judged(done, complaints=()):
    """Return the result of a check of kernels, which may have been cut short."""
    if done.returncode == NO_CARD:
        raise Stop(MISSING, reason(done))
    lines = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 3]
    wrong = [" ".join(words[:3]) for words in lines if words[3] != "same"]
    if not wrong and (complaints or done.returncode or not lines):
        raise Stop(FAILED, complaints[0] if complaints else reason(done))
    status = DIFFERS if wrong else IN_PART if done.returncode is None else OK
    return {"status": status, "compared": len(lines), "differs": wrong}


def fresh_kernels(setting):
    """Check all kernels with a new seed, so that every call uses other data."""
    where = "card" if setting.device == "cuda" else "emulated"
    seed = time.time_ns() % 2**31 + 1
    quick = ["--quick"] if where == "emulated" else []
    return {"seed": seed, **judged(setting.call(
        [setting.bench("gpu_kernels"), "check", "--on", where, "--seed", seed, *quick], 400))}


def sanitized(setting):
    """Check every memory access of the kernels for SANITIZER_SECONDS; they run about a hundred
    times slower."""
    tool = next((found for name in SANITIZERS if (found := shutil.which(name))), None)
    if tool is None:
        raise Stop(MISSING, "no compute-sanitizer in the search path")
    if setting.device != "cuda":
        raise Stop(MISSING, "compute-sanitizer checks kernels on a GPU")
    process = Process([tool, "--tool", "memcheck", "--target-processes", "all", "--error-exitcode",
                       "9", setting.bench("gpu_kernels"), "check", "--quick"],
                      env=setting.environment)
    done = setting.finish(process, SANITIZER_SECONDS)
    complaints = [line.strip("= ") for line in done.stdout.splitlines()
                  if line.startswith("=====") and "COMPUTE-SANITIZER" not in line
                  and "ERROR SUMMARY: 0 errors" not in line]
    return {**judged(done, complaints), "tool": tool}


def messages(setting):
    """Test NCCL between the GPUs of all ranks, or of one rank with itself."""
    done = setting.call([*setting.starting(setting.ranks), setting.bench("gpu_messages")], 120)
    if done.returncode == NO_CARD:
        raise Stop(MISSING, last_line(done.stderr))
    said = [line for line in done.stdout.splitlines() if "over NCCL" in line]
    if len(said) != setting.ranks:
        raise Stop(FAILED, reason(done))
    wrong = [line for line in said if not line.endswith("same")]
    return {"status": DIFFERS if wrong else OK, "ranks": setting.ranks, "said": said}


def first_steps(bench):
    """Return the short steps on which all others rest."""
    setting = bench.setting
    nccl = "NCCL" + (" with itself" if setting.ranks == 1 else f", {setting.ranks} ranks")
    return [
        Step("correctness", "kernels, to the host's bits", 30, lambda: fresh_kernels(setting)),
        against_the_host(bench, "float64", "mlp", 12),
        against_the_host(bench, "float64", "resnet20", 20),
        Step("correctness", "captured passes and others", 15, lambda: captured_and_not(bench)),
        Step("correctness", "checkpoint to the GPU and back", 15,
             lambda: there_and_back(setting)),
        Step("correctness", nccl, 12, lambda: messages(setting))]


def in_float32(bench):
    return [against_the_host(bench, "float32", "mlp", 12),
            against_the_host(bench, "float32", "resnet20", 15)]


def under_the_sanitizer(bench):
    return Step("correctness", "compute-sanitizer", 90, lambda: sanitized(bench.setting))
