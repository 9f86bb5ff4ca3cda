"""Tests of bench/gpu (its reports, its journal, and missing parts of a machine) and of
scripts/gpu-kit (packing, unpacking and running a kit)."""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import h5py
import pytest
from conftest import PROGRAM, ROOT, SMALL

sys.path.insert(0, str(ROOT / "bench"))

from gpu_parts import correctness, libraries, profiles, ratios, report, sections, study
from gpu_parts.background import Background
from gpu_parts.busy import Busy
from gpu_parts.journal import FAILED, MISSING, OK, Journal, Stop
from gpu_parts.setting import OutOfTime, Process, Setting, Step

HOW = {"stacking": "off", "capture": "on", "resident": "on", "uncaptured": [], "asked": "off"}
CARD = {"when": "now", "machine": {"cards": ["a card"], "program": ["0.1.0", "0123"]}}
SIDES = {"ResNet-20, batch 32": {"dbench": [2, 1, 3], "eager": [8, 7, 9], "graph": [4, 4, 5],
                                 "compile": [5, 3, 6]},
         "ResNet-20, 512 samples": {"dbench": [4, 4, 4], "eager": [8, 8, 8], "graph": [2, 2, 2],
                                    "dbench, 16 replicas of 32": [10, 10, 10],
                                    "ensemble": [12, 15, 13]},
         "scale MLP": {"dbench, 16 replicas": [16, 16, 16],
                       "dbench, 1008 replicas": [2016, 2016, 3024]}}


@pytest.fixture
def journal(tmp_path):
    made = Journal(tmp_path, CARD)
    for case, sides in SIDES.items():
        for number in range(3):
            made.put("ratios", f"{case} / {number + 1}",
                     {"status": OK, **{name: {"ms": float(ms[number]),
                                              **(HOW if "dbench" in name else {})}
                                       for name, ms in sides.items()}}, 12.3)
    return made


def measured(journal, rounds=3):
    return {case: (value, state)
            for case, _, value, state in report.against_targets(journal, rounds)}


def test_ratios_are_those_within_rounds(journal):
    found = measured(journal)
    assert found["ResNet-20, batch 32: over PyTorch's best"] == (
        "2.00 (1.67 to 3.00, 3 rounds)", "met")       # 4 / 2, 3 / 1, 5 / 3
    assert found["16 replicas of batch 32 over one model at batch 512"] == (
        "0.40 (0.40 to 0.40, 3 rounds)", "missed")
    assert found["16 replicas of batch 32 over a torch.func ensemble"] == (
        "1.30 (1.20 to 1.50, 3 rounds)", "missed")
    # 2016 / 1008 over 16 / 16; here the target is an upper bound.
    assert found["cost per replica, scale MLP, 1008 over 16 replicas"] == (
        "2.00 (2.00 to 3.00, 3 rounds)", "missed")
    assert any("dbench 2.000 ms, eager 8.000 ms" in line for line in report.table(journal, 3))


def test_rounds_that_do_not_agree_and_rounds_too_few_are_no_pass(journal):
    eager = "ResNet-20, batch 32: over PyTorch eager"
    assert measured(journal)[eager] == ("4.00 (3.00 to 7.00, 3 rounds)", "met")
    for ms, state in (7.0, "met"), (1.0, "undecided"):
        journal.put("ratios", "ResNet-20, batch 32 / 4", {
            "status": OK, "dbench": {"ms": 1.0, **HOW}, "eager": {"ms": ms}})
        assert measured(journal)[eager][1] == state
    assert measured(journal, 5)[eager] == ("3.50 (1.00 to 7.00, 4 rounds)", "only 4 of 5 rounds")


def test_what_was_not_measured_is_no_pass(journal):
    found = measured(journal)
    assert found["ResNet-20, batch 128: over DDP eager"] == ("", "not run")
    assert found["recording everything, 16 replicas"] == ("", "not run")
    assert found["fused update, mixing and norms over a copy's bandwidth"] == ("", "not run")
    value, state = found["ResNet-20, batch 512: over PyTorch's best"]
    assert value == "" and state.startswith("not complete: compile")
    assert journal.state("correctness") == "not run"
    assert journal.state("ratios") == "not complete"


def test_a_run_without_captured_passes_is_noted_with_its_ratio(journal):
    journal.put("ratios", "ResNet-20, batch 128 / 1", {
        "status": OK, "ddp": {"ms": 3.0}, "dbench": {
            "ms": 1.0, **HOW, "uncaptured": ["passes go on without being captured: why"],
            "warnings": ["a warning"]}})
    _, state = measured(journal, 1)["ResNet-20, batch 128: over DDP eager"]
    assert state.startswith("met; dbench not captured: on passes go on") and "why" in state
    assert any(line.endswith("dbench: a warning") for line in report.table(journal, 1))


