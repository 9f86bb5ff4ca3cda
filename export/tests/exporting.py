"""Runs dbench-export in this process. Importing this module skips the tests without torch."""

import json
import textwrap
import zipfile
from pathlib import Path

import pytest

try:
    import torch
except (ImportError, OSError) as error:
    pytest.skip(f"no PyTorch in this Python ({error}): set DBENCH_TORCH_PYTHON to one that has it",
                allow_module_level=True)

from dbench_export import cli

HEAD = """\
import math
import random

import torch
from torch import nn
from torch.nn import functional
"""


class Exporter:
    """Writes files of users into a folder and exports them."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys = Path(folder), capsys

    def write(self, code, name="mine.py"):
        (self.folder / name).write_text(HEAD + textwrap.dedent(code))
        return str(self.folder / name)

    def __call__(self, source, *options, expect=0):
        """Return what the command prints, on standard output or as its error."""
        status = cli.main([source, *options, "-o", str(self.folder / "out.pt2")])
        printed = self.capsys.readouterr()
        assert status == expect, printed.out + printed.err
        assert (self.folder / "out.pt2").exists() == (expect == 0)
        return printed.err if expect else printed.out

    def manifest(self):
        with zipfile.ZipFile(self.folder / "out.pt2") as archive:
            (name,) = [each for each in archive.namelist() if each.endswith("extra/dbench.json")]
            return json.loads(archive.read(name))

    def tensor(self, entry):
        """Return a tensor of the manifest's checks."""
        with zipfile.ZipFile(self.folder / "out.pt2") as archive:
            (name,) = [each for each in archive.namelist() if each.endswith("/" + entry["entry"])]
            data = bytearray(archive.read(name))
        return torch.frombuffer(data, dtype=getattr(torch, entry["dtype"])).reshape(entry["shape"])
