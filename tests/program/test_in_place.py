"""Tests of ranks on one host that read each other's rows in place: results equal those with
messages, and a dying rank does no harm."""

import json
import os
import signal
import time

import h5py
import pytest
from results import differences
from test_failures import LONG, children, wait_for_rows
from together import Together

MLP = {"model": {"type": "mlp", "hidden": [16]}, "replicas": 8,
       "data": {"type": "shapes", "train": 256, "test": 16, "batch_size": 4},
       "optimizer": {"type": "adam", "lr": 0.01}, "length": {"iterations": 5},
       "profile": {"after": True}}
ORDERS = ["adapt_then_combine", "combine_while_adapt", "combine_then_adapt"]
METHODS = {
    **{f"{order} exponential": {"algorithm": {"type": "dsgd", "order": order},
                                "graph": "exponential"} for order in ORDERS},
    **{f"{order} {graph}": {"algorithm": {"type": "dsgd", "order": order}, "graph": graph}
       for order in ORDERS for graph in ("alternating_ring", "complete")},
    "directed": {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"},
                 "graph": "one_way_ring"},
    "sent ahead": {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"},
                   "graph": "one_peer_exponential", "length": {"iterations": 11},
                   "profile": {"every": {"iterations": 4}}},
    "now and then": {"algorithm": {"type": "local_sgd", "period": 2}, "graph": "ring"},
    "centralized": {"algorithm": "centralized"},
    "momentum": {"algorithm": "qg_dsgdm", "graph": "ring", "optimizer": "sgd"},
    "tracking": {"algorithm": {"type": "gradient_tracking", "form": "diging"}, "graph": "ring",
                 "optimizer": "sgd"},
    # If nothing is measured after the averaging, the update computes W x itself.
    **{f"at once {graph}": {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"},
                            "graph": graph, "profile": {}}
       for graph in ("ring", "alternating_ring", "complete")},
    "large rows": {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}, "graph": "ring",
                   "model": {"type": "mlp", "hidden": [512]}, "profile": {}},
    "a large group": {"algorithm": "dsgd", "graph": "complete", "replicas": 12},
    **{f"16 bits {method}": {"message": "bfloat16", **changes} for method, changes in {
        "ring": {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}, "graph": "ring"},
        "complete": {"algorithm": "dsgd", "graph": "complete"},
        "centralized": {"algorithm": "centralized"}}.items()},
}


def how(path, what="rows_on_host"):
    with h5py.File(path) as file:
        return json.loads(file["provenance"][()])["environment"][what]


@pytest.fixture(scope="module")
def runs(shared):
    return Together(shared, "all", {method: {**MLP, "implementation": None, **changes}
                                    for method, changes in METHODS.items()})


@pytest.mark.parametrize("method", METHODS)
def test_the_same_bits_in_place_and_by_messages(runs, method):
    alone = runs.result(method)
    assert how(alone) == how(alone, "rows_between_ranks") == ""
    for ranks, in_place in ((2, "1"), (4, "1"), (4, "0")):
        run = runs.result(method, ranks=ranks, DBENCH_READ_IN_PLACE=in_place)
        assert how(run).startswith("in place" if in_place == "1" else "as messages")
        assert how(run, "rows_between_ranks") == "MPI"
        assert differences(alone, run) == []   # includes bytes_sent


def test_ranks_of_one_host_do_not_use_the_librarys_sum(shared):
    """They add in place along the tree; with messages, MPI chooses the order."""
    ring = {**MLP, "implementation": None, "algorithm": "dsgd", "graph": "ring"}
    together = Together(shared, "library", {
        f"{reduction} {replicas}": {**ring, "replicas": replicas, "reduction": reduction}
        for reduction in ("library", "reproducible") for replicas in (2, 3)})

    def same(replicas, **environment):
        by_library = together.result(f"library {replicas}", ranks=replicas, **environment)
        along_tree = together.result(f"reproducible {replicas}", ranks=replicas)
        return not differences(by_library, along_tree)

    assert same(2)
    assert not same(2, DBENCH_READ_IN_PLACE="0")
    assert same(3)
    assert not same(3, DBENCH_READ_IN_PLACE="0")


def has_memory(process):
    """Return whether a process still has memory; a zombie has none."""
    try:
        with open(f"/proc/{process}/maps") as maps:
            return "dbench-rows" in maps.read()
    except OSError:
        return False


@pytest.mark.parametrize("order", ORDERS)
def test_a_rank_that_dies_while_its_rows_are_read(dbench, order):
    spec = dbench.spec(MLP, implementation=None, graph="ring", evaluate={"every": None},
                       algorithm={"type": "dsgd", "order": order}, length={"iterations": 10 ** 6})
    run = dbench.start("run", spec, "--output", "out.h5", ranks=4)
    wait_for_rows(dbench.folder / "out.h5", 20)
    ranks = children(run.pid)
    assert all(map(has_memory, ranks))
    os.kill(ranks[2], signal.SIGKILL)
    run.communicate(timeout=60)
    assert run.returncode != 0
    end = time.monotonic() + 20
    while any(map(has_memory, ranks)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(has_memory, ranks))


@pytest.mark.parametrize("order", ORDERS)
def test_a_stopped_rank_is_named(dbench, order):
    dbench.environment["DBENCH_TIMEOUT"] = "4"
    spec = dbench.spec({**MLP, **LONG}, implementation=None, graph="ring",
                       algorithm={"type": "dsgd", "order": order},
                       profile={"norms": False, "variance": {"kind": "off"}})
    run = dbench.start("run", spec, "--output", "out.h5", ranks=4)
    wait_for_rows(dbench.folder / "out.h5", 20)
    victim = children(run.pid)[2]
    os.kill(victim, signal.SIGSTOP)
    try:
        _, errors = run.communicate(timeout=60)
    finally:
        os.kill(victim, signal.SIGKILL)
    assert run.returncode == 1
    assert "no answer from rank 2" in errors, errors


def test_doctor_reports_how_rows_are_exchanged(dbench):
    out = dbench("doctor", ranks=2).stdout
    assert "rows on a host" in out and "in place" in out


def test_an_invalid_setting_is_refused(dbench):
    failed = dbench("run", dbench.spec(MLP), "--output", "out.h5", ranks=2, expect=2,
                    env={"DBENCH_READ_IN_PLACE": "yes"})
    assert "DBENCH_READ_IN_PLACE=yes is neither 0" in failed.stderr
