"""Tests of the build with CUDA on a stand-in for a GPU (tests/cuda_stand_in). They run LibTorch's
own CUDA code and that of this program, with all streams, events, captures and memory; only the
results of kernels are missing. The stand-in refuses calls that CUDA's documentation forbids and
writes them to a report. It also counts the calls in which the host waits."""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import pytest
from conftest import ROOT, mpirun

PROGRAM = os.environ.get("DBENCH_CUDA_PROGRAM")
LIBRARIES = Path(PROGRAM or "/").parent / "tests" / "cuda_stand_in"
RUNTIME = LIBRARIES / "libcudart.so.13"
pytestmark = pytest.mark.skipif(
    not RUNTIME.exists(), reason="no CUDA build (scripts/test makes one where nvcc is present)")

RUN = {"name": "run", "replicas": 4, "device": "cuda", "model": {"type": "mlp", "hidden": [64, 32]},
       "data": {"type": "shapes", "train": 256, "test": 32, "batch_size": 8}, "graph": "ring",
       "algorithm": "dsgd", "optimizer": {"type": "sgd", "lr": 0.1}, "length": {"iterations": 10},
       "evaluate": {"replicas": 1, "every": None}}
MOMENTUM = {"type": "sgd", "lr": 0.1, "momentum": 0.9}
# Kernels compute nothing, so that all results are zero: messages are empty and distances are 0.
WAYS = {
    "sgd": {},
    "momentum": {"optimizer": MOMENTUM},
    "adam": {"optimizer": {"type": "adam", "lr": 0.001}},
    "clipped": {"optimizer": {**MOMENTUM, "clip_norm": 0.5}},
    "qg_adam": {"algorithm": "qg_adam"},
    "awc": {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}, "optimizer": MOMENTUM},
    "cta": {"algorithm": {"type": "dsgd", "order": "combine_then_adapt"}},
    "convolutions": {"model": "resnet20", "replicas": 2},
    "a text": {"model": {"type": "gpt", "layers": 1, "heads": 2, "width": 8},
               "data": {"type": "text", "path": str(ROOT / "README.md"), "sequence": 6,
                        "batch_size": 2, "limit": {"train": 200, "test": 8}}},
    "LSTM": {"model": {"type": "lstm", "hidden": 8},
             "data": {"type": "text", "path": str(ROOT / "README.md"), "sequence": 6,
                      "batch_size": 2, "limit": {"train": 200, "test": 8}}},
    "pairs of sentences": {
        "model": {"type": "transformer", "layers": 1, "heads": 2, "width": 8, "hidden": 8},
        "data": {"type": "pairs", "source": str(ROOT / "README.md"), "vocabulary": 300,
                 "target": str(ROOT / "README.md"), "batch_size": 2}},
    "convolutions together": {"model": "resnet20", "stacking": "batched"},
    "dropout": {"model": {"type": "gpt", "layers": 1, "heads": 2, "width": 8, "dropout": 0.1},
                "data": {"type": "text", "path": str(ROOT / "README.md"), "sequence": 6,
                         "batch_size": 2, "limit": {"train": 200, "test": 8}}},
    "batched": {"stacking": "batched"},
    "streams": {"stacking": "streams"},
    "auto": {"stacking": "auto"},
    "not captured": {"capture": "off"},
    "bfloat16": {"compute": "bfloat16"},
    "16-bit messages": {"message": "bfloat16"},
    "few bits": {"algorithm": "choco", "message": {"type": "qsgd", "bits": 4}},
    "moniqua": {"algorithm": "moniqua"},
    "signs": {"algorithm": {"type": "choco", "order": "parallel"}, "message": "sign"},
    "few elements": {"algorithm": "choco", "message": {"type": "top_k", "ratio": 0.1}},
    "any elements": {"algorithm": "choco", "message": {"type": "random_k", "ratio": 0.1}},
    "links": {"algorithm": "powergossip"},
    "low rank": {"algorithm": "beer", "message": "low_rank"},
    "minibatches from the host": {
        "data": {**RUN["data"], "batch_size": 32, "resident": "off"}},
    "parts": {"data": {**RUN["data"], "accumulate": 2}},
    "nothing recorded": {"profile": {"norms": False, "variance": {"kind": "off"}}},
    "exact variance": {"profile": {"variance": {"kind": "exact"}}},
    "evaluated": {"evaluate": {"every": {"iterations": 3}}},
    "statistics estimated anew": {"model": "resnet20", "replicas": 2,
                                  "evaluate": {"batchnorm": "recalibrate"}},
}


