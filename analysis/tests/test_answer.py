"""Tests of the sentences at the beginning of a report of several runs."""

import re

from dbench_analysis import open as open_run
from dbench_analysis.pages import answer, report


def told(*paths):
    return answer.sentences([open_run(path) for path in paths])


def test_what_each_reached_what_it_costs_and_why(make):
    paths = [make(name="c", implementation="C_complete", graph=None),
             make(name="r", implementation="D_ring", graph="ring"),
             make(name="e", implementation="D_exponential", graph="exponential")]
    said = told(*paths)
    assert len(said) == 3, said
    runs = {"C_complete": paths[0], "D_ring": paths[1], "D_exponential": paths[2]}
    for name, path in runs.items():
        reached = float(open_run(path).evaluations["mean_accuracy"][-1])
        assert f"{name} {100 * reached:.2f} %" in said[0], said[0]
    assert "one seed each" in said[0]
    assert "C_complete keeps all replicas equal" in said[1]
    ratio = float(re.search(r"([0-9.]+) times as much as C_complete", said[1])[1])
    sent = {name: open_run(path).iterations["bytes_sent"][:].mean() for name, path in runs.items()}
    most = re.search(r"disagree most with (\w+)", said[1])[1]
    assert abs(ratio / (sent[most] / sent["C_complete"]) - 1) < 0.06
    assert "Spectral gaps" in said[2] and "D_ring" in said[2] and "D_exponential" in said[2]


def test_nothing_is_said_where_runs_differ_in_more_than_their_communication(make):
    ring = make(name="r", implementation="D_ring", graph="ring")
    assert told(ring) == []
    assert told(ring, make(name="again", implementation="D_ring", graph="ring", seed=2)) == []
    assert told(ring, make(name="c", implementation="C_complete", graph=None, replicas=4)) == []


def test_a_report_opens_with_the_answer_and_its_picture(five, monkeypatch):
    monkeypatch.setattr(report, "figures_of", lambda runs: [])
    page = report.document([open_run(path) for path in sorted(five.glob("*.h5"))])
    opening = page[page.index('<section id="result">'):page.index('<section id="summary">')]
    assert "Test accuracy of the model" in opening and "Spectral gaps" in opening
    assert "<svg" in opening or "data:image/" in opening
