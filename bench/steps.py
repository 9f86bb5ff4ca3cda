"""Helpers of the benchmarks that run the program and read step times from its result files."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def own_python():
    """Restart the script with a Python of the project that has h5py (.venv or .venv-cuda). Exit
    with status 2 if there is none."""
    for environment in ".venv", ".venv-cuda":
        python = ROOT / environment / "bin" / "python"
        if python.exists() and subprocess.run([python, "-c", "import h5py"],
                                              capture_output=True).returncode == 0:
            os.execv(python, [str(python), *sys.argv])
    setup = ROOT / "scripts" / "setup"  # the GPU kit does not contain it
    print(f"{sys.argv[0]}: neither {sys.executable} nor {ROOT}/.venv/bin/python has h5py: "
          f"{'run scripts/setup' if setup.exists() else 'pip install h5py'}", file=sys.stderr)
    sys.exit(2)


try:
    import h5py
except ImportError:
    own_python()

PROGRAM = os.environ.get("DBENCH_PROGRAM", str(ROOT / "build" / "dbench"))
WARM_UP = 3   # iterations that are not measured

# ResNet-20 with batch size 32 on generated images. It is evaluated only at the start and the end,
# on few samples.
SPEC = {
    "model": "resnet20",
    "data": {"type": "shapes", "train": 8192, "test": 64, "batch_size": 32},
    "evaluate": {"every": None, "replicas": 1},
    "optimizer": {"type": "sgd", "lr": 0.05, "momentum": 0.9},
}
NOTHING_RECORDED = {"norms": False, "variance": {"kind": "off"}}


def numbers(about, name, default, many=False):
    """Return the number on the command line, or a list of numbers; each must be at least 1."""
    def read(word):
        if int(word) < 1:
            raise argparse.ArgumentTypeError(f"{word} is below 1")
        return int(word)
    parser = argparse.ArgumentParser(description=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("given", nargs="*" if many else "?", type=read, default=default,
                        metavar=name)
    return parser.parse_args().given


def command(folder, name, changes, launcher=()):
    """Return the command of a run of SPEC with changes. It writes its spec and result file to
    `folder`, as `name`.json and `name`.h5."""
    spec = Path(folder) / f"{name}.json"
    spec.write_text(json.dumps({**SPEC, **changes, "output": str(Path(folder) / f"{name}.h5")}))
    return [*launcher, PROGRAM, "run", str(spec), "--overwrite", "--quiet"]


def start(folder, name, changes, launcher=()):
    return subprocess.Popen(command(folder, name, changes, launcher), stderr=subprocess.DEVNULL)


def apart(folder, replicas):
    """Return the keys of a spec whose graph has no edges (W = I): nothing is exchanged."""
    path = Path(folder).resolve() / "identity.txt"
    path.write_text("".join(" ".join(str(int(i == j)) for j in range(replicas)) + "\n"
                            for i in range(replicas)))
    return {"graph": {"type": "file", "path": str(path)}, "allow_disconnected": True}


def times(folder, name, parts=("step_time",), warm_up=WARM_UP):
    """Return the seconds of every measured iteration (rows) on every rank (columns), as the sum of
    the columns `parts`."""
    with h5py.File(Path(folder) / f"{name}.h5") as file:
        return sum(file[f"iterations/{part}"][warm_up:] for part in parts)


def steps(folder, name, parts=("step_time",)):
    """Return the seconds of every measured iteration on the slowest rank."""
    return times(folder, name, parts).max(axis=1).tolist()


def mpirun(ranks):
    words = ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]
    return words + (["--allow-run-as-root"] if os.geteuid() == 0 else [])


def alternate(rounds, measures):
    """Call all measures in turn, round after round, and return the median of each."""
    seen = {name: [] for name in measures}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, measure in measures.items():
                seen[name].append(measure(folder))
    return {name: statistics.median(values) for name, values in seen.items()}
