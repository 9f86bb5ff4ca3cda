"""Tests what `check` says before a run: memory on other ranks, activations, what a run can be
compared in, and what some keys and errors mean."""

import json
import os
import subprocess

import h5py
import pytest
from conftest import mpirun


def checked(dbench, spec, *words, **more):
    return json.loads(dbench("check", spec, "--json", *words, **more).stdout)


AWC = {"algorithm": {"type": "dsgd", "order": "combine_while_adapt"}, "implementation": None}


@pytest.mark.parametrize("changes", [
    {}, {**AWC, "graph": "exponential"}, {**AWC, "graph": "complete"},
    {"algorithm": "choco", "message": {"type": "top_k", "ratio": 0.1}, "graph": "ring",
     "implementation": None},
    {"delays": [{"replicas": [0], "seconds": 0.1}]}],
    ids=["ring", "received rows", "group", "messages", "delays"])
def test_planned_ranks_are_as_started_ranks(dbench, changes):
    """Memory, delays and the size of the file agree with those of `mpirun -n 4 dbench check` if the
    ranks do not read each other's rows in place. Only started ranks know how many cores they
    share, so comparisons of times may differ."""
    spec = dbench.spec(changes, replicas=8)
    one = checked(dbench, spec)
    started = checked(dbench, spec, ranks=4, env={"DBENCH_READ_IN_PLACE": "0"})
    planned = checked(dbench, spec, "--ranks", 4)
    for each in planned, started:
        each["comparisons"].pop("time")
    assert planned == started and planned["ranks"] == 4
    assert planned["memory_bytes_per_rank"] < one["memory_bytes_per_rank"]
    assert "4, 2 replicas on the rank with the most" in dbench("check", spec, "--ranks", 4).stdout


LOCAL = {"algorithm": {"type": "local_sgd", "period": 8, "start": {"iterations": 100}},
         "length": {"iterations": 6400}}


@pytest.mark.parametrize("changes, share, tolerance", [
    ({"algorithm": {"type": "diloco", "period": 500}}, 1 / 500, 1e-9),
    ({"algorithm": {"type": "diloco", "period": 400, "fragments": 2}}, 1 / 400, 1e-9),
    ({**LOCAL}, (100 + 6300 / 8) / 6400, 0.05),
    ({"algorithm": "powergossip"}, None, None)], ids=["diloco", "fragments", "post-local",
                                                  "powergossip"])
def test_bytes_per_step_are_those_of_an_average_iteration(dbench, changes, share, tolerance):
    """The first exchange of a long period counts, and so do all messages of a run that changes."""
    changes = {"implementation": None, "graph": "ring", **changes}
    found = checked(dbench, dbench.spec(changes))["bytes_per_step"]
    every = checked(dbench, dbench.spec({**changes, "algorithm": "dsgd"}))["bytes_per_step"]
    if share:
        assert found == pytest.approx(share * every, rel=tolerance)
    else:   # vectors of the two sides of a matrix travel in turn
        run = dbench.run(dbench.spec(changes, length={"iterations": 5}))
        with h5py.File(run) as file:
            assert found == pytest.approx(file["iterations/bytes_sent"][1:].mean(), rel=1e-9)


def test_impossible_ranks_are_refused(dbench):
    spec = dbench.spec(replicas=4)
    assert "replicas" in dbench("check", spec, "--ranks", 5, expect=2).stderr
    assert "--ranks: 2 ranks have been started" in dbench(
        "check", spec, "--ranks", 4, ranks=2, expect=2).stderr


