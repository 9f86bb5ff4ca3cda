"""A source file sees its own room and the rooms before it; third-party code has one room each."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ["base", "graphs", "arena", "comm", "data", "algorithms", "train", "profile", "conform",
         "bench"]
BESIDE = {"train", "profile", "conform"}  # these do not see each other
OWNERS = {  # headers and the only rooms that may include them
    r"(torch|ATen|c10)/": {"train"},
    r"zlib\.h": {"data", "train"},
    r"jpeglib\.h": {"data"},
    r"mpi\.h": {"comm", "main"},
    r"nccl\.h": {"comm"},
    r"cuda\w*\.h|cuda/": {"arena", "comm", "train"},
    r"hdf5\w*\.h|H5\w+\.h": {"profile"},
    r"Eigen/": {"graphs", "conform"},
    r"CLI/": {"bench"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def problems(room, name, text):
    """What is wrong with the includes of the file `name` in `room`."""
    for bracket, header in INCLUDE.findall(text):
        first = header.split("/")[0]
        if first in ROOMS:
            if ROOMS.index(first) > ROOMS.index(room):
                yield f"{name}: includes {header}, but {first} comes after {room}"
            elif first != room and {first, room} <= BESIDE:
                yield f"{name}: includes {header}, but {first} stands beside {room}"
        elif bracket == '"':
            yield f'{name}: includes "{header}", which does not start with a room'
        for pattern, rooms in OWNERS.items():
            kind = "main" if name.endswith("bench/main.cpp") else room
            if re.match(pattern, header) and not {room, kind} & rooms:
                yield f"{name}: includes {header}, which belongs to {', '.join(sorted(rooms))}"


def sources(room):
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", f"src/{room}"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\n")
    return [name for name in tracked
            if name.endswith((".hpp", ".cpp", ".cu")) and (ROOT / name).exists()]


@pytest.mark.parametrize("room", ROOMS)
def test_room_sees_only_what_it_may(room):
    found = [p for name in sources(room) for p in problems(room, name, (ROOT / name).read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("room", ROOMS)
def test_headers_are_guarded(room):
    headers = [name for name in sources(room) if name.endswith(".hpp")]
    assert not [name for name in headers if "#pragma once" not in (ROOT / name).read_text()]


def folder_of(name):
    """A source's or header's folder below its room, such as graphs/types; the room itself else."""
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


@pytest.mark.parametrize("room", ROOMS)
def test_folders_of_a_room_make_no_circle(room):
    arrows = {}
    for name in sources(room):
        here = folder_of(name.removeprefix("src/"))
        for _, header in INCLUDE.findall((ROOT / name).read_text()):
            there = folder_of(header)
            # What stands in the room's own folder is seen by all of it, and may see all of it.
            if header.split("/")[0] == room and there != here and room not in (there, here):
                arrows.setdefault(here, set()).add(there)
    assert not circle(arrows), " -> ".join(circle(arrows))


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert circle({"a": {"b", "c"}, "b": {"c"}}) is None


@pytest.mark.parametrize("room, name, include", [
    ("comm", "src/comm/a.cpp", '#include "train/model.hpp"'),
    ("profile", "src/profile/a.cpp", '#include "train/model.hpp"'),
    ("train", "src/train/a.cpp", '#include "profile/recorder.hpp"'),
    ("conform", "src/conform/a.cpp", '#include "profile/recorder.hpp"'),
    ("algorithms", "src/algorithms/a.cpp", "#include <torch/torch.h>"),
    ("bench", "src/bench/a.cpp", "#include <torch/torch.h>"),
    ("bench", "src/bench/a.cpp", "#include <mpi.h>"),
    ("graphs", "src/graphs/a.cpp", '#include "rows.hpp"'),
])
def test_the_check_refuses(room, name, include):
    assert list(problems(room, name, include))


@pytest.mark.parametrize("room, name, include", [
    ("train", "src/train/a.cpp", '#include "comm/mixer.hpp"\n#include <torch/torch.h>'),
    ("profile", "src/profile/a.cpp", '#include "algorithms/step/observer.hpp"\n#include <hdf5.h>'),
    ("bench", "src/bench/main.cpp", "#include <mpi.h>"),
])
def test_the_check_admits(room, name, include):
    assert not list(problems(room, name, include))
