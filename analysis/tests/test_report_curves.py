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


def curve(found: dict, group: str, line: int, quantity: str, axis: str) -> list[list[list[float]]]:
    """Return [x, y] of each trace of a line."""
    return [[found["arrays"][k] for k in trace["at"][quantity][axis]]
            for trace in found["lines"][group][line]["traces"]]


def test_curves_are_what_the_files_recorded(five):
    runs = [da.open(path) for path in sorted(five.glob("*.h5"))]
    found = curves.numbers(runs, [run.name for run in runs], [("", "each", "")])
    assert [line["traces"][0]["name"] for line in found["lines"][""]] == [run.name for run in runs]
    assert list(found["x"]) == ["iterations", "epochs", "bytes"], (
        "times of these runs must not be compared")
    for i, run in enumerate(runs):
        recorded = series.evaluations(run, "accuracy")
        drawn = {x: curve(found, "", i, "accuracy_min", x)[0] for x in found["x"]}
        for _, values in drawn.values():
            assert values == pytest.approx(recorded["min"], rel=1e-4)
        assert drawn["iterations"][0] == list(recorded["iteration"])
        assert drawn["epochs"][0] == list(recorded["epoch"])
        sent = run.iterations["bytes_sent"][:].sum() / run.replicas / 1e6
        assert drawn["bytes"][0][-1] == pytest.approx(sent, rel=1e-4)
        (_, distances), = curve(found, "", i, "consensus", "iterations")
        assert distances == pytest.approx(series.variance(run)["consensus"], rel=1e-4)
    assert curves.axes(runs[:1])["seconds"] == "", "nothing is compared on the page of one run"


def test_groups_are_means_with_bands_on_each_axis(make):
    runs = [da.open(make(name=f"{name}-{seed}", implementation=name, graph=graph, seed=seed,
                         per_epoch=4, epochs=3, spec={"seed": seed}))
            for name, graph in (("D_ring", "ring"), ("D_complete", "complete"))
            for seed in (1, 2)]
    found = curves.numbers(runs, [run.name for run in runs], [
        ("setting", "setting", ""), ("seed", "seed", ""), ("", "each", "")])
    assert [line["runs"] for line in found["lines"]["setting"]] == [[0, 1], [2, 3]]
    assert [line["runs"] for line in found["lines"]["seed"]] == [[0, 2], [1, 3]]
    recorded = np.array([series.training(run, "loss")["median"] for run in runs[:2]])
    low, high, mean = (y for _, y in curve(found, "setting", 0, "train_loss", "epochs"))
    assert low == pytest.approx(recorded.min(axis=0), rel=1e-4)
    assert high == pytest.approx(recorded.max(axis=0), rel=1e-4)
    assert mean == pytest.approx(recorded.mean(axis=0), rel=1e-4)
    # a ring sends less in an iteration, so the two runs of a seed meet at equal bytes only
    *_, (x, y) = curve(found, "seed", 0, "train_loss", "bytes")
    ends = [curve(found, "", i, "train_loss", "bytes")[0] for i in (0, 2)]
    assert x[-1] == min(places[-1] for places, _ in ends)
    assert y[-1] == pytest.approx(
        np.mean([np.interp(x[-1], *one) for one in ends]), rel=1e-3)


def test_a_band_between_points_lies_on_the_lines_through_them():
    short, long = np.array([0.0, 4.0]), np.array([1.0, 2.0, 5.0])
    x, low, high, mean = curves.together(
        [(short, short), (long, np.array([1.0, 1.0, 7.0]))], 300)
    assert list(x) == [1, 2, 4] and list(low) == [1, 1, 4] and list(high) == [1, 2, 5]
    assert list(mean) == [1, 1.5, 4.5]


def test_curves_of_odd_runs(odd):
    runs = [da.open(path) for path in sorted(odd.glob("*.h5"))]
    content = curves.section(runs, [f'<{run.name}>"' for run in runs],
                             [("", "each", "")])
    found = numbers(content)
    assert "&lt;failed&gt;&quot;" in content and "<failed>" not in content
    each = {run.name: line["traces"][0]["at"] for run, line in zip(runs, found["lines"][""])}
    assert len(each) == len(runs)
    assert set(each["just_started"]) == {
        f"{metric}{column}" for metric in ("accuracy", "loss")
        for column in ("", "_median", "_min", "_max")}, "one evaluation, no iteration"
    x, losses = (found["arrays"][k] for k in each["diverged"]["train_loss"]["iterations"])
    diverged = series.training(runs[[run.name for run in runs].index("diverged")], "loss")
    assert len(x) == len(losses) == np.isfinite(diverged["median"]).sum() < len(diverged)


def test_a_page_without_curves_says_so(make):
    path = make(name="idle", epochs=0, accuracy=False, status="running")
    with h5py.File(path, "r+") as file:
        file["evaluations/iteration"].resize(0, axis=0)
    assert curves.section([da.open(path)], ["idle"], []) == (
        "<p class=soft>Nothing to draw is recorded yet.</p>")


def test_many_points_are_thinned(make):
    runs = [da.open(make(name="long", per_epoch=1000, epochs=2, norms=False))]
    found = curves.numbers(runs, ["long"], [])
    (x, y), = curve(found, "", 0, "train_loss", "epochs")
    assert len(x) == len(y) == curves.POINTS


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
        for _ in range(100):
            try:
                with h5py.File(path, "r+") as file:
                    file.attrs.modify("status", np.array(b"complete", dtype="S16"))
                return
            except OSError:  # the command has not closed the file yet
                time.sleep(0.02)

    ending = threading.Thread(target=end)
    ending.start()
    assert main(["report", str(path), "-o", str(page), "--watch", "1"]) == 0
    ending.join()
    assert "location.reload()" in seen[0] and 'id="part-time"' not in seen[0]
    assert "accuracy" in numbers(seen[0])["quantities"]
    final = page.read_text()
    assert "location.reload()" not in final and 'id="part-time"' in final
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith("1 of 1 run running") and told[-1] == str(page)
    assert not list(tmp_path.glob(".*.part"))


def test_watch_refuses_to_run_all_the_time(five, tmp_path, capsys):
    assert main(["report", str(five), "-o", str(tmp_path / "a.html"), "--watch", "0"]) == 2
    assert "1 or more seconds" in capsys.readouterr().err
