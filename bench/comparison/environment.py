"""Python environments of the other programs: each is a venv, made once below one folder."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PEERS = ["torch==2.11.0", "decent-dp==0.2.3", "numpy"]
BESIDE_TORCH = [PEERS[1], "loguru>=0.7.3"]
BLUEFOG = "bluefog==0.3.0"
DOWNLOAD = "about 2.7 GB to download, 4.8 GB on the disk: PyTorch 2.11 with its CUDA libraries"
NEEDED = 9 << 30  # bytes; while pip unpacks, both archives and contents are on the disk


class Unavailable(Exception):
    """An environment cannot be made; the message says why, and what to try."""


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME")
    if not cache:
        try:
            cache = Path.home() / ".cache"
        except RuntimeError:  # neither HOME nor an entry in the list of users
            cache = tempfile.gettempdir()
    return Path(cache) / "dbench" / "peers"


def make_venv(folder):
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True)
    if made.returncode:
        raise Unavailable(f"{folder} cannot be made ({last_line(made.stdout + made.stderr)}): "
                          "apt-get install python3-venv, or choose another --environment")


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def why_pip_failed(text):
    """Return the exception that ended a build or, if there is none, pip's last error."""
    raised = re.findall(r"^\s*(\w+(?:Error|Exception): .+?)\s*$", text, re.M)
    said = re.findall(r"^\s*(?:ERROR|error): (.+?)\s*$", text, re.M)
    return (raised or said or [last_line(text)])[-1]


def sees(python, other):
    """Let a Python import the packages of another one."""
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    seen, own = (subprocess.run([one, "-c", where], capture_output=True, text=True,
                                check=True).stdout.strip() for one in (other, python))
    (Path(own) / "peers.pth").write_text(seen + "\n")


def with_torch_of(torch, folder):
    """Return a Python below `folder` that has Decent-DP, and imports the PyTorch of the Python
    `torch`; None if that has another version than the one that is compared."""
    asked = subprocess.run([torch, "-c", "import torch; print(torch.__version__)"],
                           capture_output=True, text=True)
    if asked.stdout.partition("+")[0].strip() != PEERS[0].partition("==")[2]:
        return None
    venv = Path(folder) / "decent-dp-alone"
    python, stamp = venv / "bin" / "python", venv / "installed"
    wanted = "\n".join([*BESIDE_TORCH, str(torch)])
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    venv.parent.mkdir(parents=True, exist_ok=True)
    make_venv(venv)
    sees(python, torch)
    done = subprocess.run([python, "-m", "pip", "install", "--no-deps", *BESIDE_TORCH],
                          stdout=sys.stderr)
    if done.returncode:
        raise Unavailable(f"pip could not install {', '.join(BESIDE_TORCH)} (above): try again")
    stamp.write_text(wanted)
    return python


def peers_python(folder):
    """Return the Python with PyTorch and Decent-DP below `folder`; install it if necessary.
    DBENCH_TORCH_PYTHON names a Python whose PyTorch is used if it has the same version."""
    borrowed = os.environ.get("DBENCH_TORCH_PYTHON")
    python = with_torch_of(borrowed, folder) if borrowed else None
    if python:
        return python
    venv = Path(folder) / "decent-dp"
    python, stamp = venv / "bin" / "python", venv / "installed"
    wanted = "\n".join(PEERS)
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    venv.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(venv.parent).free < NEEDED:
        raise Unavailable(f"{venv.parent} has less than {NEEDED >> 30} GB left ({DOWNLOAD}): name "
                          "a folder on another disk by --environment")
    print(f"peers: installing {', '.join(PEERS)} into {venv}, once; {DOWNLOAD}", file=sys.stderr)
    make_venv(venv)
    done = subprocess.run([python, "-m", "pip", "install", *PEERS], stdout=sys.stderr)
    if done.returncode:
        raise Unavailable(f"pip could not install {', '.join(PEERS)} (above): try again, or look "
                          f"with {python} -m pip install {' '.join(PEERS)}")
    stamp.write_text(wanted)
    return python


def bluefog(folder):
    """Return a sentence about the installation of BlueFog. It is tried once, in a venv that shares
    the PyTorch of `peers_python`."""
    venv = Path(folder) / "bluefog"
    outcome = venv / "outcome.json"
    if outcome.exists():
        return json.loads(outcome.read_text())
    torch = peers_python(folder)
    print("peers: trying to install BlueFog (minutes: it is compiled)", file=sys.stderr)
    make_venv(venv)
    python = venv / "bin" / "python"
    sees(python, torch)
    said = ""
    for words in (["wheel", "cffi", "setuptools<81"], ["--no-build-isolation", BLUEFOG]):
        done = subprocess.run([python, "-m", "pip", "install", *words], capture_output=True,
                              text=True)
        said += done.stdout + done.stderr
        if done.returncode:
            break
    (venv / "pip.log").write_text(said)
    found = (f"{BLUEFOG} cannot be installed with {PEERS[0]}: {why_pip_failed(said)}"
             if done.returncode else f"{BLUEFOG} was installed, but bench/peers has no case for it")
    outcome.write_text(json.dumps(found))
    return found
