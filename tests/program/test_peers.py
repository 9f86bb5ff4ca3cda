"""Tests of bench/peers: its reports, and short runs."""

import ast
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import PROGRAM, ROOT

sys.path.insert(0, str(ROOT / "bench"))

from comparison import cases, environment, hosts, measure, report, rounds

RUN = measure.Run(ranks=4, iterations=40, warm_up=5, batch=32, bucket=4, node=2, timeout=60)
# Milliseconds of five rounds, as measured for the MLP on 4 hosts of 1 Gb/s.
SEEN = {"pytorch/none": [63, 61, 90, 63, 64], "pytorch/ddp": [478, 480, 470, 500, 477],
        "decent-dp/complete": [430, 428, 433, 600, 429],
        "decent-dp/ring": [292, 290, 300, 295, 280],
        "dbench/none": [62, 60, 61, 70, 62], "dbench/C_complete": [508, 500, 520, 505, 510],
        "dbench/alternating_ring/awc": [570, 560, 584, 565, 571], "dbench/ring/awc": [970]}
TAKEN = [case for case in cases.every_case(2) if case.name in SEEN or "aer/awc" in case.name]


def peers(*words, **variables):
    return subprocess.run([sys.executable, ROOT / "bench" / "peers", *words], text=True,
                          capture_output=True, timeout=600,
                          env={**os.environ, "DBENCH_PROGRAM": PROGRAM, **variables})


@pytest.fixture
def rows():
    found = report.summary(TAKEN, SEEN, {"dbench/aer/awc": "two nodes at least"})
    report.floors(TAKEN, found, RUN, measure.PARAMETERS["mlp"], 1e9, RUN.ranks)
    return found


def test_medians_ranges_and_ratios(rows):
    ring = rows["dbench/alternating_ring/awc"]
    assert (ring["median"], ring["least"], ring["most"]) == (570, 560, 584)
    assert ring["over_none"] == 570 / 62                # over DBench's own runs without exchange
    assert ring["over_same"] == ring["over_best"] == 570 / 292
    assert rows["dbench/C_complete"]["over_same"] == 508 / 478
    assert rows["dbench/C_complete"]["over_best"] == 508 / 292
    assert rows["dbench/none"]["over_same"] == 62 / 63 and "over_best" not in rows["dbench/none"]
    assert rows["pytorch/ddp"]["over_none"] == 478 / 63 and "over_same" not in rows["pytorch/ddp"]
    assert "over_same" not in rows["dbench/ring/awc"]   # no other program has this exchange
    assert rows["decent-dp/ring"]["over_best"] == 1


def test_the_floor_is_what_the_link_carries(rows):
    assert round(rows["pytorch/ddp"]["floor"]) == round(rows["decent-dp/complete"]["floor"]) == 403
    assert round(rows["dbench/ring/awc"]["floor"]) == 538
    assert round(rows["decent-dp/ring"]["floor"]) == 269
    assert round(rows["dbench/aer/awc"]["floor"]) == 336
    assert rows["dbench/none"]["floor"] == 0 and "over_floor" not in rows["dbench/none"]
    assert rows["dbench/ring/awc"]["over_floor"] == pytest.approx(970 / 537.7, rel=1e-3)


def test_the_floor_of_several_ranks_per_host(rows):
    """A host sends the sum of its ranks; other exchanges have no known floor."""
    for row in rows.values():
        row.pop("floor")
        row.pop("over_floor", None)
    report.floors(TAKEN, rows, RUN, measure.PARAMETERS["mlp"], 1e9, 2)
    assert round(rows["pytorch/ddp"]["floor"]) == round(rows["decent-dp/complete"]["floor"]) == 269
    assert "floor" not in rows["dbench/ring/awc"] and "floor" not in rows["dbench/none"]


