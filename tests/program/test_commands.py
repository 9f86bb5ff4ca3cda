"""Tests of the subcommands, their stable output, and the result file of a small run."""

import ctypes
import json
import re
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from conftest import ROOT


def test_help_with_examples(dbench):
    for words in (["--help"], ["run", "--help"], ["check", "--help"], ["graph", "--help"],
                  ["doctor", "--help"]):
        assert "dbench" in dbench(*words).stdout
    assert "Examples" in dbench("run", "--help").stdout


def test_errors_of_standard_output_are_reported(dbench):
    for words in (("version",), ("list", "--json")):  # written by printf, and by std::cout
        with open("/dev/full", "w") as full:
            done = subprocess.run(dbench.command(*words), stdout=full, stderr=subprocess.PIPE,
                                  text=True)
        assert done.returncode == 1 and "cannot write all to standard output" in done.stderr


def test_an_output_that_looks_like_a_folder_is_a_file_with_a_warning(dbench):
    said = dbench("run", dbench.spec(), "--output", "results", "--quiet").stderr
    assert "results becomes a file, not a folder" in said and "results/NAME.h5" in said
    assert (dbench.folder / "results").is_file()
    for name in ("a.h5", "a.b.hdf5"):
        assert "becomes" not in dbench("run", dbench.spec(), "--output", name, "--quiet").stderr


def leaves(keys, pointer=""):
    for name, key in keys.items():
        yield f"{pointer}/{name}", key
        yield from leaves(key.get("members", {}), f"{pointer}/{name}")


def test_list_spec_has_every_key_outside_the_families(dbench):
    listed = dict(leaves(json.loads(dbench("list", "spec", "--json").stdout)["spec"]))
    spec = json.loads(dbench("check", dbench.spec(), "--json").stdout)["spec"]
    families = {"model", "data", "graph", "algorithm", "optimizer", "schedule", "placement"}
    assert set(spec) <= {pointer[1:] for pointer in listed if pointer.count("/") == 1}
    for section in ("evaluate", "profile", "checkpoint"):
        assert {f"/{section}/{key}" for key in spec[section]} <= set(listed)
    assert families | {"base", "implementation"} <= {pointer[1:] for pointer in listed}
    for pointer, key in listed.items():
        kinds = [kind in key for kind in ("default", "required")]
        assert key["help"] and (sum(kinds) == 1 or "members" in key), pointer
    assert listed["/replicas"]["at_least"] == 1 and listed["/replicas"]["at_most"] == 2**20
    assert listed["/checkpoint/replicas"]["choices"] == ["refuse", "clone", "merge"]
    for pointer in ("/evaluate/batch_size", "/checkpoint/keep", "/profile/graphs"):
        key, default = pointer.split("/")[1:], listed[pointer]["default"]
        assert spec[key[0]][key[1]] == default
    text = dbench("list", "spec").stdout
    assert "keep = 2   how many checkpoints are kept [at least 1" in text


def test_list_of_one_key(dbench):
    told = json.loads(dbench("list", "profile.variance", "--json").stdout)["spec"]
    assert set(told) == {"variance"} and set(told["variance"]["members"]) == {"kind", "every"}
    text = dbench("list", "evaluate").stdout
    for key in ("evaluate", "every", "replicas = 8", "batch_size = 256"):
        assert key in text
    assert "keep" not in text
    assert set(json.loads(dbench("list", "spec", "--json").stdout)["spec"]["seed"]["members"]) == {
        "init", "data", "graph", "augment", "message", "delay", "dropout"}
    assert dbench("list", "graph").stdout == dbench("list", "graphs").stdout
    assert dbench("list", "data.partition").stdout == dbench("list", "partitions").stdout
    assert "graph" in dbench("list", "grph", expect=2).stderr