class StandIn:
    def __init__(self, folder):
        self.folder = folder
        self.report = folder / "report"

    def __call__(self, specs, ranks=None, expect=0, resume=False, **environment):
        """Run specs {name: changes} in one process, or on ranks; return the output."""
        files = []
        for name, changes in specs.items():
            name = name.replace(" ", "-")
            spec = {**RUN, "name": name, **changes}
            files.append(self.folder / f"{name}.json")
            files[-1].write_text(json.dumps({k: v for k, v in spec.items() if v is not ...}))
        self.report.unlink(missing_ok=True)
        words = ["run", *map(str, files), "--output",
                 str(self.folder / ("o.h5" if len(files) == 1 else "out")),
                 "--resume" if resume else "--overwrite"]
        if len(files) > 1:
            (self.folder / "out").mkdir(exist_ok=True)
        return self.call(*words, ranks=ranks, expect=expect, **environment).stderr

    def call(self, *words, ranks=None, expect=0, program=PROGRAM, **environment):
        """Run a program with the stand-in, on several ranks if `ranks` is given."""
        libraries = ":".join(str(LIBRARIES / each) for each in
                             ("libcudart.so.13", "libcuda.so.1", "libnccl.so.2"))
        done = subprocess.run(
            (mpirun(ranks) if ranks else []) + ["env", f"LD_PRELOAD={libraries}", program, *words],
            cwd=self.folder, capture_output=True, text=True, timeout=280,
            env={**os.environ, "PMIX_MCA_psec": "native", "DBENCH_TIMEOUT": "60",
                 "DBENCH_STAND_IN_REPORT": str(self.report), **environment})
        assert expect in (None, done.returncode), done.stdout + done.stderr
        return done

    def refusals(self):
        return self.lines("refused")

    def count(self, what):
        return sum(int(line.split(": ")[1]) for line in self.lines(what + ": "))

    def lines(self, begin):
        return [line for line in self.report.read_text().split("\n") if line.startswith(begin)]

    def output(self, name=None):
        """Return what the result records of the machine, and the number of iterations: of the only
        spec, or of one of several."""
        path = f"out/{name.replace(' ', '-')}.h5" if name else "o.h5"
        with h5py.File(self.folder / path) as file:
            facts = json.loads(file["provenance"][()])["environment"]
            return facts, len(file["iterations/step_time"])


@pytest.fixture
def card(tmp_path):
    return StandIn(tmp_path)


def algorithms():
    listed = subprocess.run([PROGRAM, "list", "algorithms", "--json"], check=True,
                            capture_output=True, text=True)
    return list(json.loads(listed.stdout)["algorithms"])


def test_every_algorithm(card):
    needs = {"centralized": {"graph": ...}, "relaysgd": {"graph": "path"},
             "d2": {"graph": {"type": "ring", "lazy": 0.5}}}
    small = {"model": "softmax_regression", "profile": {"variance": {"kind": "exact"}}}
    specs = {name: {"algorithm": name, **small, **needs.get(name, {})} for name in algorithms()}
    assert len(specs) > 30
    card(specs)
    assert card.refusals() == []
    assert card.count("kernels of dbench") > 100 * len(specs)


def test_every_way_to_train(card):
    said = card(WAYS)
    assert card.refusals() == []
    assert "go on without being captured" not in said and "flatten_parameters" not in said
    assert card.count("cudaGraphLaunch") > 100 and card.count("cudaStreamEndCapture") > 20


MANY = {"model": "softmax_regression", "length": {"iterations": 3},
        "data": {**RUN["data"], "batch_size": 1, "train": 4000},
        "graph": "one_peer_exponential", "profile": {"variance": {"kind": "exact"}}}