def test_table(rows):
    lines = report.table(rows, [("bluefog", "cannot be installed")])
    assert lines[0].endswith("| over the wire's floor |")
    assert {line.count("|") for line in lines} == {8}
    assert "| dbench/C_complete | 508.0 | 500.0 to 520.0 | 8.19 | 1.06 | 1.74 | 1.26 |" in lines
    assert lines[-2].startswith("| dbench/aer/awc | two nodes at least |")
    assert lines[-1].startswith("| bluefog | cannot be installed |")
    for row in rows.values():
        row.pop("floor")
        row.pop("over_floor", None)
    assert "wire" not in report.table(rows)[0]


def test_16_bits_are_compared_with_float32():
    taken, _ = cases.chosen(["dbench/bfloat16/ring", "dbench/bfloat16/C_complete", "dbench/ring/*",
                             "dbench/C_complete"], 2)
    found = report.summary(taken, {"dbench/ring/awc": [200], "dbench/ring/atc": [400],
                                   "dbench/bfloat16/ring": [120], "dbench/C_complete": [100]}, {})
    assert found["dbench/bfloat16/ring"]["over_whole"] == 0.6
    assert sum("over_whole" in row for row in found.values()) == 1
    sends = {case.name: case.sends(4, 2) for case in taken}
    assert sends["dbench/bfloat16/ring"] == sends["dbench/ring/awc"] / 2 == 1
    assert sends["dbench/bfloat16/C_complete"] == sends["dbench/C_complete"] / 2 == 0.75
    lines = report.table(found)
    assert lines[0].endswith("| over float32 |") and lines[-1].endswith("| 0.60 |")


def test_cases_by_pattern():
    taken, bluefog = cases.chosen(["dbench/*/awc", "pytorch/ddp"], 2)
    assert not bluefog and taken[0].name == "pytorch/ddp"
    assert {case.name for case in taken[1:]} == {
        f"dbench/{graph}/awc" for graph in ("complete", "ring", "alternating_ring", "aer",
                                            "one_peer_hypercube", "one_peer_exponential")}
    assert cases.chosen(["*"], 2)[1]
    with pytest.raises(ValueError, match=r"--cases torus: no such case; there are pytorch/none"):
        cases.chosen(["*", "torus"], 2)


def test_progress_judges_by_runs_of_the_same_kind():
    progress = rounds.Progress(6)
    assert progress.left(["a", "b"]) is None
    for kind, seconds in (("a", 10), ("a", 20), ("b", 60)):
        progress.ran(kind, seconds)
    assert progress.left(["a", "b", "new"]) == 15 + 60 + 30


def test_reasons_of_failed_runs():
    said = """[rank1]: Traceback (most recent call last):
[rank1]:     raise ValueError()
[rank1]: ValueError: 3 nodes
[rank0]: RuntimeError: [pair.cc:547] Connection closed by peer [127.0.0.1]:13717
"""
    assert measure.reason(said, 1) == "ValueError: 3 nodes (exit status 1)"
    said = "dbench: error: /graph: 2 replicas are one node\n---\nmpirun detected that Errors\n"
    assert measure.reason(said, 2) == ("dbench: error: /graph: 2 replicas are one node (exit status"
                                       " 2)")
    assert measure.reason("", 1) == "no message (exit status 1)"
    built = """      gcc: error: unrecognized command-line option
      TypeError: include_paths() got an unexpected keyword argument 'cuda'
      error: Neither PyTorch or TensorFlow plugins were built. See errors above.
  ERROR: Failed building wheel for bluefog
"""
    assert environment.why_pip_failed(built).startswith("TypeError: include_paths()")
    assert environment.why_pip_failed("ERROR: No matching distribution found for x\nhint\n") == \
        "No matching distribution found for x"


@pytest.mark.parametrize("words, said", [
    (["--rate", "fast"], "--rate fast: not a rate such as 1gbit"),
    (["--rate", "0mbit"], "--rate 0mbit"),
    (["--ranks", "3", "--hosts", "2"], "--hosts 2: 3 ranks cannot be distributed"),
    (["--hosts", "2x0"], "--hosts 2x0: neither a number of hosts nor HOSTSxRANKS"),
    (["--iterations", "0"], "0 is below 1"),
    (["--cases", "nonesuch"], "--cases nonesuch: no such case"),
    (["--models", "vgg"], "invalid choice"),
])
def test_wrong_arguments(words, said):
    done = peers(*words)
    assert done.returncode == 2 and said in done.stderr


