"""A source file sees its own module and the modules before it; third-party code has one module each."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["base", "graphs", "arena", "comm", "data", "algorithms", "train", "profile", "conform",
         "program"]
BESIDE = {"train", "profile", "conform"}  # these do not see each other
OWNERS = {  # headers and the only modules that may include them
    r"(torch|ATen|c10)/": {"train"},
    r"zlib\.h": {"data", "train"},
    r"jpeglib\.h": {"data"},
    r"mpi\.h": {"comm", "main"},
    r"nccl\.h": {"comm"},
    r"cuda\w*\.h|cuda/": {"arena", "comm", "train"},
    r"hdf5\w*\.h|H5\w+\.h": {"profile"},
    r"Eigen/": {"graphs", "conform"},
    r"CLI/": {"program"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def problems(module, name, text):
    """What is wrong with the includes of the file `name` in `module`."""
    for bracket, header in INCLUDE.findall(text):
        first = header.split("/")[0]
        if first in MODULES:
            if MODULES.index(first) > MODULES.index(module):
                yield f"{name}: includes {header}, but {first} comes after {module}"
            elif first != module and {first, module} <= BESIDE:
                yield f"{name}: includes {header}, but {first} stands beside {module}"
        elif bracket == '"':
            yield f'{name}: includes "{header}", which does not start with a module'
        for pattern, modules in OWNERS.items():
            kind = "main" if name.endswith("program/main.cpp") else module
            if re.match(pattern, header) and not {module, kind} & modules:
                yield f"{name}: includes {header}, which belongs to {', '.join(sorted(modules))}"


def sources(module):
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", f"src/{module}"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\n")
    return [name for name in tracked
            if name.endswith((".hpp", ".cpp", ".cu")) and (ROOT / name).exists()]


@pytest.mark.parametrize("module", MODULES)
def test_room_sees_only_what_it_may(module):
    found = [p for name in sources(module) for p in problems(module, name, (ROOT / name).read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", MODULES)
def test_headers_are_guarded(module):
    headers = [name for name in sources(module) if name.endswith(".hpp")]
    assert not [name for name in headers if "#pragma once" not in (ROOT / name).read_text()]


def folder_of(name):
    """A source's or header's folder below its module, such as graphs/types; the module itself else."""
    return "/".join(name.split("/")[:2]) if name.count("/") > 1 else name.split("/")[0]


def circle(arrows):
    """The nodes of one circle of `arrows` (node: nodes that it points to), or None."""
    state, path = {}, []

    def visit(node):
        state[node] = "open"
        path.append(node)
        for other in sorted(arrows.get(node, ())):
            if state.get(other) == "open":
                return path[path.index(other):]
            if other not in state and (found := visit(other)):
                return found
        state[node] = "done"
        path.pop()
        return None

    for node in sorted(arrows):
        if node not in state and (found := visit(node)):
            return found
    return None


@pytest.mark.parametrize("module", MODULES)
def test_folders_of_a_room_make_no_circle(module):
    arrows = {}
    for name in sources(module):
        here = folder_of(name.removeprefix("src/"))
        for _, header in INCLUDE.findall((ROOT / name).read_text()):
            there = folder_of(header)
            # What stands in the module's own folder is seen by all of it, and may see all of it.
            if header.split("/")[0] == module and there != here and module not in (there, here):
                arrows.setdefault(here, set()).add(there)
    assert not circle(arrows), " -> ".join(circle(arrows))


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert circle({"a": {"b", "c"}, "b": {"c"}}) is None


@pytest.mark.parametrize("module, name, include", [
    ("comm", "src/comm/a.cpp", '#include "train/model.hpp"'),
    ("profile", "src/profile/a.cpp", '#include "train/model.hpp"'),
    ("train", "src/train/a.cpp", '#include "profile/recorder.hpp"'),
    ("conform", "src/conform/a.cpp", '#include "profile/recorder.hpp"'),
    ("algorithms", "src/algorithms/a.cpp", "#include <torch/torch.h>"),
    ("program", "src/program/a.cpp", "#include <torch/torch.h>"),
    ("program", "src/program/a.cpp", "#include <mpi.h>"),
    ("graphs", "src/graphs/a.cpp", '#include "rows.hpp"'),
])
def test_the_check_refuses(module, name, include):
    assert list(problems(module, name, include))


@pytest.mark.parametrize("module, name, include", [
    ("train", "src/train/a.cpp", '#include "comm/mixer.hpp"\n#include <torch/torch.h>'),
    ("profile", "src/profile/a.cpp", '#include "algorithms/step/observer.hpp"\n#include <hdf5.h>'),
    ("program", "src/program/main.cpp", "#include <mpi.h>"),
])
def test_the_check_admits(module, name, include):
    assert not list(problems(module, name, include))
