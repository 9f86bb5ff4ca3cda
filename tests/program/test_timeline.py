"""Tests that `dbench-analyze timeline` reads and draws the traces of real runs."""

import json

import h5py
import pytest
from dbench_analysis import cli

TRACE = {"norms": False, "variance": "off", "trace": {"iterations": [2, 6]}}
DELAY = 0.05


@pytest.fixture(scope="module")
def traced(shared):
    """Return a run of two ranks; the second is delayed in every iteration."""
    spec = shared.spec(replicas=2, profile=TRACE, delays=[{"replicas": [1], "seconds": DELAY}],
                       length={"iterations": 8})
    return shared.run(spec, "traced.h5", ranks=2)


def test_the_delayed_rank_is_named_and_drawn(traced, tmp_path, capsys):
    for form in ("pdf", "html", "json"):
        target = tmp_path / f"timeline.{form}"
        assert cli.main(["timeline", traced, "-o", str(target)]) == 0
        assert target.stat().st_size > 1000
    printed = capsys.readouterr().out
    assert "the others wait for rank 1" in printed
    assert "seem to arrive" not in printed and "No iteration of" not in printed
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    assert {e["pid"] for e in events} == {0, 1}
    sent, arrived = ([e["id"] for e in events if e["ph"] == kind] for kind in "sf")
    assert sorted(sent) == sorted(arrived) and len(set(sent)) == len(sent) > 0
    with h5py.File(traced) as file:
        start = file["iterations/start_time"][2:6] * 1e6
    for t in range(2, 6):
        forward = {e["pid"]: [] for e in events}
        for e in events:
            if e["name"] == "forward" and e["args"]["iteration"] == t:
                assert e["ts"] >= start[t - 2, e["pid"]] - 1
                forward[e["pid"]].append(e["dur"])
        assert max(forward[1]) >= 1e6 * DELAY > 2 * max(forward[0])


def test_iterations_and_ranks_are_chosen(traced, tmp_path):
    target = tmp_path / "part.json"
    assert cli.main(["timeline", traced, "-o", str(target), "--iterations", "3:5", "--ranks",
                     "1"]) == 0
    events = json.loads(target.read_text())["traceEvents"]
    assert {e["pid"] for e in events} == {1}
    assert {e["args"]["iteration"] for e in events if e["ph"] == "X"} == {3, 4}
    assert not [e for e in events if e["ph"] in "sf"]


def test_a_run_without_a_trace_says_how_to_get_one(shared, capsys):
    path = shared.run(shared.spec(name="untraced.json"), "untraced.h5")
    assert cli.main(["timeline", path]) == 2
    assert '"profile": {"trace": {"iterations": [a, b]}}' in capsys.readouterr().err
