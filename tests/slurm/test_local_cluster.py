"""Tests that scripts/slurm/local-cluster ends and removes nothing but its own cluster. No cluster
starts: replacements of kill and of the programs for namespaces record their arguments."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from conftest import CLUSTER

BOOT = "/proc/sys/kernel/random/boot_id"


class Folder:
    """A folder for a cluster, and a function that calls the script on it."""

    def __init__(self, folder):
        self.tools, self.place = folder / "tools", folder / "cluster"
        self.tools.mkdir()
        for name in ("kill", "ip", "unshare"):
            self.tool(name, f'echo "$@" >>{folder}/{name}ed\n')
        self.killed = folder / "killed"

    def tool(self, name, text):
        (self.tools / name).write_text("#!/bin/bash\n" + text)
        (self.tools / name).chmod(0o755)

    def made(self, namespace, boot=None):
        """Make the folder look like that of a cluster of one host."""
        for name in ("n1", "log", "munge"):
            (self.place / name).mkdir(parents=True)
        with open(BOOT) as file:
            (self.place / ".local-cluster").write_text(file.read() if boot is None else boot)
        (self.place / "count").write_text("1\n")
        (self.place / "n1" / "namespace").write_text(namespace)

    def __call__(self, *words):
        return subprocess.run(
            [CLUSTER, *words], text=True, capture_output=True, timeout=60,
            stdin=subprocess.DEVNULL, env={**os.environ, "DBENCH_CLUSTER": str(self.place),
                                           "PATH": f"{self.tools}:{os.environ['PATH']}"})


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "100"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def daemon(folder):
    """A process whose command line is that of the cluster's slurmctld."""
    process = subprocess.Popen(["bash", "-c", f"exec -a 'slurmctld -f {folder.place}/slurm.conf' "
                                "sleep 100"])
    yield process
    process.kill()
    process.wait()


def wait_for_name(process):
    """Wait until the process has the command line that `exec` gives it."""
    end = time.monotonic() + 20
    while b"slurmctld" not in Path(f"/proc/{process.pid}/cmdline").read_bytes()[:12]:
        assert time.monotonic() < end
        time.sleep(0.01)


def own():
    return os.readlink("/proc/self/ns/net")


@pytest.mark.parametrize("namespace", ["", "\n", "net:[]\n", "net:[1]x\n", "here"])
@pytest.mark.parametrize("command", ["down", "kill"])
def test_without_a_namespace_of_its_own_nothing_is_killed(folder, command, namespace):
    folder.made(own() + "\n" if namespace == "here" else namespace)
    assert folder(*(("kill", "1") if command == "kill" else ("down",))).returncode == 0
    assert not folder.killed.exists()
    assert folder.place.exists() == (command == "kill")


@pytest.mark.parametrize("boot", [None, "another\n"])
def test_numbers_of_an_earlier_boot_are_not_killed(folder, daemon, boot):
    folder.made("net:[1]\n", boot=boot)
    (folder.tools / "kill").unlink()  # `kill` is the shell's own
    (folder.place / "slurmctld.pid").write_text(f"{daemon.pid}\n")
    wait_for_name(daemon)
    assert folder("down").returncode == 0 and not folder.place.exists()
    assert (daemon.poll() is None) == (boot is not None)


@pytest.mark.parametrize("pid_file", ["slurmctld.pid", "munge/pid"])
def test_another_process_with_a_daemons_number_lives_on(folder, sleeper, pid_file):
    folder.made("net:[1]\n")
    (folder.place / pid_file).write_text(f"{sleeper.pid}\n")
    assert folder("down").returncode == 0 and not folder.place.exists()
    assert sleeper.poll() is None


def test_a_host_that_ends_at_once_is_reported(folder):
    folder.made("")
    (folder.place / "n1" / "namespace").unlink()
    folder.tool("unshare", "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1\n")
    told = folder("start", "1")
    assert told.returncode == 2, told
    assert "host 1 did not start: unshare: unshare failed: Operation not permitted" in told.stderr
    assert not (folder.place / "n1" / "namespace").exists()


def test_folders_of_others_are_neither_used_nor_removed(folder):
    for name in ("munged", "slurmctld", "slurmd", "srun"):
        folder.tool(name, "exit 1\n")
    folder.tool("id", "echo 0\n")
    folder.place.mkdir()
    assert folder("down").returncode == 0
    (folder.place / "thesis.tex").write_text("x")
    told = folder("down")
    assert told.returncode == 2 and "holds no cluster" in told.stderr
    told = folder("up", "1")
    assert told.returncode == 2 and "holds other files" in told.stderr
    assert os.listdir(folder.place) == ["thesis.tex"]
