"""Tests that the build with CUDA, which scripts/test makes if nvcc is present, links and starts."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM = os.environ.get("DBENCH_CUDA_PROGRAM")
pytestmark = pytest.mark.skipif(
    not PROGRAM, reason="no CUDA build (scripts/test makes one where nvcc is present)")


def has_gpu():
    if not shutil.which("nvidia-smi"):
        return False
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return listed.stdout.startswith("GPU")


def test_it_is_linked_with_cuda_and_nccl():
    needed = subprocess.run(["readelf", "-d", PROGRAM], check=True, capture_output=True,
                            text=True).stdout
    for library in ("libtorch_cuda.so", "libnccl.so", "libcudart.so"):
        assert library in needed
    found = subprocess.run(["ldd", PROGRAM], check=True, capture_output=True, text=True).stdout
    assert "libcuda.so" not in found, "the driver is not there where there is no GPU"
    assert "not found" not in found


def test_doctor_reports_cuda():
    doctor = subprocess.run([PROGRAM, "doctor"], capture_output=True, text=True, timeout=120)
    assert doctor.returncode == 0, doctor.stderr
    cuda = "\n".join(line for line in doctor.stdout.split("\n") if "CUDA" in line)
    assert "built" in cuda
    assert has_gpu() or "no device" in cuda
    assert re.search(r"NCCL\W+.*\d+\.\d+", doctor.stdout)


@pytest.mark.skipif(has_gpu(), reason="there is a card")
def test_without_a_gpu_cuda_runs_are_checked_but_not_run(tmp_path):
    """A host without a GPU, from which jobs are submitted, can check a spec but not run it."""
    spec = {"replicas": 4, "device": "cuda", "stacking": "streams", "capture": "on",
            "model": "softmax_regression",
            "data": {"type": "shapes", "train": 64, "test": 8, "batch_size": 8},
            "graph": "ring", "algorithm": "dsgd", "optimizer": {"type": "sgd", "lr": 0.1},
            "length": {"iterations": 3}}
    for name in ("spec.json", "other.json"):
        (tmp_path / name).write_text(json.dumps(spec))

    def said(*words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, cwd=tmp_path,
                              env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})

    planned = said("check", "spec.json")
    assert planned.returncode == 0, planned.stderr
    assert re.search(r"device +cuda \(no GPU here\)", planned.stdout)
    assert "there is no GPU on" in planned.stderr
    assert said("check", "spec.json", "other.json").returncode == 0
    made = said("run", "spec.json")
    assert made.returncode == 2
    assert "no driver" in made.stderr and 'CUDA_VISIBLE_DEVICES is ""' in made.stderr
    (tmp_path / "any.json").write_text(json.dumps({
        **{key: value for key, value in spec.items() if key not in ("stacking", "capture")},
        "device": "auto"}))
    made = said("run", "any.json")
    assert made.returncode == 0 and "device: cpu, because CUDA finds no GPU" in made.stderr


def test_every_kernel_is_compiled_without_contraction_and_spills():
    build, source = Path(PROGRAM).parent, "src/arena/cuda/kernels.cu"
    wanted = re.findall(r"^template void on_device\((.*), cudaStream_t\);",
                        (Path(__file__).resolve().parents[2] / source).read_text(), re.M)
    symbols = subprocess.run(["nm", "-C", "--defined-only", build / "libdbench_arena.a"],
                             check=True, capture_output=True, text=True).stdout
    compiled = set(re.findall(r" W void dbench::arena::on_device<(.*?)>\(", symbols))
    assert len(compiled) == len(wanted) > 30
    commands = json.loads((build / "compile_commands.json").read_text())
    flags = next(each["command"] for each in commands if each["file"].endswith(source))
    assert "--Werror=cross-execution-space-call" in flags
    # ptxas turns every register spill into an error, so the build would have failed.
    assert "--fmad=false" in flags and "--warn-on-spills,--warning-as-error" in flags


def test_no_kernel_is_empty():
    """No kernel is empty: nvcc may silently drop code that a device cannot execute."""
    build = Path(PROGRAM).parent
    tools = sorted(build.glob(".venv*/lib/python*/site-packages/triton/backends/nvidia/bin")) + \
        sorted(build.parent.glob(".venv*/lib/python*/site-packages/triton/backends/nvidia/bin"))
    cuobjdump = shutil.which("cuobjdump") or next(
        (str(each / "cuobjdump") for each in tools if (each / "cuobjdump").exists()), None)
    if not cuobjdump:
        pytest.skip("no cuobjdump")
    objects = list(build.glob("**/arena/cuda/kernels.cu.o"))
    assert len(objects) == 1
    told = subprocess.run([cuobjdump, "-res-usage", objects[0]], check=True, capture_output=True,
                          text=True).stdout
    registers = re.findall(r"Function (\S*run_on_device\S*):\s+REG:(\d+)", told)
    assert len(registers) > 60
    # An empty kernel uses 4 registers; the smallest real one uses 20.
    assert not [kernel for kernel, number in registers if int(number) < 10]
