"""Tests of traces: which spans and messages the ranks record, and that nothing else changes."""

import json
import os
import signal
import time

import h5py
import numpy as np
import pytest
from results import differences, read

NAMES = {"forward": "compute", "backward": "compute", "update": "compute", "exchange": "exchange",
         "wait": "wait", "load": "data", "record": "record", "measure": "record",
         "evaluate": "record"}
FIRST, LAST = 2, 5   # traced iterations: 2, 3, 4
TRACE = {"trace": {"iterations": [FIRST, LAST]}}
AWC = {"implementation": None, "graph": "ring",
       "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}}
DELAY = 0.15
SLACK = 1.0   # microseconds: times are rounded


def load(path):
    """Return the events of a trace, which has no closing bracket."""
    text = open(path, encoding="utf-8").read()
    assert text.startswith("[\n") and text.endswith(",\n")
    for line in text[2:].splitlines():
        json.loads(line.removesuffix(","))
    return json.loads(text.rstrip(",\n") + "]")


def traces(output, ranks):
    """Return the events of all ranks, by rank."""
    return [load(f"{output.removesuffix('.h5')}.trace-{rank}.json") for rank in range(ranks)]


def spans(events, *names, **args):
    """Return the spans of these names (all names if none is given) with these args."""
    return [e for e in events if e["ph"] == "X" and (not names or e["name"] in names)
            and all(e["args"].get(key) == value for key, value in args.items())]


def uncertainty(events):
    (clock,) = (e for e in events if e["name"] == "clock")
    return clock["args"]["uncertainty_us"]


@pytest.fixture(scope="module")
def runs(shared):
    """Return (path, ranks) of traced runs, by name."""
    paths = {}
    for ranks in (1, 2, 4):
        spec = shared.spec(profile=TRACE, name=f"ring{ranks}.json")
        paths[f"ring on {ranks}"] = shared.run(spec, f"ring{ranks}.h5", ranks=ranks), ranks
    spec = shared.spec(profile=TRACE, name="messages.json")
    paths["messages"] = shared.run(spec, "messages.h5", ranks=4,
                                   env={"DBENCH_READ_IN_PLACE": "0"}), 4
    spec = shared.spec(AWC, profile=TRACE, name="awc.json")
    paths["AWC"] = shared.run(spec, "awc.h5", ranks=4, env={"DBENCH_READ_IN_PLACE": "0"}), 4
    spec = shared.spec(implementation="C_complete", profile=TRACE, name="complete.json")
    paths["all-reduce"] = shared.run(spec, "complete.h5", ranks=4), 4
    return paths


ALL = ["ring on 1", "ring on 2", "ring on 4", "messages", "AWC", "all-reduce"]


@pytest.mark.parametrize("name", ALL)
def test_events_are_those_of_the_format(runs, name):
    path, ranks = runs[name]
    for rank, events in enumerate(traces(path, ranks)):
        metadata = {(e["name"], e["tid"]): e["args"] for e in events if e["ph"] == "M"}
        assert metadata["process_name", 0]["name"].startswith(f"rank {rank} (")
        assert metadata["thread_name", 0] == {"name": "program"}
        assert metadata["thread_name", 1] == {"name": "progress"}
        clock = metadata["clock", 0]
        assert abs(clock["offset_us"]) <= clock["uncertainty_us"] + SLACK   # one machine
        for e in events:
            assert e["pid"] == rank and e["tid"] in (0, 1) and e["ph"] in "MXsfi"
            if e["ph"] == "M":
                continue
            assert e["args"]["iteration"] in range(FIRST, LAST) and e["ts"] > 0
            if e["ph"] == "X":
                assert NAMES[e["name"]] == e["cat"] and e["dur"] >= 0
        for t in range(FIRST, LAST):
            for replica in range(rank * 4 // ranks, (rank + 1) * 4 // ranks):
                assert len(spans(events, "forward", iteration=t, replica=replica)) == 1
                assert len(spans(events, "backward", iteration=t, replica=replica)) == 1
            assert spans(events, "update", iteration=t)
            assert spans(events, "load", iteration=t) and spans(events, "record", iteration=t)
            assert spans(events, "measure", iteration=t)
            ready = [e for e in events if e["ph"] == "i" and e["args"]["iteration"] == t]
            assert [e["args"]["bucket"] for e in ready] == list(range(len(ready))) and ready
            assert all(e["name"] == "bucket ready" for e in ready)
            if ranks > 1:
                assert [e for e in spans(events, "exchange", iteration=t) if e["tid"] == 0]


@pytest.mark.parametrize("name", ALL)
def test_spans_lie_in_their_iteration_and_nest(runs, name):
    path, ranks = runs[name]
    start, step = read(path, "iterations/start_time"), read(path, "iterations/step_time")
    assert (np.diff(start, axis=0) > step[:-1]).all()
    for rank, events in enumerate(traces(path, ranks)):
        for e in spans(events):
            t = e["args"]["iteration"]
            if e["tid"] == 0:
                assert e["ts"] >= start[t, rank] * 1e6 - SLACK
                assert e["ts"] + e["dur"] <= start[t + 1, rank] * 1e6 + SLACK
        tenth_of_a_nanosecond = 1e-4
        for thread in (0, 1):
            stack = []
            of_thread = [e for e in spans(events) if e["tid"] == thread]
            for e in sorted(of_thread, key=lambda e: (e["ts"], -e["dur"])):
                while stack and stack[-1] <= e["ts"] + tenth_of_a_nanosecond:
                    stack.pop()
                end = e["ts"] + e["dur"]
                assert not stack or end <= stack[-1] + tenth_of_a_nanosecond
                assert thread == 0 or not stack
                stack.append(end)


@pytest.mark.parametrize("name", ["ring on 2", "ring on 4", "messages", "AWC", "all-reduce"])
def test_messages_connect_their_sender_and_receiver(runs, name):
    path, ranks = runs[name]
    all_events = traces(path, ranks)
    sent = {e["id"]: (rank, e) for rank, events in enumerate(all_events) for e in events
            if e["ph"] == "s"}
    received = {e["id"]: (rank, e) for rank, events in enumerate(all_events) for e in events
                if e["ph"] == "f"}
    assert sent and sent.keys() == received.keys()
    assert len(sent) == sum(e["ph"] == "s" for events in all_events for e in events)
    peers = set()
    for number, (sender, e) in sent.items():
        receiver, f = received[number]
        assert e["args"]["peer"] == receiver and f["args"]["peer"] == sender
        assert e["args"]["bytes"] == f["args"]["bytes"] > 0 and f["bp"] == "e"
        late = sum(uncertainty(all_events[rank]) for rank in (sender, receiver))
        assert f["ts"] >= e["ts"] - late - SLACK
        peers.add((sender, receiver))
    neighbours = {(i, (i + step) % 4) for i in range(4) for step in (1, 3)}
    assert peers == {"ring on 2": {(0, 1), (1, 0)},
                     "all-reduce": {(i, j) for i in range(4) for j in range(4) if i != j},
                     }.get(name, neighbours)


@pytest.mark.parametrize("name", ["ring on 1", "ring on 4", "messages", "AWC", "all-reduce"])
def test_the_trace_changes_no_result(shared, runs, name):
    path, ranks = runs[name]
    with h5py.File(path) as file:
        spec = json.loads(file["spec"][()])
    spec["profile"]["trace"] = None
    plain = shared.folder / "plain.json"
    plain.write_text(json.dumps(spec))
    other = shared.run(str(plain), "plain.h5", "--overwrite", ranks=ranks)
    assert differences(path, other) == []
    assert not list(shared.folder.glob("plain.trace-*"))


def test_parts_of_times_do_not_exceed_the_whole(runs):
    for path, ranks in runs.values():
        times = {name: read(path, f"iterations/{name}") for name in (
            "step_time", "time_data", "time_gradient", "time_update", "time_exchange",
            "time_forward", "time_backward", "time_wait", "time_mix", "time_progress",
            "time_wait_rank")}
        assert all(column.shape == (6, ranks) for column in times.values())
        small = 1e-9
        np.testing.assert_allclose(times["time_forward"] + times["time_backward"],
                                   times["time_gradient"], atol=small)
        assert (times["time_forward"] > 0).all() and (times["time_backward"] > 0).all()
        assert (times["time_wait"] + times["time_mix"] <= times["time_exchange"] + small).all()
        assert (times["time_mix"] >= 0).all() and (times["time_wait"] >= 0).all()
        parts = sum(times[f"time_{part}"] for part in ("data", "gradient", "update", "exchange"))
        assert (parts <= times["step_time"] + small).all()
        assert (times["time_progress"] >= 0).all()
        waited = times["time_wait"] > 0
        assert (times["time_wait_rank"][~waited] == -1).all()
        assert (times["time_wait_rank"] < ranks).all()
        assert (times["time_wait_rank"] != np.arange(ranks)).all()


@pytest.mark.parametrize("in_place", ["0", "1"])
def test_a_delay_is_a_long_span_of_its_rank_and_a_wait_of_its_neighbours(dbench, in_place):
    rules = [{"replicas": [1], "seconds": DELAY}]
    spec = dbench.spec(profile=TRACE, delays=rules)
    path = dbench.run(spec, ranks=4, env={"DBENCH_READ_IN_PLACE": in_place})
    events = traces(path, 4)
    for t in range(FIRST, LAST):
        longest = [max(e["dur"] for e in spans(of_rank, "forward", iteration=t))
                   for of_rank in events]
        assert longest[1] >= 1e6 * DELAY and max(longest[:1] + longest[2:]) < 5e5 * DELAY
        for neighbour in (0, 2):
            waits = spans(events[neighbour], "wait", iteration=t, peer=1)
            assert max(e["dur"] for e in waits) > 5e5 * DELAY
            assert not spans(events[1], "wait", iteration=t) or \
                max(e["dur"] for e in spans(events[1], "wait", iteration=t)) < 5e5 * DELAY
    wait, forward, of = (read(path, f"iterations/time_{name}")
                         for name in ("wait", "forward", "wait_rank"))
    assert (forward[:, 1] >= DELAY).all()
    assert (wait[1:, [0, 2]] > DELAY / 2).all() and (of[1:, [0, 2]] == 1).all()


def test_a_killed_run_leaves_the_traces_of_finished_iterations(dbench):
    spec = dbench.spec(profile={"trace": {"iterations": [0, 2**63 - 1]}},
                       length={"iterations": 1000}, delays=[{"replicas": [2], "seconds": 0.05}])
    run = dbench.start("run", spec, "--output", "out.h5", "--quiet", ranks=2)
    deadline = time.monotonic() + 60
    path = dbench.folder / "out.trace-1.json"
    while not (path.exists() and '"iteration":6' in path.read_text()):
        assert time.monotonic() < deadline and run.poll() is None
        time.sleep(0.02)
    ranks = [int(pid) for pid in os.listdir("/proc")
             if pid.isdigit() and is_rank(pid, dbench.folder)]
    assert len(ranks) == 2
    for pid in ranks:
        os.kill(pid, signal.SIGKILL)
    run.wait(timeout=60)
    for events in traces(str(dbench.folder / "out.h5"), 2):
        for t in range(5):
            assert spans(events, "forward", iteration=t) and spans(events, "record", iteration=t)


def is_rank(pid, folder):
    """Return whether a process is a rank of the run in the folder."""
    try:
        words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
        return words[0].endswith(b"dbench") and os.readlink(f"/proc/{pid}/cwd") == str(folder)
    except OSError:
        return False


def test_a_resumed_run_keeps_the_earlier_iterations(dbench):
    changes = {"checkpoint": {"every": {"iterations": 3}}, "profile": TRACE}
    path = dbench.run(dbench.spec(changes, length={"iterations": 4}), ranks=2)
    with h5py.File(path, "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))
    before = traces(path, 2)
    dbench("run", dbench.spec(changes, length={"iterations": 4}), "--output", path, "--resume",
           "--quiet", ranks=2)
    for old, new in zip(before, traces(path, 2), strict=True):
        assert spans(new, iteration=2) == spans(old, iteration=2) != []
        assert len(spans(new, "forward", iteration=3)) == len(spans(old, "forward", iteration=3))
        assert spans(new, "forward", iteration=3) != spans(old, "forward", iteration=3)
    ends = [(e["id"], e["ph"]) for events in traces(path, 2) for e in events if e["ph"] in "sf"]
    assert len(ends) == len(set(ends)) > 4  # no message has the number of another


def test_traces_of_vanished_ranks_lose_the_repeated_iterations(dbench):
    changes = {"checkpoint": {"every": {"iterations": 3}}, "length": {"iterations": 4}}
    path = dbench.run(dbench.spec({**changes, "profile": TRACE}), ranks=2)
    before = traces(path, 2)
    for profile, vanished in [(TRACE, 1), ({}, 0)]:   # fewer ranks; no trace
        with h5py.File(path, "r+") as file:
            file.attrs.modify("status", np.bytes_(b"failed"))
        dbench("run", dbench.spec({**changes, "profile": profile}), "--output", path, "--resume")
        events = traces(path, 2)[vanished]
        assert spans(events, iteration=2) == spans(before[vanished], iteration=2) != []
        assert not spans(events, iteration=3)
        assert [e["name"] for e in events if e["ph"] == "M"] == [
            e["name"] for e in before[vanished] if e["ph"] == "M"]


NEW = ("start_time", "time_forward", "time_backward", "time_wait", "time_mix", "time_progress",
       "time_wait_rank")


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_run_of_an_earlier_version_is_resumed(dbench, ranks):
    """An earlier version had no columns for parts of times; on more ranks, columns widen."""
    changes = {"checkpoint": {"every": {"iterations": 3}}, "length": {"iterations": 8}}
    path = dbench.run(dbench.spec(changes), ranks=2)
    with h5py.File(path, "r+") as file:
        file.attrs.modify("status", np.bytes_(b"failed"))
        for name in NEW if ranks == 2 else ():
            del file[f"iterations/{name}"]
    dbench("run", dbench.spec(changes), "--output", path, "--resume", "--quiet", ranks=ranks)
    for name in NEW:
        column = read(path, f"iterations/{name}")
        assert column.shape == (8, ranks) and np.isfinite(column[6:]).all()
        missing = column[:6] if ranks == 2 else column[:6, 2:]
        assert (missing == -1).all() if name == "time_wait_rank" else np.isnan(missing).all()
        if ranks == 4:
            assert np.isfinite(column[:6, :2]).all()


def test_parts_that_cannot_be_separated_are_unknown(dbench):
    together = dbench.run(dbench.spec(model="mlp", stacking="batched", profile=TRACE))
    (events,) = traces(together, 1)
    assert not spans(events, "forward")
    for t in range(FIRST, LAST):
        (span,) = spans(events, "backward", iteration=t)
        assert "replica" not in span["args"]
    asynchronous = dbench.run(dbench.spec(
        {"implementation": None, "algorithm": "ad_psgd", "graph": "ring"}, name="a.json"), "a.h5")
    for path, unknown in ((together, ("time_forward", "time_backward")),
                          (asynchronous, [name for name in NEW if name != "time_wait_rank"])):
        for name in ("step_time", "time_gradient", "time_exchange"):
            assert np.isfinite(read(path, f"iterations/{name}")).all()
        for name in unknown:
            assert np.isnan(read(path, f"iterations/{name}")).all()


def test_a_new_run_removes_the_traces_of_the_one_before(dbench):
    path = dbench.run(dbench.spec(profile=TRACE), ranks=2)
    kept = dbench.folder / "out.trace-notes.json"
    kept.touch()
    dbench.run(dbench.spec(), "out.h5", "--overwrite")
    assert sorted(p.name for p in dbench.folder.glob("*.trace-*")) == [kept.name]
    assert path.endswith("out.h5")


@pytest.mark.parametrize("value", [{}, {"iterations": 3}, {"iterations": [3]}, [1, 2],
                                   {"iterations": [3, 3]}, {"iterations": [-1, 3]},
                                   {"iterations": [0, 1.5]}, {"iterations": [0, 1], "every": 2}],
                         ids=str)
def test_wrong_values_are_refused(dbench, value):
    refused = dbench("check", dbench.spec(profile={"trace": value}), expect=2)
    assert "/profile/trace" in refused.stderr


def test_iterations_after_the_end_are_a_warning(dbench):
    done = dbench("check", dbench.spec(profile={"trace": {"iterations": [6, 8]}}))
    assert "/profile/trace/iterations: nothing is traced" in done.stderr + done.stdout


def test_asynchronous_algorithms_are_refused(dbench):
    spec = dbench.spec({"implementation": None, "algorithm": "ad_psgd", "graph": "ring"},
                       profile=TRACE)
    refused = dbench("check", spec, expect=2)
    assert "/profile/trace" in refused.stderr and "ad_psgd" in refused.stderr