def test_results_are_kept_between_calls(journal, tmp_path):
    again = Journal(tmp_path, {"when": "later"}, tmp_path / "copy.json")
    assert again.steps("ratios") == journal.steps("ratios")
    assert again.data["calls"] == [CARD, {"when": "later"}]
    assert again.alike("ratios") == {}  # the results are from another machine
    again.put("ratios", "of here", {"status": OK})
    assert list(again.alike("ratios")) == ["of here"]
    assert (tmp_path / "copy.json").read_text() == (tmp_path / "gpu.json").read_text()
    again.forget("ratios")
    assert again.state("ratios") == "not run"
    (tmp_path / "gpu.json").write_text("[]")
    with pytest.raises(ValueError, match="no results"):
        Journal(tmp_path, {})


def test_failed_steps_are_tried_once_more(journal):
    for tries in 1, 2:
        journal.put("kernels", "a", {"status": FAILED, "reason": "why"})
        assert journal.has("kernels", "a") and journal.finished("kernels", "a") == (tries == 2)
    journal.put("ratios", "b", {"status": OK, "side": {"ms": 1.0}, "partial": True}, 5)
    assert not journal.has("ratios", "b")
    journal.put("ratios", "b", {"status": OK, "side": {"ms": 1.0}, "other": {
        "status": FAILED, "reason": "why", "tries": 1}}, 6)
    assert journal.has("ratios", "b") and not journal.finished("ratios", "b")
    assert journal.steps("ratios")["b"]["took"] == 11
    journal.put("kernels", "nsys", {"status": MISSING, "reason": "no nsys"})
    assert journal.has("kernels", "nsys") and not journal.finished("kernels", "nsys")
    step = Step("ratios", "c", 100, None, like=("a", "b"))
    assert journal.expected(step) == pytest.approx(1.3 * 11)


def test_a_kernel_under_the_target_and_a_wrong_bit_are_seen(journal):
    shares = {"copy": 1.0, "fused, sgd": 0.91, "fused, adam": 0.85}
    journal.put("kernels", "kernels over a copy", {"status": OK, "kernels": {
        name: {"us": 1.0, "gb_s": 1.0, "share": share} for name, share in shares.items()}})
    assert measured(journal)["fused update, mixing and norms over a copy's bandwidth"] == (
        "0.85", "missed")
    journal.put("correctness", "a", {"status": "differs", "compared": 3, "differs": ["sgd"]})
    assert journal.state("correctness") == "differs"
    lines = report.table(journal, 2)
    assert any("3 compared, 1 differ" in line for line in lines)
    assert lines[0] == "DIFFERS: correctness, a"


@pytest.mark.parametrize("a, b, apart", [
    ({"x": [1.0, 2.0]}, {"x": [1.0, 2.0]}, 0), ({"x": [1.0, 4.0]}, {"x": [1.0, 3.0]}, 0.25),
    ({"x": [1.0]}, {"y": [1.0]}, math.inf), ({"x": [1.0]}, {"x": [1.0, 1.0]}, math.inf),
    ({"x": [1.0, math.nan]}, {"x": [1.0, math.nan]}, 0),
    ({"x": [1.0, 2.0]}, {"x": [1.0, math.nan]}, math.inf)])
def test_distances_of_results(a, b, apart):
    assert correctness.distance(a, b)[0] == apart


@pytest.mark.parametrize("tolerance, status", [(1e-10, "differs"), (1e-2, OK)])
def test_float32_tolerates_one_differently_classified_sample(
        tmp_path, tolerance, status):
    for name, right in ("a", 0.5), ("b", 0.625):
        with h5py.File(tmp_path / name, "w") as file:
            file["iterations/train_accuracy"] = [right]
            file["iterations/train_loss"] = [1.0]
    assert correctness.compared(tmp_path / "a", tmp_path / "b", tolerance)["status"] == status


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_two_ways_to_round_are_within_the_tolerance(dbench, precision):
    """Two orders of addition on the CPU stay far within the tolerance for comparisons with a
    GPU."""
    runs = {}
    for way in "off", "batched":
        given = dbench.folder / f"{way}.json"
        given.write_text(json.dumps(correctness.spec(
            "resnet20", "cpu", precision, stacking=way, length={"iterations": 10})))
        runs[way] = dbench.start("run", given, "--output", f"{way}.h5", "--quiet")
    for way, run in runs.items():
        assert run.wait(120) == 0, way
    tolerance = correctness.TOLERANCES[precision]
    found = correctness.compared(*(dbench.folder / f"{way}.h5" for way in runs), tolerance)
    assert 0 < found["distance"] < tolerance / 10, found