def test_activations_grow_with_the_batch(dbench):
    """The hidden layer of 512 numbers is the largest activation of a sample."""
    def bytes_of(samples, **more):
        spec = dbench.spec(model={"type": "mlp", "hidden": [512]}, data={
            "type": "shapes", "train": 4096, "test": 64, "batch_size": samples, **more})
        return checked(dbench, spec, "--activations")["activation_bytes_per_rank"]
    few, many = bytes_of(200), bytes_of(1000)
    assert many - few > 800 * 512 * 4
    assert bytes_of(1000, accumulate=5) == few
    spec = dbench.spec(model={"type": "cnn", "width": 4})
    assert checked(dbench, spec)["activation_bytes_per_rank"] is None
    assert "plus activations and data" in dbench("check", spec).stdout
    said = dbench("check", spec, "--activations").stdout
    assert "plus data; includes activations (an estimate) " in said
    assert "plus activations" not in said


def test_a_purpose_names_what_would_permit_it(dbench):
    spec = dbench.spec(replicas=4)
    said = dbench("check", spec, "--purpose", "time", "--purpose", "bytes").stdout
    [times] = [line for line in said.splitlines() if line.startswith("compares time")]
    assert times.split("time", 1)[1].strip() == (
        'no: reproducible reductions (set /reduction to "library"); 4 replicas on 1 rank (start '
        'one rank per replica)')
    assert "compares bytes         yes" in said and "compares accuracy" not in said
    free = checked(dbench, spec, "--set", "reduction=library", "--ranks", 4)["comparisons"]
    assert free == {"time": [], "accuracy": [], "bytes": []}
    targets = dbench.spec(model="least_squares", data="regression")
    [found] = checked(dbench, targets)["comparisons"]["accuracy"]
    assert found["key"] == "/data"
    assert "--purpose" in dbench("check", spec, "--purpose", "speed", expect=2).stderr


def test_rows_of_16_bits_are_not_added_by_the_library(dbench):
    [found] = checked(dbench, dbench.spec(message="bfloat16"), "--ranks", 4)["comparisons"]["time"]
    assert found["key"] == "/message"
    remedy = 'set /message to "float32" and /reduction to "library"'
    assert found["remedy"] == remedy
    changes = ("--set", "message=float32", "--set", "reduction=library")
    assert checked(dbench, dbench.spec(message="bfloat16"), *changes, "--ranks", 4)[
        "comparisons"]["time"] == []


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_the_cores_of_bound_ranks_are_added(dbench):
    first, second = sorted(os.sched_getaffinity(0))[:2]
    spec = dbench.spec(replicas=2, reduction="library")

    def hindrances(cores):
        bind = (f'[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 0 ] && set {cores[0]} "$@" || '
                f'set {cores[1]} "$@"; exec taskset -c "$@"')
        done = subprocess.run([*mpirun(2), "sh", "-c", bind, "sh",
                               *dbench.command("check", spec, "--json")], cwd=dbench.folder,
                              env=dbench.environment, text=True, capture_output=True, check=True)
        return json.loads(done.stdout)["comparisons"]["time"]

    assert hindrances((first, second)) == []
    assert "2 ranks on 1 cores" in hindrances((first, first))[0]["reason"]


def test_the_convention_of_dirichlet_is_said(dbench):
    data = {"type": "shapes", "train": 640, "test": 64, "batch_size": 8,
            "partition": {"type": "dirichlet", "alpha": 1}}
    spec = dbench.spec(data=data)
    assert "Dirichlet(0.1, ..., 0.1) over 10 labels" in dbench("check", spec).stdout
    assert checked(dbench, spec)["partition"]["alpha_per_label"] == pytest.approx(0.1)
    assert "alpha = C a" in dbench("list", "dirichlet").stdout
    assert "alpha_per_label" not in checked(dbench, dbench.spec())["partition"]


def test_lazy_is_explained_where_it_is_named(dbench):
    for words in (["list", "ring"], ["list", "schema"]):
        assert "1 leaves W as it is, and 0.5 is the lazy matrix of papers" in dbench(*words).stdout


@pytest.mark.parametrize("model, said", [
    ("vit.py", "'vit.py' is a file, and not the name of a model"),
    ("models/vit.pt2", "'models/vit.pt2' is a file"),
    ("vit", "unknown model 'vit'"),
    ("resnet21", "did you mean 'resnet20'?")])
