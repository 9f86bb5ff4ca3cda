"""What hosts send is what is recorded: the counters of their interfaces against bytes_sent and
profile_bytes. Hosts are those of bench/peers; skipped where they cannot be made."""

import subprocess
import sys

import h5py
import pytest
from conftest import ROOT, mpirun

sys.path.insert(0, str(ROOT / "bench"))

from comparison import hosts

RATE, COUNT = "1gbit", 4
FEW, MANY = 4, 24   # iterations: what start, evaluations and end send is the same in both


@pytest.fixture(scope="module")
def shaped():
    why = hosts.why_not(RATE)
    if why:
        pytest.skip(why)
    with hosts.Hosts(COUNT, RATE) as made:
        yield made


def sent_by(shaped):
    """Bytes that each host's interface has sent so far."""
    return [int(subprocess.run([*shaped.inside(i), "cat", "/proc/net/dev"], check=True, text=True,
                               capture_output=True).stdout.split("eth0:")[1].split()[8])
            for i in range(COUNT)]


@pytest.mark.parametrize(("changes", "variance"), [
    ({"implementation": "D_ring"}, 100),
    ({"implementation": "D_ring", "message": "bfloat16"}, 100),
    ({"implementation": "C_complete"}, 100),
    ({"implementation": "D_ring"}, 1),
], ids=["ring", "ring in 16 bits", "all-reduce", "ring and exact variance"])
def test_interfaces_carry_what_is_recorded_and_little_more(dbench, shaped, changes, variance):
    launcher = shaped.launcher(mpirun(COUNT), COUNT, dbench.folder)
    output = dbench.folder / "out.h5"   # daemons on other hosts know no working folder
    wire, recorded = [], []
    for iterations in (FEW, MANY):
        spec = dbench.spec({**changes, "replicas": COUNT, "length": {"iterations": iterations},
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
    expected = (recorded[1] - recorded[0]) / COUNT   # every host's share
    assert expected > 20e6, "too little to compare"
    over = [(many - few) / expected for few, many in zip(*wire, strict=True)]
    assert all(1 <= ratio < 1.02 for ratio in over), over
