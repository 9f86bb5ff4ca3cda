"""Runs of reference_dump as dictionaries of tensors. Importing this module skips the tests if there
is no torch."""

import json
import os
import subprocess
from pathlib import Path

import pytest

try:
    import torch
except (ImportError, OSError) as error:
    pytest.skip(f"no PyTorch in this Python ({error}): set DBENCH_TORCH_PYTHON to one that has it",
                allow_module_level=True)

PROGRAM = os.environ.get("DBENCH_REFERENCE")
if not PROGRAM or not Path(PROGRAM).exists():
    pytest.skip("DBENCH_REFERENCE does not name the program reference_dump",
                allow_module_level=True)

torch.set_num_threads(1)


class Run:
    """One run: `run["0/loss"]`, and `run.group("0/gradient")` by parameter name."""

    def __init__(self, path):
        described = json.loads(path.with_suffix(".json").read_text())
        data = bytearray(path.with_suffix(".bin").read_bytes())
        self.kinds = described["kinds"]
        self.tensors = {}
        for entry in described["tensors"]:
            dtype, shape = getattr(torch, entry["type"]), entry["shape"]
            count = torch.Size(shape).numel()
            flat = torch.frombuffer(data, dtype=dtype, count=count, offset=entry["offset"])
            self.tensors[entry["name"]] = flat.reshape(shape)

    def __getitem__(self, name):
        return self.tensors[name]

    def group(self, prefix):
        start = prefix + "/"
        return {name[len(start):]: t for name, t in self.tensors.items() if name.startswith(start)}


def make_runs(specs, folder):
    """Return the runs of a list of specs, computed by one start of the program."""
    file = folder / "spec.json"
    file.write_text(json.dumps(specs))
    subprocess.run([PROGRAM, str(file), str(folder)], check=True)
    return [Run(folder / str(number)) for number in range(len(specs))]


def assert_close(ours, theirs, precision, scale=1.0, size=lambda t: t.abs().max()):
    """Assert equality up to rounding, relative to `size`.

    The default size is the largest element, because small elements are sums of large ones.
    """
    tolerance = {"float32": 2e-5, "float64": 1e-11}[precision] * scale
    assert ours.shape == theirs.shape
    assert size(ours - theirs).item() <= tolerance * max(size(theirs).item(), 1e-30)
