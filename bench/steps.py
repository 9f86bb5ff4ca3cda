"""Step times of runs of the real program, for bench/recording, bench/ranks and bench/peers."""

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
    """Starts the script again with the project's Python, which has what it needs: that of .venv,
    or that beside a build with CUDA."""
    for environment in ".venv", ".venv-cuda":
        python = ROOT / environment / "bin" / "python"
        if python.exists() and subprocess.run([python, "-c", "import h5py"],
                                              capture_output=True).returncode == 0:
            os.execv(python, [str(python), *sys.argv])
    setup = ROOT / "scripts" / "setup"  # a kit has none
    print(f"{sys.argv[0]}: no h5py for {sys.executable}, and no {ROOT}/.venv/bin/python that has "
          f"it: {'run scripts/setup' if setup.exists() else 'pip install h5py'}", file=sys.stderr)
    sys.exit(2)


try:
    import h5py
except ImportError:
    own_python()

PROGRAM = os.environ.get("DBENCH_PROGRAM", str(ROOT / "build" / "dbench"))
WARM_UP = 3   # iterations not counted

# ResNet-20, batch 32, on generated images; evaluation only at the ends, on few samples.
SPEC = {
    "model": "resnet20",
    "data": {"type": "shapes", "train": 8192, "test": 64, "batch_size": 32},
    "evaluate": {"every": None, "replicas": 1},
    "optimizer": {"type": "sgd", "lr": 0.05, "momentum": 0.9},
}
NOTHING_RECORDED = {"norms": False, "variance": {"kind": "off"}}


def numbers(about, name, default, many=False):
    """What the command line gives: one number of 1 at least, or many."""
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
    """Words of a run of SPEC with changes, whose files `name` are in the folder."""
    spec = Path(folder) / f"{name}.json"
    spec.write_text(json.dumps({**SPEC, **changes, "output": str(Path(folder) / f"{name}.h5")}))
    return [*launcher, PROGRAM, "run", str(spec), "--overwrite", "--quiet"]


def start(folder, name, changes, launcher=()):
    return subprocess.Popen(command(folder, name, changes, launcher), stderr=subprocess.DEVNULL)


def apart(folder, replicas):
    """A graph without edges, W = I: nothing is exchanged."""
    path = Path(folder).resolve() / "identity.txt"
    path.write_text("".join(" ".join(str(int(i == j)) for j in range(replicas)) + "\n"
                            for i in range(replicas)))
    return {"type": "file", "path": str(path)}


def times(folder, name, parts=("step_time",), warm_up=WARM_UP):
    """Seconds of every counted iteration (rows) on every rank (columns): the sum of `parts`."""
    with h5py.File(Path(folder) / f"{name}.h5") as file:
        return sum(file[f"iterations/{part}"][warm_up:] for part in parts)


def steps(folder, name, parts=("step_time",)):
    """Seconds of every counted iteration: the slowest rank's."""
    return times(folder, name, parts).max(axis=1).tolist()


def mpirun(ranks):
    words = ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]
    return words + (["--allow-run-as-root"] if os.geteuid() == 0 else [])


def alternate(rounds, measures):
    """Medians over the rounds of what each measure, called in turn, returns."""
    seen = {name: [] for name in measures}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name, measure in measures.items():
                seen[name].append(measure(folder))
    return {name: statistics.median(values) for name, values in seen.items()}