@pytest.mark.parametrize("changes", [{}, {"optimizer": MOMENTUM, "precision": "float64"},
                                     {"graph": "ring", "profile": {"variance": {"kind": "off"}}}])
def test_1008_replicas_fit_on_a_gpu(card, changes):
    """The shared memory that a block needs for 1008 rows fits on its multiprocessor."""
    card({"many": {**MANY, "replicas": 1008, **changes}})
    assert card.refusals() == []


def test_the_result_file_names_the_gpus_of_all_ranks(card):
    card({"two": {}}, ranks=2, DBENCH_STAND_IN_CARDS="2")
    facts, _ = card.output()
    zeros = "000000-0000-0000-0000-000000000000"
    assert facts["gpus"] == [f"0000:01:00.0 01{zeros}", f"0000:02:00.0 02{zeros}"]


def test_auto_avoids_stacking_without_memory(card):
    """"auto" does not stack if there is too little memory: the activations of 32 replicas with 64
    images each do not fit on the GPU, those of one replica do."""
    said = card({"many": {"model": "resnet20", "stacking": "auto", "replicas": 32,
                          "data": {**RUN["data"], "batch_size": 64, "train": 2048},
                          "length": {"iterations": 2}}}, DBENCH_STAND_IN_MEMORY="2000")
    assert card.refusals() == []
    assert re.search("more memory than there is batched, .* ms on streams, .* ms one by one", said)


def test_more_replicas_than_a_block_has_room_for_are_refused(card):
    said = card({"many": {**MANY, "replicas": 4000}}, expect=2)
    assert "shared memory" in said and "fewer replicas" in said


def waits(card, way, iterations, **options):
    card({"way": {**WAYS[way], "length": {"iterations": iterations}}}, **options)
    return card.count("the host waits")


@pytest.mark.parametrize("way", ["momentum", "clipped", "qg_adam", "few bits", "few elements",
                                 "any elements", "low rank", "links", "exact variance", "a text",
                                 "pairs of sentences",
                                 "streams", "not captured", "minibatches from the host"])
def test_no_iteration_makes_the_host_wait_or_allocate(card, way):
    """In iterations the host only polls events; it waits for the GPU and allocates memory at the
    start. The number of allocations varies a little, since more scratch memory is needed if the
    host is further ahead; one allocation in each iteration would be 32 more."""
    few = waits(card, way, 8)
    memory = card.count("cudaMalloc")
    assert waits(card, way, 40) <= few + 16
    assert card.count("cudaMalloc") <= memory + 16


def test_changing_lists_do_not_make_the_host_wait(card):
    """The host does not wait either if the lists of neighbours are long and change in each
    round."""
    many = {"replicas": 504, "graph": {"type": "epidemic", "degree": 24}, "stacking": "batched",
            "model": "softmax_regression",
            "data": {"type": "shapes", "train": 1008, "test": 8, "batch_size": 2},
            "profile": {"norms": False, "variance": {"kind": "off"}}}
    counts = []
    for iterations in (8, 40):
        card({"many": {**many, "length": {"iterations": iterations}}})
        counts.append(card.count("the host waits"))
    assert counts[1] <= counts[0] + 16


@pytest.mark.parametrize("way", ["momentum", "awc", "cta", "few bits", "signs", "moniqua",
                                 "few elements", "any elements", "low rank", "links",
                                 "exact variance"])
def test_no_iteration_makes_a_host_with_two_gpus_wait(card, way):
    """Events order rows between GPUs, and records of all replicas. On a busy machine the host is
    sometimes further ahead and needs more scratch memory; one call in each iteration of a rank
    would be 100 more."""
    two = {"ranks": 2, "DBENCH_STAND_IN_CARDS": "2"}
    few = waits(card, way, 60, **two)
    assert waits(card, way, 160, **two) <= few + 60


