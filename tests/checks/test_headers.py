"""Tests that every header includes what it uses, so that it compiles alone. Third-party headers
take most of the time, so several headers are compiled together if none can hide a missing include
of another. Headers that include LibTorch are compiled with a precompiled header. The flags are
those of the build that contains DBENCH_PROGRAM."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from test_layers import INCLUDE, MODULES, sources

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DBENCH_PROGRAM", ROOT / "build/dbench")).parent
# Standard headers, with the names that this project uses from them.
STANDARD = {name: set(taken.split()) for name, taken in {
    "algorithm": "any_of clamp fill_n max min none_of", "array": "array",
    "atomic": "atomic memory_order_acquire", "bit": "bit_cast bit_width countr_zero rotl",
    "cmath": "abs floor isfinite pow sqrt", "complex": "complex",
    "condition_variable": "condition_variable", "cstddef": "byte size_t",
    "cstdint": "int16_t int32_t int64_t uint16_t uint32_t UINT64_MAX uint64_t uint8_t "
               "uintptr_t",
    "cstring": "memcpy size_t", "deque": "deque",
    "exception": "exception exception_ptr uncaught_exceptions", "filesystem": "filesystem",
    "functional": "function greater multiplies reference_wrapper",
    "initializer_list": "initializer_list", "iosfwd": "ostream", "iterator": "begin end ssize",
    "limits": "numeric_limits", "list": "list", "map": "map",
    "memory": "make_shared make_unique make_unique_for_overwrite shared_ptr unique_ptr "
              "weak_ptr",
    "mutex": "mutex once_flag", "numeric": "accumulate gcd", "optional": "nullopt optional",
    "queue": "priority_queue", "set": "set", "span": "size_t span", "stdexcept": "runtime_error",
    "string": "size_t string to_string", "string_view": "string_view",
    "thread": "this_thread thread",
    "type_traits": "conditional_t false_type is_const_v is_same_v is_void_v remove_const_t "
                   "remove_cvref_t true_type",
    "unordered_map": "unordered_map unordered_multimap",
    "utility": "exchange forward move pair swap", "variant": "monostate variant",
    "vector": "size_t vector"}.items()}


KEYWORDS = set("alignas bool const decltype double float int noexcept operator requires return "
               "sizeof static_assert template void".split())


@pytest.fixture(scope="module")
def commands():
    if not (BUILD / "compile_commands.json").exists():
        pytest.skip(f"no {BUILD}/compile_commands.json: build the program first")
    return json.loads((BUILD / "compile_commands.json").read_text())


@cache
def text(header):
    """Return a header of this project without comments, includes and strings; "" for others."""
    path = ROOT / "src" / header
    code = path.read_text() if path.exists() else ""
    return re.sub(r'//.*|^\s*#.*|"[^"\n]*"', "", code, flags=re.M)


@cache
def reached(header):
    """Return all headers that including `header` (a path below src) includes, itself among them."""
    path = ROOT / "src" / header
    names = [name for _, name in INCLUDE.findall(path.read_text())] if path.exists() else []
    return {header}.union(*map(reached, names))


def reads_torch(header):
    return any(re.match("(torch|ATen|c10)/", name) for name in reached(header))


def declared(code):
    """Return the names declared in column 0; clang-format does not indent namespaces. Keywords,
    numbers, parameters of templates and types such as int64_t are none."""
    code = re.sub(r"^template <.*>\s*", "", code, flags=re.M)
    lines = "\n".join(re.findall(r"^(?!namespace )\w.*", code, re.M))
    kinds = r"\b(?:class|struct|enum|union|using|concept)\s+(?:class\s+)?(\w+)"
    names = set(re.findall(kinds, lines)) | set(re.findall(r"(\w+)\s*[({=;\[]", lines))
    return {name for name in names - KEYWORDS if len(name) > 1 and not re.match(r"\d|\w+_t$", name)}


@cache
def covers(header):
    """Return whether `header` includes the standard headers of all standard names that it uses, so
    that other headers cannot hide a missing include."""
    used = re.findall(r"\bstd::(\w+)|\b(\w+_(?:t|MAX))\b", text(header))
    had = set().union(*(STANDARD.get(name, ()) for name in reached(header)))
    return {a or b for a, b in used} <= had


def hides(earlier, header):
    """Return whether `header`, compiled after `earlier`, might use something that it does not
    include, from a third-party header, a standard header or a header of this project."""
    words = set(re.findall(r"\w+", text(header)))
    return any(not covers(header) if name in STANDARD
               else not text(name) or declared(text(name)) & words
               for name in reached(earlier) - reached(header))


def groups(headers):
    """Return lists of headers in an order in which none hides a missing include of a later one."""
    made = []
    for header in sorted(headers, key=lambda name: len(reached(name))):
        fits = (group for group in made if not any(hides(each, header) for each in group))
        group = next(fits, None)
        if group is None:
            made.append(group := [])
        group.append(header)
    return made


def compiler(commands, module, torch):
    """Return (words, folder) of a compilation of `module` without its source, or None."""
    for entry in commands:
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        precompiled = any("cmake_pch" in word for word in words)
        if f"dbench_{module}.dir/" in output and "cmake_pch" not in output and precompiled == torch:
            first = next(i for i, word in enumerate(words) if re.search(r"(\+\+|CC)(-\d+)?$", word))
            return words[first:words.index("-o")], entry["directory"]
    return None


def compiled(words, folder, lines):
    """Return the compiler's errors about `lines`, or "". The lines go to a file with a fixed path,
    so that ccache can skip unchanged ones."""
    base = BUILD / "headers" / hashlib.sha256(lines.encode()).hexdigest()[:16]
    base.parent.mkdir(exist_ok=True)
    base.with_suffix(".cpp").write_text(lines)
    cache = [shutil.which("ccache")] if shutil.which("ccache") else []
    done = subprocess.run([*cache, *words, "-c", f"{base}.cpp", "-o", f"{base}.o"], cwd=folder,
                          text=True, capture_output=True,
                          env={**os.environ, "CCACHE_BASEDIR": str(ROOT),
                               "CCACHE_SLOPPINESS": "pch_defines,time_macros"})
    return done.stderr if done.returncode else ""


def alone(commands, module, headers):
    """Return the compiler's errors about `headers`, which do not hide missing includes."""
    found = compiler(commands, module, any(map(reads_torch, headers)))
    words, folder = found or pytest.fail(f"no source like {headers}")
    return compiled(words, folder, "".join(f'#include "{header}"\n' for header in headers))


@pytest.mark.parametrize("module", MODULES)
def test_headers_compile_alone(commands, module):
    headers = [name.removeprefix("src/") for name in sources(module) if name.endswith(".hpp")]
    made = groups(headers)
    assert sorted(sum(made, [])) == sorted(headers)
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda group: alone(commands, module, group), made))
    assert not any(said), "\n".join(filter(None, said))


def test_a_missing_include_is_found(commands):
    words, folder = compiler(commands, "base", False)
    assert "vector" in compiled(words, folder, "std::vector<int> v;\n")
