"""Tests the list of scripts/mutants: every edited text still occurs exactly once, and every test
exists."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT, LIST = ROOT / "scripts/mutants", ROOT / "tests/mutants.json"
MODULES = ["base", "graphs", "data", "algorithms", "comm", "arena", "train", "program"]


def mutants(*words):
    return subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True)


def test_the_list_fits_the_source():
    done = mutants("--check")
    assert done.returncode == 0, done.stderr


def test_all_modules_have_mutants():
    entries = json.loads(LIST.read_text())
    assert len(entries) >= 60
    counted = Counter(entry["file"].split("/")[1] for entry in entries)
    assert not [module for module in MODULES if counted[module] < 4], counted


GOOD = {"name": "one", "file": "src/base/text.cpp", "text": "bytes >= 1024 &&",
        "becomes": "bytes > 1024 &&", "tests": ["base.text"]}
WRONG = {
    "text that is gone": ([{**GOOD, "text": "no such text"}], "0 times instead of once"),
    "text that occurs often": ([{**GOOD, "text": "text"}], "times instead of once"),
    "file": ([{**GOOD, "file": "src/base/none.cpp"}], "0 times"),
    "test": ([{**GOOD, "tests": ["base.none"]}], "no file tests/base/none_test.cpp"),
    "test on several ranks": ([{**GOOD, "tests": ["comm.none.mpi.2"]}],
                              "no file tests/comm/none_mpi_test.cpp"),
    "algorithm": ([{**GOOD, "tests": ["conform none"]}], "no algorithm none"),
    "names": ([GOOD, GOOD], "two mutants have this name"),
    "keys": ([{"name": "one"}], "needs the keys"),
    "nothing changes": ([{**GOOD, "becomes": GOOD["text"]}], "changes nothing"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_lists_are_refused(tmp_path, case):
    entries, message = WRONG[case]
    path = tmp_path / "mutants.json"
    path.write_text(json.dumps(entries))
    done = mutants("--check", "--from", path)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_patterns_choose_by_name_and_file(tmp_path):
    assert "by-label-deals-once" in mutants("--list", "--only", "by-label-*").stdout
    of_comm = mutants("--list", "--only", "src/comm/*").stdout.splitlines()
    assert of_comm and all("src/comm/" in line for line in of_comm)
    assert mutants("--list", "--only", "nothing-like-this").returncode == 2