def test_list_of_one_member(dbench):
    told = json.loads(dbench("list", "diloco", "--json").stdout)
    assert {family: list(found) for family, found in told.items()} == {"algorithms": ["diloco"]}
    assert told["algorithms"]["diloco"]["parameters"]["outer_lr"]["default"] == 0.7
    text = dbench("list", "torus").stdout
    assert text.startswith("graphs\n  torus ") and "\n  ring " not in text
    assert "diloco" in dbench("list", "dilco", expect=2).stderr


def test_list_has_all_families(dbench):
    listed = json.loads(dbench("list", "--json").stdout)
    for family, names in {"models": ["softmax_regression", "least_squares", "mlp", "cnn",
                                     "resnet20"],
                          "data": ["shapes", "regression", "cifar10", "mnist", "fashion_mnist"],
                          "graphs": ["ring", "torus", "exponential", "one_peer_exponential",
                                     "complete",
                                     "ring_lattice", "star", "erdos_renyi"],
                          "algorithms": ["centralized", "dsgd"],
                          "optimizers": ["sgd", "adam", "adamw", "accum_adam", "accum_adamw"],
                          "schedules": ["constant", "multistep", "cosine"],
                          "partitions": ["shuffled", "contiguous", "iid", "dirichlet", "by_label"],
                          "implementations": ["C_complete", "D_complete", "D_ring", "D_torus",
                                              "D_exponential"]}.items():
        assert set(names) <= set(listed[family])
    assert "resnet20" in dbench("list", "models").stdout
    assert "resnet20" not in dbench("list", "graphs").stdout


def test_graph(dbench):
    found = json.loads(dbench("graph", "ring", "--n", 16, "--json").stdout)
    assert found["rho"] == pytest.approx(0.949253, abs=1e-6) and found["degree"]["mean"] == 2
    edges = np.array([line.split() for line in dbench("graph", "torus", "--n", 6,
                                                      "--edges").stdout.splitlines()], float)
    matrix = np.array([line.split() for line in dbench("graph", "torus", "--n", 6,
                                                       "--matrix").stdout.splitlines()], float)
    dense = np.zeros((6, 6))
    dense[edges[:, 0].astype(int), edges[:, 1].astype(int)] = edges[:, 2]
    assert np.array_equal(dense, matrix)
    np.testing.assert_allclose(matrix.sum(0), 1, atol=1e-15)
    # i sends to i + 2^k: W[i + 2^k][i] > 0.
    shifted = np.array([line.split() for line in
                        dbench("graph", "one_peer_exponential", "--n", 8, "--round", 1,
                               "--matrix").stdout.splitlines()], float)
    assert shifted[3, 1] == 0.5 and shifted[1, 3] == 0
    assert "ring" in dbench("graph", "ring_lattice", "--n", 12, "--k", 4).stdout


def test_check_prints_the_resolved_spec(dbench):
    found = json.loads(dbench("check", dbench.spec(), "--json").stdout)
    assert found["spec"]["optimizer"] == {"type": "sgd", "lr": 0.05, "momentum": 0,
                                          "nesterov": False,
                                          "weight_decay": 0, "decay": "all", "clip_norm": None}
    assert found["spec"]["implementation"] == "D_ring" and "graph" not in found["spec"]
    assert found["parameters"] == 3072 * 10 + 10 and found["tensors"] == 2
    assert found["bytes_per_step"] == 4 * 2 * found["parameters"] * 4
    assert found["memory_bytes_per_rank"] > 2 * 4 * found["parameters"] * 4
    assert found["graph"]["rho"] == pytest.approx(1 / 3)
    text = dbench("check", dbench.spec()).stdout
    assert "30730 in 2 tensors" in text
    assert not list(dbench.folder.glob("**/*.h5"))
    # The resolved spec is a valid spec and resolves to itself.
    (dbench.folder / "again.json").write_text(json.dumps(found["spec"]))
    assert json.loads(dbench("check", "again.json", "--json").stdout)["spec"] == found["spec"]
    two = json.loads(dbench("check", dbench.spec(), "--json", ranks=2).stdout)
    assert two["result_bytes"] == found["result_bytes"] + found["result_bytes_per_rank"]
    assert {"/name", "/output", "/data/threads"} <= {*found["free_to_change"]}
    assert "/graph" not in found["free_to_change"]


