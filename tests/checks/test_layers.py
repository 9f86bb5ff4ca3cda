"""Tests which includes are allowed: a source file may include its own module and the modules before
it, and each third-party library belongs to certain modules."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["base", "graphs", "arena", "comm", "data", "algorithms", "train", "profile", "conform",
         "predict", "program"]
BESIDE = {"train", "profile", "conform", "predict"}  # these modules must not include each other
OWNERS = {  # headers and the only modules that may include them
    r"(torch|ATen|c10)/": {"train"},
    r"zlib\.h": {"data", "train"},
    r"jpeglib\.h": {"data"},
    r"mpi\.h": {"comm"},
    r"nccl\.h": {"comm"},
    r"cuda\w*\.h|cuda/": {"arena", "comm", "train"},
    r"hdf5\w*\.h|H5\w+\.h": {"profile"},
    r"Eigen/": {"graphs", "conform"},
    r"CLI/": {"program"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def problems(module, name, text):
    """Yield the errors in the includes of the file `name` in `module`."""
    for bracket, header in INCLUDE.findall(text):
        first = header.split("/")[0]
        if first in MODULES:
            if MODULES.index(first) > MODULES.index(module):
                yield f"{name}: includes {header}, but {first} comes after {module}"
            elif first != module and {first, module} <= BESIDE:
                yield f"{name}: includes {header}, but {module} must not include {first}"
        elif bracket == '"':
            yield f'{name}: includes "{header}", which does not start with a module'
        for pattern, modules in OWNERS.items():
            if re.match(pattern, header) and module not in modules:
                yield f"{name}: includes {header}, which belongs to {', '.join(sorted(modules))}"


def sources(module):
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", f"src/{module}"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\n")
    return [name for name in tracked
            if name.endswith((".hpp", ".cpp", ".cu")) and (ROOT / name).exists()]


@pytest.mark.parametrize("module", MODULES)
def test_a_module_includes_only_allowed_headers(module):
    found = [problem for name in sources(module)
             for problem in problems(module, name, (ROOT / name).read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", MODULES)
def test_headers_are_guarded(module):
    headers = [name for name in sources(module) if name.endswith(".hpp")]
    assert not [name for name in headers if "#pragma once" not in (ROOT / name).read_text()]


def folder_of(name):
    """Return the folder of a source below its module, such as graphs/types, or the module."""
    return "/".join(name.split("/")[:2]) if name.count("/") > 1 else name.split("/")[0]


def circle(arrows):
    """Return the nodes of one cycle of `arrows` (node: nodes that it points to), or None."""
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
def test_folders_of_a_module_form_no_cycle(module):
    arrows = {}
    for name in sources(module):
        here = folder_of(name.removeprefix("src/"))
        for _, header in INCLUDE.findall((ROOT / name).read_text()):
            there = folder_of(header)
            # Files directly in the module's folder may include, and be included by, all its
            # folders.
            if header.split("/")[0] == module and there != here and module not in (there, here):
                arrows.setdefault(here, set()).add(there)
    assert not circle(arrows), " -> ".join(circle(arrows))


PRIVATE = re.compile(r"^#pragma once  // Private to ([\w/]+)\.$", re.M)


def privacy_problems(texts):
    """Yield what is wrong with the marks "Private to FOLDER." of headers, given {path below src:
    text}. A header of a divided module that only its own folder includes is marked; a marked header
    is included by its own folder only."""
    users = {}
    for name, text in texts.items():
        for _, header in INCLUDE.findall(text):
            users.setdefault(header, set()).add(str(Path(name).parent))
    for name, text in texts.items():
        folder = str(Path(name).parent)
        if not name.endswith(".hpp") or folder.split("/")[0] not in DIVIDED or "/" not in folder:
            continue
        others = users.get(name, set()) - {folder}
        marked = PRIVATE.search(text)
        if marked and marked.group(1) != folder:
            yield f"{name}: is marked as private to {marked.group(1)}, but is in {folder}"
        if marked and others:
            yield f"{name}: is private to {folder}, but {', '.join(sorted(others))} includes it"
        if not marked and not others:
            yield f"{name}: only {folder} includes it: write #pragma once  // Private to {folder}."


DIVIDED = {"arena", "comm", "train"}
MOST_FILES = 25  # in a folder of these modules


def test_private_headers_are_marked_and_stay_private():
    texts = {name.removeprefix("src/"): (ROOT / name).read_text()
             for module in MODULES for name in sources(module)}
    found = list(privacy_problems(texts))
    assert not found, "\n".join(found)


def test_private_headers_are_found():
    plain, mine = "#pragma once\n", "#pragma once  // Private to comm/a.\n"
    include = '#include "comm/a/x.hpp"\n'
    assert not list(privacy_problems({"comm/a/x.hpp": mine, "comm/a/y.cpp": include}))
    assert not list(privacy_problems({"comm/a/x.hpp": plain, "comm/b/y.cpp": include}))
    for texts in ({"comm/a/x.hpp": mine, "comm/b/y.cpp": include},
                  {"comm/a/x.hpp": plain, "comm/a/y.cpp": include},
                  {"comm/b/x.hpp": mine, "comm/b/y.cpp": '#include "comm/b/x.hpp"\n'}):
        assert len(list(privacy_problems(texts))) == 1


@pytest.mark.parametrize("module", sorted(DIVIDED))
def test_folders_are_small(module):
    folders = [str(Path(name).parent) for name in sources(module)]
    large = {folder for folder in folders if folders.count(folder) > MOST_FILES}
    assert not large, f"more than {MOST_FILES} files: divide {', '.join(sorted(large))}"


def test_a_cycle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert circle({"a": {"b", "c"}, "b": {"c"}}) is None


@pytest.mark.parametrize("module, name, include", [
    ("comm", "src/comm/a.cpp", '#include "train/model.hpp"'),
    ("profile", "src/profile/a.cpp", '#include "train/model.hpp"'),
    ("train", "src/train/a.cpp", '#include "profile/recorder.hpp"'),
    ("conform", "src/conform/a.cpp", '#include "profile/recorder.hpp"'),
    ("algorithms", "src/algorithms/a.cpp", "#include <torch/torch.h>"),
    ("program", "src/program/a.cpp", "#include <torch/torch.h>"),
    ("program", "src/program/main.cpp", "#include <mpi.h>"),
    ("graphs", "src/graphs/a.cpp", '#include "rows.hpp"'),
])
def test_the_check_refuses(module, name, include):
    assert list(problems(module, name, include))


@pytest.mark.parametrize("module, name, include", [
    ("train", "src/train/a.cpp", '#include "comm/mixer.hpp"\n#include <torch/torch.h>'),
    ("profile", "src/profile/a.cpp", '#include "algorithms/step/observer.hpp"\n#include <hdf5.h>'),
])
def test_the_check_admits(module, name, include):
    assert not list(problems(module, name, include))
