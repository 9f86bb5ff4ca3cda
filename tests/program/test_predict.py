"""Tests of `calibrate` and `predict`: the contract of the JSON, refusals, and the prediction that a
run stores."""

import json
import subprocess
import sys
from dataclasses import replace
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import h5py
import numpy as np
import pytest
from conftest import PROGRAM, ROOT, SMALL, Dbench

sys.path.insert(0, str(ROOT / "bench"))

from comparison import hosts
from steps import mpirun

COMMANDS = (ROOT / "docs" / "command-line.md").read_text()
BRIEF = ["--seconds", "0.2"]


def calibrated(dbench, spec, *words, name="costs.json", **more):
    dbench("calibrate", spec, "--output", name, *BRIEF, *words, **more)
    return json.loads((dbench.folder / name).read_text())


def predicted(dbench, spec, *words, **more):
    return json.loads(dbench("predict", spec, "--json", "--iterations", 50, *words, **more).stdout)


def names(prediction):
    return [(each["name"], each["order"]) for each in prediction["graphs"]]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Return a folder with a spec and a calibration of two ranks, measured once."""
    dbench = Dbench(tmp_path_factory.mktemp("predict"))
    calibrated(dbench, dbench.spec(), ranks=2)
    return dbench


def test_a_calibration_holds_what_was_measured(shared):
    found = json.loads((shared.folder / "costs.json").read_text())
    assert found["format"] == "dbench-calibration" and found["format_version"] == 1
    assert len(found["machine"]["hosts"]) == 2 and found["replicas_per_rank"] == 2
    assert found["compute"]["iterations"] >= 40
    quantiles = found["compute"]["quantiles"]
    assert quantiles == sorted(quantiles) and quantiles[0] > 0
    assert quantiles[0] <= found["compute"]["mean"] <= quantiles[-1]
    ready = [bucket["ready"] for bucket in found["buckets"]]
    assert ready == sorted(ready) and 0 < ready[0] and ready[-1] <= 1
    checked = json.loads(shared("check", "spec.json", "--json").stdout)
    assert sum(b["bytes"] for b in found["buckets"]) == 4 * checked["parameters"]
    assert found["links"]["local"]["one_way"] > 1e6 and found["links"]["remote"] is None
    assert found["seconds_per_byte"] > 0 and found["update"] > 0
    assert list(found["orders"]) == ["adapt_then_combine", "combine_while_adapt", "centralized"]
    for order in found["orders"].values():
        assert order["seconds_per_byte"] > 0 and order["update"] >= 0
        assert len(order["compute"]) >= 40 and min(order["compute"]) > 0
        # A rank reads the rows of its host in place, so it sends no messages.
        assert order["prolongation"] == [] and order["sent"] == 0


def test_the_variation_of_links_between_hosts_is_measured(dbench, tmp_path):
    rate = "200mbit"
    if reason := hosts.why_not(rate):
        pytest.skip(reason)
    spec = dbench.spec(replicas=4, model={"type": "mlp", "hidden": [256]}, implementation=None,
                       graph="ring", algorithm={"type": "dsgd", "order": "combine_while_adapt"})
    costs = dbench.folder / "costs.json"
    with hosts.Hosts(4, rate) as emulated:
        words = emulated.launcher(mpirun(4), 4, tmp_path)
        subprocess.run([*words, PROGRAM, "calibrate", dbench.folder / spec, "--output", costs,
                        "--quiet", *BRIEF], check=True, timeout=120)
    found = json.loads(costs.read_text())
    row = sum(bucket["bytes"] for bucket in found["buckets"])
    exchange, uplink = found["links"]["exchange"], found["links"]["uplink"]
    assert exchange["bytes"] == row and 10e6 < uplink < 30e6
    all_reduces = found["orders"].pop("centralized")
    assert [each["bytes"] for each in all_reduces["prolongation"]] == [1.5 * row]
    assert all_reduces["sent"] == 1.5 * row and all_reduces["exchange"] is None
    for order in found["orders"].values():  # one row, and two on the exponential graph of four
        assert [each["bytes"] for each in order["prolongation"]] == [row, 2 * row]
    quantiles = exchange["quantiles"]
    assert quantiles == sorted(quantiles) and len(quantiles) >= 20
    # A link passes some bytes at once after a pause, and a busy machine delays others.
    assert 0.5 < quantiles[len(quantiles) // 2] / (row / uplink) < 5
    assert [each["sent"] for each in found["orders"].values()] == [row, row]
    (two,) = found["links"]["exchanges_with_several"]
    assert (two["peers"], two["bytes"]) == (2, 2 * row) and len(two["quantiles"]) >= 20
    assert 0.5 < two["quantiles"][len(two["quantiles"]) // 2] / (2 * row / uplink) < 5
    varied = predicted(dbench, spec, "--calibration", "costs.json")
    assert "does not vary" not in " ".join(varied["assumptions"])
    assert varied["graphs"][0]["name"] == "ring"  # which sends to two hosts
    two["quantiles"] = [3 * seconds for seconds in two["quantiles"]]
    costs.write_text(json.dumps(found))
    slower = predicted(dbench, spec, "--calibration", "costs.json")
    assert slower["graphs"][0]["step_time_mean"] > 1.5 * varied["graphs"][0]["step_time_mean"]
    order = found["orders"]["combine_while_adapt"]
    changing = order["changing_exchange"]
    assert changing["bytes"] == row
    assert 0.5 < np.mean(changing["quantiles"]) / (row / uplink) < 5

    def other_hosts_each_time():
        costs.write_text(json.dumps(found))
        graph = predicted(dbench, spec, "--calibration", "costs.json", "--graphs",
                          "alternating_ring")["graphs"]
        [each] = [g for g in graph if (g["name"], g["order"]) == (
            "alternating_ring", "combine_while_adapt")]
        return each["step_time_mean"]
    before = other_hosts_each_time()
    changing["quantiles"] = [3 * seconds for seconds in changing["quantiles"]]
    assert other_hosts_each_time() > 1.5 * before
    found["links"]["exchange"] = None
    costs.write_text(json.dumps(found))
    constant = predicted(dbench, spec, "--calibration", "costs.json")
    assert "does not vary" in " ".join(constant["assumptions"])
    assert constant["graphs"][0]["step_time"] != varied["graphs"][0]["step_time"]


def test_ranks_of_a_host_share_the_uplink_that_is_measured(dbench, tmp_path):
    rate = "200mbit"
    if reason := hosts.why_not(rate):
        pytest.skip(reason)
    spec = dbench.spec(replicas=4, graph="ring", algorithm="dsgd", implementation=None)
    costs = dbench.folder / "costs.json"
    with hosts.Hosts(2, rate) as emulated:
        words = emulated.launcher(mpirun(4), 4, tmp_path)
        subprocess.run([*words, PROGRAM, "calibrate", dbench.folder / spec, "--output", costs,
                        "--quiet", *BRIEF], check=True, timeout=120)
    found = json.loads(costs.read_text())
    # 25 MB/s, of which headers are a part. A short message also uses what the link has saved, which
    # once added a fifth on a busy machine. Two separate links would have twice as much.
    assert len(found["machine"]["hosts"]) == 4 and 15e6 < found["links"]["uplink"] < 40e6
    assert "uplink" not in " ".join(found["assumptions"])


def bytes_of(dbench, spec, *words):
    """Return the bytes of each graph, as predicted with the graph as another candidate."""
    found = predicted(dbench, spec, "--calibration", "costs.json", *words)
    return {each["name"]: each["bytes"] for each in found["graphs"]}


@pytest.mark.parametrize("change", [
    {"algorithm": "choco", "message": "sign"},            # messages over links, also in groups
    {"algorithm": "dsgd", "message": "bfloat16"},         # means of groups travel whole
    {"algorithm": {"type": "local_sgd", "period": 32}}],  # longer than the simulation
    ids=["compressed", "16 bits", "local steps"])
def test_bytes_of_each_graph_are_those_of_a_run_on_it(shared, change):
    graphs = ["complete", "ring", "exponential"]
    if change["algorithm"] != "choco":
        graphs.append("alternating_ring")  # choco needs a static graph
    checked = {}
    for graph in graphs:
        spec = shared.spec({"implementation": None, "graph": graph, "replicas": 8, **change},
                           name=f"{graph}.json")
        checked[graph] = json.loads(shared("check", spec, "--json").stdout)["bytes_per_step"]
    for graph in graphs:
        found = bytes_of(shared, f"{graph}.json", "--hosts", 8, "--graphs", ",".join(graphs))
        assert found == pytest.approx(checked, rel=0.01)


def test_replicas_that_do_not_wait_send_over_the_links_of_a_group(shared):
    spec = shared.spec(implementation=None, graph="complete", algorithm="swift", name="swift.json")
    words = (spec, "--calibration", "costs.json", "--hosts", 4, "--bandwidth")
    slow, fast = (predicted(shared, *words, rate)["graphs"][0] for rate in (1e6, 1e12))
    assert slow["step_time_mean"] == pytest.approx(slow["bytes"] / 4 / 1e6, rel=0.01)
    assert slow["step_time_mean"] > 2 * fast["step_time_mean"]


def test_clipped_gradients_leave_after_backward(shared):
    """Clipping is also part of the compute step, so that another calibration is needed."""
    words = ("--set", "optimizer.clip_norm=1")
    said = shared("predict", "spec.json", *words, "--calibration", "costs.json", expect=2).stderr
    assert "not measured with this run: model (clip_norm" in said
    calibrated(shared, "spec.json", *words, ranks=2, name="clipped.json")
    words = ("--hosts", 4, *words, "--calibration", "clipped.json")
    found = predicted(shared, "spec.json", *words, "--graphs", "all-reduce")
    even = {(each["name"], each["order"]): each["break_even_bandwidth"] for each in found["graphs"]}
    assert even["ring", "adapt_then_combine"] is None and even["all-reduce", "centralized"] is None
    assert even["ring", "combine_while_adapt"]


def test_a_rank_with_fewer_replicas_computes_less(shared):
    costs = json.loads((shared.folder / "costs.json").read_text())
    assert costs["replicas_per_rank"] == 2
    costs["orders"] = {}
    costs["compute"]["quantiles"] = [1.0]
    (shared.folder / "steady.json").write_text(json.dumps(costs))
    spec = shared.spec(implementation=None, graph="ring", replicas=3, name="three.json",
                       algorithm={"type": "local_sgd", "period": 10**9})
    times = predicted(shared, spec, "--calibration", "steady.json")["graphs"][0]
    assert times["step_time"]["p05"] == pytest.approx(0.5, rel=0.1)
    assert times["step_time_mean"] == pytest.approx(0.75, rel=0.1)
    assert times["step_time"]["p95"] == pytest.approx(1, rel=0.1)


def test_a_calibration_of_two_replicas(dbench):
    """They average as a group on every graph, and read no single rows."""
    found = calibrated(dbench, dbench.spec(replicas=2), ranks=2)
    for order in found["orders"].values():
        assert 0 < order["seconds_per_byte"] < 1e-3
    assert predicted(dbench, "spec.json", "--calibration", "costs.json")["ranks"] == 2


def test_a_calibration_of_ranks_with_different_numbers_of_replicas(dbench):
    found = calibrated(dbench, dbench.spec(replicas=3, implementation=None, graph="ring",
                                           algorithm="dsgd"), ranks=2)
    assert found["replicas_per_rank"] == 2 and len(found["orders"]) == 3


def bench_predict():
    loader = SourceFileLoader("bench_predict", str(ROOT / "bench" / "predict"))
    module = module_from_spec(spec_from_loader("bench_predict", loader))
    sys.modules["bench_predict"] = module  # its dataclasses look for their module
    loader.exec_module(module)
    return module


def test_the_benchmark_of_published_times(tmp_path, monkeypatch):
    bench = bench_predict()
    monkeypatch.setattr(bench, "PROGRAM", PROGRAM)
    cluster = replace(bench.CLUSTERS[0], gpus=(16,))
    steady, varied = (bench.published_cells(tmp_path, cluster, bench.Form("bandwidth", sigma),
                                            cluster.work, cluster.nominal) for sigma in (0, 0.2))
    assert {method for _, method in steady} == set(bench.METHODS)
    assert all(0.25 < seconds < 0.5 for seconds in steady.values())  # 16 GPUs divide 5 seconds
    later = {method: varied[16, method] - steady[16, method] for method in bench.METHODS}
    assert later["all-reduce"] > 0.05 > later["AER"]  # jitter costs the all-reduce most
    fixed = bench.published_cells(tmp_path, cluster, bench.Form("fixed time", 0), cluster.work, 0.1)
    assert fixed[16, "AER"] == pytest.approx(steady[16, "AER"] + 0.1, rel=0.01)


def test_the_benchmark_of_stragglers(tmp_path, monkeypatch):
    bench = bench_predict()
    monkeypatch.setattr(bench, "PROGRAM", PROGRAM)
    monkeypatch.setattr(bench, "SIGMAS", [0, 0.2])
    for label, ((_, none), (_, lost)) in bench.stragglers(tmp_path).items():
        assert abs(none) < 1e-4 and lost < (0.45 if label == "all-reduce" else 0.3)


def test_the_json_obeys_the_contract(shared):
    found = predicted(shared, "spec.json", "--calibration", "costs.json")
    assert names(found)[0] == ("ring", "adapt_then_combine")
    assert ("ring", "combine_while_adapt") in names(found)
    assert ("all-reduce", "centralized") in names(found)
    assert all(isinstance(text, str) and text.endswith(".") for text in found["assumptions"])
    for each in found["graphs"]:
        times = each["step_time"]
        assert 0 < times["p05"] <= times["p50"] <= times["p95"]
        assert 0 <= each["exchange_exposed"] < times["p95"]
    for key in ("gamma", "omega", "sigma2"):
        assert found[key] >= 0
    assert found["fastest"] in {"within noise", *(each["name"] for each in found["graphs"])}
    assert (found["ranks"], found["hosts"], found["iterations"]) == (2, 1, 6)
    described = COMMANDS.split("`dbench predict --json`")[1].split("`dbench graph --json`")[0]
    keys = {*found, *found["graphs"][0]}
    assert not {key for key in keys if f"`{key}`" not in described}
    checked = json.loads(shared("check", "spec.json", "--json").stdout)
    assert found["graphs"][0]["bytes"] == pytest.approx(checked["bytes_per_step"])


def test_hosts_with_several_ranks_add_their_rows_before_an_all_reduce(shared):
    """h hosts send 2 (h - 1) / h rows each, whatever their number of ranks. If a host has one rank,
    each of m ranks sends 2 (m - 1) / m rows."""
    for count, ranks, rows in ((2, 1, 1), (2, 4, 1), (4, 2, 1.5), (3, 4, 2 * 4 * 8 / 12)):
        spec = shared.spec(implementation="C_complete", replicas=count * ranks, name="sum.json")
        words = (spec, "--hosts", count, "--gpus-per-node", ranks, "--bandwidth", 1e4)
        for reduction, sent in (("reproducible", rows), ("library", 2 * (count - 1) / count)):
            found = predicted(shared, *words, "--set", f"reduction={reduction}")
            bytes_of_row = 4 * (3 * 32 * 32 * 10 + 10)
            assert found["graphs"][0]["exchange_exposed"] == pytest.approx(
                sent * bytes_of_row / 1e4, rel=0.02), (count, ranks, reduction)


def test_hosts_and_graphs_as_the_options_say(shared):
    found = predicted(shared, "spec.json", "--calibration", "costs.json", "--hosts", 8,
                      "--gpus-per-node", 2, "--graphs", "one_peer_exponential,aer,all-reduce",
                      "--bandwidth", 1e6)
    assert (found["ranks"], found["hosts"]) == (16, 8)
    assert {name for name, _ in names(found)} == {"ring", "one_peer_exponential", "aer",
                                                   "all-reduce"}
    # The link decides: one peer sends half of a ring's rows, and both are above computing.
    mean = {each: entry["step_time_mean"] for each, entry in zip(names(found), found["graphs"],
                                                                 strict=True)}
    slow = mean["ring", "combine_while_adapt"]
    assert slow > 10 * found["compute"]
    # 8 hosts send 2 * 7 / 8 rows each in an all-reduce, and 2 rows over a ring.
    assert mean["all-reduce", "centralized"] == pytest.approx(7 / 8 * slow, rel=0.02)
    even = found["graphs"][0]["break_even_bandwidth"]
    assert even["p05"] <= even["p50"] <= even["p95"] and even["p05"] > 1e6
    faster = predicted(shared, "spec.json", "--calibration", "costs.json", "--hosts", 8,
                       "--gpus-per-node", 2, "--graphs", "all-reduce", "--bandwidth", 1e9)
    assert faster["graphs"][0]["step_time_mean"] < slow
    assert "hosts have 1 MB/s" in " ".join(found["assumptions"])


def test_equal_arguments_give_equal_predictions(shared):
    words = ("spec.json", "--calibration", "costs.json", "--hosts", 4)
    assert predicted(shared, *words) == predicted(shared, *words)


def test_calibrate_prints_no_notice_of_keys_that_it_replaces_itself(dbench):
    said = dbench("calibrate", dbench.spec(), "--output", "costs.json", *BRIEF).stderr
    assert "dropped" not in said and "measuring" in said


def test_without_a_calibration_it_measures_and_says_so(shared):
    found = predicted(shared, "spec.json", "--hosts", 4, "--graphs", "all-reduce")
    said = " ".join(found["assumptions"])
    assert "measured briefly on this machine" in said
    assert "links between hosts were not measured" in said
    assert found["compute"] > 0
    table = shared("predict", "spec.json", "--graphs", "all-reduce", "--iterations", 50).stdout
    assert "fastest: " in table and "assumptions" in table and "all ranks are on one host" in table


def test_a_spec_from_a_pipe_is_read_once(dbench):
    spec = dbench.text(placement="node_major")
    found = calibrated(dbench, "/dev/stdin", "--overwrite", ranks=2, text=spec)
    assert found["model"]["parameters"] == 30730 and found["model"]["sample"] == "3x32x32"
    prediction = predicted(dbench, "/dev/stdin", text=spec)
    assert prediction["graphs"][0]["name"] == "ring"


def test_without_a_calibration_a_listed_partition_is_measured_on_one_replica(shared):
    """The file has a list for each of the spec's replicas, but the measurement has one replica."""
    np.savez(shared.folder / "split.npz", *np.arange(64).reshape(4, 16))
    data = {**SMALL["data"], "partition": {"type": "file", "path": "split.npz"}}
    spec = shared.spec(data=data, replicas=4, name="listed.json")
    found = predicted(shared, spec, "--graphs", "all-reduce")
    assert found["compute"] > 0 and found["ranks"] == 4


