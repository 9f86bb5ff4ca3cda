"""Tests which runs of a sweep are the same experiment, and the sizes of their result files.

Both follow from the output of `dbench check`."""

import json

import pytest
from conftest import ANSWERS, stand_in
from sweeps.plan import file_bytes
from sweeps.program import experiment, ignored_entries
from sweeps.results import Results

FREE = ["/name", "/device", "/data/threads", "/delays"]
SPEC = {"name": "a", "device": "cpu", "data": {"type": "shapes", "threads": 1}, "graph": "ring"}


def test_the_size_on_several_ranks_is_what_the_program_says():
    said = {"result_bytes": 5000, "result_bytes_per_rank": 640, "iterations": 10, "ranks": 1}
    assert file_bytes(said, 3) == 5000 + 2 * 640 + 80000


@pytest.mark.parametrize("change, same", [
    ({"name": "b"}, True), ({"device": "cuda"}, True), ({"delays": [1]}, True),
    ({"data": {"type": "shapes", "threads": 4}}, True), ({"data": {"type": "shapes"}}, True),
    ({"graph": "torus"}, False), ({"data": {"type": "mnist", "threads": 1}}, False),
    ({"data": "shapes"}, False),
])
def test_entries_that_are_free_to_change_do_not_make_another_experiment(change, same):
    before = json.dumps(SPEC)
    assert (experiment(SPEC, FREE) == experiment({**SPEC, **change}, FREE)) == same
    assert json.dumps(SPEC) == before


@pytest.mark.parametrize("axes, kept", [
    (["graph"], FREE), (["/device"], ["/name", "/data/threads", "/delays"]),
    (["/data/threads"], ["/name", "/device", "/delays"]),
    (["data"], ["/name", "/device", "/delays"]),
    (["/delays/0/seconds"], ["/name", "/device", "/data/threads"]),
])
def test_what_a_sweep_varies_counts(axes, kept):
    assert list(ignored_entries(FREE, axes)) == kept


def test_another_exported_model_is_another_experiment():
    assert list(ignored_entries([*FREE, "/model/path"], ["graph"])) == FREE


def test_a_complete_file_is_found_by_its_experiment(tmp_path):
    results = Results(str(tmp_path))
    for name, status in (("a", "running"), ("b", "complete"), ("c", "complete")):
        results.files[name] = {"status": status, "spec": json.dumps({**SPEC, "name": name})}
    results.files["d"] = {"status": "no file"}
    wanted = experiment({**SPEC, "device": "cuda"}, ("/name", "/device"))
    assert results.complete(wanted, ("/name", "/device")) == "b"
    assert results.complete(wanted, ("/name",)) is None


def test_a_sweep_over_a_free_entry_keeps_its_runs(quick):
    """The replacement of the program gives one answer for all points, except for their device."""
    stand_in(quick, "dbench", ANSWERS + """answer() {
    case "$1" in *cuda*) device=cuda ;; *) device=cpu ;; esac
    echo '{"spec": {"replicas": 4, "device": "'$device'"}, "iterations": 9, "bytes_per_step": 1,'
    echo '"memory_bytes_per_rank": 1, "result_bytes": 1, "result_bytes_per_rank": 100,'
    echo '"ranks": 1, "activation_bytes_per_rank": null, "evaluation_share": 0,'
    echo '"free_to_change": ["/name", "/output", "/device"]}'
}
[ $1 = check ] && answers "$2"
""")
    plan = quick.write({"/device": ["cpu", "cuda"]}, ranks=3).plan()
    assert [run["file_bytes"] for run in plan["runs"]] == [80201, 80201]
    plan = quick.write({"seed": [1, 2]}, ranks=3).plan()
    assert [run["name"] for run in plan["runs"]] == ["s1"] and plan["duplicates"]


def test_a_number_has_one_form():
    def hashed(spec):
        return experiment(json.loads(spec), ())

    assert hashed('{"lr": 1.0, "seed": 3}') == hashed('{"lr": 1, "seed": 3}')
    assert hashed('{"lr": 1.5}') != hashed('{"lr": 1}')
