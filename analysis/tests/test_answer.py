"""Tests of the sentences at the beginning of a report of several runs."""

import re
import shutil

import h5py
import numpy as np
import pytest
import scipy.stats
from dbench_analysis import open as open_run
from dbench_analysis.naming import differences
from dbench_analysis.pages import answer, curves, report, settings_table
from dbench_analysis.quantities.reaching import cost_to_reach, first_reached


def told(*paths):
    return answer.sentences([open_run(path) for path in paths])


def test_what_each_reached_what_it_costs_and_why(make):
    paths = [make(name="c", implementation="C_complete", graph=None),
             make(name="r", implementation="D_ring", graph="ring"),
             make(name="e", implementation="D_exponential", graph="exponential")]
    said = told(*paths)
    assert len(said) == 8, said
    runs = {"C_complete": paths[0], "D_ring": paths[1], "D_exponential": paths[2]}
    ends = {}
    for name, path in runs.items():
        ends[name] = float(open_run(path).evaluations["mean_accuracy"][-1])
        assert f"{name} {100 * ends[name]:.2f} %" in said[1], said[1]
    worst, best = min(ends, key=ends.get), max(ends, key=ends.get)
    assert said[0].startswith(f"With {worst} the mean model (the model with the averaged "
                              f"parameters) ends {100 * (ends[best] - ends[worst]):.2f} points")
    assert f"below that with {best}: " in said[0] and said[0].endswith(
        " (one seed each: small differences may be chance)."), "one seed explains nothing"
    assert "C_complete keeps the parameters of all replicas equal" in said[2]
    ratio = float(re.search(r"([0-9.]+) times as much as C_complete", said[2])[1])
    sent = {name: open_run(path).iterations["bytes_sent"][:].mean() for name, path in runs.items()}
    most = re.search(r"disagree most with (\w+)", said[2])[1]
    assert abs(ratio / (sent[most] / sent["C_complete"]) - 1) < 0.06
    assert "Spectral gaps" in said[3] and "D_ring" in said[3] and "D_exponential" in said[3]
    assert "than C_complete by" in said[5] and "this may be chance" in said[5]
    assert "To reach" in said[7]


def test_runs_that_are_not_complete_have_no_result(make):
    ring = make(name="r", implementation="D_ring", graph="ring")
    torus = make(name="t", implementation="D_torus", graph="torus", status="failed")
    assert answer.results([open_run(path) for path in (ring, torus)]) == []
    done = make(name="e", implementation="D_exponential", graph="exponential")
    found = answer.results([open_run(path) for path in (ring, torus, done)])
    assert [one.name for one in found] == ["D_ring", "D_exponential"]


def test_runs_that_differ_in_more_than_communication_have_no_common_result(make):
    ring = make(name="r", implementation="D_ring", graph="ring")
    for i, more in enumerate(({"compute": "bfloat16"}, {"evaluate": {"batchnorm": "own"}},
                              {"model": {"type": "cnn", "init": "zero"}})):
        torus = make(name=f"t{i}", implementation="D_torus", graph="torus", spec=more)
        assert answer.results([open_run(path) for path in (ring, torus)]) == []
    torus = make(name="t", implementation="D_torus", graph="torus", spec={
        "message": "bfloat16", "profile": {"norms": False}, "seed": 7})
    assert len(answer.results([open_run(path) for path in (ring, torus)])) == 2


def test_a_mean_without_diverged_seeds_is_marked_and_never_the_best(make):
    ring = seeds(make, (0.7, 0.71, 0.72), implementation="D_ring", graph="ring")
    torus = seeds(make, (0.9, 0.9, np.nan), implementation="D_torus", graph="torus")
    page = settings_table.table([open_run(path) for path in (*ring, *torus)])
    assert "<b>71.00 ± 1.00 %</b>" in page and "<td>90.00 ± 0.00 % (n=2)</td>" in page
    assert "1 run without a finite mean model accuracy left out." in page