@pytest.mark.parametrize("change, name", [
    (["--set", "model=mlp"], "model"),
    (["--set", "data.batch_size=4"], "model"),
    (["--set", "precision=float64"], "precision"),
    ("cores", "machine"),
    ("program", "program")])
def test_a_calibration_of_something_else_is_refused_by_name(shared, change, name):
    words, file = (change, "costs.json") if isinstance(change, list) else ([], "other.json")
    if not words:
        costs = json.loads((shared.folder / "costs.json").read_text())
        if change == "cores":
            costs["machine"]["cores"] += 1
        else:
            costs["program"] = "0.0.1 (earlier)"
        (shared.folder / file).write_text(json.dumps(costs))
    words = ["spec.json", *words, "--calibration", file]
    for command in (["predict"], ["run", "--output", "refused.h5"]):
        said = shared(command[0], *words, *command[1:], expect=2).stderr
        assert f"{file} was not measured with this run: {name} (" in said
        assert "--accept-differences" in said
    assert not (shared.folder / "refused.h5").exists()
    done = shared("predict", *words, "--accept-differences", "--json", "--iterations", 50)
    assert f"not measured with this run: {name} (" in done.stderr
    assert any(f"differs in {name}" in text for text in json.loads(done.stdout)["assumptions"])


def test_a_calibration_of_other_windows_of_a_text_is_refused(dbench):
    (dbench.folder / "text.txt").write_text("to be or not to be that is the question\n" * 200)
    spec = dbench.spec(model={"type": "lstm", "hidden": 8}, implementation="C_complete", replicas=2,
                       data={"type": "text", "path": "text.txt", "sequence": 5, "batch_size": 2})
    costs = calibrated(dbench, spec)
    assert costs["model"]["sample"] == "5"
    longer = ("predict", spec, "--set", "data.sequence=10", "--calibration", "costs.json")
    assert 'model (sample: measured with "5", now "10")' in dbench(*longer, expect=2).stderr
    del costs["model"]["sample"]  # as earlier versions wrote it
    (dbench.folder / "costs.json").write_text(json.dumps(costs))
    dbench(*longer)


