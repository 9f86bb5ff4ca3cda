"""Tests of errors in the command, the spec, the data or the output: the message names the error,
the exit status is 2, and nothing is written."""

import gzip
import json
import resource
import struct
import subprocess

import h5py
import pytest
from together import checked


def refused(dbench, spec, *words, ranks=None, env=None):
    """Run a spec that must be refused without writing anything; return the message."""
    done = dbench("run", spec, "--output", "refused.h5", *words, expect=2, ranks=ranks, env=env)
    assert not (dbench.folder / "refused.h5").exists()
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize("limit, hidden, words", [
    (None, [200000, 200000], ["the rank on", "needs at least", "the machine has"]),
    (3 << 30, [60000, 3000], ["this rank needs at least", "are free on"])])
def test_missing_memory_is_reported_in_numbers(dbench, limit, hidden, words):
    spec = dbench.spec({"model": {"type": "mlp", "hidden": hidden}})
    done = subprocess.run(
        dbench.command("run", spec, "--output", "refused.h5"), cwd=dbench.folder, timeout=60,
        env=dbench.environment, text=True, capture_output=True,
        preexec_fn=lambda: limit and resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert done.returncode == 2 and not (dbench.folder / "refused.h5").exists(), done.stderr
    for word in [*words, "GiB", "fewer replicas"]:
        assert word in done.stderr, done.stderr


def test_missing_spec(dbench):
    assert "nowhere.json" in refused(dbench, "nowhere.json")
    assert "folder" in refused(dbench, str(dbench.folder))


def test_a_long_chain_of_bases_is_refused(dbench):
    for k in range(20000):
        (dbench.folder / f"{k}.json").write_text(f'{{"base": "{k + 1}.json"}}')
    dbench.spec(name="20000.json")
    assert "base" in refused(dbench, "0.json")
    dbench("check", "19950.json")


def test_byte_order_marks(dbench):
    """The mark of UTF-8 is skipped wherever text is read; UTF-16 is named."""
    graph, spec = "0 1\n1 2\n2 3\n3 0\n", dbench.text(
        implementation=None, algorithm="dsgd", graph={"type": "file", "path": "graph.txt"})
    (dbench.folder / "spec.json").write_text(spec, "utf-8-sig")
    (dbench.folder / "graph.txt").write_text(graph, "utf-8-sig")
    dbench("check", "spec.json")
    (dbench.folder / "graph.txt").write_text(graph, "utf-16")
    told = refused(dbench, "spec.json")
    assert "graph.txt" in told and "UTF-16" in told
    (dbench.folder / "spec.json").write_text(spec, "utf-16")
    told = refused(dbench, "spec.json")
    assert "spec.json" in told and "UTF-16" in told


def test_broken_json_names_line_and_column(dbench):
    path = dbench.folder / "broken.json"
    path.write_text('{\n  "replicas": 4,\n  "model": oops\n}')
    message = refused(dbench, str(path))
    assert "line 3" in message and "column 1" in message
    for text in ('{"a\\u0000b": 4}', '{"name": "a\\u0000b"}'):
        path.write_text(text)
        assert "u0000" in refused(dbench, str(path))
    path.write_text('{"replicas": 4, "replicas": 8}')
    assert "twice" in refused(dbench, str(path))


SPEC_ERRORS = [
    ({"replica": 4}, ["/replica:", "unknown key", "'replicas'"]),
    ({"optimizer": {"type": "sgd", "momentun": 0.9}}, ["/optimizer/momentun", "'momentum'"]),
    ({"profile": {"variance": {"kindd": "off"}}}, ["/profile/variance/kindd", "'kind'"]),
    ({"profile": {"every": []}}, ["/profile/every:", "no stages"]),
    ({"profile": {"every": [{"every": {"epochs": 1}}, {"every": None}]}},
     ["/profile/every/0/until", "missing"]),
    ({"profile": {"every": [{"until": {"iterations": 4}, "every": {"epochs": 1}}]}},
     ["/profile/every/0/until", "last"]),
    ({"profile": {"every": [{"until": {"iterations": 4}, "every": None},
                            {"until": {"iterations": 3}, "every": None},
                            {"every": None}]}}, ["/profile/every/1/until", "order the stages"]),
    ({"profile": {"every": [{"until": {"iterations": 4}, "every": {"iterations": 0}},
                            {"every": None}]}},
     ["/profile/every/0/every/iterations", "greater than 0"]),
    ({"model": "resnet21"}, ["/model/type", "resnet20"]),
    ({"implementation": "D_rign"}, ["/implementation", "D_ring"]),
    ({"replicas": "four"}, ["/replicas", "whole number", "string"]),
    ({"replicas": 0}, ["/replicas", "at least 1"]),
    ({"replicas": 2.5}, ["/replicas", "whole number"]),
    ({"replicas": None}, ["/replicas", "missing"]),
    ({"model": None}, ["/model", "missing"]),
    ({"data": None}, ["/data", "missing"]),
    ({"implementation": None}, ["/algorithm", "missing"]),
    ({"implementation": None, "algorithm": "dsgd"}, ["/graph", "missing"]),
    ({"graph": "ring"}, ["/graph", "/implementation"]),
    ({"implementation": None, "algorithm": "centralized", "graph": "ring"}, ["/graph", "no graph"]),
    ({"implementation": None, "algorithm": "dsgd", "graph": {"type": "ring_lattice", "k": 3}},
     ["/graph/k", "odd", "2 or 4"]),
    ({"optimizer": {"type": "sgd", "lr": -1}}, ["/optimizer/lr", "at least 0"]),
    ({"length": {"weeks": 1}}, ["/length/weeks", "epochs"]),
    ({"length": 3}, ["/length", "epochs"]),
    ({"seed": -1}, ["/seed"]),
    ({"name": "a/b"}, ["/name"]),
    ({"output": ""}, ["/output", "empty"]),
    ({"device": "cuda"}, ["/device", "cuda"]),
    ({"device": "cpu", "data": {"type": "shapes", "resident": "on"}},
     ["/data/resident", "on the CPU", "leave it out"]),
    ({"checkpoint": {"every": {"epochs": 0}}}, ["/checkpoint/every"]),
    ({"evaluate": {"replicas": 0}}, ["/evaluate/replicas"]),
    ({"data": {"type": "shapes", "train": 256, "test": 64, "batch_size": 100}}, ["batch"]),
    ({"data": {"type": "shapes", "train": 256, "test": 64, "batch_size": {"global": 30}}},
     ["30", "4"]),
    ({"model": "least_squares"}, ["least_squares"]),
    ({"data": {"type": "shapes", "partition": {"type": "dirichlet", "alpha": 0}}},
     ["/data/partition/alpha", "out of range"]),
    ({"data": {"type": "shapes", "partition": {"type": "by_label", "labels_per_replica": 11}}},
     ["/data/partition/labels_per_replica", "11", "10 labels", "use at most 10"]),
    ({"data": {"type": "shapes", "partition": {"type": "by_label", "alpha": 1}}},
     ["/data/partition/alpha", "labels_per_replica"]),
    ({"model": "least_squares", "data": {"type": "regression", "partition": "by_label"}},
     ["/data/partition:", "by_label", "real targets", "contiguous"]),
]


def test_a_spec_error_writes_nothing(dbench):
    message = refused(dbench, dbench.spec(SPEC_ERRORS[0][0]))
    for word in SPEC_ERRORS[0][1]:
        assert word in message, message


def test_spec_errors(dbench):
    specs = {k: dbench.text(changes) for k, (changes, _) in enumerate(SPEC_ERRORS)}
    for k, told in checked(dbench, specs).items():
        for word in SPEC_ERRORS[k][1]:
            assert word in told["error"], (SPEC_ERRORS[k], told)


COUNTS = ["/replicas", "/evaluate/batch_size", "/evaluate/replicas", "/checkpoint/keep",
          "/profile/graphs",
          "/data/limit/train", "/data/validation", "/data/batch_size", "/data/batch_size/global",
          "/data/train", "/schedule/scale/reference_batch"]


NUMBERS = ["2147483648", "9223372036854775807", "9223372036854775808", "18446744073709551615",
           "18446744073709551616", "1e19", "-9223372036854775808", "-1e300"]


def with_value(spec, pointer, text):
    """Return the text of a spec in which the value at a JSON pointer is `text`."""
    spec = json.loads(json.dumps(spec))
    *way, last = pointer.strip("/").split("/")
    at = spec
    for name in way:
        inner = at.get(name)
        if not isinstance(inner, dict):
            inner = at[name] = {"type": inner} if isinstance(inner, str) else {}
        at = inner
    at[last] = "HERE"
    return json.dumps(spec).replace('"HERE"', text)


def test_counts_out_of_range_are_refused(dbench):
    """Numbers that are too large are refused and do not wrap around."""
    spec = json.loads(dbench.text(schedule="constant"))
    specs = {(pointer, number): with_value(spec, pointer, number)
             for pointer in COUNTS for number in NUMBERS}
    for (pointer, number), told in checked(dbench, specs).items():
        named = pointer if pointer != "/data/batch_size/global" else "/data/batch_size"
        message = told["error"]
        assert named in message and "must be" in message, (number, message)


def test_a_setting_does_not_wrap_around(dbench):
    message = refused(dbench, dbench.spec(), "--set", f"/replicas={2**64}")
    assert "/replicas" in message and "must be" in message


NO_SPECS = [
    ("[" * 100_000, ["nested"]),
    ('{"a": ' * 100_000 + "1" + "}" * 100_000, ["nested"]),
    ('{"replicas": 1e400}', ["1e400", "1.8e308"]),
    (b'{"name": "\xff"}', ["line 1", "UTF-8"]),
    (b'{"\xff": 1}', ["line 1", "UTF-8"]),
    ("[1]", ["JSON object"]),
    ("", ["line 1"]),
]


def test_files_that_are_not_specs(dbench):
    told = checked(dbench, {k: text for k, (text, _) in enumerate(NO_SPECS)})
    for k, (_, words) in enumerate(NO_SPECS):
        for word in [f"checked-{k}.json", *words]:
            assert word in told[k]["error"], told[k]


def test_deep_nesting_merged_over_a_base(dbench):
    spec = dbench.spec()
    deep = '{"a": ' * 30_000 + "1" + "}" * 30_000
    (dbench.folder / "deep.json").write_text(f'{{"base": "spec.json", "profile": {deep}}}')
    assert "nested" in refused(dbench, "deep.json")
    assert "nested" in refused(dbench, spec, "--set", "/profile=" + "[" * 500 + "]" * 500)
    assert "64" in refused(dbench, spec, "--set", "/profile" + "/a" * 500 + "=1")


@pytest.mark.parametrize("setting, words", [
    ("/schedule/milestones/300000000=1", ["milestones", "list", "0 entries"]),
    ("/data/0=1", ["/data/0"]),
    ("/replicas/x=1", ["/replicas:", "whole number"]),
    ("/optimizer/betas/9=1", ["betas", "entries"]),
    ("/length=1e400", ["/length"]),
    ("/base=\"spec.json\"", ["/base", "unknown key"]),
])
def test_impossible_settings_are_refused(dbench, setting, words):
    message = refused(dbench, dbench.spec(), "--set", setting)
    assert "json.exception" not in message
    for word in words:
        assert word in message, message


def pointers(keys, parent=""):
    for name, key in keys.items():
        yield f"{parent}/{name}"
        yield from pointers(key.get("members", {}), f"{parent}/{name}")


KINDS = ['"words"', "1e300", '{"x": 1}', "null", '[["x"]]', "-1"]


def test_values_of_any_kind_at_every_key(dbench):
    """Every value is accepted, or refused with a message that names the key (for /base: the
    file), or a key beside it that is missing."""
    spec = json.loads(dbench.text(implementation=None, algorithm="dsgd", graph="ring"))
    keys = list(pointers(json.loads(dbench("list", "spec", "--json").stdout)["spec"]))
    assert len(keys) > 30 and "/profile/variance/every" in keys
    specs = {(key, value): with_value(spec, key, value) for key in keys for value in KINDS}
    for (key, value), told in checked(dbench, specs).items():
        parent, name = key.rsplit("/", 1)
        names = [name, *(["words"] if key == "/base" else [])]
        error = told.get("error", key)
        assert any(name in error for name in names) or (
            error.startswith(f"{parent}/") and ": is missing" in error), (key, value, error)


LENGTHY = [
    {},
    {"schedule": "cosine"},
    {"schedule": {"type": "multistep", "milestones": [3, 500_000_000]}},
    {"implementation": None, "graph": "ring",
     "algorithm": {"type": "local_sgd", "period": 2_000_000_000}},
    {"implementation": None, "graph": {"type": "ring", "lazy": 0.5}, "algorithm": "d2",
     "schedule": {"type": "constant", "warmup": {"epochs": 9}}},
    {"implementation": None, "algorithm": "dsgd",
     "graph": {"type": "consensus_control", "every": {"iterations": 1e12}}},
    {"implementation": None, "graph": {"type": "ada", "gamma_k": 1e-7}, "algorithm": "dsgd"},
]


def test_the_length_of_a_run_costs_nothing_to_check(dbench):
    """The work of the setup does not depend on the length of the run."""
    told = checked(dbench, {(k, iterations): dbench.text(changes, length={"iterations": iterations})
                            for k, changes in enumerate(LENGTHY)
                            for iterations in (10**9, 10**12, 2**63)}, timeout=30)
    for (k, iterations), found in told.items():
        if iterations <= 10**12:
            assert "error" not in found, (LENGTHY[k], found)
        else:
            assert "/length" in found["error"] and "10^12" in found["error"], LENGTHY[k]


def test_impossible_changes_are_refused(dbench):
    message = refused(dbench, dbench.spec(
        implementation=None, algorithm="dsgd", length={"iterations": 10**9}, replicas=16,
        graph={"type": "budget", "order": "uniform", "models": 3}))
    assert "/graph/order" in message and "dense_first" in message


def test_set_errors(dbench):
    spec = dbench.spec()
    assert "KEY=VALUE" in refused(dbench, spec, "--set", "graph")
    assert "/optimizer/lrr" in refused(dbench, spec, "--set", "/optimizer/lrr=1")


def test_graph_that_does_not_admit_n(dbench):
    message = refused(dbench, dbench.spec(implementation=None, algorithm="dsgd", replicas=6,
                                          graph={"type": "ring_lattice", "k": 5}))
    assert "4" in message or "6" in message, message


def test_more_ranks_than_replicas(dbench):
    message = refused(dbench, dbench.spec(replicas=2), ranks=3)
    assert "3 ranks" in message and "2 replicas" in message


def test_base_cycle(dbench):
    (dbench.folder / "a.json").write_text('{"base": "b.json"}')
    (dbench.folder / "b.json").write_text('{"base": "a.json"}')
    assert "cycle" in refused(dbench, "a.json")


# ---- data files

def cifar(folder, records=10000, cut=0, label=None, extra=0):
    folder.mkdir(parents=True, exist_ok=True)
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        record = bytes([3]) + bytes(3072)
        content = record * records
        if name == "data_batch_3.bin":
            content = content[:len(content) - cut] + bytes(extra)
            if label is not None:
                content = bytes([label]) + content[1:]
        (folder / name).write_bytes(content)


def cifar_spec(dbench, root):
    return dbench.spec(data={"type": "cifar10", "root": str(root), "batch_size": 8},
                       length={"iterations": 2})


def test_no_data_root(dbench):
    message = refused(dbench, dbench.spec(data={"type": "cifar10"}))
    assert "DBENCH_DATA" in message and "/data/root" in message


def test_missing_data_files(dbench):
    message = refused(dbench, cifar_spec(dbench, dbench.folder / "none"))
    assert "data_batch_1.bin" in message or "cifar-10-batches-bin" in message


@pytest.mark.parametrize("damage, word", [({"cut": 5}, "30730000"), ({"extra": 7}, "30730000"),
                                          ({"label": 10}, "label")])
def test_damaged_cifar10(dbench, damage, word):
    cifar(dbench.folder / "cifar-10-batches-bin", **damage)
    message = refused(dbench, cifar_spec(dbench, dbench.folder))
    assert "data_batch_3.bin" in message and word in message, message


def test_bad_magic_number(dbench):
    folder = dbench.folder / "mnist"
    folder.mkdir()
    for name, magic, size in [("train-images-idx3-ubyte", 2051, (60000, 28, 28)),
                              ("train-labels-idx1-ubyte", 2051, (60000,)),
                              ("t10k-images-idx3-ubyte", 2051, (10000, 28, 28)),
                              ("t10k-labels-idx1-ubyte", 2049, (10000,))]:
        count = 1
        for s in size:
            count *= s
        with gzip.open(folder / (name + ".gz"), "wb", compresslevel=1) as file:
            file.write(struct.pack(f">{1 + len(size)}I", magic, *size) + bytes(count))
    message = refused(dbench, dbench.spec(data={"type": "mnist", "root": str(dbench.folder)}))
    assert "train-labels-idx1-ubyte" in message and "0x00000801" in message, message


# ---- output

def test_output_below_a_file(dbench):
    (dbench.folder / "file").write_text("x")
    done = dbench("run", dbench.spec(), "--output", "file/out.h5", expect=2)
    assert "file" in done.stderr
    done = dbench("run", dbench.spec(), "--output", "/proc/out.h5", expect=2)
    assert "/proc" in done.stderr


def test_existing_output_is_left_alone(dbench):
    spec = dbench.spec()
    first = dbench.run(spec, "kept.h5")
    before = open(first, "rb").read()
    for words in ([], ["--set", "/seed=2"]):
        done = dbench("run", spec, "--output", "kept.h5", *words, expect=2)
        assert "kept.h5" in done.stderr and "--overwrite" in done.stderr
        assert open(first, "rb").read() == before
    # A run that is refused later does not change the file either, even with --overwrite.
    dbench("run", dbench.spec(model="least_squares"), "--output", "kept.h5", "--overwrite",
           expect=2)
    assert open(first, "rb").read() == before
    dbench("run", dbench.spec(), "--output", "kept.h5", "--overwrite", "--quiet")
    with h5py.File(first) as file:
        assert file.attrs["status"] == b"complete"


def test_a_file_of_another_kind_is_never_overwritten(dbench):
    other = dbench.folder / "thesis.h5"
    other.write_text("years of work")
    done = dbench("run", dbench.spec(), "--output", "thesis.h5", "--overwrite", expect=2)
    assert "thesis.h5" in done.stderr and other.read_text() == "years of work"


def test_bad_command_lines(dbench):
    for words in (["frobnicate"], ["run"], ["run", "x.json", "--frob"], ["graph", "ring"],
                  ["graph", "ring", "--n", "0"], ["graph", "ring", "--n", "4", "--gamma", "nan"],
                  ["graph", "ring", "--n", "4", "--seed", "-1"],
                  ["graph", "rings", "--n", "4"], ["graph", "ring", "--n", "4", "--k", "2"],
                  ["list", "grafs"],
                  ["doctor", "nowhere.h5"], []):
        dbench(*words, expect=2)


def test_bad_environment(dbench):
    done = dbench("run", dbench.spec(), "--output", "x.h5", ranks=2, expect=2,
                  env={"DBENCH_TIMEOUT": "soon"})
    assert "DBENCH_TIMEOUT" in done.stderr
