"""Tests that presets and spack.yaml, which are for other machines, are at least well formed and
complete."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPACK = {"Threads": None, "nlohmann_json": "nlohmann-json",
         "Eigen3": "eigen", "MPI": "openmpi",
         "ZLIB": "zlib-api", "JPEG": "libjpeg-turbo",
         "HDF5": "hdf5", "CLI11": "cli11"}  # CMake's name: Spack's name


def test_cmake_reads_every_preset_and_setup_knows_it():
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    listed = subprocess.run(["cmake", "--list-presets"], cwd=ROOT, text=True, capture_output=True)
    assert listed.returncode == 0, listed.stderr
    given = [preset["name"]
             for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]]
    assert re.findall(r'^  "([^"]+)"', listed.stdout, re.M) == given
    refused = subprocess.run([ROOT / "scripts/setup", "--preset", "nonesuch"], text=True,
                             capture_output=True)
    assert refused.returncode == 2 and set(given) <= set(
        re.findall(r"[a-z-]+", refused.stderr.split("there are")[1]))


def test_no_preset_keeps_what_another_one_set_in_the_same_folder():
    presets = {preset["name"]: preset for preset in json.loads(
        (ROOT / "CMakePresets.json").read_text())["configurePresets"]}

    def variables(name):
        above = presets[name].get("inherits")
        return {*(variables(above) if above else ()), *presets[name]["cacheVariables"]}

    for name in presets:
        assert {"BUILD_TESTING", "DBENCH_ARCH"} <= variables(name), name


def test_sites_have_a_preset_of_their_name():
    presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())[
        "configurePresets"]}
    sites = {path.stem for path in (ROOT / "scripts/slurm/sites").glob("*.json")}
    assert sites - {"ordinary"} <= presets and "cluster" in presets


def sites():
    """Return each site file's name, its contents and the variables that its prologue exports."""
    for path in sorted((ROOT / "scripts/slurm/sites").glob("*.json")):
        site = json.loads(re.sub(r"^//.*", "", path.read_text(), flags=re.M))
        yield path.stem, site, dict(re.findall(r"export (\w+)=(\S+)", "\n".join(site["prologue"])))


def test_sites_whose_preset_has_no_cuda_ask_nothing_of_gpus():
    presets = {preset["name"]: preset for preset in json.loads(
        (ROOT / "CMakePresets.json").read_text())["configurePresets"]}

    def cuda(name):
        preset = presets.get(name, {})
        return "DBENCH_CUDA" in preset.get("cacheVariables", {}) or (
            "inherits" in preset and cuda(preset["inherits"]))

    assert cuda("nvidia") and not cuda("frontier-like")
    for name, site, exported in sites():
        if not cuda(name):  # Cray's MPICH, for example, ends a program that lacks its GPU library
            assert not [variable for variable in exported if "GPU" in variable], name
            assert not [word for word in site["launcher"] if "gpu" in word], name


def test_sites_leave_cores_to_the_threads_that_load_data_and_move_messages():
    found = [name for name, site, exported in sites() if "OMP_NUM_THREADS" in exported
             and int(exported["OMP_NUM_THREADS"]) < site["cpus_per_task"]]
    assert found == ["frontier-like", "nvidia", "summit-like"]


def test_spack_has_all_packages_that_cmake_requires():
    yaml = pytest.importorskip("yaml", reason="no pyyaml: scripts/setup installs it")
    specs = yaml.safe_load((ROOT / "spack.yaml").read_text())["spack"]["specs"]
    names = {re.match(r"[a-z0-9-]+", spec).group() for spec in specs}
    wanted = re.findall(r"^dbench_find(?:_headers)?\((\w+)",
                        (ROOT / "cmake/Dependencies.cmake").read_text(), re.M)
    assert wanted and {SPACK[name] for name in wanted} - {None} <= names
    python = re.search(r"^dependencies = (\[.*\])", (ROOT / "analysis/pyproject.toml").read_text(),
                       re.M).group(1)
    assert {"py-" + re.match(r"\w+", name).group() for name in json.loads(python)} <= names


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