def test_a_graph_with_other_keys_is_another_candidate(shared):
    found = predicted(shared, "spec.json", "--set", "algorithm=dsgd", "--set",
                      'graph={"type": "ring", "lazy": 0.5}', "--hosts", 4, "--graphs", "ring")
    assert {graph["name"] for graph in found["graphs"]} == {"ring:lazy=0.5", "ring"}


def test_another_commit_of_the_program_is_a_warning(shared):
    costs = json.loads((shared.folder / "costs.json").read_text())
    costs["program"] = costs["program"].split(" ")[0] + " (another)"
    (shared.folder / "commit.json").write_text(json.dumps(costs))
    done = shared("predict", "spec.json", "--calibration", "commit.json", "--json",
                  "--iterations", 50)
    assert "not measured with this run: program (" in done.stderr
    assert any("differs in program" in text for text in json.loads(done.stdout)["assumptions"])


def test_bad_files_and_options_are_refused(shared):
    (shared.folder / "empty.json").write_text("{}")
    for words, said in ((("--calibration", "spec.json"), "is not a calibration"),
                        (("--calibration", "empty.json"), "is not a calibration"),
                        (("--calibration", "none.json"), "none.json"),
                        (("--graphs", "rign"), "ring"),
                        (("--accept-differences",), "--calibration"),
                        (("--bandwidth", "nan"), "nan is not possible: give a number from 1 to"),
                        (("--latency", "-1"), "-1 is not possible: give a number from 0 to"),
                        (("--gpus-per-node", 2), "--hosts")):
        assert said in shared("predict", "spec.json", *words, expect=2).stderr
    assert "start one process" in shared("predict", "spec.json", ranks=2, expect=2).stderr
    said = shared("calibrate", "spec.json", "--output", "costs.json", expect=2).stderr
    assert "costs.json exists" in said and "--overwrite" in said
    assert "--output" in shared("calibrate", "spec.json", expect=2).stderr
    for path, word in (("/proc/costs.json", "cannot be created"), (".", "is a folder")):
        said = shared("calibrate", "spec.json", "--output", path, "--overwrite", expect=2).stderr
        assert word in said and "measuring" not in said  # It fails before the measurements.


