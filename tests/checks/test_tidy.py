"""clang-tidy (.clang-tidy) finds nothing in the C++ sources that changed.

Changed are the sources that differ from the branch that the checkout tracks. If there is no such
branch, or no difference, the sources of the last commit are checked.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("DBENCH_PROGRAM", ROOT / "build/dbench")).parent
AT_MOST = 8  # sources; one takes 5 to 20 seconds


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split("\n") if done.returncode == 0 else []


def changed():
    """Return the names of the files below src that changed."""
    base = next(iter(git("merge-base", "HEAD", "@{upstream}")), "") or "HEAD"
    for since in (base, "HEAD~1"):
        names = [name for name in git("diff", "--name-only", "--diff-filter=d", since) if name]
        if names:
            break
    return [name for name in names if name.startswith("src/") and (ROOT / name).exists()]


def is_checked(name):
    """Return whether clang-tidy reads the file. LibTorch's headers alone take a minute."""
    return name.endswith(".cpp") and name.split("/")[1] not in ("train", "program")


def flags(source):
    """Return the compiler's flags for a source of a module, without those that clang does not know.
    Sources are compiled in groups, so that the flags are those of another source of the module."""
    module = source.split("/")[1]
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if f"dbench_{module}.dir/" in words[words.index("-o") + 1]:
            kept = [word for word in words if re.match(r"-(?:I|D|std=|O)", word)]
            system = [words[i + 1] for i, word in enumerate(words) if word == "-isystem"]
            return kept + [f"-isystem{folder}" for folder in system]
    return None


def tidy(source, headers=()):
    """Run clang-tidy on a source. Report findings in `headers`, but in no other header. The static
    analyser takes minutes for some sources; an editor or a run by hand includes it."""
    only = "|".join(map(re.escape, headers)) or "^$"
    words = ["clang-tidy", "--quiet", "--warnings-as-errors=*", f"--header-filter={only}",
             "--checks=-clang-analyzer-*", source, "--", *flags(source)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(autouse=True)
def tools():
    if shutil.which("clang-tidy") is None:
        pytest.skip("no clang-tidy: scripts/setup installs it")
    if not (BUILD / "compile_commands.json").exists():
        pytest.skip(f"no {BUILD}/compile_commands.json: build the program first")


def test_changed_sources_are_clean():
    names = changed()
    headers = [name for name in names if name.endswith(".hpp")]
    sources = list(filter(is_checked, names))
    if len(sources) > AT_MOST:
        print(f"{len(sources)} sources changed, the first {AT_MOST} are checked")
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda source: tidy(source, headers), sources[:AT_MOST])
        found = [each.stdout for each in done if each.returncode]
    assert not found, "\n".join(found)


def test_the_check_refuses(tmp_path):
    (tmp_path / "a.cpp").write_text("int f(int a) {\n    int b = 1;\n    if (a = 2) b = 3;\n"
                                    "    return a - a;\n}\n")
    done = subprocess.run(["clang-tidy", "--quiet", f"--config-file={ROOT}/.clang-tidy",
                           "--warnings-as-errors=*", tmp_path / "a.cpp", "--", "-std=c++20"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "misc-redundant-expression" in done.stdout