def test_check_reports_heterogeneity(dbench):
    def found(partition):
        data = {"type": "shapes", "train": 1000, "test": 64, "partition": partition}
        return json.loads(dbench("check", dbench.spec(replicas=10, data=data),
                                 "--json").stdout)["partition"]

    near, far = found({"type": "dirichlet",
                       "alpha": 1e6}), found({"type": "dirichlet", "alpha": 0.01})
    assert near["classes"] == far["classes"] == 10
    assert near["total_variation"] < 0.25 and near["labels"]["mean"] > 9
    assert far["total_variation"] > 0.7 and far["labels"]["mean"] < 3 and far["labels"]["min"] == 1
    assert far["labels"]["min"] <= far["labels"]["mean"] <= far["labels"]["max"]
    assert found("by_label")["labels"]["min"] >= 2
    assert "labels per replica     " in dbench("check", dbench.spec()).stdout
    regression = dbench.spec(model="least_squares",
                             data={"type": "regression", "partition": "contiguous"})
    assert json.loads(dbench("check", regression, "--json").stdout)["partition"] is None
    assert "labels per replica" not in dbench("check", regression).stdout


def test_base_and_set(dbench):
    dbench.spec(implementation=None, algorithm="dsgd", graph={"type": "ring_lattice", "k": 2},
                replicas=8,
                name="base.json")
    (dbench.folder
     / "child.json").write_text('// overrides\n{"base": "base.json", "optimizer": {"lr": 0.2},'
                                              ' "graph": "torus", "length": {"epochs": 1}}')
    done = dbench("check", "child.json", "--json", "--set", "/optimizer/momentum=0.5", "--set",
                  "/data/batch_size=4")
    spec = json.loads(done.stdout)["spec"]
    assert spec["optimizer"]["lr"] == 0.2 and spec["optimizer"]["momentum"] == 0.5
    assert spec["graph"]["type"] == "torus" and "k" not in spec[
        "graph"] and "no k: dropped" in done.stderr
    assert spec["length"] == {"epochs": 1} and spec["data"]["batch_size"] == 4
    assert spec["name"] == "child"
    spec = json.loads(dbench("check", "base.json", "--json", "--set",
                             "/implementation=C_complete").stdout)["spec"]
    assert spec["implementation"] == "C_complete" and "graph" not in spec


def test_a_setting_is_named_with_dots_or_as_a_pointer(dbench):
    graph = {"type": "ring_lattice", "k": 2}
    spec = dbench.spec(implementation=None, algorithm="dsgd", graph=graph)

    def found(*settings, expect=0):
        words = [word for setting in settings for word in ("--set", setting)]
        done = dbench("check", spec, "--json", *words, expect=expect)
        return done.stderr if expect else json.loads(done.stdout)["spec"]

    assert found("graph.type=torus") == found("/graph/type=torus")
    assert found("graph.type=torus")["graph"]["type"] == "torus"
    assert found("data.partition.type=iid", "evaluate.replicas=2")["evaluate"]["replicas"] == 2
    assert found("graph=base_k:k=3") == found('graph={"type": "base_k", "k": 3}')
    assert found("graph=base_k:k=3")["graph"]["k"] == 3
    assert found("data.partition=dirichlet:alpha=0.1")["data"]["partition"]["alpha"] == 0.1
    assert found("optimizer=sgd:lr=0.3:momentum=0.9")["optimizer"]["lr"] == 0.3
    assert found("graph.k=4", "output=a.b/c=d.h5")["output"] == "a.b/c=d.h5"
    assert found("notes=a:b=c")["notes"] == "a:b=c"
    for setting, word in [("graph", "KEY=VALUE"), ("=3", "KEY=VALUE"),
                          ("graph=base_k:3", "KEY=VALUE"), ("graph.=3", "names no key"),
                          ("graf.type=ring", "did you mean 'graph'")]:
        assert word in found(setting, expect=2), setting


