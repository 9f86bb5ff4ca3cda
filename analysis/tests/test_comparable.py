"""Tests that times which are no measurements are never compared without a warning."""

import json

import dbench_analysis as da
import h5py
import pytest
from dbench_analysis.figures import style
from dbench_analysis.naming import differences, names
from dbench_analysis.pages import report
from dbench_analysis.quantities.comparability import caveats, statement

FAIR = dict(replicas=4, ranks=4, cpus=4, reduction="library")


@pytest.mark.parametrize("plan, reasons", [
    (FAIR, []),
    (FAIR | {"reduction": "auto", "device": "cuda:0"}, []),
    (FAIR | {"reduction": "auto"}, ["reproducible reductions"]),
    (FAIR | {"reduction": "reproducible", "device": "cuda:0"}, ["reproducible reductions"]),
    (FAIR | {"cpus": 2}, ["more ranks than cores (4 ranks on 2 cores of node01)"]),
    (FAIR | {"cpus": 1, "bound": True}, []),
    (FAIR | {"ranks": 2}, ["4 replicas on 2 ranks"]),
    (FAIR | {"reduction": "auto", "cpus": 2, "delay": 0.5}, []),
    (FAIR | {"reduction": "auto", "delay": 0.01}, ["reproducible reductions"]),
    (FAIR | {"ranks": 2, "delay": 0.5}, ["4 replicas on 2 ranks"]),
])
def test_caveats(make, plan, reasons):
    with da.open(make(**plan)) as run:
        assert caveats(run) == reasons


@pytest.mark.parametrize("said, expected", [
    ({"reduction": "library"}, []),
    ({"reduction": "reproducible"}, ["reproducible reductions"]),
    ({"reduction": "library", "ranks_per_gpu": 1}, []),
    ({"reduction": "library", "ranks_per_gpu": 2}, ["2 ranks on one GPU"]),
])
def test_between_gpus_a_run_records_how_it_reduced_and_shared(make, said, expected):
    """With "auto" the program chooses, and it does not choose the library for rows in 16 bits."""
    path = make(**FAIR | {"reduction": "auto", "device": "cuda:0"})
    with h5py.File(path, "r+") as file:
        facts = json.loads(file["provenance"][()]) | {"environment": said}
        del file["provenance"]
        file["provenance"] = json.dumps(facts)
    with da.open(path) as run:
        assert caveats(run) == expected


def test_statement_counts_the_runs_concerned(make):
    fair, unfair = da.open(make(name="fair", **FAIR)), da.open(
        make(name="unfair", **FAIR | {"reduction": "auto"}))
    assert statement([fair]) == ""
    assert "reproducible reductions (1 of 2 runs)" in statement([fair, unfair])


def test_complete_graphs_are_labelled_all_reduce_equivalent(make):
    with da.open(make(implementation="D_complete", graph="complete")) as run:
        assert names.communication(run) == "D_complete (all-reduce equivalent)"
    with da.open(make(name="awc", implementation=None, graph="complete")) as run:
        assert names.communication(run) == "dsgd AWC complete (all-reduce equivalent)"


@pytest.mark.parametrize(("algorithm", "graph", "name"), [
    ("dsgd", ["ring", "complete"], "ring, complete"),
    ("local_sgd", [{"type": "complete", "until": {"epochs": 1}}, "complete"],
     "local_sgd complete, complete (all-reduce equivalent)"),
    ("local_sgd", ["complete", "ring"], "local_sgd complete, ring"),
    ("local_sgd", ["ring", "complete"], "local_sgd ring, complete"),
    ("gossip_pga", "complete", "gossip_pga complete (all-reduce equivalent)"),
    ("ad_psgd", "complete", "ad_psgd complete"), ("swift", "complete", "swift complete"),
    ({"type": "choco", "order": "parallel"}, "complete", "choco parallel complete"),
    ("moniqua", "complete", "moniqua complete"), ("choco", "ring", "choco ring")])
def test_only_whole_averages_over_all_replicas_are_all_reduce(make, algorithm, graph, name):
    path = make(implementation=None, graph="complete",
                spec={"algorithm": algorithm, "graph": graph})
    with da.open(path) as run:
        assert names.communication(run) == name
        assert (names.ALL_REDUCE in report.certificate(run)) == (names.ALL_REDUCE in name)


def test_labels_say_what_differs(make):
    def label(*plans):
        return differences.labels([da.open(make(name=f"run{i}", **plan))
                                   for i, plan in enumerate(plans)])

    assert label({"replicas": 4}, {"replicas": 8}) == ["D_ring, n=4", "D_ring, n=8"]
    assert label({}, {"implementation": "D_torus", "graph": "torus"}) == ["D_ring", "D_torus"]
    assert label({}, {"spec": {"seed": 2}}) == ["D_ring, seed 1", "D_ring, seed 2"]
    assert label({}, {}) == ["D_ring, seed 1, run0", "D_ring, seed 1, run1"]
    base_k = [{"implementation": None, "spec": {"graph": {"type": "base_k", "k": k},
                                                "algorithm": "dsgd"}} for k in (1, 3)]
    assert label(*base_k) == ["base_k, k=1", "base_k, k=3"]


def test_colours_follow_the_communication(five, make):
    alone = style.looks([da.open(five / "D_torus.h5")])[0]
    runs = [da.open(path) for path in sorted(five.glob("*.h5"))]
    together = {run.name: look for run, look in zip(runs, style.looks(runs))}
    assert together["D_torus"].colour == alone.colour
    assert len({look.colour for look in together.values()}) == 5
    several = [*runs, da.open(make(name="small", replicas=4))]
    like = [look for run, look in zip(several, style.looks(several))
            if names.implementation(run) == "D_ring"]
    assert like[0].colour == like[1].colour and like[0].dash != like[1].dash
