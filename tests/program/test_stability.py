"""Tests that algorithms that diverge on a graph at any learning rate are refused with a remedy."""

import json
import re

import h5py
import pytest
from conftest import ROOT
from together import checked

UNSTABLE = {
    "gut": {"algorithm": "gut", "graph": "torus", "replicas": 16},
    "d2": {"algorithm": "d2", "graph": "one_peer_hypercube", "replicas": 8},
    "d2 drawn": {"algorithm": "d2", "graph": "random_matching", "replicas": 16},
    "exact_diffusion": {"algorithm": "exact_diffusion", "graph": "shift_one", "replicas": 16},
    "decentlam": {"algorithm": "decentlam", "graph": "exponential", "replicas": 16},
    "qg_gutm": {"algorithm": "qg_gutm", "graph": "exponential", "replicas": 16},
    "diloco": {"algorithm": "diloco", "graph": "shift_one", "replicas": 16},
    "noloco": {"algorithm": "noloco", "graph": "one_way_ring", "replicas": 16},
    "the mean": {"algorithm": {"type": "gasloc", "gamma": 1.2}, "graph": "complete",
                 "replicas": 4},
    "second of a list": {"algorithm": "gut", "replicas": 16,
                         "graph": [{"type": "ring", "until": {"iterations": 2}}, "torus"]},
}


def spec_of(dbench, name, **more):
    return dbench.spec({"implementation": None, **UNSTABLE[name], **more})


@pytest.fixture(scope="module")
def refusals(shared):
    """Return the messages of `check` for all specs."""
    told = checked(shared, {name: shared.text({"implementation": None, **changes})
                            for name, changes in UNSTABLE.items()})
    return {name: told[name]["error"] for name in UNSTABLE}


def advice_of(message):
    return re.findall(r"set (/\S+) to ([0-9.]+)", message)


@pytest.fixture(scope="module")
def advised(shared, refusals):
    """Return the results of `check` for each spec with each change that its refusal advises."""
    specs = {}
    for name, message in refusals.items():
        for pointer, value in advice_of(message):
            spec = json.loads(shared.text({"implementation": None, **UNSTABLE[name]}))
            _, section, key = pointer.split("/")
            if isinstance(spec[section], str):
                spec[section] = {"type": spec[section]}
            spec[section][key] = float(value)
            specs[name, pointer] = json.dumps(spec)
    return checked(shared, specs)


@pytest.mark.parametrize("name", UNSTABLE)
def test_unstable_pairs_are_refused_and_the_remedies_work(refusals, advised, name):
    message = refusals[name]
    assert "unstable" in message and "allow_unstable" in message
    advice = advice_of(message)
    assert advice or "choose" in message
    if name in ("gut", "qg_gutm", "diloco", "decentlam", "the mean"):
        assert advice
    for pointer, _ in advice:
        assert "error" not in advised[name, pointer], advised[name, pointer]


@pytest.mark.parametrize("name", ["gut", "second of a list"])
def test_a_run_is_refused_as_check_says(dbench, refusals, name):
    assert refusals[name] in dbench("run", spec_of(dbench, name), expect=2).stderr
    assert not (dbench.folder / "results").exists()


def test_the_nearest_value_is_named(dbench):
    message = dbench("check", spec_of(dbench, "gut"), expect=2).stderr
    # lambda_n = -0.6 must be above -1 / (1 + 2 mu), so theta < 0.848 or mu < 1/3.
    assert ("/graph/lazy", "0.8") in re.findall(r"set (\S+) to ([0-9.]+[0-9])", message)
    assert ("/algorithm/mu", "0.3") in re.findall(r"set (\S+) to ([0-9.]+[0-9])", message)
    assert "1.5 per iteration" in message


def test_an_allowed_unstable_run_warns_and_is_recorded(dbench):
    spec = spec_of(dbench, "gut", allow_unstable=True)
    done = dbench("run", spec, "--output", "out.h5")
    assert "unstable" in done.stderr
    with h5py.File(dbench.folder / "out.h5") as file:
        stability = json.loads(file["graphs"].attrs["stability"])
        assert "growth" not in json.loads(file["graphs"].attrs["certificate"])
    assert stability["algorithm"] == "gut" and stability["stable"] is False
    assert abs(stability["growth"] - 1.5) < 1e-6
    checked = json.loads(dbench("check", spec, "--json").stdout)["graph"]
    assert {key: checked[key] for key in stability} == stability


def test_a_graph_shows_the_growth_of_an_algorithm(dbench):
    words = ("graph", "torus", "--n", 16, "--algorithm", "gut:mu=0.3")
    told = json.loads(dbench(*words, "--json").stdout)
    assert told["stable"] is True and told["growth"] < 1 and told["growth_per"] == "iteration"
    assert "growth of gut" in dbench(*words).stdout
    told = json.loads(dbench("graph", "shift_one", "--n", 16, "--algorithm", "diloco",
                             "--json").stdout)
    assert told["stable"] is False and told["growth_per"] == "exchange"
    assert abs(told["growth"] - 1.218114) < 1e-5
    listed = json.loads(dbench("graph", "--compare", "ring,torus", "--n", 16, "--algorithm", "gut",
                               "--json").stdout)
    assert [each["stable"] for each in listed] == [True, False]
    assert "growth" in dbench("graph", "--compare", "ring,torus", "--n", 16, "--algorithm",
                              "gut").stdout
    assert "gut" in dbench("graph", "ring", "--n", 4, "--algorithm", "gutt", expect=2).stderr
    assert "no graph" in dbench("graph", "ring", "--n", 4, "--algorithm", "centralized",
                                expect=2).stderr


@pytest.mark.parametrize("algorithm", ["qg_adam", "relaysgd"])
def test_missing_growth_is_null_with_a_reason(dbench, algorithm):
    told = json.loads(dbench("graph", "path", "--n", 6, "--algorithm", algorithm, "--json").stdout)
    assert told["growth"] is None and told["stable"] is None
    assert "not computed" in told["growth_by"]


def test_thousands_of_replicas_take_seconds(dbench):
    for graph in ("one_peer_exponential", "random_matching", "grid"):
        done = dbench("graph", graph, "--n", 4096, "--algorithm", "qg_dsgdm", "--json", timeout=60)
        assert json.loads(done.stdout)["growth"] > 0


def test_every_key_is_documented(dbench):
    told = json.loads(dbench("graph", "ring", "--n", 8, "--algorithm", "gut", "--json").stdout)
    plain = json.loads(dbench("graph", "ring", "--n", 8, "--json").stdout)
    text = (ROOT / "docs" / "graphs.md").read_text()
    assert told.keys() - plain.keys()
    assert all(f"`{key}`" in text for key in told.keys() - plain.keys())
