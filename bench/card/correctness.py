"""Whether a card computes what the host does: kernels to the bit, runs to 1e-10 in float64,
checkpoints there and back, NCCL, and what compute-sanitizer finds."""

import json
import math
import shutil
import signal
import subprocess
import time

import steps

from .journal import DIFFERS, FAILED, MISSING, OK, REFUSED, Stop
from .setting import NO_CARD, PREEMPTED, USER, Step, call, last_line, reason

ITERATIONS = 50
SANITIZERS = ("compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer",
              "/opt/nvidia/compute-sanitizer/compute-sanitizer")
# Times, places and what was asked for; all else in a result file is a result.
OF_THE_MACHINE = ("ranks/", "segments/", "provenance", "events/", "spec",
                  "iterations/profile_bytes")


def numbers(path):
    """Every number of a result file but times, by data set."""
    found = {}

    def visit(name, item):
        if isinstance(item, steps.h5py.Dataset) and item.dtype.kind == "f" and not (
                name.startswith(OF_THE_MACHINE) or "time" in name or "elapsed" in name):
            found[name] = item[()].reshape(-1).tolist() if item.shape else [item[()].item()]

    with steps.h5py.File(path) as file:
        file.visititems(visit)
    return found


def distance(a, b):
    """The largest |a - b| over the largest magnitude of the data set, and where that is; infinite
    where one has numbers that the other has not."""
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


EXACT = 1e-6  # a tolerance above allows that a sample's largest output is another one


def compared(a, b, tolerance):
    """Accuracies, which are counts, only where rounding does not change them."""
    sides = [{name: values for name, values in numbers(path).items()
              if tolerance <= EXACT or "accuracy" not in name} for path in (a, b)]
    worst, where = distance(*sides)
    return {"status": OK if worst <= tolerance else DIFFERS, "distance": worst, "where": where,
            "tolerance": tolerance}


def spec(model, device, precision, **more):
    return {"model": model, "replicas": 2, "device": device, "precision": precision,
            "implementation": "D_ring",
            "data": {"type": "shapes", "train": 512, "test": 32, "batch_size": 8},
            "optimizer": {"type": "sgd", "lr": 0.01, "momentum": 0.9},
            "length": {"iterations": ITERATIONS},
            "evaluate": {"every": None, "replicas": 2}, **more}


def against_the_host(setting, model, precision, tolerance):
    """The same run on the card and on the host."""
    def run():
        name = model if isinstance(model, str) else model["type"]
        on_card = setting.run(f"{name}-card", spec(model, setting.device, precision), "--overwrite")
        on_host = setting.run(f"{name}-host", spec(model, "cpu", precision), "--overwrite")
        return compared(on_host, on_card, tolerance)
    return run


def captured_and_not(setting):
    """A run whose passes the card has captured, and one whose passes are launched anew."""
    if setting.device != "cuda":
        raise Stop(MISSING, "only a card captures passes")
    runs = {word: setting.run(f"capture-{word}", spec("resnet20", "cuda", "float64", capture=word),
                              "--overwrite") for word in ("on", "off")}
    with steps.h5py.File(runs["on"]) as file:
        for kind, text in zip(file["events/kind"].asstr()[:], file["events/text"].asstr()[:]):
            if kind == "capture":
                raise Stop(FAILED, text)
    return compared(runs["off"], runs["on"], 1e-10)


def until_stopped(setting, name, device, resume):
    """Starts a run, or goes on with it, and stops it at its next checkpoint."""
    given = spec({"type": "mlp", "hidden": [32, 64]}, device, "float64", name=name,
                 checkpoint={"every": {"iterations": 5}, "keep": 100},
                 delays=[{"seconds": 0.02}])
    output = setting.folder / "runs" / f"{name}.h5"
    folder = output.with_suffix(".h5.checkpoints")

    def generations():
        return {path.name for path in folder.glob("*")} if folder.exists() else set()

    path = output.with_suffix(".json")
    path.write_text(json.dumps(given))
    before = generations()
    process = subprocess.Popen(
        [str(setting.program), "run", str(path), "--output", str(output), "--quiet",
         "--resume" if resume else "--overwrite"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=setting.environment)
    end = time.monotonic() + setting.seconds(120)
    while process.poll() is None and generations() <= before and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGUSR1)
    try:
        out, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise Stop(FAILED, f"no end after a signal, on {device}") from error
    done = subprocess.CompletedProcess(process.args, process.returncode, out, errors)
    if done.returncode != PREEMPTED:
        raise Stop(REFUSED if done.returncode == USER else FAILED,
                   f"on {device}{', from a checkpoint' if resume else ''}: {reason(done)}")


