"""Tests that hosts send the recorded bytes: compares the counters of their network interfaces with
bytes_sent and profile_bytes. Uses the emulated hosts of bench/peers; skipped if they cannot be
made."""

import re
import subprocess
import sys

import h5py
import pytest
from conftest import ROOT, mpirun

sys.path.insert(0, str(ROOT / "bench"))

from comparison import hosts

RATE = "1gbit"
FEW, MANY = 4, 24   # iterations; start, evaluations and end send the same in both runs


@pytest.fixture(scope="module")
def shaped(request):
    why = hosts.why_not(RATE)
    if why:
        pytest.skip(why)
    with hosts.Hosts(request.param, RATE) as made:
        yield made


def sent_by(shaped):
    """Return the bytes that each host's interface has sent so far."""
    return [int(subprocess.run([*shaped.inside(i), "cat", "/proc/net/dev"], check=True, text=True,
                               capture_output=True).stdout.split("eth0:")[1].split()[8])
            for i in range(shaped.count)]


def bytes_of_each(dbench, shaped, changes, variance=100):
    """Return, for each interface, the bytes that iterations FEW to MANY send, divided by the host's
    share of the recorded bytes."""
    ranks = shaped.count
    launcher = shaped.launcher(mpirun(ranks), ranks, dbench.folder)
    output = dbench.folder / "out.h5"   # absolute, since daemons on other hosts start elsewhere
    wire, recorded = [], []
    for iterations in (FEW, MANY):
        spec = dbench.spec({**changes, "replicas": ranks, "length": {"iterations": iterations},
                            "model": {"type": "mlp", "hidden": [256]}, "evaluate": {"every": None},
                            "profile": {"variance": {"every": {"iterations": variance}}}})
        command = dbench.command("run", spec, "--output", output, "--overwrite", "--quiet")
        before = sent_by(shaped)
        done = subprocess.run([*launcher, *command], cwd=dbench.folder, env=dbench.environment,
                              text=True, capture_output=True, timeout=180)
        assert done.returncode == 0, done.stderr
        wire.append([b - a for a, b in zip(before, sent_by(shaped), strict=True)])
        with h5py.File(output) as file:
            recorded.append(sum(int(file["iterations"][name][:].sum())
                                for name in ("bytes_sent", "profile_bytes")))
    expected = (recorded[1] - recorded[0]) / ranks
    assert expected > 20e6, "too little to compare"
    return [(many - few) / expected for few, many in zip(*wire, strict=True)]


@pytest.mark.parametrize(("changes", "variance"), [
    ({"implementation": "D_ring"}, 100),
    ({"implementation": "D_ring", "message": "bfloat16"}, 100),
    ({"implementation": "C_complete"}, 100),
    ({"implementation": "D_ring"}, 1),
], ids=["ring", "ring in 16 bits", "all-reduce", "ring and exact variance"])
@pytest.mark.parametrize("shaped", [4], indirect=True)
def test_interfaces_carry_the_recorded_bytes_and_little_more(dbench, shaped, changes, variance):
    over = bytes_of_each(dbench, shaped, changes, variance)
    assert all(1 <= ratio < 1.02 for ratio in over), over


# With two or three ranks, Open MPI's default algorithm sends whole rows to one rank and back.
@pytest.mark.parametrize("shaped", [4, 3], indirect=True)
def test_no_host_carries_more_of_the_librarys_sum_than_another(dbench, shaped):
    over = bytes_of_each(dbench, shaped, {"implementation": "C_complete", "reduction": "library"})
    assert all(1 <= ratio < 1.02 for ratio in over), over


@pytest.mark.parametrize("shaped", [3], indirect=True)
def test_doctor_compares_the_librarys_sum_with_the_link(dbench, shaped):
    launcher = shaped.launcher(mpirun(3), 3, dbench.folder)
    environment = {**dbench.environment,
                   "OMPI_MCA_coll_libnbc_iallreduce_algorithm": "2"}     # a tree
    done = subprocess.run([*launcher, *dbench.command("doctor")], cwd=dbench.folder,
                          env=environment, text=True, capture_output=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert re.search(r"all-reduce +\S+ ms for 33.6 MB by the MPI library; "
                     r"the link needs at least \S+ ms", done.stdout)
    assert '"reduction": "reproducible"' in done.stderr
