"""Tests of the user's surroundings: launchers, environment variables, locales, folders and signals
before training."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from results import differences, read

SECRETS = {"SLURM_JWT": "eyJSLURM", "OMPI_MCA_orte_precondition_transports": "eyJORTE-eyJKEY",
           "DBENCH_TOKEN": "eyJDBENCH", "NCCL_SECRET_FILE": "eyJNCCL", "UCX_API_KEY": "eyJUCX",
           "CUDA_PASSWORD": "eyJCUDA", "OMP_HIDDEN": "eyJOMP", "AWS_SECRET_ACCESS_KEY": "eyJAWS",
           "OMPI_MCA_hwloc_base_Token": "eyJLOWER", "FI_AUTH_KEY": "eyJFI",
           "MPICH_SECRET": "eyJMPICH", "SLURM_JOB_ACCOUNT": "eyJACCOUNT"}
WANTED = {"SLURM_JOB_ID": "77", "SLURM_NNODES": "2", "OMP_NUM_THREADS": "1", "NCCL_DEBUG": "WARN",
          "CUDA_VISIBLE_DEVICES": "", "OMPI_MCA_btl_tcp_eager_limit": "32768",
          "UCX_TLS": "self", "DBENCH_TIMEOUT": "500", "FI_CXI_RX_MATCH_MODE": "hybrid",
          "MPICH_OFI_NIC_POLICY": "NUMA", "PSM2_MULTIRAIL": "0", "PSM3_NIC": "any",
          "MV2_SMP_EAGERSIZE": "32K", "OMPI_MCA_reachable": "weighted"}


def test_no_secret_is_recorded(dbench):
    environment = {**SECRETS, **WANTED}
    path = dbench.run(dbench.spec(), env=environment)
    recorded = json.loads(read(path, "provenance"))["environment"]["variables"]
    assert {name: recorded.get(name) for name in WANTED} == WANTED
    assert not re.findall(rb"eyJ\w*", open(path, "rb").read())
    path = dbench.run(dbench.spec(), "2.h5", ranks=2)   # mpirun makes a key of its own
    recorded = json.loads(read(path, "provenance"))["environment"]["variables"]
    assert recorded["OMPI_COMM_WORLD_SIZE"] == "2"
    assert not [name for name in recorded if "precondition" in name or "uri" in name]


UNCONNECTED = {
    "srun with PMI-2": ({"PMI_RANK": "1", "PMI_SIZE": "4", "SLURM_JOB_ID": "7", "PMI_FD": "9",
                         "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "1"}, "PMI_SIZE=4"),
    "srun without PMI": ({"SLURM_JOB_ID": "7", "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"},
                         "SLURM_STEP_NUM_TASKS=4"),
    "another MPI": ({"MPI_LOCALNRANKS": "2", "PMI_RANK": "0"}, "MPI_LOCALNRANKS=2"),
    "MVAPICH": ({"MV2_COMM_WORLD_SIZE": "3"}, "MV2_COMM_WORLD_SIZE=3")}


@pytest.mark.parametrize("case", UNCONNECTED)
def test_processes_that_mpi_did_not_connect_are_refused(dbench, case):
    environment, variable = UNCONNECTED[case]
    told = dbench("run", dbench.spec(), "--output", "out.h5", env=environment, expect=2).stderr
    assert variable in told and "did not connect" in told and "start the ranks with" in told, told
    assert os.listdir(dbench.folder) == ["spec.json"]
    if case == "srun with PMI-2" and "Open MPI" in told:
        assert "pmi2" not in told and "--mpi=pmix" in told
    if case == "srun without PMI":
        assert "srun --mpi=list" in told
        doctor = dbench("doctor", env=environment, expect=2)
        assert "did not connect" in doctor.stdout and variable in doctor.stderr
        assert "LibTorch" in doctor.stdout
    alone = {**environment, "PMI_SIZE": "1", "MV2_COMM_WORLD_SIZE": "1", "MPI_LOCALNRANKS": "1",
             "SLURM_STEP_NUM_TASKS": "1", "PMI_RANK": "0"}
    alone.pop("PMI_FD", None)
    if case == "srun without PMI":
        dbench.run(dbench.spec(), env=alone)


@pytest.mark.parametrize("name, value", [
    ("OMP_NUM_THREADS", "99999999"), ("OMP_NUM_THREADS", "two"), ("OMP_NUM_THREADS", "0"),
    ("DBENCH_TIMEOUT", "0x10"), ("DBENCH_STOP_TIMEOUT", "1,5")])
def test_values_that_are_no_numbers_are_refused(dbench, name, value):
    for words in (("run", dbench.spec(), "--output", "out.h5"), ("check", dbench.spec())):
        told = dbench(*words, env={name: value}, expect=2, timeout=60).stderr
        assert f"{name}={value}" in told, told
    assert not (dbench.folder / "out.h5").exists()


@pytest.mark.parametrize("words", [("run", "SPEC", "--output=", "--quiet"),
                                   ("run", "SPEC", "--output", "", "--quiet"),
                                   ("run", "SPEC", "--set=", "--quiet"), ("run", ""),
                                   ("doctor", "--links="), ("graph", "ring", "--n=", "8"),
                                   ("graph", "ring_lattice", "--n", "8", "--k="),
                                   ("data", "pieces", "SPEC", "--output=", "--force")])
def test_empty_values_of_options_are_refused(dbench, words):
    spec = dbench.spec()
    told = dbench(*(spec if word == "SPEC" else word for word in words), expect=2).stderr
    assert "the value is empty" in told, told
    option = next((word for word in words if word.startswith("--")), "an argument").rstrip("=")
    if words[-1] != "8" and "--k=" not in words:
        assert told.startswith(f"dbench: error: {option}:"), told
    assert os.listdir(dbench.folder) == ["spec.json"]


@pytest.mark.parametrize("words", [("run", "SPEC", "--output", "--quiet"),
                                   ("check", "SPEC", "--set", "--json"),
                                   ("data", "pieces", "SPEC", "--output", "--force")])
def test_an_option_is_not_the_value_of_another(dbench, words):
    spec = dbench.spec()
    told = dbench(*(spec if word == "SPEC" else word for word in words), expect=2).stderr
    assert f"{words[-2]}: the value is missing" in told, told
    assert os.listdir(dbench.folder) == ["spec.json"]


def test_no_home_and_no_cache_are_needed(dbench):
    spec = dbench.spec()
    usual = dbench.run(spec, "usual.h5")
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TORCH_HOME", "XDG_CONFIG_HOME",
                             "PYTORCH_KERNEL_CACHE_PATH"), "/proc/nowhere")
    assert differences(usual, dbench.run(spec, "nowhere.h5", env=nowhere)) == []
    dbench.environment.pop("HOME", None)
    assert differences(usual, dbench.run(spec, "homeless.h5")) == []
    assert differences(usual, dbench.run(spec, "ranks.h5", ranks=2)) == []


def test_a_decimal_comma_changes_no_number(dbench):
    folder = dbench.folder / "locales"
    folder.mkdir()
    made = shutil.which("localedef") and subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"], capture_output=True)
    if not (folder / "de_DE.UTF-8" / "LC_NUMERIC").exists():
        pytest.skip(f"no locale with a decimal comma can be made: {made and made.stderr}")
    comma = {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8", "DBENCH_TIMEOUT": "500.5"}
    assert subprocess.run(["printf", "%.1f", "1,5"], env={**os.environ, **comma},
                          capture_output=True).stdout == b"1,5"
    (dbench.folder / "w.csv").write_text("0.75,0.25\n0.25,0.75\n")
    spec = dbench.spec(replicas=2, implementation=None, algorithm="dsgd",
                       graph={"type": "file", "path": "w.csv"})
    words = ("run", spec, "--quiet", "--set", "/optimizer/lr=0.125", "--output")
    dbench(*words, "point.h5")
    dbench(*words, "comma.h5", env=comma)
    assert differences(dbench.folder / "point.h5", dbench.folder / "comma.h5") == []
    assert read(dbench.folder / "comma.h5", "iterations/lr")[0] == 0.125
    for words in (("check", spec, "--json"), ("graph", "ring", "--n", 8, "--edges"),
                  ("graph", "torus", "--n", "12", "--algorithm", "gut:mu=0.9")):
        assert dbench(*words).stdout == dbench(*words, env=comma).stdout


def caught(process, number):
    """True if the process has a handler for the signal."""
    try:
        with open(f"/proc/{process}/status") as file:
            mask = int(re.search(r"SigCgt:\s*(\w+)", file.read())[1], 16)
    except (OSError, TypeError):
        return False
    return bool(mask >> (number - 1) & 1)


def test_closed_standard_streams_spoil_no_file(dbench):
    """Without standard error, the result file would get its descriptor and the messages."""
    spec = dbench.spec()
    for closed in ("2>&-", "<&- >&- 2>&-"):
        subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh",
                        *dbench.command("run", spec, "--output", "out.h5", "--overwrite")],
                       cwd=dbench.folder, env=dbench.environment, timeout=120, check=True)
        assert len(read(dbench.folder / "out.h5", "iterations/train_loss")) == 6


def test_a_hangup_that_the_parent_ignores_stops_no_run(dbench):
    spec = dbench.spec(length={"iterations": 4000})
    run = subprocess.Popen(
        ["nohup", *dbench.command("run", spec, "--output", "out.h5", "--quiet")],
        cwd=dbench.folder, env=dbench.environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    dbench.started.append(run)
    end = time.monotonic() + 60
    while not caught(run.pid, signal.SIGTERM) and time.monotonic() < end:
        time.sleep(0.001)
    run.send_signal(signal.SIGHUP)
    assert run.wait(timeout=120) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_training_says_what_is_kept(dbench, number):
    spec = dbench.spec(data={"type": "shapes", "train": 50000, "test": 64, "batch_size": 8})
    run = dbench.start("run", spec, "--output", "out.h5")
    end = time.monotonic() + 60
    while not caught(run.pid, number) and time.monotonic() < end:
        time.sleep(0.001)
    run.send_signal(number)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 75, errors
    assert f"stopped by {signal.Signals(number).name} before training" in errors, errors
    assert "has written nothing" in errors and "--resume" in errors
    assert os.listdir(dbench.folder) == ["spec.json"]


def test_two_runs_with_one_output(dbench):
    """Both start at a time with --overwrite; tests/profile/existing_test.cpp has more tries."""
    first = dbench.run(dbench.spec(name="a.json"))
    for _ in range(3):
        runs = [dbench.start("run", dbench.spec(name=f"{seed}.json", seed=seed, delays=[
            {"seconds": 0.15}]), "--output", first, "--overwrite", "--quiet") for seed in (2, 3)]
        errors = [run.communicate(timeout=60)[1] for run in runs]
        assert sorted(run.returncode for run in runs) == [0, 2], errors
        refused = errors[[run.returncode for run in runs].index(2)]
        assert "another run" in refused and "out.h5" in refused, refused
        winner = 2 + [run.returncode for run in runs].index(0)
        seed = json.loads(read(first, "spec"))["seed"]
        assert winner == seed if isinstance(seed, int) else winner in seed.values(), seed


def test_a_manifest_of_others_is_kept(dbench):
    spec = dbench.spec(checkpoint={"every": {"iterations": 2}})
    path = dbench.run(spec)
    folder = dbench.folder / "out.h5.checkpoints"
    (folder / "9").mkdir()
    (folder / "9" / "manifest.json").write_text('{"name": "mine"}')
    (folder / "8").mkdir()
    (folder / "8" / "part-0.bin").write_text("mine")
    dbench("run", spec, "--output", path, "--overwrite", "--set", "/checkpoint/every=null")
    assert sorted(os.listdir(folder)) == ["8", "9", "lock"]
    assert (folder / "9" / "manifest.json").read_text() == '{"name": "mine"}'
    assert (folder / "8" / "part-0.bin").read_text() == "mine"
