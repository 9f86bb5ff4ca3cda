"""Tests of the numbers that a report's curves show, and of `report --watch`."""

import base64
import gzip
import json
import re
import threading
import time

import dbench_analysis as da
import h5py
import numpy as np
import pytest
from dbench_analysis.cli import main
from dbench_analysis.pages import curves
from dbench_analysis.quantities import series


def numbers(page: str) -> dict:
    """Return the numbers in a page, as its script reads them."""
    packed = re.search('id="curves-numbers">([^<]*)<', page)
    return json.loads(gzip.decompress(base64.b64decode(packed[1])))


def test_curves_are_what_the_files_recorded(five):
    runs = [da.open(path) for path in sorted(five.glob("*.h5"))]
    found = curves.numbers(runs, [run.name for run in runs])
    assert [run["label"] for run in found["runs"]] == [run.name for run in runs]
    for run, drawn in zip(runs, found["runs"]):
        which, values = drawn["y"]["accuracy_min"]
        recorded = series.evaluations(run, "accuracy")
        assert values == pytest.approx(recorded["min"], rel=1e-5)
        assert drawn["x"][which]["iterations"] == list(recorded["iteration"])
        assert drawn["x"][which]["epochs"] == list(recorded["epoch"])
        sent = run.iterations["bytes_sent"][:].sum() / run.replicas / 1e6
        assert drawn["x"][which]["bytes"][-1] == pytest.approx(sent, rel=1e-5)
        assert "seconds" not in drawn["x"][which], "times of these runs must not be compared"
        _, distances = drawn["y"]["consensus"]
        assert distances == pytest.approx(series.variance(run)["consensus"], rel=1e-5)
    assert curves.axes(runs[:1])["seconds"] == "", "nothing is compared on the page of one run"


def test_curves_of_odd_runs(odd):
    runs = [da.open(path) for path in sorted(odd.glob("*.h5"))]
    content = curves.section(runs, [f'<{run.name}>"' for run in runs],
                             [("", "each", "")])
    found = numbers(content)
    assert "&lt;failed&gt;&quot;" in content and "<failed>" not in content
    assert len(found["runs"]) == len(runs)
    by_name = {run["name"]: run for run in found["runs"]}
    assert set(by_name["just_started"]["y"]) == {
        f"{metric}{column}" for metric in ("accuracy", "loss")
        for column in ("", "_median", "_min", "_max")}, "one evaluation, no iteration"
    _, losses = by_name["diverged"]["y"]["train_loss"]
    assert None in losses and losses[0] is not None


def test_a_page_without_curves_says_so(make):
    path = make(name="idle", epochs=0, accuracy=False, status="running")
    with h5py.File(path, "r+") as file:
        file["evaluations/iteration"].resize(0, axis=0)
    assert curves.section([da.open(path)], ["idle"], []) == (
        "<p class=soft>Nothing to draw is recorded yet.</p>")


def test_many_points_are_thinned(make):
    runs = [da.open(make(name="long", per_epoch=1000, epochs=2, norms=False))]
    _, values = curves.numbers(runs, ["long"])["runs"][0]["y"]["train_loss"]
    assert len(values) == curves.POINTS


def test_a_page_without_the_library_says_what_to_install(five, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(curves.importlib.util, "find_spec", lambda name: None)
    curves.library.cache_clear()
    assert main(["report", str(five), "-o", str(tmp_path / "page.html")]) == 2
    assert "plotly" in capsys.readouterr().err
    curves.library.cache_clear()


def test_watch_follows_a_run_until_it_ends(make, tmp_path, capsys):
    path = make(name="growing", per_epoch=4, epochs=3, status="running")
    page, seen = tmp_path / "page.html", []

    def end():
        while not page.exists():
            time.sleep(0.02)
        seen.append(page.read_text())
        with h5py.File(path, "r+") as file:
            file.attrs.modify("status", np.array(b"complete", dtype="S16"))

    ending = threading.Thread(target=end)
    ending.start()
    assert main(["report", str(path), "-o", str(page), "--watch", "1"]) == 0
    ending.join()
    assert "location.reload()" in seen[0] and 'id="part-time"' not in seen[0]
    assert numbers(seen[0])["runs"][0]["y"]["accuracy"]
    final = page.read_text()
    assert "location.reload()" not in final and 'id="part-time"' in final
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith("1 of 1 run running") and told[-1] == str(page)
    assert not list(tmp_path.glob(".*.part"))


def test_watch_refuses_to_run_all_the_time(five, tmp_path, capsys):
    assert main(["report", str(five), "-o", str(tmp_path / "a.html"), "--watch", "0"]) == 2
    assert "1 or more seconds" in capsys.readouterr().err
