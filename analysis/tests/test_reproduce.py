"""Tests of `reproduce`: invented runs lead to each verdict, and few seeds lead to none."""

import json
from dataclasses import replace

import dbench_analysis as da
import numpy as np
import pytest
from dbench_analysis.claims import (
    ada,
    cases,
    dbench,
    graph_correlations,
    promise,
    published,
)
from dbench_analysis.claims.cases import Case
from dbench_analysis.claims.finding import Terms
from dbench_analysis.claims.judgement import judged, more_seeds, needed
from dbench_analysis.cli import main

TERMS = Terms()
DEGREE = {"C_complete": 15.0, "D_complete": 15.0, "lattice": 8.0, "ada": 6.0, "D_exponential": 5.0,
          "D_torus": 4.0, "grid": 3.0, "D_ring": 2.0}


def case(name, seed=1, n=16, accuracy=0.7, early=1.0, late=1.0, role=None, what="",
         curve=None) -> Case:
    role = role or {"C_complete": "centralized", "ada": "ada"}.get(name, "fixed")
    noise = 1e-4 * np.random.default_rng([seed, n, *name.encode()]).standard_normal()
    return Case(name, role, what, "cnn on shapes", frozenset({("seed", str(seed)), ("n", str(n))}),
                frozenset({("model", "cnn")}), True, n, str(seed),
                DEGREE.get(name, 6.0), accuracy + noise, (curve or accuracy) + noise, early, late)


def verdicts(findings) -> dict[str, str]:
    return {f.key: f.verdict for f in findings}


def at_scales(central, ring, seeds=7):
    """Return cases of C_complete and D_ring whose accuracy falls by these numbers from 4 to 16
    replicas."""
    return [case(name, s, n, 0.7 - fall * (n == 16)) for s in range(1, seeds + 1)
            for name, fall in (("C_complete", central), ("D_ring", ring)) for n in (4, 16)]


@pytest.mark.parametrize("central, ring, seeds, verdict", [
    (0.05, 0.1, 7, "supported"), (0.05, 0.0, 7, "contradicted"), (0.05, -0.05, 7, "contradicted"),
    (0.0, 0.1, 7, "contradicted"),
    (0.0, 0.0, 7, "undecided"), (0.05, 0.1, 5, "undecided"), (0.05, 0.0, 4, "undecided"),
])
def test_scaling(central, ring, seeds, verdict):
    found = dbench.scaling(at_scales(central, ring, seeds), TERMS)
    assert found.verdict == verdict
    assert bool(found.missing) == (seeds < 6) and all(f"6 seeds or more, here {seeds}" in line
                                                      for line in found.missing)


def test_scaling_compares_the_scales_that_both_have_with_a_fixed_local_batch():
    found = at_scales(0.05, 0.1) + [case("D_ring", s, 64, 0.1) for s in range(1, 8)]
    assert [row[2] for row in dbench.scaling(found, TERMS).evidence] == ["4 to 16", "4 to 16"]
    alone = [c for c in found if c.name != "C_complete"]
    assert (dbench.scaling(alone, TERMS).verdict == "undecided"
            and "centralized (C_complete)" in dbench.scaling(alone, TERMS).missing[0])
    assert dbench.scaling([replace(c, fixed_batch=False) for c in found], TERMS).evidence == []


FALLING = {"D_complete": 0.70, "lattice": 0.69, "D_exponential": 0.68, "D_torus": 0.67,
           "grid": 0.65, "D_ring": 0.6}


def over_graphs(accuracy, early=None, late=None, seeds=7):
    return [case(name, s, accuracy=accuracy(name, s), early=(early or (lambda *_: 1.0))(name, s),
                 late=(late or (lambda *_: 1.0))(name, s))
            for s in range(1, seeds + 1) for name in FALLING]


@pytest.mark.parametrize("accuracy, seeds, verdict", [
    (lambda name, s: FALLING[name], 2, "supported"),
    (lambda name, s: 1 - FALLING[name], 2, "contradicted"),
    (lambda name, s: FALLING[name] if s % 2 else 1 - FALLING[name], 8, "undecided"),
])
def test_connections(accuracy, seeds, verdict):
    found = dbench.connections(over_graphs(accuracy, seeds=seeds), TERMS)
    assert found.verdict == verdict and bool(found.missing) == (verdict == "undecided")
    assert verdict == "undecided" or "on cnn on shapes only" in found.why


