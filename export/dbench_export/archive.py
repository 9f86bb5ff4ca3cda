"""Writes the file of a model, and reads it again. /docs/your-model.md describes its entries."""

import hashlib
import json
import platform
import re
import shutil
import sys
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch._export.serde.serialize import SerializeError
from torch.export import ExportedProgram
from torch.export.pt2_archive._package import load_pt2, package_pt2

from . import verification
from .errors import ExportError
from .graphs import draws, place_in_trace, place_of_node
from .inputs import Input
from .losses import Loss, draw_targets

FORMAT = 1  # of the manifest
LATER_FORMAT = 2  # with auxiliary losses, a loss function, or several inputs
SCHEMA = 8  # the version of torch.export's documents that DBench reads
LARGEST = 2**32 - 2  # bytes of a file that DBench reads


def tied(module: nn.Module) -> list[list[str]]:
    """Return the groups of names that are one parameter."""
    names: dict[int, list[str]] = {}
    for name, each in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(each), []).append(name)
    return [group for group in names.values() if len(group) > 1]


def digest(module: nn.Module) -> str:
    """Return the SHA-256 of the bytes of the state_dict, in its order."""
    total = hashlib.sha256()
    for each in module.state_dict().values():
        total.update(_raw(each))
    return total.hexdigest()


def _raw(tensor: torch.Tensor) -> bytes:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def manifest(module: nn.Module, programs: dict[str, ExportedProgram], source: str, sample: Input,
             loss: Loss) -> dict[str, Any]:
    """Return what the program must know about the model in addition to its graphs."""
    from . import __version__
    described: dict[str, Any] = {
        "format": FORMAT, "train": "train", "eval": "eval",
        "input": {"kind": sample.kind, "shape": list(sample.shape)},
        "output": {"index": loss.main, "classes": loss.classes},
        "loss": "mse" if loss.classes is None else "cross_entropy",
        "source": source,
        "versions": {"dbench-export": __version__, "torch": torch.__version__,
                     "python": platform.python_version()},
        "parameters": sum(each.numel() for each in module.parameters()),
        "tied": tied(module),
        "random": draws(programs["train"]),
        "sha256": digest(module),
    }
    if sample.parts:
        described.update(format=LATER_FORMAT)
        described["input"]["parts"] = [{"name": part.name, "dtype": part.dtype,
                                        "shape": list(part.shape)} for part in sample.parts]
    if loss.function is not None:
        described.update(format=LATER_FORMAT, loss="graph", loss_graph="loss",
                         loss_source=loss.source)
    if loss.weights:
        described.update(format=LATER_FORMAT,
                         auxiliary=[{"weight": weight} for weight in loss.weights])
    return described


def checks(numbers: verification.Numbers, sample: Input,
           loss: Loss) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest's entry `check`, and the tensors that it names, by entry of the archive.
    They are the module's numbers for one batch, so that others can compare theirs."""
    tensors = {"input": sample.draw(verification.BATCH, verification.SEED),
               "targets": draw_targets(sample, verification.BATCH, loss.classes, verification.SEED),
               "training": numbers.training[loss.main],
               "evaluation": numbers.evaluations[1][loss.main]}
    described: dict[str, Any] = {
        "batch": verification.BATCH, "seed": verification.SEED, "loss": numbers.loss.item(),
        "gradients": {name: {"sum": each.double().sum().item(), "norm": each.double().norm().item()}
                      for name, each in numbers.gradients.items() if each is not None}}
    for name, each in tensors.items():
        described[name] = {"entry": f"check/{name}", "dtype": str(each.dtype).partition(".")[2],
                           "shape": list(each.shape)}
    return described, {f"check/{name}": _raw(each) for name, each in tensors.items()}


def write(file: Path, programs: dict[str, ExportedProgram], described: dict[str, Any],
          entries: dict[str, bytes]) -> None:
    """Write the file. `entries` are stored in addition to those of torch.export."""
    if sys.byteorder != "little":
        raise ExportError("this machine stores numbers big-endian: export on another one")
    storages = [each.untyped_storage() for each in programs["train"].state_dict.values()]
    _check_size(sum({each.data_ptr(): each.nbytes() for each in storages}.values()))
    both = file.with_name("both")
    with warnings.catch_warnings(), both.open("wb") as stream, _explained(programs):
        warnings.simplefilter("ignore")
        package_pt2(stream, exported_programs=dict(programs),
                    extra_files={"dbench.json": json.dumps(described)})
    with zipfile.ZipFile(both) as source, zipfile.ZipFile(file, "w") as target:
        root = source.namelist()[0].partition("/")[0]
        version = json.loads(source.read(f"{root}/models/train.json"))["schema_version"]
        if version["major"] != SCHEMA:
            raise ExportError(f"PyTorch {torch.__version__} writes version {version['major']} of "
                              f"torch.export's format, but DBench reads version {SCHEMA}: install "
                              "PyTorch 2.11")
        _share_weights(source, target, root)
        for name, each in entries.items():
            target.writestr(zipfile.ZipInfo(f"{root}/{name}"), each)  # without a date
    both.unlink()
    _check_size(file.stat().st_size)


def _check_size(size: int) -> None:
    if size > LARGEST:
        raise ExportError(f"the file would have {size / 2**30:.1f} GiB, but DBench reads less than "
                          "4 GiB: export a model with fewer parameters or smaller buffers")


@contextmanager
def _explained(programs: dict[str, ExportedProgram]) -> Iterator[None]:
    """Turn PyTorch's errors about operators that it cannot write, or not read, into ExportError."""
    try:
        yield
    except SerializeError as error:
        text = str(error)
        name = re.search(r"serializing node (\w+) in graph", text)
        found = [node for program in programs.values() for node in program.graph.nodes
                 if name is not None and node.name == name[1]]
        written = re.search(r"target='([^']+)'.*?'stack_trace': [\"'](.*?)[\"'], '", text)
        target, place = "an operator", ""
        if found:
            target, place = found[0].target, place_of_node(found[0])
        elif written is not None:
            target, place = written[1], place_in_trace(written[2].replace("\\n", "\n"))
        raise ExportError(
            f"{place or 'forward()'}: PyTorch cannot store {getattr(target, '__name__', target)} "
            "as it is called here: write the line in another way, such as torch.rand_like(x) for "
            "torch.empty_like(x).uniform_(), or n // 2 for math.floor(n / 2)") from error


def _share_weights(source: zipfile.ZipFile, target: zipfile.ZipFile, root: str) -> None:
    """Copy all entries. PyTorch stores the weights of each graph; the copy has those of the train
    graph, and both graphs refer to them."""
    config = f"{root}/data/weights/%s_weights_config.json"
    weights = source.read(config % "train")
    used = {each["path_name"] for each in json.loads(weights)["config"].values()}
    for entry in source.infolist():
        name = entry.filename
        folder, _, last = name.rpartition("/")
        if folder == f"{root}/data/weights" and last.startswith("weight_") and last not in used:
            continue
        with target.open(zipfile.ZipInfo(name), "w", force_zip64=entry.file_size > 2**31) as copy:
            if name == config % "eval":
                copy.write(weights)
                continue
            with source.open(entry) as original:
                shutil.copyfileobj(original, copy)


def read(file: Path) -> dict[str, ExportedProgram]:
    """Return the programs of a file that `write` has written."""
    with warnings.catch_warnings(), _explained({}):
        warnings.simplefilter("ignore")
        return load_pt2(str(file)).exported_programs
