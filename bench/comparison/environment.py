"""Python environments of the other programs: each is a venv, made once below one folder."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PEERS = ["torch==2.11.0", "decent-dp==0.2.3", "numpy"]
BLUEFOG = "bluefog==0.3.0"
DOWNLOAD = "about 2.7 GB to download, 4.8 GB on the disk: PyTorch 2.11 with its CUDA libraries"
NEEDED = 9 << 30  # bytes; while pip unpacks, both archives and contents are on the disk


class Unavailable(Exception):
    """An environment cannot be made; the message says why, and what to try."""


def default_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
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


def peers_python(folder):
    """Return the Python with PyTorch and Decent-DP below `folder`; install it if necessary."""
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
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    seen, own = (subprocess.run([one, "-c", where], capture_output=True, text=True,
                                check=True).stdout.strip() for one in (torch, python))
    (Path(own) / "peers.pth").write_text(seen + "\n")
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