def test_seeds_do_not_make_graphs():
    """Two of four graphs have equal degrees, so no order is rarer than 2 in 24."""
    some = [replace(c, degree=min(c.degree, 4.0)) if c.name == "D_exponential" else c
            for c in over_graphs(lambda name, s: FALLING[name], seeds=30)
            if c.name not in ("lattice", "grid")]
    found = dbench.connections(some, TERMS)
    assert found.verdict == "undecided" and found.missing == [
        "more graphs, of different degrees: 4 cannot tell this from chance"]


def test_three_graphs_are_no_correlation():
    few = [c for c in over_graphs(lambda name, s: FALLING[name])
           if c.name in ("D_complete", "D_torus", "D_ring")]
    found = dbench.connections(few, TERMS)
    assert found.verdict == "undecided"
    assert "4 or more decentralized implementations" in found.missing[0]


def test_graphs_that_all_scales_have_must_have_enough_degrees():
    """Each group has four degrees, but the four graphs that both have differ in two only."""
    common = {"D_torus": 4.0, "grid": 4.0, "D_exponential": 4.0, "D_ring": 2.0}
    found = []
    for n, own in ((16, ("D_complete", "lattice")), (32, ("more", "most"))):
        for name in (*common, *own):
            degree = common.get(name, 8.0 + own.index(name) if name in own else 0.0)
            found.append(replace(case(name, n=n, accuracy=0.6 + degree / 100), degree=degree))
    assert graph_correlations.over_graphs(found, "degree").names == []


def least(name, s):  # the opposite order of FALLING, like a spread that decreases with the accuracy
    return 1 - FALLING[name]


def shuffled(name, s):
    return float(np.random.default_rng([s, *name.encode()]).random())


@pytest.mark.parametrize("early, late, verdict", [
    (least, lambda name, s: FALLING[name], "supported"),
    (lambda name, s: FALLING[name], least, "contradicted"),  # accuracy rises with early variance
    (shuffled, least, "contradicted"),  # depends on late variance only
    (least, least, "undecided"),  # depends equally on early and late variance
])
def test_variance(early, late, verdict):
    found = dbench.variance(over_graphs(lambda name, s: FALLING[name], early, late), TERMS)
    assert found.verdict == verdict and bool(found.missing) == (verdict == "undecided")


def test_early_and_late_of_four_graphs_are_not_told_apart():
    some = [c for c in over_graphs(lambda name, s: FALLING[name], least, lambda name, s: 1.0 + s)
            if c.name not in ("lattice", "grid")]
    some = [replace(c, late=c.accuracy) for c in some]
    found = dbench.variance(some, TERMS)
    assert found.verdict == "undecided" and found.missing == ["5 graphs or more, here 4"]


def beside(accuracy, seeds=7, **others):
    """Return cases of Ada at this accuracy and of others at their accuracies; CONTROLS names the
    controls."""
    return [case(name, s, accuracy=value, role="control" if name in CONTROLS else None,
                 what=CONTROLS.get(name, ""))
            for s in range(1, seeds + 1) for name, value in {"ada": accuracy, **others}.items()]


CONTROLS = dict(zip(("reverse", "budget", "lattice", "base_k"), ada.EXPECTED))


@pytest.mark.parametrize("ring, torus, seeds, verdict", [
    (0.6, 0.65, 7, "supported"), (0.6, 0.8, 8, "contradicted"), (0.6, 0.7, 7, "undecided"),
    (0.6, 0.65, 5, "undecided"),
])
def test_ada_is_best(ring, torus, seeds, verdict):
    found = ada.best(beside(0.7, seeds, D_ring=ring, D_torus=torus, D_complete=0.9), "ada", TERMS)
    assert found.verdict == verdict and any(row[0] == "D_complete, final" for row in found.evidence)
    assert seeds > 5 or any(line.startswith("ada and D_ring: 6 seeds or more, here 5; at a ")
                            for line in found.missing)


@pytest.mark.parametrize("central, seeds, verdict", [
    (0.7, 7, "supported"), (0.6, 7, "supported"), (0.72, 7, "contradicted"), (0.7, 4, "undecided"),
    (0.72, 5, "undecided")])
def test_ada_reaches_centralized(central, seeds, verdict):
    assert ada.reaches(beside(0.7, seeds, C_complete=central), "ada", TERMS).verdict == verdict


