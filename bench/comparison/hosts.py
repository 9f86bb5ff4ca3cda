"""Emulated hosts on this machine: network, mount and UTS namespaces, each connected to one switch
by a link with a given rate in both directions (tbf). They exist as long as the process that made
them; nothing is left of them even after kill -9."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

NETWORK = "10.79.0"  # only inside the namespaces, so it cannot collide with another network
LATENCY = "50ms"
PREFIXES = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def bits_per_second(rate):
    """Return the bits per second of a rate in tc's notation, such as 1gbit or 200mbit."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)bit", rate)
    if not found or not float(found[1]):
        raise ValueError(f"--rate {rate}: not a rate such as 1gbit or 200mbit")
    return float(found[1]) * PREFIXES[found[2]]


def why_not(rate):
    """Return why hosts with links of this rate cannot be made here, with a remedy, or None if they
    can."""
    if os.geteuid() != 0:
        return "emulated hosts are network namespaces, which require root: start this with sudo"
    for program, package in (("ip", "iproute2"), ("tc", "iproute2"), ("unshare", "util-linux"),
                             ("nsenter", "util-linux")):
        if not shutil.which(program):
            return f"no {program} in the search path: apt-get install {package}"
    try:
        with Hosts(1, rate):
            return None
    except OSError as error:
        return (f"{error}: start a container with --privileged; outside a container, load the "
                "kernel modules veth, bridge and sch_tbf (modprobe)")


def tcp():
    """Return the kernel's TCP settings that new hosts inherit and that affect times; None means
    unknown."""
    def setting(name):
        path = Path("/proc/sys/net/ipv4") / name
        return path.read_text().strip() if path.exists() else None
    return {"congestion_control": setting("tcp_congestion_control"),
            "slow_start_after_idle": setting("tcp_slow_start_after_idle")}


def die_with_parent():
    """Make a child end with this process. It is called between fork and exec."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


class Hosts:
    """Context manager with `count` hosts."""

    def __init__(self, count, rate):
        self.count, self.rate = count, rate
        self.holders = []

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for holder in self.holders:
            holder.kill()
            holder.communicate()
        self.holders = []

    def hold(self):
        """Start a process that keeps new namespaces alive; return the words that enter them."""
        holder = subprocess.Popen(["unshare", "-n", "-m", "-u", "sleep", "infinity"], text=True,
                                  stderr=subprocess.PIPE, preexec_fn=die_with_parent)
        self.holders.append(holder)
        while Path(f"/proc/{holder.pid}/comm").read_text().strip() != "sleep":
            if holder.poll() is not None:
                raise OSError(holder.stderr.read().strip())
            time.sleep(0.01)
        return self.within(holder)

    @staticmethod
    def within(holder):
        return ["nsenter", "-t", str(holder.pid), "-n", "-m", "-u", "--"]

    def build(self):
        switch = self.hold()
        command(*switch, "ip", "link", "add", "switch", "type", "bridge")
        command(*switch, "ip", "addr", "add", f"{NETWORK}.254/24", "dev", "switch")
        for link in ("lo", "switch"):
            command(*switch, "ip", "link", "set", link, "up")
        for i in range(self.count):
            host, pid = self.hold(), self.holders[-1].pid
            command(*switch, "ip", "link", "add", f"to{i}", "type", "veth", "peer", "name", "eth0",
                    "netns", pid)
            command(*switch, "ip", "link", "set", f"to{i}", "master", "switch", "up")
            command(*host, "ip", "addr", "add", f"{self.address(i)}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                command(*host, "ip", "link", "set", link, "up")
            command(*host, "hostname", f"host{i}")
            command(*host, "mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
            self.shape(host, "eth0")
            self.shape(switch, f"to{i}")

    def shape(self, where, link):
        # After a pause, a link moves its first bytes at once: few of them, but at least a segment.
        burst = max(96 << 10, int(bits_per_second(self.rate) / 8 * 0.0021))
        command(*where, "tc", "qdisc", "add", "dev", link, "root", "tbf", "rate", self.rate,
                "burst", burst, "latency", LATENCY)

    @staticmethod
    def address(i):
        return f"{NETWORK}.{i + 1}"

    def inside(self, i):
        """Return the words that start a command on host i."""
        return self.within(self.holders[i + 1])

    def launcher(self, mpirun, ranks, folder):
        """Return the words of mpirun for `ranks` ranks, distributed to the hosts in order. mpirun
        itself runs in the switch's namespace."""
        agent = Path(folder) / "agent"
        cases = "".join(f"    {self.address(i)}) pid={self.holders[i + 1].pid} ;;\n"
                        for i in range(self.count))
        agent.write_text("#!/bin/sh\n# mpirun starts its daemon on a host: agent HOST COMMAND...\n"
                         f"host=$1\nshift\ncase $host in\n{cases}esac\n"
                         'exec nsenter -t $pid -n -m -u -- sh -c "$*"\n')
        agent.chmod(0o755)
        each = ranks // self.count
        hosts = ",".join(f"{self.address(i)}:{each}" for i in range(self.count))
        network = f"{NETWORK}.0/24"
        return [*self.within(self.holders[0]), *mpirun, "--host", hosts,
                "--mca", "plm_rsh_agent", str(agent), "--mca", "plm_rsh_no_tree_spawn", "1",
                "--mca", "oob_tcp_if_include", network, "--mca", "btl_tcp_if_include", network]