@pytest.fixture
def setup(tmp_path):
    """Return a function that runs scripts/setup on an emulated machine with a GPU. The script stops
    at the Python environment, whose path is not writable, so nothing is installed."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "taken").mkdir()
    executable(tmp_path / "bin" / "apt-get", "exit 1\n")

    def call(*words, nvcc="13.0", driver="580.95.05", **variables):
        executable(tmp_path / "bin" / "nvidia-smi",
                   f'[ "$1" = -L ] && echo "GPU 0: a card" || echo {driver}\n')
        executable(tmp_path / "bin" / "nvcc",
                   f'echo "Cuda compilation tools, release {nvcc}, V{nvcc}.1"\n')
        plain = {name: value for name, value in os.environ.items()
                 if name not in ("CUDA_HOME", "CUDACXX", "TORCH_ROOT")}
        done = subprocess.run(
            [tmp_path / "scripts" / "setup", "--venv", "taken", *words], text=True,
            capture_output=True,
            env={**plain, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", **variables})
        assert done.returncode == 2
        return done.stdout, done.stderr
    return call


def test_setup_refuses_another_cuda_before_downloading(setup, tmp_path):
    said, error = setup("--cuda", nvcc="12.4")
    assert said == "" and "bin/nvcc has CUDA 12.4, and PyTorch from PyPI has CUDA 13" in error
    assert "install NVIDIA's toolkit 13" in error and "TORCH_ROOT" in error
    # CUDA_HOME has priority over the search path; the user's own LibTorch may fit.
    executable(tmp_path / "13" / "bin" / "nvcc", 'echo "release 13.1, V13.1.0"\n')
    for variables in {"CUDA_HOME": str(tmp_path / "13")}, {"TORCH_ROOT": "/sw/libtorch"}:
        assert "nvcc" not in setup("--cuda", nvcc="12.4", **variables)[1]
    # Without an option the script builds for the CPU and says why.
    said, error = setup(nvcc="12.4")
    assert "has CUDA 12.4, and PyTorch" in said and "): building for the CPU" in said
    assert "for the CPU" not in setup(nvcc="13.0")[0]


def test_setup_names_the_folders_in_which_it_found_no_nvcc(setup, tmp_path):
    if shutil.which("nvcc", path="/usr/bin:/bin"):
        pytest.skip("there is an nvcc in /usr/bin")
    _, error = setup("--cuda", CUDA_HOME="/nonesuch", PATH="/usr/bin:/bin")
    assert "no nvcc in the search path or in /nonesuch/bin" in error


def test_setup_warns_of_a_driver_that_is_too_old(setup):
    said, _ = setup("--cuda", driver="550.54.14")
    assert "warning: NVIDIA's driver is 550.54.14 here, and CUDA 13 requires 580 or newer" in said
    for words, driver in (("--cuda", "580.95.05"), ("--cuda", "No devices"),
                          ("--no-cuda", "550.54.14")):
        assert "warning" not in setup(words, driver=driver)[0]


def test_what_every_test_needs_is_named_if_it_cannot_be_installed(setup, tmp_path):
    with open(tmp_path / "scripts" / "packages.sh", "a") as file:
        file.write('has_daemon() { [ "$1" != slurmctld ]; }\nhas() { [ "$1" != shellcheck ]; }\n')
    _, error = setup("--every-test", "--no-cuda")
    assert "slurmctld" in error and "shellcheck" in error and "munge" not in error
    assert "network" in error or "sudo" in error
    assert "slurmctld" not in setup("--no-cuda")[1]


LOG = """1: ..s                                                      [100%]
SKIPPED [2] tests/slurm/test_cluster.py:108: no local Slurm cluster here: srun is missing
SKIPPED [1] tests/program/test_images.py:43: no cifar10 in DBENCH_DATA
SKIPPED [1] tests/program/test_cuda_build.py:13: no CUDA build (scripts/test makes one where nvcc is present)
SKIPPED [1] tests/pytorch/reference.py:14: no PyTorch in this Python: set DBENCH_TORCH_PYTHON to one
../tests/arena/cuda_queue_test.cpp:21: warning:
  skipped: no CUDA device
