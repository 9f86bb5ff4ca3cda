"""Presets and spack.yaml, which are for machines that the tests do not have: at least well formed
and complete."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPACK = {"Threads": None, "nlohmann_json": "nlohmann-json",
         "Eigen3": "eigen", "MPI": "openmpi",
         "ZLIB": "zlib-api", "JPEG": "libjpeg-turbo",
         "HDF5": "hdf5", "CLI11": "cli11"}  # by CMake's names


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


def test_sites_have_a_preset_of_their_name():
    presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())[
        "configurePresets"]}
    sites = {path.stem for path in (ROOT / "scripts/slurm/sites").glob("*.json")}
    assert sites - {"ordinary"} <= presets and "cluster" in presets


def test_spack_has_all_that_cmake_looks_for():
    yaml = pytest.importorskip("yaml", reason="no pyyaml: scripts/setup installs it")
    specs = yaml.safe_load((ROOT / "spack.yaml").read_text())["spack"]["specs"]
    names = {re.match(r"[a-z0-9-]+", spec).group() for spec in specs}
    wanted = re.findall(r"^dbench_find(?:_headers)?\((\w+)",
                        (ROOT / "cmake/Dependencies.cmake").read_text(), re.M)
    assert wanted and {SPACK[name] for name in wanted} - {None} <= names
    python = re.search(r"^dependencies = (\[.*\])", (ROOT / "analysis/pyproject.toml").read_text(),
                       re.M).group(1)
    assert {"py-" + re.match(r"\w+", name).group() for name in json.loads(python)} <= names