def test_versions_as_libraries_number_them():
    assert (libraries.cuda_text(13010), libraries.nccl_text(22809)) == ("13.1", "2.28.9")
    assert (libraries.cudnn_text(91900), libraries.cudnn_text(8907)) == ("9.19.0", "8.9.7")
    assert libraries.status([("a", "ok", ""), ("GPU", "no GPU", "")]) == 77
    assert libraries.status([("a", "missing", ""), ("GPU", "no GPU", "")]) == 1
    assert libraries.status([("a", "ok", "")]) == 0


class Driver:
    """A replacement of libcuda with one GPU for each of the given capabilities."""

    def __init__(self, version, *capabilities):
        self.version, self.capabilities = version, capabilities

    def fill(self, reference, value):
        reference._obj.value = value
        return 0

    def cuDriverGetVersion(self, number):
        return self.fill(number, self.version)

    def cuInit(self, _):
        return 0

    def cuDeviceGetCount(self, number):
        return self.fill(number, len(self.capabilities))

    def cuDeviceGetName(self, name, _, device):
        name.value = b"A card"

    def cuDeviceGetPCIBusId(self, bus, _, device):
        bus.value = f"0000:{device + 1}B:00.0".encode()

    def cuDeviceGetAttribute(self, number, which, device):
        return self.fill(number, {20: 0, 75: self.capabilities[device][0],
                                  76: self.capabilities[device][1]}[which])


KIT = {"torch": "2.11", "cuda": True, "runtime": "13.0", "architectures": "90"}


@pytest.mark.parametrize("architectures, capability, state", [
    ("90", (9, 0), "ok"), ("90", (12, 0), "ok"), ("90", (8, 0), "other"), ("90", (7, 5), "other"),
    ("80;90", (8, 6), "ok"), ("80;90-real", (9, 0), "ok"), ("90-real", (10, 0), "other"),
    ("90-virtual", (10, 0), "ok")])
def test_a_gpu_without_code_in_the_kit_is_reported(monkeypatch, architectures, capability, state):
    monkeypatch.setattr(libraries.ctypes, "CDLL", lambda _: Driver(13000, capability))
    driver, card = libraries.of_driver(None, {**KIT, "architectures": architectures})
    assert driver[:2] == ("driver", "ok") and card[:2] == ("GPU 0", state)
    assert "capability {}.{}".format(*capability) in card[2]
    assert state == "ok" or f"the programs are for {architectures}: " in card[2]
    # An ordinary build does not record its architectures, so nothing is compared.
    assert libraries.of_driver(None, {})[1][1] == "ok"


def test_a_driver_or_runtime_of_another_cuda_is_reported(monkeypatch):
    monkeypatch.setattr(libraries.ctypes, "CDLL", lambda _: Driver(12040, (9, 0)))
    _, state, words = libraries.of_driver(None, KIT)[0]
    assert state == "other" and words.startswith(
        "for CUDA 12.4, but CUDA 13.0 is required: install")
    assert libraries.of_driver(None, {})[0][1] == "ok"
    found = [libraries.of_runtime(number, "a path", libraries.cuda_number("13.0"))
             for number in (12060, 13010)]
    assert [state for _, state, _ in found] == ["other", "ok"]
    assert found[0][2].endswith("need CUDA 13.0: install PyTorch's build for CUDA 13")
    assert libraries.of_runtime(12060, "a path", None)[1] == "ok"


@pytest.fixture
def bench(tmp_path, journal):
    """Return the Bench of a call with a GPU; the tests run no steps of it."""
    setting = Setting(build=tmp_path, folder=tmp_path, ranks=1, rounds=5, device="cuda",
                      python="/bin/false")
    return sections.Bench(setting, journal, workers=None)


def test_all_steps_are_in_one_plan_of_a_quarter_of_an_hour(bench):
    plan = [step for step in sections.plan(bench)
            if step.section in sections.chosen([], several=False)]
    assert sum(step.seconds for step in plan) < 20 * 60
    assert len({(step.section, step.name) for step in plan}) == len(plan) == 45
    assert {step.section for step in plan} == set(sections.SECTIONS) - {"ranks", "study"}
    names = [step.name for step in plan]
    # A call that ends early should have two rounds of each case, not five of one case.
    assert names.index("scale MLP / 2") < names.index("ResNet-20, 512 samples / 3")
    assert names[-1] == "compute-sanitizer"


def test_every_case_of_the_program_is_a_spec(dbench, bench):
    bench.setting.device = "cpu"
    specs = []
    for case, sides in ratios.sides_of_cases(bench.setting).items():
        for side in sides:
            if side.spec is not None:
                specs.append(dbench.folder / f"{case} {side.name}.json".replace("/", " "))
                specs[-1].write_text(json.dumps({**side.spec, "length": {"iterations": 4},
                                                 "evaluate": {"every": {"iterations": 2}}}))
    found = json.loads(dbench("check", *specs, "--json").stdout)
    assert len(found) == len(specs) == 9


