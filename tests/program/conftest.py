"""Fixtures that run the program, alone and under mpirun."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("DBENCH_PROGRAM", str(ROOT / "build" / "dbench"))

# A spec that runs within a second and still learns: softmax regression on generated images.
SMALL = {
    "name": "small",
    "replicas": 4,
    "model": "softmax_regression",
    "data": {"type": "shapes", "train": 256, "test": 64, "batch_size": 8},
    "implementation": "D_ring",
    "optimizer": {"type": "sgd", "lr": 0.05},
    "length": {"iterations": 6},
}


def mpirun(ranks):
    words = ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none"]
    return words + (["--allow-run-as-root"] if os.geteuid() == 0 else [])


class Dbench:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.started = []
        self.environment = {k: v for k, v in os.environ.items() if k != "DBENCH_DATA"}
        self.environment["OMPI_MCA_btl_base_warn_component_unused"] = "0"
        self.environment["PMIX_MCA_psec"] = "native"   # else PMIx waits for munge

    def text(self, changes=None, **more):
        """Return SMALL with changes as text; None removes a key."""
        spec = {**SMALL, **(changes or {}), **more}
        return json.dumps({k: v for k, v in spec.items() if v is not None})

    def spec(self, changes=None, name="spec.json", **more):
        """Write SMALL with changes to a file; return its path."""
        path = self.folder / name
        path.write_text(self.text(changes, **more))
        return str(path)

    def command(self, *words, ranks=None):
        return (mpirun(ranks) if ranks else []) + [PROGRAM, *map(str, words)]

    def __call__(self, *words, ranks=None, timeout=180, expect=0, env=None, text=None):
        """Run a command with `text` as its standard input."""
        done = subprocess.run(self.command(*words, ranks=ranks), cwd=self.folder, timeout=timeout,
                              text=True, input=text,
                              capture_output=True, env={**self.environment, **(env or {})})
        assert done.returncode == expect, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *words, ranks=None):
        self.started.append(subprocess.Popen(
            self.command(*words, ranks=ranks), cwd=self.folder, text=True, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return self.started[-1]

    def end(self):
        """End all runs that a failed test has left."""
        for run in self.started:
            if run.poll() is None:
                run.kill()
                run.wait()

    def run(self, spec, output="out.h5", *words, ranks=None, **more):
        self("run", spec, "--output", output, "--quiet", *words, ranks=ranks, **more)
        return str(self.folder / output)


def program_in(folder):
    if not shutil.which(PROGRAM):
        pytest.fail(f"{PROGRAM}: no program (build it first)")
    program = Dbench(folder)
    yield program
    program.end()


@pytest.fixture
def dbench(tmp_path):
    yield from program_in(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Run the program in a folder that all tests of a file share, to save starts."""
    yield from program_in(tmp_path_factory.mktemp("shared"))