def test_a_run_stores_its_prediction(shared):
    shared.run("spec.json", "ring.h5", "--calibration", "costs.json", ranks=2)
    with h5py.File(shared.folder / "ring.h5") as file:
        found = json.loads(file["prediction"][()])
        assert file["iterations/step_time"].shape == (6, 2)
    assert names(found)[:1] == [("ring", "adapt_then_combine")]
    assert found["ranks"] == 2 and found["graphs"][0]["step_time"]["p50"] > 0
    assert shared("doctor", "ring.h5").returncode == 0
    shared.run("spec.json", "without.h5", ranks=2)
    with h5py.File(shared.folder / "without.h5") as file:
        assert "prediction" not in file


@pytest.mark.parametrize("changes, order", [
    ({"implementation": "C_complete"}, ("all-reduce", "centralized")),
    ({"implementation": None, "graph": "ring",
      "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}},
     ("ring", "combine_while_adapt")),
    ({"implementation": None, "graph": "ring", "algorithm": "ad_psgd"}, ("ring", "asynchronous")),
    ({"implementation": None, "graph": "complete",
      "algorithm": {"type": "local_sgd", "period": 3}}, ("complete", "adapt_then_combine")),
    ({"implementation": None, "graph": "ring", "algorithm": "gradient_tracking",
      "delays": [{"replicas": [1], "seconds": 0.5}]}, ("ring", "adapt_then_combine"))],
    ids=["centralized", "awc", "asynchronous", "local steps", "two rows and delays"])
def test_algorithms(shared, changes, order):
    spec = shared.spec(changes, name=f"{order[0]}-{order[1]}.json")
    # Replicas that do not wait for each other need a rank each.
    hosts = ["--hosts", 4] if order[1] == "asynchronous" else []
    found = predicted(shared, spec, "--calibration", "costs.json", *hosts)
    assert names(found)[0] == order
    checked = json.loads(shared("check", spec, "--json").stdout)
    if order[1] == "asynchronous":  # each of the four replicas sends one row on average
        assert found["graphs"][0]["bytes"] == pytest.approx(4 * 4 * checked["parameters"], rel=0.15)
    else:
        assert found["graphs"][0]["bytes"] == pytest.approx(checked["bytes_per_step"])
    if "delays" in changes:
        assert found["graphs"][0]["step_time"]["p50"] > 0.5