def test_unknown_models_say_where_own_models_go(dbench, model, said):
    error = dbench("check", dbench.spec(), "--set", f"model={model}", expect=2).stderr
    assert "/model/type: " in error and said in error and "model of your own" in error
    if "exported" in dbench("list", "models").stdout.split():
        assert "dbench-export" in error and '{"type": "exported", "path": ...}' in error


@pytest.mark.parametrize("user, expected", [
    ({}, "lo"), ({"OMPI_MCA_btl_tcp_if_include": "127.0.0.0/8"}, "127.0.0.0/8"),
    ({"OMPI_MCA_btl": "self,vader,tcp"}, None)], ids=["none", "include", "btl"])
def test_links_of_one_host_use_the_loopback_interface(dbench, user, expected):
    """Open MPI 5 complains of interfaces that it cannot pair, otherwise."""
    path = dbench.run(dbench.spec(length={"iterations": 1}), ranks=2, env=user)
    with h5py.File(path) as file:
        variables = json.loads(file["provenance"][()])["environment"]["variables"]
    if not any(name.startswith("OMPI_") for name in variables):
        pytest.skip("this MPI is not Open MPI")
    assert variables.get("OMPI_MCA_btl_tcp_if_include") == expected


def test_points_are_answered_as_each_alone(dbench):
    spec = dbench.spec(replicas=8)
    points = [{"set": {"/seed": 2}, "ranks": 4}, {"set": {"/replicas": 0}},
              {"set": {"/graph": "ring_lattice:k=4", "/algorithm": "dsgd"}}]
    (dbench.folder / "points.json").write_text(json.dumps(points))
    words = ("check", spec, "--points", "points.json")
    done = dbench(*words, "--json", expect=2)
    first, refused, third = json.loads(done.stdout)
    alone = dbench("check", spec, "--set", "/replicas=0", expect=2).stderr
    assert refused["error"] in alone and "point 1: /replicas" in done.stderr
    assert first == checked(dbench, spec, "--set", "/seed=2", "--ranks", 4)
    assert third == checked(dbench, spec, "--set", "graph=ring_lattice:k=4", "--set",
                            "algorithm=dsgd")
    lines = dbench(*words, "--quiet", expect=2).stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["point 0", "point 2"]
    # Standard input, on two ranks; --set holds for all points.
    del points[0]["ranks"], points[1]
    told = dbench("check", spec, "--points", "-", "--json", "--set", "/seed=7", ranks=2,
                  text=json.dumps(points)).stdout
    assert [answer["spec"]["seed"] for answer in json.loads(told)] == [2, 7]
    assert [answer["ranks"] for answer in json.loads(told)] == [2, 2]


@pytest.mark.parametrize("text, said", [
    ("{}", "is not a list of points"), ("[]", "is not a list of points"), ("[", "line 1"),
    ("[3]", "point 0 is not an object with \"set\""),
    ('[{"set": {}}, {"set": 1}]', "point 1 is not an object"),
    ('[{"set": {"/notes=a": 1}}]', "point 0: \"/notes=a\" is not a key of a spec (it has '=')"),
    ('[{"set": {}, "rank": 2}]', "did you mean 'ranks'"),
    ('[{"set": {}, "ranks": 0}]', "not a whole number from 1"),
    ('[{"set": {}, "ranks": 1.5}]', "not a whole number from 1")])
def test_wrong_points_are_refused(dbench, text, said):
    (dbench.folder / "points.json").write_text(text)
    done = dbench("check", dbench.spec(), "--points", "points.json", expect=2)
    assert said in done.stderr and "points.json" in done.stderr and not done.stdout


def test_points_belong_to_one_spec_and_their_file_exists(dbench):
    spec, other = dbench.spec(), dbench.spec(name="other.json")
    assert "--points: the points belong to one spec" in dbench(
        "check", spec, other, "--points", "-", expect=2).stderr
    assert "nothing.json" in dbench("check", spec, "--points", "nothing.json", expect=2).stderr
