"""Tests `sweep tune`: which rate is chosen, when the grid grows, and which runs follow.

Most tests replace the program by a function whose accuracies are known, so that the right choice is
known, too.
"""

import copy
import csv
import json
import math
import os

import h5py
import pytest
from conftest import BASE, stand_in
from sweeps import cli, program, tune
from sweeps.problem import Problem

SPEC = {"base": {**BASE, "replicas": 4, "data": {**BASE["data"], "validation": 64}},
        "axes": {"graph": ["ring"]}}


class Pretended:
    """A replacement of the program. `validation` and `test` map (spec) to an accuracy; `done` are
    the names of the runs that were made, in order."""

    def __init__(self, validation, test=lambda spec: 0.5):
        self.validation, self.test, self.done = validation, test, []

    def check(self, command, text="", _=None):
        """Answer `dbench check SPEC --points - --json` as the program does."""
        answers = []
        for point in json.loads(text):
            with open(command[2]) as file:
                spec = json.load(file)
            for pointer, value in point["set"].items():
                *above, last = pointer.split("/")[1:]
                place = spec
                for key in above:
                    place = place[key]
                place[last] = value
            answers.append({
                "spec": spec, "free_to_change": ["/name", "/output"], "iterations": 6, "ranks": 1,
                "activation_bytes_per_rank": None, "memory_bytes_per_rank": 1, "bytes_per_step": 1,
                "result_bytes": 1, "result_bytes_per_rank": 1, "evaluation_share": 0.1})
        return 0, json.dumps(answers), ""

    def local(self, plan, jobs, later):
        """Take the place of Local: write the result files of all runs at once."""
        return Made(self, plan)


class Made:
    def __init__(self, pretended, plan):
        self.pretended, self.plan = pretended, plan

    def run(self):
        for run in self.plan.needed():
            os.makedirs(os.path.dirname(run.output), exist_ok=True)
            with h5py.File(run.output, "w") as file:
                for key, value in (("status", "complete"), ("error", ""),
                                   ("started", "2026-01-31T12:00:00Z"),
                                   ("finished", "2026-01-31T12:01:00Z")):
                    file.attrs[key] = value
                file["spec"] = json.dumps(run.spec)
                file["iterations/iteration"] = [0]
                # The first evaluation is the better one: the last epoch counts, never the best.
                validation, test = (f(run.spec) for f in (self.pretended.validation,
                                                          self.pretended.test))
                file["evaluations/validation_mean_accuracy"] = [0.99, validation]
                file["evaluations/mean_accuracy"] = [0.99, test]
            self.pretended.done.append(run.name)
        return 0


@pytest.fixture
def tuning(sweep, monkeypatch):
    """Return a function that runs `sweep tune FILE ACTION` with pretended accuracies, and returns
    the exit status."""
    def call(pretended, action="local", given=SPEC, **changes):
        given = copy.deepcopy(given)
        sweep.write(given["axes"], given["base"], tune=changes)
        monkeypatch.setenv("DBENCH_PROGRAM", sweep.environment["DBENCH_PROGRAM"])
        monkeypatch.setenv("DBENCH_PYTHON", sweep.environment["DBENCH_PYTHON"])
        monkeypatch.setattr(program, "call", pretended.check)
        monkeypatch.setattr(tune, "Local", pretended.local)
        return cli.main(["tune", str(sweep.file), action])
    call.sweep = sweep
    return call


def rows(tuning, name):
    with open(tuning.sweep.output / name) as file:
        return list(csv.DictReader(file))


def peak(rate, spec):
    """Return an accuracy that is highest at this rate, and falls by 0.1 with each doubling."""
    return 0.9 - 0.1 * abs(math.log2(spec["optimizer"]["lr"] / rate))


def test_the_validation_set_decides_and_fresh_seeds_are_judged_on_the_test_set(tuning):
    pretended = Pretended(lambda spec: peak(0.1, spec) + 0.001 * spec["seed"],
                          lambda spec: 0.5 - spec["optimizer"]["lr"] + 0.01 * spec["seed"])
    assert tuning(pretended) == 0
    assert pretended.done[:3] == ["ring-lr0.0125-s101", "ring-lr0.0125-s102", "ring-lr0.025-s101"]
    assert pretended.done[10:] == [f"ring-lr0.1-s{seed}" for seed in range(1, 7)]
    row, = rows(tuning, "tuning.csv")
    assert row["trials"] == "10" and row["chosen"] == "0.1" and row["state"] == "complete"
    assert float(row["validation_accuracy"]) == pytest.approx(0.9 + 0.001 * 101.5)
    assert float(row["loss_at_half"]) == pytest.approx(0.1)
    assert float(row["loss_at_twice"]) == pytest.approx(0.1)
    assert float(row["test_accuracy"]) == pytest.approx(0.4 + 0.01 * 3.5)
    assert float(row["test_deviation"]) == pytest.approx(0.01 * math.sqrt(3.5))
    runs = rows(tuning, "trials.csv")
    assert len(runs) == 16
    assert all(bool(run["test_accuracy"]) == (run["role"] == "final") for run in runs)