@pytest.mark.parametrize("over,environment", [("NCCL", {}), ("MPI", {"DBENCH_NCCL": "0"})])
def test_ranks_with_one_gpu_each(card, over, environment):
    """All memory that MPI sends or receives is accessible to the host; otherwise MPI would
    crash."""
    everywhere = {"algorithm": "centralized", "graph": ..., "profile": {"variance": "exact"}}
    ways = {**{name: WAYS[name] for name in ("momentum", "awc", "16-bit messages", "few bits",
                                             "few elements", "any elements", "low rank",
                                             "links", "moniqua", "exact variance")},
            "all-reduce": everywhere,
            "all-reduce by library": {**everywhere, "reduction": "library"},
            "all-reduce in 16 bits": {**everywhere, "message": "float16"},
            "everybody": {"graph": "complete"},
            "push-sum": {"algorithm": "sgp", "graph": "one_peer_exponential"}}
    card(ways, ranks=2, DBENCH_STAND_IN_CARDS="2", **environment)
    assert card.refusals() == []
    for way in ways:
        facts, iterations = card.output(way)
        assert facts["rows_between_ranks"].startswith(over) and iterations == 10, way
        assert "messages" in facts["rows_on_host"], way


def test_ranks_that_share_a_gpu(card):
    """Three ranks on two GPUs exchange over MPI. The run warns that its times cannot be compared,
    the result file says why, and nothing is calibrated there."""
    shared = {"share_gpus": True}
    said = card({"run": {**shared, "optimizer": MOMENTUM}}, ranks=3, DBENCH_STAND_IN_CARDS="2")
    assert card.refusals() == []
    assert "up to 2 ranks compute on the same GPU" in said and "cannot be compared" in said
    facts, iterations = card.output()
    assert iterations == 10 and facts["ranks_per_gpu"] == 2
    assert facts["rows_between_ranks"].startswith("MPI (2 ranks share a GPU")
    with h5py.File(card.folder / "o.h5") as file:
        gpus = [name.decode().split()[0] for name in file["ranks/device"]]
        assert gpus == ["cuda:0", "cuda:1", "cuda:0"]
    card({"run": shared}, ranks=2, DBENCH_STAND_IN_CARDS="2")
    facts, _ = card.output()
    assert facts["ranks_per_gpu"] == 1 and facts["rows_between_ranks"].startswith("NCCL")
    done = card.call("calibrate", "run.json", "--output", "costs.json", ranks=2, expect=2)
    assert "/share_gpus: ranks share a GPU" in done.stderr
    done = card.call("check", "run.json", "--purpose", "time", ranks=2)
    assert "2 ranks on one GPU (start at most one rank per GPU)" in done.stdout + done.stderr
    many = {"model": {"type": "mlp", "hidden": [10000, 10000]}, **shared}
    said = card({"large": many}, ranks=2, expect=2, DBENCH_STAND_IN_MEMORY="5000")
    assert re.search("which 2 ranks share, has 4.9 GiB", said)


