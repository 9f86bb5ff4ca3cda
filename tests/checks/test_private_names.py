"""Sources of one module have different private names, so that they can be compiled as one unit.

cmake/Modules.cmake groups the sources of a module (CMake's UNITY_BUILD). Sources of one group share
their unnamed namespaces.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(path for folder in ("src", "tests") for path in (ROOT / folder).iterdir()
                 if path.is_dir() and any(path.rglob("*.cpp")))
TYPE = re.compile(r"(?:template\s*<.*>\s*)?(?:struct|class|enum class|enum|union|using)\s+"
                  r"(?:alignas\([^)]*\)\s*)?(\w+)")
# A name after :: is that of a member, which is defined outside its class.
OTHER = re.compile(r"(?<![\w:])(\w+)\s*(?:\((?!\*)|=|\{|\[|;)|\(\*(\w+)")
SKIPPED = re.compile(r"namespace \w+ = |using (?:namespace )?[\w:]+;|static_assert|[A-Z][A-Z_]+\(")


def private_names(text):
    """Return the names declared in unnamed namespaces or as static. clang-format puts these
    declarations at the start of a line and indents everything else."""
    names, inside = set(), False
    for line in text.splitlines():
        line = re.sub(r"^\[\[\w+\]\] ", "", line)
        if line.startswith("namespace {"):
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif ((inside or line.startswith("static ")) and re.match(r"\w", line)
              and not SKIPPED.match(line)):
            found = TYPE.match(line) or OTHER.search(re.sub(r"<.*>|std::\w+", "", line))
            if found:
                names.add(found.group(found.lastindex))
    return names


def clashes(sources):
    """Return "name: file, file" for each private name that several of {file: text} declare."""
    declared = defaultdict(list)
    for name, text in sources.items():
        for private in private_names(text):
            declared[private].append(name)
    return [f"{name}: {', '.join(sorted(files))}" for name, files in sorted(declared.items())
            if len(files) > 1]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_private_names_differ(module):
    found = clashes({str(path.relative_to(ROOT)): path.read_text()
                     for path in module.rglob("*.cpp")})
    assert not found, "\n".join(found)


def test_a_clash_is_found():
    one = ("namespace {\n\nint read(int a) {\n    return a;\n}\nconst Keys& One::keys() {\n}\n\n"
           "}  // namespace\n")
    other = ("namespace {\n\nstruct Case {};\nconstexpr int read = 1;\nconst Keys& Case::keys() {\n"
             "}\n\n}  // namespace\n")
    assert clashes({"a.cpp": one, "b.cpp": other}) == ["read: a.cpp, b.cpp"]
    assert private_names(other) == {"Case", "read"}