def test_a_time_records_how_it_was_measured(dbench, tmp_path):
    setting = Setting(build=Path(PROGRAM).parent, folder=tmp_path, ranks=1, rounds=1, device="cpu",
                      python="")
    found = ratios.milliseconds(setting, "a", ratios.spec(setting, ratios.SMALL, 2, 4), 5)
    assert found["ms"] > 0 and found["iterations"] == 5 and found["uncaptured"] == []
    assert found["stacking"].split()[0] in ("off", "batched")
    assert found["capture"].startswith("off") and found["resident"].startswith("off")
    worse = ratios.spec(setting, "no such model", 2, 4)
    with pytest.raises(Stop, match="/model"):
        ratios.milliseconds(setting, "a", worse, 5)


def test_an_interrupted_round_keeps_its_sides_and_continues(bench):
    asked = []

    def case(**answers):
        made = ratios.Case(bench, "case", [ratios.Contender(name) for name in "abc"])

        def measure(side, number):
            asked.append(side.name)
            if isinstance(answers[side.name], Exception):
                raise answers[side.name]
            return {"ms": answers[side.name]}
        made.measure = measure
        return made

    with pytest.raises(OutOfTime):
        case(a=OutOfTime()).round(1)
    cut = case(a=1.0, b=OutOfTime()).round(1)
    assert cut == {"status": OK, "a": {"ms": 1.0}, "partial": True}
    bench.journal.put("ratios", "case / 1", cut)
    asked.clear()
    failing = case(b=Stop(FAILED, "why"), c=3.0, a=1.5)
    whole = failing.round(1)
    assert asked == ["b", "c"]
    assert whole == {"status": OK, "a": {"ms": 1.0}, "c": {"ms": 3.0},
                     "b": {"status": FAILED, "reason": "why", "tries": 1}}
    bench.journal.put("ratios", "case / 1", whole)
    asked.clear()
    assert failing.round(2)["b"]["reason"] == "why" and asked == ["a", "c"]
    # Another call tries the failed side once more.
    assert not bench.journal.finished("ratios", "case / 1")
    bench.journal.put("ratios", "case / 1", case(b=Stop(FAILED, "again")).round(1))
    assert bench.journal.finished("ratios", "case / 1")


def test_ranks_are_started_by_the_given_launcher(bench, tmp_path):
    executable(tmp_path / "bench" / "bench_gpu_messages", "exit 1\n")
    executable(tmp_path / "launch", """echo "$*" >$(dirname "$0")/words
for rank in 0 1 2; do echo "rank $rank of 3: 20 rounds over NCCL: same"; done
""")
    bench.setting.ranks, bench.setting.launcher = 3, (str(tmp_path / "launch"), "--bind=none")
    assert correctness.messages(bench.setting)["status"] == OK
    assert (tmp_path / "words").read_text() == (
        f"--bind=none -n 3 {tmp_path}/bench/bench_gpu_messages\n")
    bench.setting.start("name", {}, ranks=3).finish(10)
    assert f"--bind=none -n 3 {tmp_path}/dbench run " in (tmp_path / "words").read_text()
    assert bench.setting.starting(1) == []


def test_stacking_is_chosen_once(bench, monkeypatch):
    given = []

    def run(setting, name, spec, iterations, **_):
        given.append((spec["stacking"], iterations))
        return {"ms": 100.0, "iterations": iterations, **HOW, "stacking": "batched (quicker)"}

    monkeypatch.setattr(ratios, "milliseconds", run)
    both = [side for side in ratios.sides_of_cases(bench.setting)[ratios.OF_512]
            if "16 replicas" in side.name]
    bench.journal.forget("ratios")
    for number in 1, 2:  # calls
        case = ratios.Case(bench, ratios.OF_512, both)
        bench.journal.put("ratios", f"{ratios.OF_512} / {number}", case.round(number))
    assert given == [("auto", 60), ("batched", 60), ("batched", 15), ("batched", 15)]


def test_a_step_interrupted_by_the_end_of_the_call_has_not_failed(bench):
    bench.setting.left = lambda: 0.1
    with pytest.raises(OutOfTime):
        bench.setting.call(["sleep", "30"], 20)
    bench.setting.left = lambda: 30
    with pytest.raises(Stop, match="sleep did not end within 0.1 s"):
        bench.setting.call(["sleep", "30"], 0.1)