def test_help_and_list():
    assert "bench/peers --models mlp" in peers("--help").stdout
    listed = peers("--list", "--cases", "dbench/ring/*", "bluefog").stdout
    assert listed.split() == ["dbench/ring/atc", "ring", "dbench/ring/awc", "ring", "bluefog"]


def test_missing_programs_are_named(tmp_path):
    done = peers("--cases", "dbench/none", DBENCH_PROGRAM=str(tmp_path / "none"))
    assert done.returncode == 2 and "scripts/setup builds it" in done.stderr
    done = peers("--cases", "dbench/none", PATH=str(tmp_path))
    assert done.returncode == 2 and "no mpirun" in done.stderr
    done = peers("--cases", "dbench/none", "--parts", "raw", "--json", str(tmp_path / "a" / "b"))
    assert done.returncode == 2 and "No such file or directory; name a file in" in done.stderr


def test_cases_alternate_and_a_failed_case_is_skipped(monkeypatch):
    asked = []

    def measured(case, model, run, hosts):
        asked.append(case.name)
        if case.name == "b" and asked.count("b") == 2:
            raise measure.Failed("no end")
        return len(asked)

    monkeypatch.setattr(rounds, "measure", measured)
    progress = rounds.Progress(9, io.StringIO())
    three = [cases.Case(name, "ring") for name in "abc"]
    seen, failed = rounds.alternate(three, ("one machine", "mlp", None), 3, RUN, progress)
    assert "".join(asked) == "abcabcac" and progress.done == 9
    assert seen == {"a": [1, 4, 7], "b": [2], "c": [3, 6, 8]} and failed == {"b": "no end"}


def test_own_cases(tmp_path):
    file = tmp_path / "peers.json"
    done = peers("--cases", "dbench/none", "dbench/ring/awc", "--parts", "raw", "--models",
                 "resnet20", "--ranks", "2", "--rounds", "2", "--iterations", "3", "--warm-up", "3",
                 "--json", str(file), "--environment", str(tmp_path / "unused"))
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    part, = found["parts"]
    assert part["place"] == "one machine" and found["settings"]["rounds"] == 2
    for name in ("dbench/none", "dbench/ring/awc"):
        row = part["cases"][name]
        assert len(row["ms"]) == 2 and 0 < row["least"] <= row["median"] <= row["most"]
        assert f"| {name} | {row['median']:.1f} |" in done.stdout
    assert "run 1 of 4: one machine, resnet20, round 1 of 2, dbench/none" in done.stderr
    assert not (tmp_path / "unused").exists()


def test_nothing_measured_is_a_failure():
    done = peers("--cases", "dbench/alternating_ring/awc", "--parts", "raw", "--models", "mlp",
                 "--ranks", "3")
    assert done.returncode == 1
    assert re.search(r"\| dbench/alternating_ring/awc \| dbench: error: /graph.*\(exit status 2\)",
                     done.stdout)


def test_peers(tmp_path):
    if not (os.environ.get("DBENCH_TORCH_PYTHON")
            or (environment.default_folder() / "decent-dp" / "installed").exists()):
        pytest.skip("no environment of bench/peers: running it once makes that, or set "
                    "DBENCH_TORCH_PYTHON to a Python with PyTorch")
    done = peers("--cases", "pytorch/*", "decent-dp/ring", "--parts", "raw", "--models", "resnet20",
                 "--ranks", "2", "--rounds", "1", "--iterations", "2")
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^\| (?:pytorch|decent-dp)/[\w-]+ \| \d", done.stdout, re.M)) == 3


@pytest.fixture
def shaped():
    why = hosts.why_not("100mbit")
    if why:
        pytest.skip(why)
    with hosts.Hosts(2, "100mbit") as made:
        yield made


