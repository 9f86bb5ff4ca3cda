"""Tests of placements of ranks: results do not depend on them, and links are read from files or
measured."""

import json
import math
import os
import signal

import h5py
import numpy as np
import pytest
from results import differences, read
from test_checkpoints import CNN, interrupt
from together import Together, checked

RUN = {"replicas": 6, "length": {"iterations": 4}, "profile": {"after": True}}
METHODS = {"ring": {}, "C_complete": {"implementation": "C_complete"},
           "local": {"implementation": None, "graph": "one_peer_exponential",
                     "algorithm": {"type": "local_sgd", "period": 2}}}
LINKS = [  # replica 0 of a star sends most; slot 3 has the fastest links
    "0 1 1 1e6", "0 2 1 1e6", "1 2 1 1e6", "0 3 1e-3 1e9", "1 3 1e-3 1e9", "2 3 1e-3 1e9"]


def write(folder, name, text):
    (folder / name).write_text(text)
    return name


@pytest.fixture(scope="module")
def runs(shared):
    """Run every placement of every method in one start; ranks are renumbered between runs."""
    write(shared.folder, "links.txt", "\n".join(LINKS))
    write(shared.folder, "slots-2.txt", "1 0")
    write(shared.folder, "slots-4.txt", "2 0\n3 1")
    placements = {
        "linear": "linear", "random": "random", "node_major": "node_major",
        "measured": "optimised", "optimised": {"type": "optimised", "links": "links.txt"},
        "file-2": {"type": "file", "path": "slots-2.txt"},
        "file-4": {"type": "file", "path": "slots-4.txt"}}
    return {ranks: Together(shared, f"placed-{ranks}", {
        f"{method} {name}": {**RUN, **METHODS[method], "placement": placement}
        for method in METHODS for name, placement in placements.items()
        if not name.startswith("file") or name == f"file-{ranks}"}) for ranks in (2, 4)}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ranks", [2, 4])
def test_the_same_bits_under_each_placement(runs, dbench, method, ranks):
    alone = dbench.run(dbench.spec({**RUN, **METHODS[method]}))
    for name in ("linear", "random", "node_major", "measured", "optimised", f"file-{ranks}"):
        run = runs[ranks].result(f"{method} {name}", ranks=ranks)
        assert differences(alone, run) == [], name
        slots = read(run, "ranks/slot")
        assert sorted(slots) == list(range(ranks)), name
        if name in ("linear", "node_major"):  # all ranks are on one host
            assert list(slots) == list(range(ranks))
        if name.startswith("file"):
            assert list(slots) == ([1, 0] if ranks == 2 else [2, 0, 3, 1])
            assert list(read(run, "ranks/local_rank")) == list(slots)
    # The file has the certificate, whichever process wrote it.
    with h5py.File(runs[ranks].result(f"{method} file-{ranks}", ranks=ranks)) as file:
        certificate = file["graphs"].attrs["certificate"]
        assert (b"rho" in bytes(certificate)) == (method != "C_complete"), certificate


def test_checks_of_several_specs_answer_whichever_process_is_rank_0(dbench):
    """The process that prints the answers is rank 0 of the launcher, and not of every placement."""
    slots = {"slots-2.txt": "1 0", "missing.txt": None, "slots-2b.txt": "1 0"}
    names = []
    for name, text in slots.items():
        if text:
            write(dbench.folder, name, text)
        names.append(dbench.spec({**RUN, "placement": {"type": "file", "path": name}},
                                 name=f"{len(names)}.json"))
    result = dbench("check", *names, "--json", ranks=2, expect=2)
    answers = json.loads(result.stdout)
    assert list(answers) == names
    assert [answers[name]["placement"]["slots"] for name in names[::2]] == [[1, 0], [1, 0]]
    assert "missing.txt" in answers[names[1]]["error"]
    lines = dbench("check", *names, ranks=2, expect=2).stdout.splitlines()
    assert [line.split(": ")[0] for line in lines] == names[::2]
    # A point of a sweep has its number in the error and its place in the list.
    points = json.dumps([{"set": {"/placement/path": name}} for name in slots])
    write(dbench.folder, "points.json", points)
    result = dbench("check", names[0], "--points", "points.json", "--json", ranks=2, expect=2)
    answers = json.loads(result.stdout)
    assert answers[0]["placement"]["slots"] == answers[2]["placement"]["slots"] == [1, 0]
    assert "missing.txt" in answers[1]["error"]
    assert "point 1: " in result.stderr


