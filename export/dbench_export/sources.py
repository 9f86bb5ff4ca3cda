"""Makes the user's module from `FILE.py:FUNCTION`, `torchvision:NAME` or a Hugging Face config."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from .errors import ExportError, first_line, is_in_file, is_of_user, place_of

Files = dict[Path, ModuleType]  # files of users that were imported, by their paths


def make_module(source: str, classes: int | None, tokens: bool, seed: int,
                files: Files) -> nn.Module:
    """Return the module that `source` names, in float32 on the CPU. Its random initial weights
    follow from `seed`. `files` gets the file that it is in."""
    torch.manual_seed(seed)  # a file may make the module while it is imported
    if source.startswith("torchvision:"):
        make = _of_torchvision(source.partition(":")[2], classes)
    elif source.endswith(".json") or (Path(source) / "config.json").is_file():
        make = _of_transformers(source, tokens)
    else:
        make = _of_file(source, files)
    torch.manual_seed(seed)
    try:
        module = make()
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(f"{place_of(error) or source}: making the module failed "
                          f"({first_line(error)}): correct it, and try it in Python") from error
    if not isinstance(module, nn.Module):
        raise ExportError(f"{source}: it returned {type(module).__name__} instead of a "
                          "torch.nn.Module: return the module itself")
    return module


def _of_file(source: str, files: Files) -> Callable[[], nn.Module]:
    if not is_in_file(source):
        raise ExportError(f"{source}: it is not FILE.py:FUNCTION, torchvision:NAME or a "
                          "config.json of Hugging Face: name the function that returns the module, "
                          "such as mine.py:make")
    found = find_in_file(source, files)
    return (lambda: found) if isinstance(found, nn.Module) else found


def find_in_file(source: str, files: Files) -> Any:
    """Return what FILE.py:NAME names. A file in `files` is not imported again, because its classes
    would be other classes than those of the model."""
    name, _, function = source.rpartition(":")
    path = Path(name).resolve()
    if path not in files:
        files[path] = _imported(name, path)
    python = files[path]
    found = getattr(python, function, None)
    if found is None:
        defined = [each for each, value in vars(python).items() if callable(value)
                   and getattr(value, "__module__", "") == python.__name__]
        raise ExportError(f"{name}: it has no {function}: choose from "
                          f"{', '.join(defined) or 'none'}")
    return found


def _imported(name: str, path: Path) -> ModuleType:
    """Return the Python module of a user's file."""
    if not path.is_file():
        raise ExportError(f"{name}: there is no such file: is the path relative to this folder?")
    sys.path.insert(0, str(path.parent))  # the file may import its neighbours
    other = sys.modules.get(path.stem)
    taken = other is not None and not is_of_user(getattr(other, "__file__", None) or "")
    module_name = f"user_{path.stem}" if taken else path.stem  # a file may be called json.py
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec and spec.loader
    python = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = python  # dataclasses and torch look modules up by name
    try:
        spec.loader.exec_module(python)
    except Exception as error:
        raise ExportError(f"{place_of(error) or name}: importing the file failed "
                          f"({first_line(error)}): correct it, and try it in Python") from error
    return python


def _of_torchvision(name: str, classes: int | None) -> Callable[[], nn.Module]:
    try:
        models = importlib.import_module("torchvision.models")
    except ImportError as error:
        raise ExportError(f"torchvision:{name}: Python cannot import torchvision ({error}): "
                          "install the torchvision of your PyTorch") from error
    if name not in models.list_models(models):
        raise ExportError(f"torchvision:{name}: torchvision has no such model: choose from "
                          f"{', '.join(models.list_models(models))}")
    if classes is None:
        raise ExportError("--classes: it is missing, but torchvision's models need it")
    return lambda: models.get_model(name, weights=None, num_classes=classes)


def _of_transformers(source: str, tokens: bool) -> Callable[[], nn.Module]:
    try:
        transformers = importlib.import_module("transformers")
    except ImportError as error:
        raise ExportError(f"{source}: Python cannot import transformers ({error}): install "
                          "it with pip") from error

    def make() -> nn.Module:
        config = transformers.AutoConfig.from_pretrained(source)
        config.use_cache = False
        named = [name for name in (config.architectures or []) if hasattr(transformers, name)]
        if named:
            return getattr(transformers, named[0])(config)
        kind = "CausalLM" if tokens else "ImageClassification"
        return getattr(transformers, f"AutoModelFor{kind}").from_config(config)

    return make