SEND = """
import socket, sys, time
there = socket.create_server(("", 5000)) if sys.argv[1] == "to" else None
if there:
    print("ready", flush=True)
    one, _ = there.accept()
    while one.recv(1 << 16): pass
else:
    one = socket.create_connection((sys.argv[2], 5000))
    start = time.monotonic()
    one.sendall(bytes(5 << 20)); one.shutdown(socket.SHUT_WR); one.recv(1)
    print(time.monotonic() - start)
"""


def test_links_have_their_rate(shaped):
    """5 MiB at 100 Mb/s take 0.42 s, in both directions."""
    for to, source in ((0, 1), (1, 0)):
        taker = subprocess.Popen([*shaped.inside(to), sys.executable, "-c", SEND, "to"], text=True,
                                 stdout=subprocess.PIPE)
        assert taker.stdout.readline() == "ready\n"
        sent = subprocess.run([*shaped.inside(source), sys.executable, "-c", SEND, "from",
                               shaped.address(to)], text=True, capture_output=True, check=True)
        taker.communicate()
        assert float(sent.stdout) > 0.9 * 5 * 2**20 * 8 / 100e6


def test_hosts_use_the_reported_tcp_settings(shaped):
    told = hosts.tcp()["congestion_control"]
    inside = subprocess.run([*shaped.inside(0), "cat",
                             "/proc/sys/net/ipv4/tcp_congestion_control"],
                            text=True, capture_output=True, check=True).stdout.strip()
    assert told and inside == told


def test_hosts_have_names_and_shared_memory_of_their_own(shaped):
    said = [subprocess.run([*shaped.inside(i), "sh", "-c", "hostname; stat -c %d /dev/shm"],
                           text=True, capture_output=True, check=True).stdout.split()
            for i in (0, 1)]
    assert [name for name, _ in said] == ["host0", "host1"] and said[0][1] != said[1][1]


def test_no_host_is_left_after_a_kill(shaped):
    script = ("import sys, time; sys.path.insert(0, sys.argv[1])\n"
              "from comparison.hosts import Hosts\n"
              "with Hosts(1, '1gbit') as made:\n"
              "    print(*(holder.pid for holder in made.holders), flush=True)\n"
              "    time.sleep(600)\n")
    maker = subprocess.Popen([sys.executable, "-c", script, str(ROOT / "bench")], text=True,
                             stdout=subprocess.PIPE)
    held = maker.stdout.readline().split()
    assert len(held) == 2 and all(os.path.exists(f"/proc/{pid}") for pid in held)
    maker.send_signal(signal.SIGKILL)
    maker.communicate()
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in held) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in held)


def alive(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:  # empty for a zombie
            return bool(file.read())
    except OSError:
        return False


def test_ranks_on_shaped_hosts(shaped):
    """The part `hosts` runs with DBench's cases."""
    done = peers("--cases", "dbench/ring/awc", "dbench/none", "--parts", "hosts", "--models",
                 "resnet20", "--ranks", "2", "--hosts", "2", "2x2", "--rounds", "1", "--iterations",
                 "3", "--rate", "200mbit")
    assert done.returncode == 0, done.stderr
    assert "resnet20, 2 ranks on 2 hosts of 200mbit" in done.stdout
    assert "resnet20, 4 ranks on 2 hosts of 200mbit" in done.stdout
    assert re.search(r"^\| dbench/ring/awc \| \d", done.stdout, re.M), done.stdout


def test_the_worker_finds_its_models():
    """The worker imports existing models of tests/pytorch; the test itself needs no torch."""
    def tree(path):
        return ast.parse((ROOT / path).read_text())
    worker = tree("bench/comparison/worker.py")
    taken = {alias.name for node in ast.walk(worker) if isinstance(node, ast.ImportFrom)
             and node.module == "torch_models" for alias in node.names}
    named = {node.slice.value for node in ast.walk(worker) if isinstance(node, ast.Subscript)
             and getattr(node.value, "id", "") == "MODELS"}
    models = next(node.value for node in tree("tests/pytorch/torch_models.py").body
                  if isinstance(node, ast.Assign) and node.targets[0].id == "MODELS")
    assert taken == {"MODELS"} and named == set(measure.MODELS)
    assert named <= {key.value for key in models.keys}