def test_a_second_call_makes_only_the_runs_that_are_missing(tuning, capsys):
    pretended = Pretended(lambda spec: peak(0.1, spec))
    assert tuning(pretended) == 0
    before = rows(tuning, "tuning.csv")
    pretended.done.clear()
    assert tuning(pretended) == 0 and not pretended.done
    for name in ("ring-lr0.2-s102", "ring-lr0.1-s4"):
        (tuning.sweep.output / f"{name}.h5").unlink()
    capsys.readouterr()
    assert tuning(pretended, "plan") == 0
    said = capsys.readouterr().out
    # The choice waits for the missing trial; the runs at the chosen rate are kept.
    assert "9 runs are complete, 1 can run now, 6 follow" in said
    assert "about 7 min, one run after another (from 9 finished runs)" in said
    assert tuning(pretended) == 0
    assert pretended.done == ["ring-lr0.2-s102", "ring-lr0.1-s4"]
    assert rows(tuning, "tuning.csv") == before


def test_no_trial_runs_if_results_cannot_be_read(tuning, monkeypatch, capsys):
    def no_python():
        raise Problem("result files", "no Python with h5py here", "scripts/setup makes one")

    monkeypatch.setattr(tune, "find_python", no_python)
    pretended = Pretended(lambda spec: peak(0.1, spec))
    assert tuning(pretended) == 2 and not pretended.done
    assert "no Python with h5py here" in capsys.readouterr().err


@pytest.mark.parametrize("best, extended, at_edge, chosen", [
    (0.2, 1, "", 0.2), (0.4, 2, "", 0.4), (3.2, 2, "highest", 0.8), (0.01, 1, "", 0.0125),
    (0.001, 2, "lowest", 0.003125)])
def test_a_best_rate_at_an_end_extends_the_grid_twice_at_most(tuning, best, extended, at_edge,
                                                              chosen):
    assert tuning(Pretended(lambda spec: peak(best, spec)), final_seeds=[1]) == 0
    row, = rows(tuning, "tuning.csv")
    assert (int(row["times_extended"]), row["at_edge"]) == (extended, at_edge)
    assert float(row["chosen"]) == chosen and int(row["trials"]) == 10 + 2 * extended
    assert bool(row["loss_at_half"]) == (at_edge != "lowest")
    assert bool(row["loss_at_twice"]) == (at_edge != "highest")


def test_each_method_has_its_own_grid_around_its_own_value(tuning):
    given = copy.deepcopy(SPEC)
    given["axes"] = {"zip": [{"graph": ["ring", "complete"], "/optimizer/lr": [0.1, 0.4]}]}
    best = {"ring": 0.05, "complete": 0.8}
    pretended = Pretended(lambda spec: peak(best[spec["graph"]], spec))
    assert tuning(pretended, given=given, factors=[0.5, 1, 2, 4], final_seeds=[1]) == 0
    ring, complete = rows(tuning, "tuning.csv")
    assert ring["rates"] == "0.025 0.05 0.1 0.2 0.4" and complete["rates"] == "0.2 0.4 0.8 1.6"
    assert (ring["chosen"], complete["chosen"]) == ("0.05", "0.8")
    assert "ring-0.1-lr0.05-s1" in pretended.done


def test_rates_that_diverge_are_not_chosen(tuning, capsys):
    assert tuning(Pretended(lambda spec: math.nan if spec["optimizer"]["lr"] > 0.06
                            else peak(0.2, spec)), final_seeds=[1]) == 0
    row, = rows(tuning, "tuning.csv")
    assert row["chosen"] == "0.05" and not row["loss_at_twice"]
    capsys.readouterr()


def test_a_method_without_a_finite_value_is_named(tuning, capsys):
    pretended = Pretended(lambda spec: math.nan)
    assert tuning(pretended) == 1 and len(pretended.done) == 10
    assert "no rate has a finite value" in capsys.readouterr().out


def test_equal_means_choose_the_lower_rate(tuning):
    assert tuning(Pretended(lambda spec: 0.5), extend=0, final_seeds=[1]) == 0
    assert rows(tuning, "tuning.csv")[0]["chosen"] == "0.0125"