def there_and_back(setting):
    """A run that goes on from the host's checkpoint on the card, then from the card's here."""
    model = {"type": "mlp", "hidden": [32, 64]}
    whole = setting.run("whole", spec(model, "cpu", "float64", name="moved"), "--overwrite")
    until_stopped(setting, "moved", "cpu", resume=False)
    until_stopped(setting, "moved", setting.device, resume=True)
    moved = setting.run("moved", spec(
        model, "cpu", "float64", name="moved", checkpoint={"every": {"iterations": 5}, "keep": 100},
    ), "--resume")
    return compared(whole, moved, 1e-10)


def kernels(setting, *words, launcher=()):
    done = call([*launcher, setting.bench("gpu_kernels"), "check", *words], setting.seconds(400),
                env=setting.environment)
    if done.returncode == NO_CARD:
        raise Stop(MISSING, reason(done))
    lines = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 3]
    wrong = [" ".join(words[:3]) for words in lines if words[3] != "same"]
    if not lines or (done.returncode and not wrong):
        raise Stop(FAILED, reason(done))
    return {"status": DIFFERS if wrong else OK, "compared": len(lines), "differs": wrong}


def fresh_kernels(setting):
    """On data that no earlier call has seen."""
    where = "card" if setting.device == "cuda" else "emulated"
    seed = time.time_ns() % 2**31 + 1
    quick = ["--quick"] if where == "emulated" else []
    return {"seed": seed, **kernels(setting, "--on", where, "--seed", seed, *quick)}


def sanitized(setting):
    tool = next((found for name in SANITIZERS if (found := shutil.which(name))), None)
    if tool is None:
        raise Stop(MISSING, "no compute-sanitizer in the search path")
    if setting.device != "cuda":
        raise Stop(MISSING, "compute-sanitizer looks at a card's kernels")
    found = kernels(setting, "--quick", launcher=[tool, "--error-exitcode", "9"])
    return {**found, "tool": tool}


def messages(setting):
    """NCCL with itself, or among as many cards as there are ranks."""
    launcher = steps.mpirun(setting.ranks) if setting.ranks > 1 else []
    done = call([*launcher, setting.bench("gpu_messages")], setting.seconds(120),
                env=setting.environment)
    if done.returncode == NO_CARD:
        raise Stop(MISSING, last_line(done.stderr))
    said = [line for line in done.stdout.splitlines() if "over NCCL" in line]
    if len(said) != setting.ranks:
        raise Stop(FAILED, reason(done))
    wrong = [line for line in said if not line.endswith("same")]
    return {"status": DIFFERS if wrong else OK, "ranks": setting.ranks, "said": said}


def correctness_steps(setting, journal):
    yield Step("kernels, to the host's bits", 60, lambda: fresh_kernels(setting))
    for model in ("mlp", "resnet20"):
        for precision, tolerance in (("float64", 1e-10), ("float32", 1e-2)):
            yield Step(f"{model}, {precision}, {ITERATIONS} iterations", 60,
                       against_the_host(setting, model, precision, tolerance))
    yield Step("captured passes and others", 60, lambda: captured_and_not(setting))
    yield Step("checkpoint to the card and back", 60, lambda: there_and_back(setting))
    yield Step("NCCL" + (" with itself" if setting.ranks == 1 else f", {setting.ranks} ranks"), 30,
               lambda: messages(setting))
    yield Step("compute-sanitizer", 180, lambda: sanitized(setting))
