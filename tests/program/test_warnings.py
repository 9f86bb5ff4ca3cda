"""Tests that settings which cannot do what they say are refused or warned about, and that values
that are not finite are events."""

import json

import h5py
import numpy as np
import pytest

RESNET = {"replicas": 1, "model": {"type": "resnet50", "width": 4}, "implementation": "C_complete",
          "data": {"type": "shapes", "train": 16, "test": 8, "batch_size": 1},
          "optimizer": {"type": "sgd", "lr": 0.01}, "length": {"iterations": 2}}


def warnings(dbench, **changes):
    return json.loads(dbench("check", "--json", dbench.spec(**changes)).stdout)["warnings"]


def events(path, kind):
    with h5py.File(path) as file:
        return [text.decode() for k, text in zip(file["events/kind"], file["events/text"])
                if k.decode() == kind]


def test_check_says_what_a_run_would_refuse_about_its_output(dbench):
    spec = dbench.spec()
    assert not any("/output" in text for text in warnings(dbench))
    (dbench.folder / "file").write_text("x")
    (dbench.folder / "lost.h5.checkpoints" / "4").mkdir(parents=True)
    (dbench.folder / "lost.h5.checkpoints" / "4" / "manifest.json").write_text("{}")
    dbench.run(spec, "out.h5")
    for output, said in (("out.h5", "(it exists): give --overwrite, --resume"),
                         ("file", "not a result file"), ("file/out.h5", "folder file"),
                         (".", "it is a folder"), ("lost.h5", "there are checkpoints in lost.h5")):
        done = dbench("check", spec, "--output", output, "--json")
        [found] = [text for text in json.loads(done.stdout)["warnings"]
                   if text.startswith("/output: a run would be refused now: ")]
        assert said in found and f"warning: {found}" in done.stderr
    several = json.loads(dbench("check", spec, dbench.spec(name="other.json"), "--json", "--output",
                                "file").stdout)
    assert all("folder file" in str(each["warnings"]) for each in several.values())
    assert sorted(path.name for path in dbench.folder.iterdir()) == [
        "file", "lost.h5.checkpoints", "other.json", "out.h5", "spec.json"]


def test_check_warns_of_a_result_larger_than_the_disk(dbench):
    long = {"replicas": 4096, "length": {"iterations": 2_000_000_000}}
    found = warnings(dbench, **long, data={"type": "shapes", "train": 4096, "test": 16,
                                           "batch_size": 1})
    assert any("/output: the rows of the result file have" in text for text in found), found


def test_the_json_of_check_has_every_warning(dbench):
    spec = dbench.spec(implementation=None, replicas=64, algorithm="d2", graph="ring",
                       allow_biased=True,
                       data={"type": "shapes", "train": 256, "test": 64, "batch_size": 1})
    done = dbench("check", spec, "--json", "--output", "results/biased", ranks=2)
    found = json.loads(done.stdout)["warnings"]
    lines = [line.split("warning: ")[1] for line in done.stderr.splitlines() if "warning: " in line]
    assert found == lines
    for said in ("/graph: ", "/length: the run is shorter", "/output: results/biased becomes"):
        assert any(text.startswith(said) for text in found), said


def test_a_schedule_that_the_run_ends_before_is_warned_about(dbench):
    found = warnings(dbench, length={"epochs": 2},
                     schedule={"type": "multistep", "milestones": [1, 50, 60],
                               "warmup": {"epochs": 10}})
    assert any("/schedule/milestones: epoch 50, 60 is never reached" in text for text in found)
    assert any(text.startswith("/schedule/warmup: takes 80 iterations, but the run has 16")
               for text in found)
    found = warnings(dbench, length={"epochs": 3},
                     schedule={"type": "multistep", "milestones": [1, 2], "warmup": {"epochs": 3}})
    assert not any("/schedule" in text for text in found), found
    graphs = [{"type": "ring", "until": {"epochs": 4}}, {"type": "complete"}]
    found = warnings(dbench, length={"epochs": 2}, implementation=None, algorithm="dsgd",
                     graph=graphs)
    assert any("/graph/1: would begin in iteration 32" in text for text in found), found
    found = warnings(dbench, length={"epochs": 5}, implementation=None, algorithm="dsgd",
                     graph=graphs)
    assert not any("/graph" in text for text in found), found
    done = dbench("run", dbench.spec(schedule={"type": "multistep", "milestones": [50]}),
                  "--output", "out.h5")
    assert "/schedule/milestones" in done.stderr


def test_long_evaluations_are_warned_about_and_those_of_small_runs_are_not(dbench):
    small = {"replicas": 8, "algorithm": "dsgd", "graph": "ring", "implementation": None,
             "model": "cnn", "length": {"epochs": 5}, "evaluate": None}
    few = {"type": "shapes", "train": 2048, "test": 2048}
    spec = dbench.spec(small, data=few)
    checked = json.loads(dbench("check", "--json", spec).stdout)
    assert checked["evaluation_share"] > 0.5
    assert not any("/evaluate" in text for text in checked["warnings"]), checked["warnings"]
    found = warnings(dbench, **{**small, "model": "resnet20", "data": few,
                                "length": {"epochs": 50}})
    assert any("/evaluate: evaluation is 7" in text for text in found), found
    # Nine models, and a third of the cost of training for each sample.
    found = warnings(dbench, **{**small, "model": "resnet20", "data": {**few, "test": 256},
                                "length": {"epochs": 300}})
    assert any("/evaluate: evaluation is 27 %" in text for text in found), found