def test_a_seed_that_was_run_twice_counts_once(make, tmp_path):
    """The first complete run of a seed counts. The page names the others."""
    ring = seeds(make, (0.7, 0.71, 0.72), implementation="D_ring", graph="ring")
    torus = seeds(make, (0.9, 0.91, 0.92), implementation="D_torus", graph="torus")
    for name in ("again", "failed"):
        shutil.copy(ring[0], tmp_path / f"{name}.h5")
    with h5py.File(tmp_path / "again.h5", "r+") as file:
        file["evaluations/mean_accuracy"][-1] = 0.1
    with h5py.File(tmp_path / "failed.h5", "r+") as file:
        file.attrs["status"] = "failed"
    runs = [open_run(path) for path in (
        tmp_path / "failed.h5", *ring, *torus, tmp_path / "again.h5")]
    groups = differences.by_setting(runs)
    assert [[run.path for run in group] for group in groups] == [ring, torus]
    page = settings_table.table(runs)
    assert "71.00 ± 1.00 %" in page and "<td>3</td>" in page and "<td>4</td>" not in page
    assert "Left out, because another run has the same setting and seed: again.h5." in page
    assert [len(one.ends) for one in answer.results(runs)] == [3, 3]
    # Every run has a curve of its own, and looks like its setting.
    found = curves.lines_of(runs, [str(i) for i in range(len(runs))],
                            [("setting", "setting", ""), ("", "each", "")])
    assert [line.runs for line in found["setting"]] == [[1, 2, 3], [4, 5, 6]]
    assert [line.runs for line in found[""]] == [[i] for i in range(len(runs))]
    assert found[""][-1].colour == found["setting"][0].colour


def result(name, ends, distance, gap=float("nan")):
    return answer.Result(name, ends, min(ends), distance, 1e6, gap)


ALL = result("C_complete", [0.97, 0.98], 0.0)
RING = result("D_ring", [0.78, 0.80], 1.6, 0.0128)
EXPONENTIAL = result("D_exponential", [0.9, 0.92], 1.4, 0.33)


def test_the_first_sentence_says_by_how_much_and_why():
    found = [ALL, RING, EXPONENTIAL]
    assert answer.lead(found, answer.reason(found)) == (
        "With D_ring the mean model (the model with the averaged parameters) ends 18.50 points of "
        "test accuracy below that with C_complete: 79.00 % against 97.50 % (means of 2 seeds), "
        "because a graph with a smaller spectral gap averages more slowly, so the replicas stay "
        "further from their mean (D_ring has gap 0.013 and distance 1.6, D_exponential has gap "
        "0.33 and distance 1.4; C_complete keeps them equal).")
    assert answer.reason([ALL, RING]) == (
        ", because its replicas disagree: they are up to a distance of 1.6 from their mean; "
        "C_complete keeps them equal")


@pytest.mark.parametrize("other", [
    result("D_exponential", [0.9, 0.92], 1.7, 0.33),  # further apart in spite of its larger gap
    result("D_exponential", [0.7, 0.72], 1.4, 0.33),  # worse in spite of its larger gap
    result("D_exponential", [0.79, 0.99], 1.4, 0.33)])  # no better in each seed
def test_the_first_sentence_explains_nothing_that_the_runs_contradict(other):
    assert answer.reason([RING, other]) == ""
    told = answer.lead([RING, other], answer.reason([RING, other]))
    assert ("(means of 2 seeds), but their seeds overlap." in told) == (0.79 in other.ends), told


def test_equal_results_are_called_equal():
    found = [ALL, result("D_complete", [0.97, 0.98], 0.0)]
    assert answer.lead(found, answer.reason(found)) == (
        "The mean model (the model with the averaged parameters) ends at the same test accuracy "
        "everywhere: 97.50 % (means of 2 seeds).")


def test_equal_parameters_with_different_accuracies_are_explained(make):
    reduced = make(name="c", implementation="C_complete", graph=None)
    line, = answer.equal_replicas([open_run(reduced), open_run(make(name="r"))])
    assert "are equal with C_complete" in line and "BatchNorm" in line and "D_ring" not in line
    ends = open_run(reduced).evaluations["local_accuracy"][-1]
    assert f"({100 * ends.min():.2f} % to {100 * ends.max():.2f} %)" in line
    plain = make(name="plain", implementation="C_complete", graph=None)
    with h5py.File(plain, "r+") as file:
        file["tensors/kind"][...] = [b"bias"] * len(file["tensors/kind"])
    assert answer.equal_replicas([open_run(plain)]) == [], "a model without normalization"


def test_nothing_is_said_about_one_setting(make):
    ring = make(name="r", implementation="D_ring", graph="ring")
    assert told(ring) == []
    assert told(ring, make(name="again", implementation="D_ring", graph="ring", seed=2,
                           spec={"seed": 2})) == []


def seeds(make, ends, **plan):
    """Return runs with these final accuracies, one seed each."""
    return [make(name=f"{plan['implementation']}-{plan.get('replicas', 8)}-{seed}", seed=seed,
                 final=end, **{**plan, "spec": {"seed": seed, **plan.get("spec", {})}})
            for seed, end in enumerate(ends)]