def test_a_member_inside_another_is_merged_and_completed_like_one_outside(dbench):
    graph = {"type": "participation", "graph": "torus"}
    dbench.spec(implementation=None, algorithm={"type": "slowmo", "base": "dsgd"}, graph=graph,
                replicas=16, name="base.json")

    def found(child, *settings):
        (dbench.folder / "child.json").write_text(json.dumps({"base": "base.json", **child}))
        words = [word for setting in settings for word in ("--set", setting)]
        done = dbench("check", "child.json", "--json", *words)
        spec = json.loads(done.stdout)["spec"]
        return spec["graph"]["graph"], spec["algorithm"]["base"], done.stderr

    inside, base, _ = found({})
    assert inside == {"type": "torus", "weights": "auto", "lazy": 1}
    assert base == {"type": "dsgd", "order": "adapt_then_combine"}
    slower = {"graph": {"graph": {"lazy": 0.5}}}
    assert found(slower)[0] == found({}, "graph.graph.lazy=0.5")[0] == {**inside, "lazy": 0.5}
    ring, _, said = found({"graph": {"graph": {"type": "ring", "lazy": 0.5}}})
    assert ring["type"] == "ring" and ring["lazy"] == 0.5 and "dropped" not in said
    wide, _, _ = found({}, "graph.graph=ring_lattice:k=4")
    assert wide["type"] == "ring_lattice" and wide["k"] == 4
    _, local, said = found({"algorithm": {"base": {"order": "adapt_then_combine"}}},
                           "algorithm.base.type=local_sgd")
    assert local["type"] == "local_sgd" and local["period"] == 12
    assert "/algorithm/base: type is now 'local_sgd', which has no order: dropped" in said


def test_the_last_line_of_progress_has_the_last_evaluation(dbench):
    done = dbench("run", dbench.spec(), "--output", "out.h5", ranks=2)
    [line] = [line for line in done.stderr.splitlines() if "took" in line]
    with h5py.File(dbench.folder / "out.h5") as file:
        accuracy = file["evaluations/mean_accuracy"][-1]
    assert f"test {accuracy:.3f}" in line and "100 % (6 of 6)" in line
    assert "ETA" not in done.stderr         # the run is too short for an estimate


def test_doctor_under_a_launcher_prints_once_and_measures_a_link(dbench):
    told = dbench("doctor", ranks=2).stdout
    assert told.count("launcher") == 1
    speeds = re.search(r"link +(\d+) MB/s one way, (\d+) MB/s both ways together", told).groups()
    assert all(int(speed) > 0 for speed in speeds)
    pattern = r"all-reduce +(\S+) ms for 33.6 MB by the MPI library$"
    assert float(re.search(pattern, told, re.M)[1]) > 0


def test_doctor_and_version(dbench):
    told = dbench("doctor").stdout
    for word in ("LibTorch", "MPI", "HDF5", "CUDA", "NCCL", "DBENCH_DATA", "cifar10"):
        assert word in told
    assert "2." in dbench("version").stdout
    assert dbench("--version").stdout == dbench("version").stdout
    assert dbench("doctor", dbench.folder).returncode == 0


def nccl_of_this_machine():
    """Return the version of the NCCL that the loader finds, or "none"."""
    try:
        library = ctypes.CDLL("libnccl.so.2")
    except OSError:
        return "none"
    version = ctypes.c_int()
    assert library.ncclGetVersion(ctypes.byref(version)) == 0
    return f"{version.value // 10000}.{version.value // 100 % 100}.{version.value % 100}"