def test_a_rate_does_not_scale_with_batches_of_tokens(dbench):
    for name in ("en", "de"):
        (dbench.folder / f"own.{name}").write_text(
            "".join(f"{name} words {k}\n" for k in range(60)))
    spec = {"model": {"type": "transformer", "width": 4, "heads": 1, "layers": 1, "hidden": 4},
            "data": {"type": "pairs", "source": "own.en", "target": "own.de", "vocabulary": 262,
                     "batch_size": {"tokens": 40}}}
    message = dbench("check", dbench.spec(spec, schedule={"type": "constant",
                                                          "scale": {"rule": "linear"}}),
                     expect=2).stderr
    assert "/schedule/scale" in message and "tokens" in message
    dbench("check", dbench.spec(spec))


@pytest.mark.parametrize("changes, key", [
    ({}, "/data/batch_size"),
    ({"data": {**RESNET["data"], "batch_size": 3, "accumulate": 2}}, "/data/batch_size"),
    ({"data": {**RESNET["data"], "batch_size": 4},
      "evaluate": {"batchnorm": "recalibrate", "batch_size": 1}}, "/evaluate/batch_size"),
])
def test_batchnorm_over_one_value_is_refused(dbench, changes, key):
    for command in ("check", "run"):
        message = dbench(command, dbench.spec(RESNET, **changes), expect=2).stderr
        assert f"error: {key}: " in message and "BatchNorm" in message, message


def test_batchnorm_over_the_pixels_of_one_sample_is_allowed(dbench):
    dbench("check", dbench.spec(RESNET, model="resnet20"))


def test_evaluated_losses_that_are_not_finite_are_events(dbench):
    """The training loss stays finite; the test samples are too large."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16, 3)).astype(np.float32), rng.normal(size=16).astype(np.float32)
    np.savez(dbench.folder / "own.npz", x_train=x, y_train=y, x_test=x[:4] * np.float32(1e30),
             y_test=y[:4])
    spec = {"model": "least_squares", "replicas": 2, "length": {"iterations": 4},
            "data": {"type": "npz", "train": "own.npz", "batch_size": 4},
            "evaluate": {"every": {"iterations": 2}}}
    done = dbench("run", dbench.spec(spec), "--output", "out.h5")
    (text,) = events(dbench.folder / "out.h5", "nonfinite")
    assert "test loss" in text and "mean model" in text and "2 of 2 local models" in text
    assert done.stderr.count(text) == 1
    for ranks in (None, 2):
        stop = dbench("run", dbench.spec(spec, nonfinite="stop"), "--output", f"stop-{ranks}.h5",
                      ranks=ranks, expect=1)
        assert "test loss" in stop.stderr and "/nonfinite says stop" in stop.stderr
        with h5py.File(dbench.folder / f"stop-{ranks}.h5") as file:
            assert file.attrs["status"] == b"failed" and b"test loss" in file.attrs["error"]


def test_training_losses_that_are_not_finite_are_events(dbench):
    spec = dbench.spec(optimizer={"type": "sgd", "lr": 1e38}, replicas=4, length={"iterations": 9})
    path = dbench.run(spec, ranks=2)
    found = events(path, "nonfinite")
    assert any("training loss" in text and "replica" in text for text in found), found
    assert any("test loss" in text for text in found), found


def test_measuring_after_averaging_needs_a_measurement(dbench):
    spec = dbench.spec(profile={"after": True, "variance": {"kind": "off"}})
    assert "/profile/after: nothing is measured" in dbench("check", spec).stderr


def test_slowest_replicas_of_one_rank_are_not_distinguished(dbench):
    spec = dbench.spec(replicas=4, implementation=None, algorithm="dsgd", graph={
        "type": "participation", "graph": "ring", "fraction": 0.5, "policy": "slowest"})
    assert "count as equally fast" in dbench("check", spec).stderr
    assert "count as equally fast" not in dbench("check", spec, ranks=4).stderr


def test_names_leave_space_for_the_files_that_a_run_derives(dbench):
    def output(length):
        return "n" * (length - 3) + ".h5"
    spec = dbench.spec(checkpoint={"every": {"iterations": 2}})
    for command in ("check", "run"):
        message = dbench(command, spec, "--output", output(234), expect=2).stderr
        assert "--output" in message and "at most 233 bytes" in message, message
    dbench("check", spec, "--output", output(233))
    done = dbench("run", spec, "--output", output(233))
    assert "too long" not in done.stderr
    assert (dbench.folder / (output(233) + ".checkpoints")).is_dir()
    message = dbench("check", spec, "--set", "name=" + "n" * 242, "--set", "output={name}.h5",
                     expect=2).stderr
    assert "/output" in message
