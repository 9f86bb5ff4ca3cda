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

constexpr int kTries = 3, kMost = 4;
struct Odd {
    int inner;
};
template <typename T>
T twice(T x) {
    return 2 * x;
}
using Sizes = std::vector<int>;
std::function<void(int)> adds(int x);
[[noreturn]] void ends();
double (*chosen(int x))(int);
enum Colour { red, green = 2 };
namespace fs = std::filesystem;
TEST_CASE("a case") {}

}  // namespace

int shown(int x) { return twice(x); }

}  // namespace dbench
"""


def test_private_names_are_those_of_unnamed_namespaces_and_static_ones():
    assert unity.private_names(MAKER) == {"kTries", "kMost", "Odd", "twice", "Sizes", "adds",
                                          "ends", "chosen", "Colour", "red", "green"}
    assert unity.private_names("static int once(int x) { return x; }\nint other();\n") == {"once"}


def grouped(sources, most):
    return [[source.path for source in group] for group in unity.groups(sources, most)]


def test_a_source_that_mentions_a_private_name_stands_elsewhere():
    sources = [("a", MAKER.replace("twice(x)", "other.twice(x)")),
               ("b", "int f() { return 1; }\n"),
               ("c", "int twice(int);\nint g() { return twice(1); }\n"), ("d", "#define X 1\n"),
               ("e", "int h() { return 2; }\n")]
    assert grouped(sources, 1500) == [["a", "b", "e"], ["c"], ["d"]]
    assert grouped(sources, 5) == [["a"], ["b", "c", "e"], ["d"]]


def test_private_names_that_clash_are_renamed_for_the_time_of_their_source(tmp_path):
    """Three sources that each call something of their own `twice`, or the one that all see."""
    own = "namespace {{\nint twice(int x) {{ return {} * x; }}\n}}  // namespace\n"
    texts = {"a": own.format(2) + "int a() { return twice(1); }\n",
             "b": '#include "b.hpp"\n' + own.format(20) + "int b() { return twice(1); }\n",
             "c": '#include "c.hpp"\nint c() { return twice(1); }\n'}
    (tmp_path / "b.hpp").write_text("#pragma once\nint b();\n")
    (tmp_path / "c.hpp").write_text("#pragma once\nint twice(int x);\n")
    for name, text in texts.items():
        (tmp_path / f"{name}.cpp").write_text(text)
    paths = [str(tmp_path / f"{name}.cpp") for name in texts]
    [group] = unity.groups([(path, Path(path).read_text()) for path in paths], 1500)
    (tmp_path / "unit.cpp").write_text(unity.unit(tmp_path, group))
    (tmp_path / "main.cpp").write_text(
        "int twice(int x) { return 200 * x; }\nint a(); int b(); int c();\n"
        "int main() { return a() == 2 && b() == 20 && c() == 200 ? 0 : 1; }\n")
    subprocess.run(["c++", f"-I{tmp_path}", tmp_path / "unit.cpp", tmp_path / "main.cpp", "-o",
                    tmp_path / "all"], check=True)
    assert subprocess.run([tmp_path / "all"], check=False).returncode == 0


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
                      for part in Path(line).read_text().splitlines() if part.endswith('.cpp"')]
    assert sorted(found) == sources and len(done.stdout.splitlines()) < len(sources) / 3
