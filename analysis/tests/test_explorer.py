"""Tests of the report of many runs: the contents of its table, its script, and that it loads
nothing."""

import html
import json
import re
import shutil
import subprocess
import time
from pathlib import Path

import dbench_analysis as da
import pytest
from dbench_analysis.cli import main
from dbench_analysis.pages import explorer
from dbench_analysis.pages.html import asset
from dbench_analysis.quantities import fields


@pytest.fixture
def many(make, tmp_path):
    """Return a folder with fourteen runs of two implementations."""
    for name, graph in (("D_ring", "ring"), ("D_torus", "torus")):
        for seed in range(1, 8):
            make(name=f"{name}-s{seed}", implementation=name, graph=graph, per_epoch=4, epochs=3,
                 seed=seed, spec={"seed": seed})
    return tmp_path


@pytest.mark.usefixtures("blank_figures")
def test_many_runs_on_one_page(many):
    started = time.process_time()
    assert main(["report", str(many), "-o", str(many / "page" / "report.html")]) == 0
    assert time.process_time() - started < 15
    page = (many / "page" / "report.html").read_text()
    assert not re.search(r"<(script[^>]*\ssrc|link|iframe|img[^>]*src=\"(?!data:))"
                         r"|@import|url\(|fetch\(|https?://", page)
    assert page.count("<tr data-run=") == 14 and len(page) < 3_000_000
    assert page.count("<th scope=row>") == 2 and "7</td>" in page, "two settings of seven seeds"
    assert "All runs: status complete, lr 0.1, replicas 8, epochs 3" in page
    assert "D_ring (7), D_torus (7)" in page, ("differences between the specs, with how many runs "
                                               "have each")
    assert "what all runs share" in page and page.count(
        "/versions/dbench") == 1, "said once, not fourteen times"
    for kind in ("early", "connections", "scale", "tensors", "graphs"):
        assert (f'<div id="{kind}"' in page) == (kind not in ("early", "scale"))
    assert page.count("<section") == 7
    assert "Times are not to be compared" in page and "rank correlation" not in page.split(
        "<script>")[0]


@pytest.mark.usefixtures("blank_figures")
def test_of_many_settings_the_figures_remain_that_can_be_read(make, tmp_path):
    for i in range(13):
        make(name=f"run{i}", implementation="D_ring" if i % 2 else "D_torus",
             graph="ring" if i % 2 else "torus", per_epoch=2, epochs=2,
             spec={"optimizer": {"type": "sgd", "lr": 0.1 + i}})
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text()
    assert page.count("<th scope=row>") == 13 and "D_ring, lr=1.1" in page
    for kind in ("variance-accuracy", "early", "connections", "ranks"):
        assert f'<div id="{kind}"' in page
    assert '<div id="tensors"' not in page


def test_rows_bear_their_facts(five):
    runs = [da.open(path) for path in sorted(five.glob("*.h5"))]
    table = explorer.table(runs, [run.name for run in runs], ["" for _ in runs])
    facts = [json.loads(html.unescape(f)) for f in re.findall(r'data-facts="([^"]*)"', table)]
    assert [f["name"] for f in facts] == [run.name for run in runs]
    assert facts[2]["accuracy_median"] == fields.COLUMNS["accuracy_median"].value(
        runs[2]) and facts[2]["replicas"] == 8


def test_the_script_filters_and_sorts(tmp_path):
    node = shutil.which("node")
    if not node:
        pytest.skip("no node to run the page's script in")
    script = tmp_path / "explorer.js"
    script.write_text(asset("explorer.js"))
    ended = subprocess.run([node, Path(__file__).with_name("explorer_test.js"), script],
                           capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stdout.strip() == "done", ended.stderr