def test_optimised_puts_the_busiest_rank_on_the_best_links(dbench):
    write(dbench.folder, "links.txt", "\n".join(LINKS))
    spec = dbench.spec(replicas=4, implementation=None, algorithm="dsgd", graph="star",
                       placement={"type": "optimised", "links": "links.txt"})
    found = json.loads(dbench("check", spec, "--json", ranks=4).stdout)["placement"]
    bytes_ = 4 * json.loads(dbench("check", spec, "--json").stdout)["parameters"]
    assert found["slots"][0] == 3
    assert found["seconds"] == pytest.approx(3 * (1e-3 + bytes_ / 1e9))
    assert found["linear_seconds"] == pytest.approx(2 * (1 + bytes_ / 1e6) + 1e-3 + bytes_ / 1e9)
    text = dbench("check", spec, ranks=4).stdout
    assert "optimised: ranks on slots 3" in text and "(linear" in text
    # A single rank has no placement.
    assert json.loads(dbench("check", spec, "--json").stdout)["placement"] is None
    run = dbench.run(spec, ranks=4)
    assert read(run, "ranks/slot")[0] == 3


def test_a_run_resumes_with_another_placement(dbench):
    write(dbench.folder, "slots.txt", "1,0")
    sent_ahead = {**CNN, "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}}
    spec = dbench.spec(sent_ahead)
    straight = dbench.run(spec, "straight.h5")
    path = str(dbench.folder / "out.h5")
    status, errors = interrupt(dbench, spec, path, signal.SIGUSR1, ranks=2)
    assert status == 75, errors
    elsewhere = dbench.spec(sent_ahead, placement={"type": "file", "path": "slots.txt"})
    dbench.run(elsewhere, path, "--resume", ranks=2)
    assert list(read(path, "ranks/slot")) == [1, 0]
    assert differences(straight, path) == []


BAD = {
    "type": ({"type": "optimized"}, "/placement/type: unknown placement 'optimized'"),
    "key": ({"type": "linear", "links": "x"}, "/placement/links: unknown key"),
    "no path": ({"type": "file"}, "/placement/path: is missing"),
    "no file": ({"type": "file", "path": "nowhere.txt"}, "nowhere.txt"),
    "no links": ({"type": "optimised", "links": "nowhere.txt"}, "nowhere.txt"),
    "slots": ({"type": "file", "path": "bad.txt"}, "bad.txt: slot 1 is given twice"),
    "links": ({"type": "optimised", "links": "bad.txt"}, "bad.txt: line 1 has 2 words"),
    "too few": ({"type": "optimised", "links": "few.txt"}, "few.txt: has no link between slot 0"),
}


def test_errors_in_placements_are_printed_once(dbench):
    write(dbench.folder, "bad.txt", "1 1")
    write(dbench.folder, "few.txt", "1 2 0 1e9")
    told = checked(dbench, {case: dbench.text(placement=BAD[case][0]) for case in BAD}, ranks=2)
    for case, (_, message) in BAD.items():
        assert message in told[case]["error"], case
    placement, message = BAD["slots"]   # `run` prints the same message and writes nothing
    done = dbench("run", dbench.spec(placement=placement), "--output", "out.h5", ranks=2, expect=2)
    assert done.stderr.count("error:") == 1 and message in done.stderr
    assert not (dbench.folder / "out.h5").exists()


def test_doctor_measures_links_that_a_placement_reads(dbench):
    done = dbench("doctor", "--links", "links.txt", ranks=3)
    assert "3 slots, links.txt" in done.stdout
    table = np.loadtxt(dbench.folder / "links.txt")
    assert sorted(map(tuple, table[:, :2])) == [(a, b) for a in range(3) for b in range(3)
                                                if a != b]
    assert all(math.isfinite(x) and x > 0 for x in table[:, 2:].ravel())
    run = dbench.run(dbench.spec(placement={"type": "optimised", "links": "links.txt"}), ranks=3)
    assert sorted(read(run, "ranks/slot")) == [0, 1, 2]
    cost = json.loads(dbench("graph", "ring", "--n", 3, "--links", "links.txt", "--model-bytes",
                             1e6, "--json").stdout)["links"]
    assert 0 < cost["best"]["seconds"] <= cost["linear_seconds"] == cost["seconds"]


def test_doctor_reports_unwritable_link_files_once(dbench):
    done = dbench("doctor", "--links", "nowhere/links.txt", ranks=2, expect=2)
    assert done.stderr.count("error:") == 1 and "--links: nowhere/links.txt cannot" in done.stderr
    alone = dbench("doctor", "--links", "links.txt", expect=2)
    assert "needs at least two ranks" in alone.stderr


def test_doctor_replaces_a_file_of_links_only_if_asked(dbench):
    kept = dbench.folder / "links.txt"
    kept.write_text("measured yesterday\n")
    done = dbench("doctor", "--links", "links.txt", ranks=2, expect=2)
    assert "links.txt exists" in done.stderr and "--force" in done.stderr, done.stderr
    assert kept.read_text() == "measured yesterday\n"
    dbench("doctor", "--links", "links.txt", "--force", ranks=2)
    assert np.loadtxt(kept).shape == (2, 4)
    assert os.listdir(dbench.folder) == ["links.txt"]


def test_graph_prints_the_cost_of_placements(dbench):
    write(dbench.folder, "hosts.txt", "a a 0 1e9\nb b 0 1e9\na b 0.5 1e6\n")
    words = ("graph", "one_way_ring", "--n", 4, "--links", "hosts.txt", "--model-bytes", 1e6)
    near, far = 1e-3, 1.5

    def links(*more):
        return json.loads(dbench(*words, "--gpus-per-node", 2, "--json", *more).stdout)["links"]

    for placement in ("linear", "node_major", "optimised"):
        found = links("--placement", placement)
        assert found["placement"] == placement
        assert found["seconds"] == pytest.approx(far)  # in any order, one replica uses a slow link
        assert found["best"]["slots"] == [0, 1, 2, 3]
    text = dbench(*words, "--gpus-per-node", 4).stdout
    assert f"messages need {near:.4g} s per iteration" in text
    table = dbench("graph", "--compare", "ring,complete", *words[2:], "--gpus-per-node", 2).stdout
    assert "best s" in table.splitlines()[0] and table.splitlines()[1].split()[-1] == "1.501"


def test_graph_refuses_invalid_options(dbench):
    write(dbench.folder, "hosts.txt", "a b 0.5 1e6\n")
    words = ("graph", "ring", "--n", 4, "--links", "hosts.txt")
    for more, message in [
            ((), "--links needs --model-bytes"),
            (("--model-bytes", 1), "give --gpus-per-node, 2 or more for 4 replicas"),
            (("--model-bytes", 1, "--gpus-per-node", 1), "give --gpus-per-node, 2 or more"),
            (("--model-bytes", 1, "--gpus-per-node", 2), "no link between host a and host a"),
            (("--model-bytes", 1, "--placement", "best"), "unknown placement 'best'")]:
        assert message in dbench(*words, *more, expect=2).stderr
    write(dbench.folder, "slots.txt", "\n".join(LINKS))
    done = dbench("graph", "ring", "--n", 4, "--links", "slots.txt", "--model-bytes", 1,
                  "--placement", "node_major", expect=2)
    assert "node_major needs --gpus-per-node" in done.stderr