@pytest.mark.parametrize("changes, said", [
    ({"tune": None}, "/tune: missing"),
    ({"tune": []}, "/tune: not an object"),
    ({"tune": {"seed": [1]}}, "/tune/seed: unknown key"),
    ({"tune": {"factors": [1, 2]}}, "/tune/factors: not a list of three"),
    ({"tune": {"factors": [0, 1, 2]}}, "/tune/factors: not a list of three"),
    ({"tune": {"seeds": [1, 1]}}, "/tune/seeds: not a list of different"),
    ({"tune": {"final_seeds": [5, 101]}}, "/tune/final_seeds: holds 101"),
    ({"tune": {"metric": "best"}}, "/tune/metric: not one of accuracy, loss"),
    ({"tune": {"extend": -1}}, "/tune/extend: not a whole number"),
    ({"tune": {"key": "lr"}}, "/tune/lr: no such axis"),
    ({"tune": {"key": "/optimizer/momentum"}}, "/optimizer/momentum: 0 is no number above 0"),
    ({"axes": {"seed": [1, 2]}}, "/axes/seed: seeds belong to \"tune\""),
    ({"name": "same", "axes": {"graph": ["ring", "complete"]}}, "two methods would be called"),
    ({"base": {**SPEC["base"], "data": BASE["data"]}}, "/data/validation: 0, so there is no"),
])
def test_errors_are_reported(sweep, inside, changes, said):
    given = {"tune": {}, **SPEC, **changes}
    sweep.write(given.pop("axes"), given.pop("base"), **given)
    status, _, message = inside(sweep, "tune", "plan")
    assert status == 2 and said in message and message.rstrip().endswith(")"), message
    assert not sweep.output.exists()


def test_commands_refuse_files_and_options_that_they_would_ignore(sweep, inside):
    sweep.write(SPEC["axes"], SPEC["base"], tune={})
    for command in ("plan", "local", "submit", "status", "cancel"):
        status, _, message = inside(sweep, command)
        assert status == 2 and "/tune: this file tunes" in message
    status, _, message = inside(sweep, "tune", "table", "--jobs", 2)
    assert status == 2 and "--jobs: says nothing to `table`" in message


def test_the_real_program_is_tuned(sweep):
    # The rate 1.0 is in the grid: the program stores it as it likes, and it is the same number.
    sweep.write(SPEC["axes"], {**SPEC["base"], "optimizer": {"type": "sgd", "lr": 0.5}},
                tune={"seeds": [101], "final_seeds": [1, 2], "factors": [0.5, 1, 2], "extend": 0})
    said = sweep("tune", "local", "--jobs", 2)
    assert "3 runs now, 2 follow" in said and "5 runs done" not in said
    with open(sweep.output / "tuning.csv") as file:
        row, = csv.DictReader(file)
    best = max((float(run["validation_accuracy"]), -float(run["rate"])) for run in csv.DictReader(
        (sweep.output / "trials.csv").read_text().splitlines()) if run["role"] == "trial")
    assert float(row["chosen"]) == -best[1] and float(row["validation_accuracy"]) == best[0]
    with h5py.File(sweep.output / f"ring-lr{float(row['chosen']):g}-s2.h5") as file:
        assert file["evaluations/mean_accuracy"][-1] >= 0
        assert json.loads(file["spec"][()])["data"]["validation"] == 64
    assert "runs now" not in sweep("tune", "local")


def test_the_program_is_asked_once_about_each_method(quick, inside):
    quick.write({"graph": ["ring", "complete"]}, SPEC["base"], tune={"key": "/rate"})
    stand_in(quick, "dbench", (quick.folder / "bin/dbench").read_text().replace(
        '"replicas": 4,', '"replicas": 4, "rate": 1, "data": {"validation": 9},'))
    status, out, said = inside(quick, "tune", "plan")
    assert status == 0 and "20 can run now, 12 follow" in out, said
    assert len((quick.folder / "notes/asked").read_text().split()) == 2
    status, out, _ = inside(quick, "tune", "plan", "--json")
    found = json.loads(out)
    assert found["counts"] == {"methods": 2, "runs": 20, "complete": 0, "to_do": 20, "later": 12,
                               "possible": 8}
    assert found["methods"][0]["state"] == "0 of 10 trials" and found["seconds"] is None
    assert len(found["runs"]) == 20


def test_slurm_gets_the_trials_first(sweep, inside):
    for name in ("squeue", "sacct"):
        stand_in(sweep, name, "exit 0")
    stand_in(sweep, "sbatch", "cat >" + str(sweep.folder / "job") + "; echo 17")
    sweep.write(SPEC["axes"], SPEC["base"], tune={"factors": [0.5, 1, 2]})
    status, out, _ = inside(sweep, "tune", "submit", "--dry-run")
    assert status == 0 and "#SBATCH --array=0-5" in out and "6 runs follow" in out
    assert not (sweep.folder / "job").exists()
    status, out, _ = inside(sweep, "tune", "submit")
    assert status == 0 and "job 17: an array of 6 runs" in out
    assert "ring-lr0.025-s101" in (sweep.folder / "job").read_text()
    assert json.loads((sweep.output / ".sweep/jobs.json").read_text())[0]["job"] == "17"
    status, out, _ = inside(sweep, "tune", "status", "--json")
    assert status == 0 and len(json.loads(out)["runs"]) == 6
    status, out, _ = inside(sweep, "tune", "cancel")
    assert status == 0 and "nothing is in the queue" in out