def test_settings_that_differ_in_more_than_communication_are_compared(make):
    ring = seeds(make, (0.70, 0.72, 0.71, 0.75), implementation="D_ring", graph="ring")
    slow = seeds(make, (0.68, 0.70, 0.72, 0.70), implementation="D_torus", graph="torus",
                 spec={"optimizer": {"type": "sgd", "lr": 0.01}})
    said = told(*ring, *slow)
    assert not any("gap" in line or "Test accuracy of" in line for line in said)
    d = np.array([0.02, 0.02, -0.01, 0.05])
    half = scipy.stats.t.ppf(0.975, 3) * d.std(ddof=1) / 2
    assert (f"D_torus is worse than D_ring by {100 * d.mean():.2f} points of accuracy on average, "
            "and worse in 3 of 4 seeds (difference: 95 % t interval "
            f"{-100 * (d.mean() + half):+.2f} points to {100 * (half - d.mean()):+.2f} points, "
            "which rests on normality, because 4 seeds are too few for an exact test, and "
            "contains 0: no difference is shown).") == said[0]


def test_a_tie_does_not_make_seeds_too_few(make):
    ring = seeds(make, [0.5] * 6, implementation="D_ring", graph="ring")
    torus = seeds(make, [0.49] * 5 + [0.5], implementation="D_torus", graph="torus")
    line, = [line for line in told(*ring, *torus) if "is worse than" in line]
    assert "p = 0.062, so no difference is shown" in line and "normality" not in line


def test_enough_seeds_give_an_exact_test(make):
    ring = seeds(make, [0.7 + 0.01 * i for i in range(6)], implementation="D_ring", graph="ring")
    torus = seeds(make, [0.69 + 0.009 * i for i in range(6)], implementation="D_torus",
                  graph="torus")
    line, = [line for line in told(*ring, *torus) if "is worse than" in line]
    assert "worse in 6 of 6 seeds" in line and "96.9 % interval" in line
    assert "p = 0.031)" in line and "normality" not in line


def test_times_are_compared_where_they_may_be(make):
    fair = {"ranks": 8, "cpus": 8, "reduction": "library"}
    paths = [make(name=name, implementation=f"D_{name}", graph=name, **fair)
             for name in ("ring", "complete")]
    steps = [np.median(open_run(path).iterations["step_time"][1:].max(axis=1)) for path in paths]
    said = told(*paths)[-1]
    assert said.startswith("An iteration takes") and (
        f"D_ring is {steps[1] / steps[0]:.3g} times as fast as D_complete") in said
    assert "of steps" in told(*paths)[-2]
    assert not any("An iteration takes" in line or "of steps" in line for line in told(
        paths[0], make(name="slow", implementation="D_complete", graph="complete")))


def test_scale_is_answered(make):
    eight = seeds(make, (0.7, 0.7), implementation="D_ring", graph="ring")
    four = seeds(make, (0.75, 0.75), implementation="D_ring", graph="ring", replicas=4,
                 spec={"replicas": 4})
    assert "From n = 4 to n = 8, the accuracy of D_ring changes by -5.00 points." in told(
        *eight, *four)


def test_the_cost_of_an_accuracy_is_that_of_the_first_evaluation_that_reaches_it(make):
    ring, torus = (make(name=name, implementation=f"D_{name}", graph=name)
                   for name in ("ring", "torus"))
    run = open_run(ring)
    accuracy = run.evaluations["mean_accuracy"][:]
    target = float(accuracy[2])
    assert first_reached(run, "accuracy", target) == run.evaluations["iteration"][2] == 40
    assert cost_to_reach(run, "accuracy", target, "bytes") == pytest.approx(
        run.iterations["bytes_sent"][:40].sum() / run.replicas / 1e6)
    assert first_reached(run, "accuracy", 1.0) is None
    said = told(ring, torus)[-1]
    worst = min(open_run(path).evaluations["mean_accuracy"][-1] for path in (ring, torus))
    assert said.startswith(f"To reach {np.floor(100 * worst):.2f} %"), said
    assert "/evaluate/every" not in said
    rare = make(name="rare", implementation="D_torus", graph="torus",
                spec={"evaluate": {"every": {"epochs": 5}}})
    assert "Runs differ in /evaluate/every: rarer" in told(ring, rare)[-1]


def test_a_report_opens_with_the_answer_and_its_picture(five, monkeypatch):
    monkeypatch.setattr(report, "figures_of", lambda *_: [])
    page = report.document([open_run(path) for path in sorted(five.glob("*.h5"))])
    opening = page[page.index('<section id="result">'):page.index('<section id="summary">')]
    assert "points of test accuracy below" in opening and "Spectral gaps" in opening
    assert "<svg" in opening or "data:image/" in opening