def test_an_interval_over_the_margin_decides_nothing():
    found = [c if c.name == "ada" else replace(c, accuracy=c.accuracy + 0.01 * (int(c.seed) % 2))
             for c in beside(0.7, 8, C_complete=0.701)]
    assert ada.reaches(found, "ada", TERMS).verdict == "undecided"


@pytest.mark.parametrize("controls, seeds, verdict", [
    (dict.fromkeys(CONTROLS, 0.65), 7, "supported"),
    ({**dict.fromkeys(CONTROLS, 0.65), "budget": 0.7}, 7, "contradicted"),
    ({"reverse": 0.65}, 7, "undecided"), (dict.fromkeys(CONTROLS, 0.65), 5, "undecided"),
    ({}, 7, "undecided"),
])
def test_controls_of_ada(controls, seeds, verdict):
    found = ada.controls(beside(0.7, seeds, **controls), "ada", TERMS)
    assert found.verdict == verdict
    absent = [line for line in found.missing if line.startswith("the control")]
    assert len(absent) == (4 - len(controls) if verdict == "undecided" else 0)


def test_what_a_mean_and_its_error_say_of_a_published_value():
    row = published.Row("dadam", "aer", 0.75, 0.005)
    for values, verdict in (
            ([0.75, 0.751, 0.749], "supported"), ([0.73, 0.731, 0.729], "contradicted"),
            ([0.745, 0.755, 0.757], "undecided"), ([0.75, 0.75], "undecided"), ([], "undecided"),
            ([0.752, 0.754, 0.751], "undecided")):  # ± 2 standard errors cover 82 %
        assert promise.against_published(np.array(values), row, 100, 0.05, 0.01)[0] == verdict


