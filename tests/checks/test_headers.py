"""Every header compiles alone: whoever includes it need not know what it uses. Those that read
LibTorch's headers are compiled with these precompiled. Flags are those of the build that
DBENCH_PROGRAM lies in."""

import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_layers import INCLUDE, ROOMS, sources

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DBENCH_PROGRAM", ROOT / "build/dbench")).parent


@pytest.fixture(scope="module")
def commands():
    if not (BUILD / "compile_commands.json").exists():
        pytest.skip(f"no {BUILD}/compile_commands.json: build the program first")
    return json.loads((BUILD / "compile_commands.json").read_text())


def reads_torch(header, seen):
    """Whether `header`, a path below src, reads LibTorch's, itself or through others of ours."""
    if header in seen:
        return False
    seen.add(header)
    included = [name for _, name in INCLUDE.findall((ROOT / "src" / header).read_text())]
    return any(re.match("(torch|ATen|c10)/", name) for name in included) or any(
        reads_torch(name, seen) for name in included if (ROOT / "src" / name).exists())


def compiler(commands, room, torch):
    """(words, folder) of a compilation of `room` without its source; None where there is none."""
    for entry in commands:
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        precompiled = any("cmake_pch" in word for word in words)
        if f"dbench_{room}.dir/" in output and "cmake_pch" not in output and precompiled == torch:
            first = next(i for i, word in enumerate(words) if re.search(r"(\+\+|CC)(-\d+)?$", word))
            words = words[first:words.index("-o")]
            return words + ["-fsyntax-only", "-x", "c++", "-"], entry["directory"]
    return None


def alone(commands, room, header):
    """What the compiler says against `header` by itself."""
    found = compiler(commands, room, reads_torch(header, set()))
    words, folder = found or pytest.fail(f"no source like {header}")
    done = subprocess.run(words, cwd=folder, input=f'#include "{header}"\n', text=True,
                          capture_output=True)
    return f"{header}: {done.stderr}" if done.returncode else ""


@pytest.mark.parametrize("room", ROOMS)
def test_headers_compile_alone(commands, room):
    headers = [name.removeprefix("src/") for name in sources(room) if name.endswith(".hpp")]
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda header: alone(commands, room, header), headers))
    assert not any(said), "\n".join(filter(None, said))


def test_a_header_that_needs_another_is_found(commands):
    words, folder = compiler(commands, "base", False)
    done = subprocess.run(words, cwd=folder, input="std::vector<int> v;\n", text=True,
                          capture_output=True)
    assert done.returncode != 0