../tests/profile/h5py_test.cpp:50: warning:
  skipped: no Python with h5py
"""  # noqa: E501


@pytest.mark.parametrize("variable", [None, "DBENCH_DATA", "DBENCH_CUDA_PROGRAM",
                                      "DBENCH_TORCH_PYTHON"])
def test_only_a_missing_gpu_explains_a_skipped_test(tmp_path, variable):
    (tmp_path / "log").write_text(LOG)

    def call(function):
        plain = {k: v for k, v in os.environ.items() if not k.startswith("DBENCH_")}
        return subprocess.run(
            ["bash", "-c", f". {ROOT}/scripts/common.sh; {function} {tmp_path}/log"], text=True,
            capture_output=True, env={**plain, **({variable: "given"} if variable else {})})

    reason = {"DBENCH_DATA": "no cifar10", "DBENCH_CUDA_PROGRAM": "no CUDA build",
              "DBENCH_TORCH_PYTHON": "no PyTorch"}
    found = call("unexplained_skips")
    assert found.returncode == 0
    lines = found.stdout.splitlines()
    assert len(lines) == 2 + bool(variable)
    for said in ("srun is missing", "no Python with h5py", reason.get(variable, "")):
        assert said in found.stdout
    assert len(call("skipped_tests").stdout.splitlines()) == 6
    (tmp_path / "log").write_text("skipped: no CUDA device\n")
    assert call("unexplained_skips").returncode == 1  # nothing was skipped without a reason


def test_ci_installs_what_every_test_needs_and_allows_no_other_skips():
    ci = (ROOT / ".ci" / "run").read_text()
    assert "every=(--every-test) strict=(--no-skips)" in ci


def test_the_quickstart_uses_the_cpu_and_keeps_a_cuda_build(tmp_path):
    for name in "common.sh", "quickstart":
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    for path in "scripts/setup", "bin/mpirun", ".venv/bin/dbench-analyze":
        executable(tmp_path / path, 'echo "$(basename "$0") $*"\n')

    def said():
        return subprocess.run([tmp_path / "scripts" / "quickstart"], text=True, check=True,
                              capture_output=True, env={**os.environ, "PATH":
                              f"{tmp_path}/bin:{os.environ['PATH']}"}).stdout
    assert "\nsetup --program --no-cuda\n" in "\n" + said()
    assert said().count(" --set /device=cpu\n") == 3
    (tmp_path / "build").mkdir()
    for value in "yes", "ON":
        (tmp_path / "build" / "CMakeCache.txt").write_text(f"DBENCH_CUDA:BOOL={value}\n")
        assert "\nsetup --program --cuda\n" in "\n" + said()


def test_run_starts_ranks_as_this_machine_needs(tmp_path):
    """Open MPI needs --oversubscribe for more ranks than cores, and root a permission."""
    (tmp_path / "scripts").mkdir()
    for name in "common.sh", "run":
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    executable(tmp_path / "bin/mpirun",
               '[ "$1" = --version ] && echo "mpirun (Open MPI) 5.0.7" || echo "mpirun $*"\n')
    executable(tmp_path / "bin/id", "echo 0\n")

    def start(*words):
        return subprocess.run([tmp_path / "scripts" / "run", *words], text=True,
                              capture_output=True, env={**os.environ, "DBENCH_PROGRAM": "",
                                                        "PATH": f"{tmp_path}/bin:"
                                                        f"{os.environ['PATH']}"})
    assert "scripts/setup" in start("-n", "4", "ring.json").stderr  # there is no program yet
    executable(tmp_path / "build/dbench", "")
    ring = start("-n", "4", "ring.json", "--overwrite")
    assert ring.stdout.startswith("mpirun --oversubscribe --bind-to none --allow-run-as-root -n 4 ")
    assert ring.stdout.endswith("build/dbench run ring.json --overwrite\n"), ring.stdout
    assert start("-n", "2", "check", "ring.json").stdout.endswith("dbench check ring.json\n")
    for words in (["ring.json"], ["-n", "0", "ring.json"], ["-n", "4"]):
        assert start(*words).returncode == 2 and "scripts/run: " in start(*words).stderr