def test_a_run_resumes_from_its_checkpoint(card):
    spec = {"model": "resnet20", "replicas": 2, "capture": "off",
            "checkpoint": {"every": {"iterations": 3}}}
    card({"run": spec})
    assert card.refusals() == []
    all_kernels = card.count("kernels of dbench")
    card({"run": spec}, DBENCH_STAND_IN_BREAKS=str(all_kernels * 9 // 10), expect=1)
    card({"run": spec}, resume=True)
    assert card.refusals() == []
    assert card.count("kernels of dbench") < all_kernels * 2 // 3
    assert card.output()[1] == 10


@pytest.mark.parametrize("changes, reduction", [({}, "library"),
                                                ({"message": "bfloat16"}, "reproducible"),
                                                ({"reduction": "reproducible"}, "reproducible")])
def test_a_result_records_the_gpus_and_their_settings(card, changes, reduction):
    card({"two": changes}, ranks=2, DBENCH_STAND_IN_CARDS="2")
    facts, _ = card.output()
    assert facts["reduction"] == reduction
    assert facts["tf32"] == "off" and facts["cudnn_benchmark"] == "on"
    with h5py.File(card.folder / "o.h5") as file:
        assert [name.decode() for name in file["ranks/device"]] == [
            "cuda:0 Stand-in for a card", "cuda:1 Stand-in for a card"]


def test_doctor_and_check_report_gpus(card):
    said = card.call("doctor", DBENCH_STAND_IN_CARDS="2").stdout
    for line in (r"CUDA +built \(CUDA 13.0\), 2 devices", r"NCCL +2\.", r"CUDA driver +for CUDA 13",
                 r"GPU 1 +Stand-in for a card, 64.0 GiB, compute capability 9.0",
                 r"peer access +between all GPUs"):
        assert re.search(line, said), line
    (card.folder / "spec.json").write_text(json.dumps(RUN))
    said = card.call("check", "spec.json").stdout
    assert re.search(r"device +cuda:0 Stand-in for a card, .* free of 64.0 GiB", said)
    assert re.search(r"memory on the GPU +\S+ \S+ plus activations", said)
    large = {"model": {"type": "mlp", "hidden": [100000, 100000]}}
    said = card({"large": large}, expect=2)
    assert "not enough memory" in said and "64.0 GiB" in said
    assert "not enough memory" in card.call("check", "large.json").stderr
    said = card.call("check", "large.json", "--json").stdout
    assert "not enough memory" in json.loads(said)["warnings"][-1]


def test_missing_gpu_memory_is_reported(card):
    said = card({"run": BIG}, DBENCH_STAND_IN_MEMORY="100", expect=None)
    assert "not enough memory" in said and "/data/batch_size" in said
    assert re.search(r"cuda:0 Stand-in for a card has 100.0 MiB, of which \S+ MiB are free", said)


def test_more_ranks_than_gpus_are_refused(card):
    said = card({"three": {}}, ranks=3, DBENCH_STAND_IN_CARDS="2", expect=2)
    assert "ranks 0 and 2 would use the same GPU" in said


def test_auto_reports_why_it_uses_the_cpu(card):
    said = card({"run": {"device": "auto"}}, ranks=3, DBENCH_STAND_IN_CARDS="2")
    assert said.count("device: cpu, because ranks 0 and 2 would use the same GPU") == 1
    assert card.output()[0]["device"].startswith("cpu (ranks 0 and 2")
    assert "device:" not in card({"run": {"device": "cpu"}})


def test_a_gpu_without_compiled_kernels_is_refused(card):
    said = card({"run": {}}, DBENCH_STAND_IN_CAPABILITY="75", expect=2)
    assert "compute capability 7.5" in said and "are for 80 90" in said and "CUDA_VISIBLE" in said
    said = card.call("doctor", DBENCH_STAND_IN_CAPABILITY="75").stdout
    assert re.search("GPU 0 .*7.5, but .* are for 80 90", said)
    said = card({"run": {"device": "auto"}}, DBENCH_STAND_IN_CAPABILITY="75")
    assert "device: cpu, because GPU 0" in said


def test_a_run_moves_to_the_cpu_and_back(card):
    """A run may change between captured and launched passes, and between one and several
    streams."""
    spec = {"stacking": "streams", "capture": "on", "checkpoint": {"every": {"iterations": 3}}}
    card({"run": spec}, DBENCH_STAND_IN_BREAKS="150", expect=1)
    spec["device"] = "cpu"
    assert "/stacking" in card({"run": spec}, resume=True, expect=2)
    spec.update(stacking="off", capture="off")
    # The run is killed before it writes its own checkpoint, and then resumed again.
    (card.folder / "slow.json").write_text(json.dumps({
        **RUN, **spec, "delays": [{"replicas": [0], "seconds": 5}]}))
    slow = subprocess.Popen([PROGRAM, "run", "slow.json", "--output", "o.h5", "--resume"],
                            cwd=card.folder, stderr=subprocess.PIPE, text=True)
    while "continuing from" not in slow.stderr.readline():
        assert slow.poll() is None
    time.sleep(1)
    slow.kill()
    slow.wait()
    card({"run": spec}, resume=True)
    with h5py.File(card.folder / "o.h5") as file:
        assert file["iterations/step_time"].shape[0] == 10
        events = dict(zip(file["events/kind"][:], file["events/text"][:]))
        assert events[b"device"] == b"cuda:0 Stand-in for a card became cpu"


@pytest.mark.parametrize("call", ["cudaStreamBeginCapture", "cudaStreamEndCapture",
                                  "cudaGraphInstantiateWithFlags"])
def test_a_run_continues_if_cuda_cannot_capture(card, call):
    ways = {way: WAYS[way] for way in ("sgd", "batched", "streams", "dropout")}
    said = card(ways, DBENCH_STAND_IN_REFUSE=call)
    assert said.count("go on without being captured") == len(ways)
    for way in ways:
        assert card.output(way)[1] == 10


def launches(card, way, iterations):
    card({"way": {**WAYS[way], "length": {"iterations": iterations}}})
    return card.count("cudaLaunchKernel"), card.count("cudaGraphLaunch")


@pytest.mark.parametrize("way, graphs", [("convolutions", 2), ("batched", 1), ("streams", 4),
                                         ("convolutions together", 1)])
def test_an_iteration_launches_graphs_and_a_few_kernels(card, way, graphs):
    kernels, passes = launches(card, way, 40)
    more_kernels, more_passes = launches(card, way, 60)
    assert more_passes - passes == 20 * graphs
    assert more_kernels - kernels <= 20 * (8 + 4 * graphs)


@pytest.mark.parametrize("kernel", [5, 60])
@pytest.mark.parametrize("ranks", [None, 2])
def test_a_failing_gpu_ends_the_run_on_all_ranks(card, kernel, ranks):
    said = card({"run": {}}, ranks=ranks, expect=1, DBENCH_STAND_IN_CARDS="2",
                DBENCH_STAND_IN_BREAKS=str(kernel))
    assert re.search("error: .*CUDA.*IllegalAddress", said)
    assert "terminate" not in said


@pytest.mark.parametrize("kernel", [3, 9, 10, 40, 300])
def test_a_gpu_that_fails_during_timing_ends_the_run(card, kernel):
    """A GPU that fails while ways are timed ends the run, although releasing its memory also
    fails."""
    said = card({"run": WAYS["auto"]}, expect=1, DBENCH_STAND_IN_BREAKS=str(kernel))
    assert re.search("error: .*CUDA.*IllegalAddress", said)
    assert "terminate" not in said


BIG = {"model": "resnet20", "replicas": 2,
       "data": {"type": "shapes", "train": 512, "test": 8, "batch_size": 128}}


@pytest.mark.parametrize("stacking", ["off", "streams", "batched"])
def test_captures_need_no_more_memory_than_passes(card, stacking):
    """Memory that passes have left in LibTorch's cache is released before a capture."""
    most = {}
    for capture in ("off", "on"):
        card({"run": {**BIG, "stacking": stacking, "capture": capture}})
        most[capture] = card.count("MiB at most")
        assert card.count("MiB left") == 0
    assert most["on"] <= 1.1 * most["off"]


@pytest.mark.parametrize("call", ["cudaStreamBeginCapture", "cudaStreamEndCapture"])
def test_a_failed_capture_releases_its_memory(card, call):
    said = card({"run": {**BIG, "stacking": "streams"}}, DBENCH_STAND_IN_REFUSE=call)
    assert "captured" in said
    assert card.count("MiB left") == 0


def test_rows_have_priority_over_cached_memory(card):
    """LibTorch releases unused memory if there is too little for rows."""
    spec = {**BIG, "replicas": 4, "capture": "off"}
    card({"run": spec})
    least = card.count("MiB at most")
    for short in (0, 2):
        said = card({"run": spec}, DBENCH_STAND_IN_MEMORY=str(least - short), expect=None)
        assert "rows of" not in said


@pytest.mark.parametrize("words", [["check", "--quick"],
                                   ["time", "--rounds", "1", "--rows", "2", "--columns", "4096"]])
def test_the_kernel_benchmark_completes(card, words):
    """Both fail, because nothing is computed: the bits differ, and a kernel that moves many rows
    takes no longer than a copy."""
    done = card.call(*words, program=LIBRARIES.parent.parent / "bench" / "bench_gpu_kernels",
                     expect=1)
    assert card.refusals() == [] and card.count("kernels of dbench") > 100
    assert done.stdout.strip().split("\n")[-1].split("\t")[0] in (
        "approach by residues of 4 bits", "plain copy")


# Tests of the stand-in itself, which must detect these errors.

def stand_in(work):
    """Run work(runtime) in a separate process; return its exit status."""
    pid = os.fork()
    if pid == 0:
        sys.stdout = sys.stderr = open(os.devnull, "w")
        os._exit(work(ctypes.CDLL(str(RUNTIME))))
    return os.waitpid(pid, 0)[1]


def made(call, *arguments):
    handle = ctypes.c_void_p()
    assert call(ctypes.byref(handle), *arguments) == 0
    return handle


def captured(runtime, stream, work, mode=1):
    """Return the status of the end of a capture in which `work` was called."""
    assert runtime.cudaStreamBeginCapture(stream, mode) == 0
    work()
    return runtime.cudaStreamEndCapture(stream, ctypes.byref(ctypes.c_void_p()))


def mistakes(runtime):
    stream, other = (made(runtime.cudaStreamCreateWithPriority, 1, 0) for _ in range(2))
    event = made(runtime.cudaEventCreateWithFlags, 2)
    memory = made(runtime.cudaMalloc, ctypes.c_size_t(100))

    def fill(on):
        return runtime.cudaMemsetAsync(memory, 0, ctypes.c_size_t(100), on)

    def fork(join):
        runtime.cudaEventRecord(event, stream)
        runtime.cudaStreamWaitEvent(other, event, 0)
        fill(other)
        if join:
            runtime.cudaEventRecord(event, other)
            runtime.cudaStreamWaitEvent(stream, event, 0)

    def outside():
        runtime.cudaStreamWaitEvent(stream, event, 0)

    yield captured(runtime, stream, lambda: fill(stream)), 0
    yield captured(runtime, stream, lambda: fork(True)), 0
    yield captured(runtime, stream, lambda: fork(False)), 904                     # unjoined
    yield captured(runtime, stream, lambda: made(runtime.cudaMalloc, ctypes.c_size_t(1)), 2), 0
    yield captured(runtime, stream, lambda: runtime.cudaMalloc(
        ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1))), 901                # invalidated
    yield captured(runtime, stream, lambda: runtime.cudaStreamSynchronize(stream)), 901
    yield captured(runtime, stream, lambda: runtime.cudaEventQuery(event)), 901
    runtime.cudaEventRecord(event, other)
    yield captured(runtime, stream, outside), 901                                 # isolation
    yield runtime.cudaEventElapsedTime(ctypes.byref(ctypes.c_float()), event, event), 400
    yield runtime.cudaFree(ctypes.c_void_p(memory.value + 8)), 1
    yield runtime.cudaMemsetAsync(memory, 0, ctypes.c_size_t(1 << 20), stream), 1
    yield fill(ctypes.c_void_p(12345)), 400


def test_the_stand_in_refuses_what_cuda_refuses():
    def work(runtime):
        wrong = [k for k, (found, wanted) in enumerate(mistakes(runtime)) if found != wanted]
        return 100 + wrong[0] if wrong else 0
    assert os.waitstatus_to_exitcode(stand_in(work)) == 0


def test_the_host_cannot_access_gpu_memory():
    def work(runtime):
        ctypes.memset(made(runtime.cudaMalloc, ctypes.c_size_t(100)), 1, 100)
        return 0
    assert os.WTERMSIG(stand_in(work)) == signal.SIGSEGV


def test_not_ready_stays_the_last_error_until_it_is_asked_for():
    def work(runtime):
        stream = made(runtime.cudaStreamCreateWithPriority, 1, 0)
        memory = made(runtime.cudaMalloc, ctypes.c_size_t(1))
        for _ in range(1000):
            runtime.cudaMemsetAsync(memory, 0, ctypes.c_size_t(1), stream)
        early = runtime.cudaStreamQuery(stream)
        return [early, runtime.cudaGetLastError(), runtime.cudaGetLastError()] != [600, 600, 0]
    assert os.waitstatus_to_exitcode(stand_in(work)) == 0
