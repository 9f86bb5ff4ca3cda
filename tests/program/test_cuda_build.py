"""The build with CUDA, which scripts/test makes where nvcc is present: it links and starts."""

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


def test_doctor_tells_of_cuda():
    doctor = subprocess.run([PROGRAM, "doctor"], capture_output=True, text=True, timeout=120)
    assert doctor.returncode == 0, doctor.stderr
    cuda = "\n".join(line for line in doctor.stdout.split("\n") if "CUDA" in line)
    assert "built" in cuda
    assert has_gpu() or "no device" in cuda
    assert re.search(r"NCCL\W+.*\d+\.\d+", doctor.stdout)


def test_kernels_are_compiled_for_every_element_type_and_none_spills():
    found = shutil.which("cuobjdump") or "/usr/local/cuda/bin/cuobjdump"
    if not Path(found).exists():
        pytest.skip("no cuobjdump: it comes with nvcc")
    library = Path(PROGRAM).parent / "libdbench_arena.a"
    told = subprocess.run([found, "--dump-resource-usage", library], check=True,
                          capture_output=True, text=True).stdout
    used = re.findall(r"Function (\w*run_on_device\w+):\s+REG:\d+ STACK:(\d+).* LOCAL:(\d+)", told)
    source = Path(__file__).resolve().parents[2] / "src/arena/cuda/kernels.cu"
    wanted = re.findall(r"^template void on_device\(", source.read_text(), re.M)
    assert len({name for name, *_ in used}) == len(wanted) > 30
    assert not [name for name, stack, local in used if int(stack) or int(local)]