def test_doctor_reports_whether_mpi_is_cuda_aware(dbench):
    [row] = [line for line in dbench("doctor").stdout.splitlines() if line.startswith("MPI")]
    assert row.endswith((", CUDA-aware", ", not CUDA-aware",
                         ", does not say whether it is CUDA-aware"))


def test_doctor_reports_nccl(dbench):
    [row] = [line for line in dbench("doctor").stdout.splitlines() if line.startswith("NCCL")]
    built, _, here = row.removeprefix("NCCL").strip().partition(", ")
    if built == "not built":
        assert here == nccl_of_this_machine() + " on this machine"
    else:
        assert re.fullmatch(r"\d+\.\d+\.\d+", built)


CONFIGS = [path for path in sorted((ROOT / "configs").rglob("*.json"))
           if path.parent.name != "sweeps"  # sweep files and definitions of tables are not specs
           and path.name != "reproduction.json"]


def test_every_config_has_a_head_comment_and_resolves(dbench):
    files = ('"cifar10"', '"imagenet"', '"fashion_mnist"', '"wikitext2"', '"text"', '"multi30k"',
             '"base"')
    alone, others = [], []
    for path in CONFIGS:
        text = path.read_text()
        assert text.startswith("//") and "Cost:" in text and "Expected:" in text, path
        alone_here = path.parent.name == "quickstart" or not any(word in text for word in files)
        (alone if alone_here else others).append(path)
    dbench("check", *alone)
    # The data sets may be missing; everything else must be correct.
    told = json.loads(dbench("check", "--json", *others, expect=2).stdout)
    assert [path for path in others if "DBENCH_DATA" not in told[str(path)].get("error", "")] == []


def test_check_of_several_specs_reports_each(dbench):
    good, bad = dbench.spec(), dbench.spec(model="resnet21", name="bad.json")
    done = dbench("check", good, bad, "nowhere.json", good, ranks=2, expect=2)
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(lines) == 2 and "bad.json: /model/type" in lines[0] and "nowhere" in lines[1]
    assert done.stdout.count(f"{good}: 30730 parameters, memory per rank ") == 2


def test_check_of_several_specs_warns_of_equal_outputs(dbench):
    names = {"a.json": "same", "b.json": "same", "c.json": "other"}
    a, b, c = (dbench.spec({"name": name}, file) for file, name in names.items())
    assert f"{b} and {a} would both write" in dbench("check", a, b, c).stderr
    assert "becomes a file" not in dbench("check", a, c, "--output", "results/both").stderr


def test_one_seed_can_be_replaced(dbench):
    spec = dbench.spec(seed=7)
    for given in (["--set", "seed.data=3"], ["--set", 'seed={"data": 3}']):
        answer = json.loads(dbench("check", spec, *given, "--json").stdout)
        seeds = answer["spec"]["seed"]
        one = given[1].startswith("seed.")
        assert seeds["data"] == 3 and seeds["init"] == (7 if one else 1), seeds
    child = dbench.folder / "child.json"
    child.write_text(json.dumps({"base": spec, "seed": {"data": 3}}))
    seeds = json.loads(dbench("check", child, "--json").stdout)["spec"]["seed"]
    assert seeds["data"] == 3 and seeds["init"] == seeds["dropout"] == 7


def test_compute_float32_is_the_precision_of_float32(dbench):
    spec = dbench.spec(compute="float32")
    assert json.loads(dbench("check", spec, "--json").stdout)["spec"]["compute"] == "precision"
    assert "/compute: float32 requires" in dbench(
        "check", spec, "--set", "precision=float64", expect=2).stderr


def test_a_base_is_named_in_a_file(dbench):
    assert "/base: unknown key outside a file" in dbench(
        "check", dbench.spec(), "--set", "base=other.json", expect=2).stderr