def test_undecided_cells_tell_their_power(capsys):
    """With 3 seeds and a deviation of 0.4 points a true cell is supported in 11 % of cases."""
    assert main(["reproduce", "promise", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [cell["cell"] for cell in said["cells"]] == [f["key"] for f in said["findings"]]
    assert {cell["verdict"] for cell in said["cells"]} == {"undecided"} and said["assumptions"]
    line = said["findings"][0]["missing"][0]
    assert "0.4 points (assumed) 3 runs" in line and "probability of 11 % (80 %: 9 seeds)" in line
    row = published.Row("dadam", "aer", 0.75, 0.005)
    told = promise.power_of(np.array([0.75, 0.76, 0.74, 0.75]), row, 0.05)
    assert "0.82 points (measured) 4 runs" in told


def test_undecided_differences_tell_their_power():
    (line,) = more_seeds("x", judged([0.004, -0.004] * 4, TERMS))
    assert line.startswith("x: 8 pairs; at a standard deviation of 0.43 points (measured) a diff")
    assert "is shown with a probability of 79 % (80 %: 9 seeds)" in line
    assert "is excluded with a probability of 81 % (80 %: 8 seeds)" in line
    (line,) = more_seeds("x", judged([], TERMS))
    assert line.startswith("x: 6 seeds or more, here 0; at a standard deviation of 0.4 points (ass")
    assert "probability of 0 % (80 %: 8 seeds)" in line


def test_asymmetry_is_told_in_the_table_and_assumptions_in_the_report(capsys):
    assert judged([0.0, 0.01, 0.02, 0.005, 0.015, -0.4], TERMS).points()[-1] == "far values"
    assert judged([0.0, 0.01, 0.02, 0.005, 0.015, 0.01], TERMS).points()[-1] == "-"
    for name, said in (("ada", "symmetric about their mean"), ("promise", "nearly normal"),
                       ("dbench", "all orders of the graphs")):
        assert main(["reproduce", name]) == 0
        out = capsys.readouterr().out
        assert said in out and out.count("\n\nAssumptions: ") == out.count("\nRule: ")


METHODS = {"all_reduce": ({"algorithm": "centralized"}, "adam"), "dadam": ({"graph": {
    "type": "aer"}, "algorithm": {"type": "dsgd", "order": "combine_while_adapt"}}, "adam"),
           "accum_adam": ({"graph": {"type": "aer"}, "algorithm": {
               "type": "dsgd", "order": "combine_while_adapt"}}, "accum_adam")}


def method_runs(make, seeds, model="cnn", data="shapes", replicas=4, **accuracies):
    for seed in range(1, seeds + 1):
        for i, (name, accuracy) in enumerate(accuracies.items()):
            spec, optimizer = METHODS[name]
            make(name=f"{name}-{seed}", implementation=None, graph="ring", replicas=replicas,
                 ranks=replicas, per_epoch=2, epochs=1, norms=False, seed=seed,
                 final=accuracy + 1e-4 * ((seed * (3 + i)) % 5), reduction="library", cpus=64,
                 spec={"seed": seed, "model": model, "data": {"type": data, "batch_size": 8},
                       "optimizer": {"type": optimizer, "lr": 1e-3}, **spec})


@pytest.mark.parametrize("seeds, dadam, reduced, expected", [
    (7, 0.6, 0.7, ("supported", "supported")), (7, 0.7, 0.8, ("contradicted", "contradicted")),
    (4, 0.6, 0.8, ("undecided", "undecided"))])
def test_methods_from_files(make, tmp_path, capsys, seeds, dadam, reduced, expected):
    method_runs(make, seeds, accum_adam=0.7, dadam=dadam, all_reduce=reduced)
    assert main(["reproduce", "promise", str(tmp_path), "--json"]) == 0
    found = {f["key"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    assert (found["accumulation"]["verdict"], found["parity"]["verdict"]) == expected
    assert found["table2-de"]["verdict"] == found["table3"][
        "verdict"] == "undecided"
    assert found["table2-de"]["missing"][0].startswith(
        "runs on wmt14_en_de, which is no data set of dbench; and its BLEU is that of greedy")
    assert len(found["table3"]["missing"]) == 5 and found["times"]["evidence"][0][2] == "1.19"


@pytest.mark.parametrize("ratio, expected", [(0.5, "supported"), (2.0, "contradicted")])
def test_step_times(make, monkeypatch, tmp_path, capsys, ratio, expected):
    method_runs(make, 6, dadam=0.6, all_reduce=0.6)
    monkeypatch.setattr("dbench_analysis.quantities.fields.step", lambda run: (
        ratio if "dadam" in run.name else 1.0) * (1 + 0.01 * run.spec["seed"]))
    assert main(["reproduce", "promise", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["findings"][-1]
    assert found["key"] == "times" and found["verdict"] == expected and found["evidence"][-1][
        2].startswith(f"{1 / ratio:.2f}")


def test_curves_of_different_intervals_are_named(make):
    runs = [da.open(make(name=graph, implementation=f"D_{graph}", graph=graph,
                         spec={"evaluate": {"every": {"epochs": epochs}}}))
            for graph, epochs in (("ring", 1), ("torus", 2))]
    assert "1 setting with runs that differ in /evaluate/every" in " ".join(
        cases.cases(runs, 0.1)[1])
    assert cases.cases(runs[:1], 0.1)[1] == []


def test_a_published_table_from_files(make, tmp_path, capsys):
    method_runs(make, 3, "resnet50", "imagenet", 32, all_reduce=0.76, dadam=0.5)
    assert main(["reproduce", "promise", str(tmp_path), "--json"]) == 0
    table = json.loads(capsys.readouterr().out)["findings"][0]
    assert table["verdict"] == "contradicted" and table["evidence"][0][3].endswith(
        "(3 runs)") and table["evidence"][3][3] == "not run"


def test_five_implementations_as_a_user_asks(make, tmp_path, capsys):
    for seed in (1, 2, 3, 4, 5, 6):
        for name, graph, final in (("C_complete", None, 0.72), ("D_complete", "complete", 0.71),
                                   ("D_exponential", "exponential", 0.7),
                                   ("D_torus", "torus", 0.68), ("D_ring", "ring", 0.6)):
            for n in (4, 8):
                make(name=f"{name}-n{n}-s{seed}", implementation=name, graph=graph, replicas=n,
                     per_epoch=2, epochs=1, seed=seed, norms=False,
                     final=final - 0.02 * (n == 8), spec={"seed": seed})
    assert main(["reproduce", "dbench", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [f["verdict"] for f in found["findings"]] == ["supported", "undecided", "undecided"]
    assert found["findings"][1]["missing"] == [
        "more graphs, of different degrees: 4 cannot tell this from chance"]
    assert main(["reproduce", "dbench", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert ("Rule: The fall" in out
            and "| replicas | 12, 24, 48, 96, and 1008 for ResNet-50 | 4, 8 |" in out
            and "verdicts are valid for these settings" in out)
    assert main(["reproduce", "dbench", str(tmp_path), "--format", "latex", "-o",
                 str(tmp_path / "d.tex")]) == 0
    assert (tmp_path / "d.tex").read_text().count(r"\toprule") == 4


@pytest.mark.parametrize("name", ["dbench", "ada", "promise"])
def test_without_runs_all_is_undecided_and_says_what_is_missing(capsys, name):
    assert main(["reproduce", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(f["verdict"] == "undecided" and f["missing"] and f["rule"] and f["statement"]
               for f in found["findings"])
    assert name == "promise" or f"sweep local configs/sweeps/{name}.json" in found["remedy"]


def test_names_and_faults(capsys):
    assert main(["reproduce"]) == 0 and main(["reproduce", "--list"]) == 0
    assert capsys.readouterr().out.split().count("dbench") == 2
    for command, reason in ((["x"], "choose from dbench, ada, promise"), (
        ["ada", "--alpha", "2"], "out of range"), (["ada", "--window", "0.7"], "below one half"),
                            (["ada", "--nonsense"], "not understood"),
                            (["ada", "nowhere.h5"], "no such file"),
                            (["ada", "--margin", "x"], "not a number")):
        assert main(["reproduce", *command]) == 2 and reason in capsys.readouterr().err


def test_odd_runs(odd, capsys):
    for name in ("dbench", "ada", "promise"):
        assert main(["reproduce", name, str(odd)]) == 0
        assert "runs left out: not complete, or without accuracies" in capsys.readouterr().out


def test_seeds_needed():
    assert needed(0.05) == 6 and needed(0.025) == 7 and needed(0.0625) == 5
    assert judged([0.01] * 5, TERMS).above() is False and judged([0.01] * 6, TERMS).above() is True
    assert not judged([0.0] * 4, TERMS).equivalent() and judged([0.0, 1e-4] * 3, TERMS).equivalent()
    assert judged([np.nan], TERMS).count == 0 and not judged([], TERMS).above()


def test_few_values_have_no_interval():
    assert judged([0.01, 0.03], TERMS).points()[1:] == ["+2.00", "0.5", "-", "0.5", "-"]
    assert judged([0.01, 0.03] * 3, TERMS).points()[1].startswith("+2.00 (+1.")


@pytest.mark.parametrize("graph, expected", [
    ("torus", "fixed"), ({"type": "one_peer_exponential"}, "fixed"), (["ring", "torus"], "other"),
    ({"type": "consensus_control"}, "other"), ({"type": "participation", "graph": "ring"}, "other"),
    ({"type": "hierarchical", "inner": "complete", "outer": {"type": "ada"}}, "other"),
    ({"type": "ada"}, "ada"), ({"type": "ada", "reversed": True}, "control"),
    ({"type": "budget", "dense": {"type": "ada"}}, "control"),
])
def test_what_counts_as_a_fixed_graph(make, graph, expected):
    path = make(implementation=None, per_epoch=2, epochs=1,
                spec={"graph": graph, "algorithm": {"type": "dsgd"}})
    with da.open(path) as run:
        assert cases.role(run)[0] == expected


def test_a_methods_parameters_are_not_mixed_by_the_order_of_files(make, tmp_path, capsys):
    """Each of two learning rates of one method is compared with the other method, in any order."""
    method_runs(make, 7, accum_adam=0.7, dadam=0.6)
    spec, _ = METHODS["accum_adam"]
    for seed in range(1, 8):
        make(name=f"slow-{seed}", implementation=None, graph="ring", replicas=4, ranks=4,
             per_epoch=2, epochs=1, norms=False, seed=seed, final=0.5 + 1e-4 * seed,
             reduction="library", cpus=64,
             spec={"seed": seed, "model": "cnn", "data": {"type": "shapes", "batch_size": 8},
                   "optimizer": {"type": "accum_adam", "lr": 1e-5}, **spec})
    files, told = sorted(str(path) for path in tmp_path.glob("*.h5")), []
    for order in (files, files[::-1]):
        assert main(["reproduce", "promise", *order, "--json"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    found = {f["key"]: f for f in json.loads(told[0])["findings"]}["accumulation"]
    rows = {row[0]: row[2] for row in found["evidence"]}
    assert len(rows) == 2 and found["verdict"] == "contradicted"
    assert [row for row in rows if "/optimizer/lr=1e-05" in row and rows[row].startswith("-9.9")]
    assert [row for row in rows if "/optimizer/lr=0.001" in row and rows[row].startswith("+10")]