def test_child_processes_end_with_their_program(tmp_path):
    script = f"sleep 60 & echo $! >{tmp_path}/pid; echo so far; wait"
    done = Process(["sh", "-c", script]).finish(1)
    assert done.returncode is None and done.stdout == "so far\n"
    child = Path("/proc") / (tmp_path / "pid").read_text().strip() / "stat"
    time.sleep(0.1)
    assert not child.exists() or child.read_text().split()[2] == "Z"


def test_background_processes_end_before_timed_steps():
    beside, begun = Background(), []

    def start():
        begun.append(beside.start("a", lambda: Process(["sh", "-c", "sleep 0.3; echo end"])))

    steps = [Step("a", "b", 1, None), Step("a", "c", 1, None, timed=True, before=start)]
    beside.begin(steps[1:])
    assert begun == []
    beside.begin(steps)
    beside.settle(20)
    assert begun[0].done.stdout == "end\n"
    start()
    assert begun[1] is begun[0]


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def test_programs_are_built_only_in_this_checkout(bench, tmp_path):
    executable(tmp_path / "bin" / "cmake", f"touch {tmp_path}/asked\n")
    bench.setting.environment["PATH"] = f"{tmp_path}/bin:{os.environ['PATH']}"
    for home, asked in ("/elsewhere", False), (ROOT, True):
        (tmp_path / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY:INTERNAL={home}\n")
        with pytest.raises(Stop, match="no .*bench_gpu_kernels"):
            bench.setting.bench("gpu_kernels")
        assert (tmp_path / "asked").exists() == asked


@pytest.mark.parametrize("name", ["kernels", "messages"])
def test_programs_print_their_options(name):
    """The programs have a help text, because a kit does not contain their sources."""
    build = Path(os.environ.get("DBENCH_CUDA_PROGRAM") or "/").parent
    program = build / "bench" / f"bench_gpu_{name}"
    if not program.exists():
        pytest.skip(f"no bench_gpu_{name} here (scripts/test makes it where nvcc is present)")
    done = subprocess.run([program, "--help"], text=True, capture_output=True)
    assert done.returncode == 0 and f"  bench_gpu_{name} " in done.stdout, done.stderr


def test_the_sanitizer_s_time_is_bounded(bench, tmp_path, monkeypatch):
    tool = tmp_path / "bin" / "compute-sanitizer"
    executable(tmp_path / "bench" / "bench_gpu_kernels", "")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr(correctness, "SANITIZER_SECONDS", 1)

    def said(last, first="========= COMPUTE-SANITIZER"):
        executable(tool, f"echo '{first}'; printf 'sgd\\tsmall\\tfloat32\\tsame\\n'; {last}\n")
        found = correctness.sanitized(bench.setting)
        return found["status"], found["compared"]

    assert said("sleep 60") == ("in part", 1)
    assert said("echo '========= ERROR SUMMARY: 0 errors'") == (OK, 1)
    with pytest.raises(Stop, match="Invalid write"):
        said("exit 9", first="========= Invalid write of size 8")


def test_tables_of_profilers():
    nsys = ('Time (%),Total Time (ns),Instances,Name\n60.0,3000000,2,"conv<a, b>"\n'
            "40.0,2000000,1,sgd\n")
    ncu = ('==PROF== Connected\n"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
           '"0","conv<a, b>","gpu__time_duration.sum","ns","2,000,000"\n'
           '"1","sgd","gpu__time_duration.sum","ns","2000000"\n'
           '"2","conv<a, b>","gpu__time_duration.sum","ns","1000000"\n==PROF== Disconnected\n')
    for text, name, value in ((nsys, "Name", "Total Time (ns)"),
                              (ncu, "Kernel Name", "Metric Value")):
        found = profiles.most(profiles.table_of(text, name, value))
        assert found["kernels"] == [{"name": "conv<a, b>", "ms": 3.0}, {"name": "sgd", "ms": 2.0}]
    with pytest.raises(Stop, match="no kernels"):
        profiles.most(profiles.table_of("==PROF== nothing\n", "Name", "Total"))


def test_time_of_each_kind_of_kernel():
    rows = [("void cudnn::dgrad_engine", 4e6), ("void wgrad_alg0_engine", 2e6),
            ("implicit_convolve_sgemm", 6e6), ("cudnn::batchnorm_fwtr_nhwc", 1e6),
            ("run_on_device<NormMoments<float>>", 1e6),
            ("run_on_device<UpdateAndMix<float, Sgd<float>>>", 1e6), ("sgd_update", 1e6),
            ("unknown", 2e6)]
    assert profiles.iterations_in(rows) == 2
    assert profiles.kinds_of(rows, 2) == {
        "convolution, forward": 3.0, "convolution, data": 2.0, "convolution, weights": 1.0,
        "normalisation": 1.0, "others": 1.0, "update and averaging": 0.5, "update": 0.5}
    with pytest.raises(Stop, match="no update"):
        profiles.iterations_in([("conv", 1.0)])


def test_gpu_utilisation_is_sampled_in_the_rounds(bench):
    for number, seen in (1, [0.5, 0.9, 1.0]), (2, [0.8, 0.95]):
        bench.journal.put("ratios", f"ResNet-20, batch 32 / {number}", {
            "status": OK, "dbench": {"ms": 1.0, **HOW, "busy": seen}})
    assert profiles.share_of_time(bench) == {"status": OK, "share": 0.9, "samples": 5}


def test_the_gpu_that_cuda_uses_is_sampled(bench, tmp_path, monkeypatch):
    """nvidia-smi ignores CUDA_VISIBLE_DEVICES, so the GPUs must be selected by their bus ids."""
    monkeypatch.setattr(libraries.ctypes, "CDLL", lambda _: Driver(13000, (9, 0), (9, 0)))
    executable(tmp_path / "bin" / "nvidia-smi", f"""echo "$*" >>{tmp_path}/asked
case "$*" in *utilization*) echo 50 ;; *) echo "A card, 580.95" ;; esac
""")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    bench.setting.environment["PATH"] = os.environ["PATH"]
    assert bench.setting.cards() == ["A card, 580.95"]
    with Busy(bench.setting) as watch:
        time.sleep(0.3)
    assert watch.between(0, math.inf) == [0.5]
    named, watched = (tmp_path / "asked").read_text().splitlines()
    assert named.endswith(" -i 0000:1B:00.0,0000:2B:00.0") and " -i 0000:1B:00.0 " in watched


@pytest.fixture
def gpu(tmp_path):
    """Return a function that calls bench/gpu with a GPU that only nvidia-smi knows, and a program
    that refuses to use it."""
    executable(tmp_path / "bin" / "nvidia-smi", 'echo "Card, 1.0, 2 MiB"\n')
    executable(tmp_path / "build" / "dbench",
               '[ "$1" != run ] || { echo "dbench: error: /device: cuda is refused: why" >&2; '
               'exit 2; }\n')

    def call(*words, path=f"{tmp_path}/bin:{os.environ['PATH']}", python="/bin/false"):
        return subprocess.run(
            [sys.executable, ROOT / "bench" / "gpu", "--build", tmp_path / "build", "--folder",
             tmp_path / "out", *words], text=True, capture_output=True, timeout=120,
            env={**os.environ, "PATH": path, "DBENCH_TORCH_PYTHON": python})
    return call


def test_results_of_two_programs_are_not_mixed(gpu, tmp_path):
    assert gpu("--section", "correctness").returncode == 0
    executable(tmp_path / "build" / "dbench", "exit 2\n")
    done = gpu("--section", "correctness", "--resume")
    assert done.returncode == 2 and "another GPU, driver or program" in done.stderr
    assert gpu("--section", "correctness").returncode == 0      # without --resume


def test_another_machine_continues_and_may_forget_earlier_results(gpu, tmp_path):
    """A machine does not repeat its own results, and with --forget-others repeats those of
    another."""
    assert gpu("--section", "correctness", "--copy", tmp_path / "copy.json").returncode == 0
    (tmp_path / "fresh").mkdir()
    (tmp_path / "copy.json").rename(tmp_path / "fresh" / "gpu.json")
    fresh = "--folder", tmp_path / "fresh", "--section", "correctness", "--resume"
    assert "float64" not in gpu(*fresh).stderr
    held = json.loads((tmp_path / "fresh" / "gpu.json").read_text())
    name = "mlp, float64, 50 iterations"
    held["calls"].append({"machine": {"cards": ["another"]}})
    held["sections"]["correctness"]["steps"][name]["call"] = len(held["calls"]) - 1
    (tmp_path / "fresh" / "gpu.json").write_text(json.dumps(held))
    refused = gpu(*fresh)
    assert refused.returncode == 2 and "--forget-others" in refused.stderr
    done = gpu(*fresh, "--forget-others")
    assert done.returncode == 0 and done.stderr.count("float64") == 1 and name in done.stderr
    assert json.loads((tmp_path / "fresh" / "gpu-before-4.json").read_text()) == held
    assert gpu("--forget-others").returncode == 2


def test_a_gpu_repeats_results_from_calls_without_one(tmp_path):
    """A first call runs on a login node without a GPU, the second one on a node with a GPU."""
    without = Journal(tmp_path, {"machine": {"cards": [], "program": "p"}})
    without.put("libraries", "libraries", {"status": "ok"})
    here = Journal(tmp_path, {"machine": {"cards": ["H100"], "program": "p"}})
    here.put("kernels", "kernels over a copy", {"status": "ok"})
    for section in ("libraries", "kernels", "ranks"):
        here.forget_cardless(section)
    assert not here.steps("libraries") and here.steps("kernels")
    assert len(here.alike("kernels")) == 1


def test_an_unwritable_folder_is_reported_at_once(gpu, tmp_path):
    (tmp_path / "out").write_text("a file")
    done = gpu("--section", "correctness")
    assert done.returncode == 2 and "name another --folder" in done.stderr


def test_refusals_of_the_program_are_reported(gpu, tmp_path):
    done = gpu("--section", "correctness", "profile", "--copy", tmp_path / "copy.json")
    assert done.returncode == 1, done.stderr      # PyTorch's process ended
    assert done.stdout.count("/device: cuda is refused: why") >= 5
    assert "no " in done.stdout and " met" not in done.stdout
    steps = json.loads((tmp_path / "out" / "gpu.json").read_text())["sections"]["correctness"]
    found = {name: step["status"] for name, step in steps["steps"].items()}
    assert found["mlp, float64, 50 iterations"] == "refused"
    assert found["kernels, to the host's bits"] == "missing"
    assert (tmp_path / "copy.json").read_text() == (tmp_path / "out" / "gpu.json").read_text()
    # --resume only repeats steps with missing parts; without --resume the whole section is
    # repeated.
    again = gpu("--section", "correctness", "--resume")
    assert again.returncode == 0 and "float64" not in again.stderr
    assert "kernels, to the host's bits" in again.stderr
    held = json.loads((tmp_path / "out" / "gpu.json").read_text())["sections"]["correctness"]
    assert found == {name: step["status"] for name, step in held["steps"].items()}
    assert "resnet20, float64" in gpu("--section", "correctness").stderr


def test_without_a_gpu_only_libraries_are_checked(gpu, tmp_path):
    executable(tmp_path / "bin" / "nvidia-smi", 'echo "No devices were found"; exit 6\n')
    done = gpu(python=sys.executable)
    assert done.returncode == 77 and "no GPU (" in done.stdout
    assert "ceilings" not in done.stderr + done.stdout and "libraries: failed" not in done.stdout
    assert "libraries: not complete" in done.stdout and "  driver " in done.stdout
    assert all(f"{name}: not run" in done.stdout for name in sections.SECTIONS
               if name != "libraries")
    assert gpu("--build", tmp_path).returncode == 2


@pytest.mark.parametrize("program", [PROGRAM, os.environ.get("DBENCH_CUDA_PROGRAM")],
                         ids=["here", "with CUDA"])
def test_a_kit_starts_where_it_was_unpacked(tmp_path, program):
    if not program or not Path(program).exists():
        pytest.skip("no CUDA build (scripts/test makes one where nvcc is present)")
    packed = tmp_path / "kit.tar.xz"
    build = Path(program).parent
    python = os.environ.get("DBENCH_TORCH_PYTHON") if program != PROGRAM else None
    done = subprocess.run([ROOT / "scripts" / "gpu-kit", "--build", build, "--output", packed],
                          capture_output=True, text=True,
                          env={**os.environ, "DBENCH_KIT_LEVEL": "-0"})
    assert done.returncode == 0, done.stderr
    assert packed.stat().st_size < 40 << 20
    subprocess.run(["tar", "-C", tmp_path, "-xf", packed], check=True)
    kit = tmp_path / "dbench-gpu-kit"
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path),
            "DBENCH_TORCH_PYTHON": python or sys.executable}

    def run(*words):
        return subprocess.run([kit / "run", *words], cwd=tmp_path, env=bare, text=True,
                              capture_output=True, timeout=120)

    packed_for = json.loads((kit / "kit.json").read_text())
    assert [packed_for[key] is not None for key in ("runtime", "architectures")] == [
        packed_for["cuda"]] * 2
    checked = run()
    assert checked.returncode in (0, 77), checked.stdout + checked.stderr
    assert "all libraries found" in checked.stdout and "PyTorch" in checked.stdout
    assert "Open MPI" in run("dbench", "doctor").stdout
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({**SMALL, "output": str(tmp_path / "out.h5")}))
    many = str(len(os.sched_getaffinity(0)) + 2)  # more ranks than cores
    affinity = "import os; print(len(os.sched_getaffinity(0)))"
    free = run("mpirun", "-n", many, sys.executable, "-c", affinity)
    assert free.stdout.split() == [str(len(os.sched_getaffinity(0)))] * int(many), free.stderr
    ran = run("mpirun", "-n", "4", "dbench", "run", str(spec), "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert "complete" in run("dbench", "doctor", str(tmp_path / "out.h5")).stdout
    assert run("nonsense").returncode == 2
    # Reading results requires no libraries, since users may read them on another machine.
    bare["DBENCH_TORCH_PYTHON"] = sys.executable
    check = kit / "bench" / "gpu_parts" / "libraries.py"
    check.write_text("if __name__ == '__main__':\n    print('checked')\n    raise SystemExit(77)\n"
                     + check.read_text())
    for words in ["--help"], ["--report", "--folder", "results"]:
        read = run("gpu", *words)
        assert read.returncode == 0 and "checked" not in read.stdout, read.stderr
    assert run("gpu").returncode == 77
    on = run("gpu", "--device", "cpu", "--minutes", "0")  # refused, so that the call ends at once
    assert on.stdout == "checked\n" and "0 is below 1" in on.stderr and on.returncode == 2


@pytest.mark.parametrize("seconds, start, epoch, epochs", [
    (450, 3, 1.5, 18),     # 15 runs of 30 s: (30 - 3) / 1.5
    (45, 3, 0.1, 0),       # starting takes all the time
    (60, 3, 10, 0),
    (1e6, 3, 1, 60),
])
def test_epochs_of_the_study_fill_the_call(seconds, start, epoch, epochs):
    assert study.choose_epochs(seconds, start, epoch) == epochs


def test_the_study_trains_five_implementations_and_continues(tmp_path, monkeypatch):
    """The first call chooses epochs and makes four runs. The second call keeps the number of
    epochs and makes the fifth run. `reproduce` reads the results."""
    spec = tmp_path / "tiny.json"
    spec.write_text(json.dumps({
        "replicas": 4, "model": "softmax_regression", "optimizer": {"type": "sgd", "lr": 0.05},
        "data": {"type": "shapes", "train": 256, "test": 64, "batch_size": 8}}))
    monkeypatch.setattr(study, "SEEDS", 1)
    monkeypatch.setattr(study, "MOST_EPOCHS", 3)
    monkeypatch.setattr(study, "MOST_BYTES", 9_000)  # recording each iteration needs 10,032
    here = {"machine": {"cards": [], "program": "p"}}

    def call(resume, **changes):
        journal = Journal(tmp_path, here)
        setting = Setting(build=Path(PROGRAM).parent, folder=tmp_path, ranks=1, rounds=1,
                          device="cpu", python="/bin/false", study=spec, resume=resume,
                          deadline=time.monotonic() + 600)
        for step in study.plan(sections.Bench(setting, journal, workers=None)):
            if not journal.finished(step.section, step.name) and step.name not in changes:
                journal.put(step.section, step.name, step.run(), 1.0)
        return journal

    first = call(False, **{"D_ring / 1": "left out"})
    chosen = first.steps("study")[study.PLAN]
    assert chosen["epochs"] == 3 and chosen["every"] == 2
    assert [row[1] for row in study.summary(first)[1:]] == ["1", "1", "1", "1", "0"]
    last = tmp_path / "runs" / "study" / "D_ring-3epochs-seed1.h5"
    assert not last.exists()
    second = call(True)
    assert second.steps("study")[study.PLAN] == chosen
    runs = sorted(last.parent.glob("*.h5"))
    assert len(runs) == 5
    with h5py.File(last) as file:
        ends = file["evaluations/mean_accuracy"][:]
        assert len(ends) == 4 and file.attrs["status"] == b"complete"
        assert len(file["parameters/iteration"]) == 12
    table = "\n".join(report.table(second, 1))
    assert "over C_complete" in table and f"{100 * ends[-1]:.2f} %" in table
    judged = subprocess.run([sys.executable, "-m", "dbench_analysis", "reproduce", "dbench",
                             last.parent], text=True, capture_output=True, cwd=ROOT / "analysis")
    assert judged.returncode == 0, judged.stderr
    assert "C_complete" in judged.stdout


def test_missing_data_of_the_study_are_named_and_tried_again(tmp_path, journal, monkeypatch):
    monkeypatch.setenv("DBENCH_DATA", str(tmp_path / "nowhere"))
    setting = Setting(build=Path(PROGRAM).parent, folder=tmp_path, ranks=1, rounds=1, device="cpu",
                      python="/bin/false")
    steps = study.plan(sections.Bench(setting, journal, workers=None))
    assert len(steps) == 1 + 6 * 5
    with pytest.raises(Stop, match="CIFAR-10 was not found") as stop:
        steps[0].run()
    assert stop.value.status == MISSING
    with pytest.raises(Stop, match="has no result") as stop:
        steps[1].run()
    assert stop.value.status == MISSING


def test_the_study_needs_its_spec(gpu, tmp_path):
    done = gpu("--study", tmp_path / "none.json")
    assert done.returncode == 2 and "there is no spec" in done.stderr