def test_result_file(dbench):
    spec = dbench.spec(replicas=3, data={"type": "shapes", "train": 240, "test": 50,
                                         "batch_size": 8, "validation": 20},
                       length={"epochs": 1}, evaluate={"every": {"iterations": 4}, "replicas": 2},
                       profile={"every": {"iterations": 2},
                                "variance": {"every": {"iterations": 4}}})
    with h5py.File(dbench.run(spec, ranks=2)) as file:
        n, tensors, per_epoch = 3, 2, 220 // 3 // 8
        it = file["iterations"]
        assert list(it["iteration"]) == list(range(per_epoch)) and it["train_loss"].shape == (
            per_epoch, n)
        assert it["step_time"].shape == (per_epoch, 2)
        parts = sum(it[f"time_{part}"][:] for part in ("data", "gradient", "update", "exchange"))
        assert np.all(parts <= it["step_time"][:] + 1e-9) and np.all(it["time_gradient"][:] > 0)
        np.testing.assert_allclose(it["epoch"], (np.arange(per_epoch) + 1) * 24 / 220)
        # On a ring of three, W = J/3 is carried out and counted as an all-reduce.
        assert np.all(it["degree"][:] == 2) and np.all(it["messages"][:] == 3
                                                       * 4) and np.all(it["rounds"][:] == 1)
        np.testing.assert_allclose(it["bytes_sent"], 3 * 4 / 3 * 30730 * 4)
        p = file["parameters"]
        assert list(p["iteration"]) == [t for t in range(per_epoch) if t % 2 == 0]
        assert p["norm"].shape == (len(p["iteration"]), n, tensors)
        assert list(p["variance_iteration"]) == [t for t in range(per_epoch) if t % 4 == 0]
        np.testing.assert_allclose(p["consensus_distance"][:] ** 2,
                                   (p["variance"][:] * file["tensors/numel"][:]).sum(1), rtol=1e-12)
        a = p["norm"][0].astype(float)
        np.testing.assert_allclose(p["coefficient_of_variation"][0], a.std(0) / a.mean(0),
                                   rtol=1e-9)
        gini = np.abs(a[:, None] - a[None]).sum((0, 1)) / (2 * n * n * a.mean(0))
        np.testing.assert_allclose(p["gini"][0], gini, rtol=1e-9)
        e = file["evaluations"]
        assert list(e["iteration"]) == [0, 4, 8, per_epoch] and list(e["replica"]) == [0, 1]
        assert e["local_accuracy"].shape == (4, 2) and e["validation_mean_accuracy"].shape == (4,)
        assert json.loads(file["spec"][()])["replicas"] == n
        g = file["graphs"]
        assert g["weight"].shape == (9,) and np.allclose(g["weight"],
                                                         1 / 3) and list(g["offset"]) == [0, 9]
        assert [name.decode() for name in file["tensors/name"]] == ["weight", "bias"] or len(
            file["tensors/name"]) == 2


LATE = """
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static void late(void) { if (write(2, "MPI at the exit\\n", 16) < 0) _exit(9); }

int MPI_Init_thread(int* count, char*** words, int required, int* provided) {
    atexit(late);
    return PMPI_Init_thread(count, words, required, provided);
}
"""


@pytest.mark.skipif(not shutil.which("mpicc"), reason="no mpicc")
def test_mpi_exit_handlers_run(dbench):
    """MPI's exit handlers run; without them MPICH's launcher kills the other ranks."""
    (dbench.folder / "late.c").write_text(LATE)
    subprocess.run(["mpicc", "-shared", "-fPIC", "-o", "late.so", "late.c"], cwd=dbench.folder,
                   check=True)
    preload = {"LD_PRELOAD": str(dbench.folder / "late.so")}
    for words in (("run", dbench.spec(), "--overwrite", "--output", "x.h5"), ("doctor",)):
        said = dbench(*words, ranks=2, env=preload).stderr
        assert said.count("MPI at the exit") == 2
