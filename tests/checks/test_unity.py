"""Sources compiled as one mean what each means alone (cmake/unity.py)."""

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
loaded = importlib.util.spec_from_file_location("unity", ROOT / "cmake/unity.py")
unity = importlib.util.module_from_spec(loaded)
loaded.loader.exec_module(unity)

MAKER = """namespace dbench {
namespace {

constexpr int kTries = 3;
struct Odd {
    int inner;
};
template <typename T>
T twice(T x) {
    return 2 * x;
}
using Sizes = std::vector<int>;
namespace fs = std::filesystem;

}  // namespace

int shown(int x) { return twice(x); }

}  // namespace dbench
"""


def test_private_names_are_those_of_unnamed_namespaces_and_static_ones():
    assert unity.private_names(MAKER) == {"kTries", "Odd", "twice", "Sizes"}
    assert unity.private_names("static int once(int x) { return x; }\nint other();\n") == {"once"}


def test_a_source_that_mentions_a_private_name_stands_elsewhere():
    sources = [("a", MAKER), ("b", "int f() { return 1; }\n"),
               ("c", "int twice(int);\nint g() { return twice(1); }\n"), ("d", "#define X 1\n"),
               ("e", "int h() { return 2; }\n")]
    assert unity.groups(sources, 1500) == [["a", "b", "e"], ["c"], ["d"]]
    assert unity.groups(sources, 5) == [["a"], ["b", "c", "e"], ["d"]]


def test_every_source_is_compiled_once(tmp_path):
    sources = sorted(map(str, (ROOT / "src/graphs").rglob("*.cpp")))
    command = [sys.executable, ROOT / "cmake/unity.py", ROOT / "src", tmp_path, "graphs", "1500"]
    done = subprocess.run(command + sources, text=True, capture_output=True, check=True)
    found = []
    for line in done.stdout.splitlines():
        if line in sources:
            found.append(line)
        else:
            found += [str(ROOT / "src" / part.split('"')[1])
                      for part in Path(line).read_text().splitlines()]
    assert sorted(found) == sources and len(done.stdout.splitlines()) < len(sources) / 2
