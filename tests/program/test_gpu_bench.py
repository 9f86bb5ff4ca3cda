"""bench/gpu: what it makes of figures and of what is not there; scripts/gpu-kit: packed, unpacked
and started elsewhere."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest
from conftest import PROGRAM, ROOT, SMALL, mpirun

sys.path.insert(0, str(ROOT / "bench"))

from card import correctness, libraries, ratios, report, sections
from card.journal import OK, Journal
from card.setting import Setting

SIDES = {"ResNet-20, batch 32": {"dbench": [2, 1, 3], "eager": [8, 7, 9], "graph": [4, 4, 5],
                                 "compile": [5, 3, 6]},
         "ResNet-20, batch 512": {"dbench": [4, 4, 4], "eager": [8, 8, 8], "graph": [2, 2, 2],
                                  "dbench, 16 replicas of 32": [10, 10, 10],
                                  "ensemble": [12, 15, 13]},
         "scale MLP": {"dbench, 16 replicas": [16, 16, 16],
                       "dbench, 1008 replicas": [2016, 2016, 3024]}}


@pytest.fixture
def journal(tmp_path):
    made = Journal(tmp_path, {"when": "now"})
    for case, sides in SIDES.items():
        for number in range(3):
            made.put("ratios", f"{case} / {number}",
                     {"status": OK, **{name: {"ms": float(ms[number])}
                                       for name, ms in sides.items()}})
    return made


def measured(journal):
    return {case: (value, state) for case, _, value, state in report.against_targets(journal, 2)}


def test_ratios_are_those_of_medians_without_the_first_round(journal):
    found = measured(journal)
    assert found["ResNet-20, batch 32: over PyTorch eager"] == ("4.00", "met")     # 8 / 2
    assert found["ResNet-20, batch 32: over PyTorch's best"] == ("2.25", "met")    # 4.5 / 2
    assert found["16 replicas of batch 32 over one model at batch 512"] == ("0.40", "missed")
    assert found["16 replicas of batch 32 over a torch.func ensemble"] == ("1.40", "missed")
    # (2016 + 3024) / 2 / 1008 over 16 / 16: at most is wanted
    assert found["cost per replica, scale MLP, 1008 over 16 replicas"] == ("2.50", "missed")


def test_what_was_not_measured_is_no_pass(journal):
    found = measured(journal)
    assert found["ResNet-20, batch 128: over DDP eager"] == ("", "not run")
    assert found["recording everything, 16 replicas"] == ("", "not run")
    assert found["fused update, mixing and norms over a copy's bandwidth"] == ("", "not run")
    value, state = found["ResNet-20, batch 512: over PyTorch's best"]
    assert value == "" and state.startswith("not complete: compile")
    assert journal.state("correctness") == "not run"
    assert journal.state("ratios") == "not complete"


def test_results_outlive_a_call(journal, tmp_path):
    again = Journal(tmp_path, {"when": "later"})
    assert again.steps("ratios") == journal.steps("ratios")
    assert again.data["earlier"] == [{"when": "now"}]
    again.forget("ratios")
    assert again.state("ratios") == "not run"
    (tmp_path / "gpu.json").write_text("[]")
    with pytest.raises(ValueError, match="no results"):
        Journal(tmp_path, {})


def test_a_kernel_under_the_target_and_a_wrong_bit_are_seen(journal):
    shares = {"copy": 1.0, "fused, sgd": 0.91, "fused, adam": 0.85}
    journal.put("kernels", "kernels over a copy", {"status": OK, "kernels": {
        name: {"us": 1.0, "gb_s": 1.0, "share": share} for name, share in shares.items()}})
    assert measured(journal)["fused update, mixing and norms over a copy's bandwidth"] == (
        "0.85", "missed")
    journal.put("correctness", "a", {"status": "differs", "compared": 3, "differs": ["sgd"]})
    assert journal.state("correctness") == "differs"
    assert any("3 compared, 1 differ" in line for line in report.table(journal, 2))


@pytest.mark.parametrize("a, b, apart", [
    ({"x": [1.0, 2.0]}, {"x": [1.0, 2.0]}, 0), ({"x": [1.0, 4.0]}, {"x": [1.0, 3.0]}, 0.25),
    ({"x": [1.0]}, {"y": [1.0]}, math.inf), ({"x": [1.0]}, {"x": [1.0, 1.0]}, math.inf),
    ({"x": [1.0, math.nan]}, {"x": [1.0, math.nan]}, 0),
    ({"x": [1.0, 2.0]}, {"x": [1.0, math.nan]}, math.inf)])
def test_distances_of_results(a, b, apart):
    assert correctness.distance(a, b)[0] == apart


@pytest.mark.parametrize("tolerance, status", [(1e-10, "differs"), (1e-2, OK)])
def test_one_sample_that_is_classed_otherwise_is_no_difference_in_float32(
        tmp_path, tolerance, status):
    for name, right in ("a", 0.5), ("b", 0.625):
        with h5py.File(tmp_path / name, "w") as file:
            file["iterations/train_accuracy"] = [right]
            file["iterations/train_loss"] = [1.0]
    assert correctness.compared(tmp_path / "a", tmp_path / "b", tolerance)["status"] == status


def test_versions_as_libraries_number_them():
    assert (libraries.cuda_text(13010), libraries.nccl_text(22809)) == ("13.1", "2.28.9")
    assert (libraries.cudnn_text(91900), libraries.cudnn_text(8907)) == ("9.19.0", "8.9.7")
    assert libraries.status([("a", "ok", ""), ("card", "no card", "")]) == 77
    assert libraries.status([("a", "missing", ""), ("card", "no card", "")]) == 1
    assert libraries.status([("a", "ok", "")]) == 0


def test_every_case_of_the_program_is_a_spec(dbench, tmp_path):
    setting = Setting(build=tmp_path, folder=tmp_path, ranks=1, rounds=1, device="cpu", python="")
    specs = []
    for case, sides in ratios.cases(setting).items():
        for side in sides:
            if side.spec is not None:
                specs.append(dbench.folder / f"{case} {side.name}.json".replace("/", " "))
                specs[-1].write_text(json.dumps({**side.spec, "length": {"iterations": 4},
                                                 "evaluate": {"every": {"iterations": 2}}}))
    found = json.loads(dbench("check", *specs, "--json").stdout)
    assert len(found) == len(specs) == 8


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


@pytest.fixture
def gpu(tmp_path):
    """bench/gpu with a card that nvidia-smi alone knows, and a program that refuses it."""
    executable(tmp_path / "bin" / "nvidia-smi", 'echo "Card, 1.0, 2 MiB"\n')
    executable(tmp_path / "build" / "dbench",
               '[ "$1" != run ] || { echo "dbench: error: /device: cuda is refused: why" >&2; '
               'exit 2; }\n')

    def call(*words, path=f"{tmp_path}/bin:{os.environ['PATH']}"):
        return subprocess.run(
            [sys.executable, ROOT / "bench" / "gpu", "--build", tmp_path / "build", "--folder",
             tmp_path / "out", *words], text=True, capture_output=True, timeout=120,
            env={**os.environ, "PATH": path, "DBENCH_TORCH_PYTHON": "/bin/false"})
    return call


def test_what_the_program_refuses_is_said(gpu, tmp_path):
    done = gpu("--section", "correctness", "profile")
    assert done.returncode == 1, done.stderr      # PyTorch's process ended
    assert done.stdout.count("/device: cuda is refused: why") >= 5
    assert "no " in done.stdout and " met" not in done.stdout
    steps = json.loads((tmp_path / "out" / "gpu.json").read_text())["sections"]["correctness"]
    found = {name: step["status"] for name, step in steps["steps"].items()}
    assert found["mlp, float64, 50 iterations"] == "refused"
    assert found["kernels, to the host's bits"] == "missing"
    # Nothing is done twice; a section that is asked for alone is.
    before = (tmp_path / "out" / "gpu.json").read_text()
    again = gpu("--section", "correctness", "--resume")
    assert again.returncode == 0 and "float64" not in again.stderr
    assert json.loads(before)["sections"] == json.loads(
        (tmp_path / "out" / "gpu.json").read_text())["sections"]
    assert "resnet20, float64" in gpu("--section", "correctness").stderr


def test_without_a_card_only_libraries_are_looked_at(gpu, tmp_path):
    executable(tmp_path / "bin" / "nvidia-smi", 'echo "No devices were found"; exit 6\n')
    done = gpu()
    assert done.returncode == 77 and "no card (No devices were found)" in done.stdout
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

    checked = run()
    assert checked.returncode in (0, 77), checked.stdout + checked.stderr
    assert "all libraries found" in checked.stdout and "PyTorch" in checked.stdout
    assert "Open MPI" in run("dbench", "doctor").stdout
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({**SMALL, "output": str(tmp_path / "out.h5")}))
    ran = run(*mpirun(2), "dbench", "run", str(spec), "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert "complete" in run("dbench", "doctor", str(tmp_path / "out.h5")).stdout
    assert run("nonsense").returncode == 2
