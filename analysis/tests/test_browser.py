"""Tests of the report of several runs in a real browser: sort, filter, curves, widths, errors."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from dbench_analysis.cli import main

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no chromium to open the report in")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Return a report of three settings with three seeds each, which contains the script that tests
    it."""
    from synthetic import Plan, write

    folder = tmp_path_factory.mktemp("browser")
    for name, graph in (("C_complete", None), ("D_complete", "complete"), ("D_ring", "ring")):
        for seed in (1, 2, 3):
            write(folder / f"{name}-{seed}.h5",
                  Plan(name=f"{name}-s{seed}", implementation=name, graph=graph, per_epoch=4,
                       epochs=3, seed=seed, spec={"seed": seed}))
    report = folder / "report.html"
    assert main(["report", str(folder), "-o", str(report)]) == 0
    first = ("<script>window.faults = []; addEventListener('error', "
             "e => faults.push(e.message))</script>")
    last = Path(__file__).with_name("browser_test.js").read_text()
    report.write_text(report.read_text().replace("<head>", "<head>" + first, 1).replace(
        "</body>", f'<pre id="told"></pre><script>{last}</script></body>'))
    return report


def opened(page, *options) -> dict:
    ended = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
         "--virtual-time-budget=20000", "--window-size=1280,900",
         f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri()],
        capture_output=True, text=True, timeout=300)
    found = re.search(r'<pre id="told">(.*?)</pre>', ended.stdout, re.DOTALL)
    assert found and found[1], ended.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


@pytest.fixture(scope="module")
def told(page):
    return opened(page)


def test_no_script_fails(told):
    assert told["faults"] == []


def test_the_filter_says_what_it_leaves_or_what_is_wrong(told):
    found = told["filters"]
    assert found[""] == [9, "9 of 9 runs"]
    assert found["D_ring"] == [3, "3 of 9 runs"] and found["seed>1"][0] == 6
    assert found["replcias=8"] == [
        0, "0 of 9 runs: there is no field replcias: did you mean replicas?"]
    assert found["seed=9"][1].startswith("0 of 9 runs: no run has seed=9; nearest is seed=")
    assert found["implementation=D_rong"][1].endswith("nearest is implementation=D_ring")


def test_heads_sort_by_keyboard_and_say_so(told):
    assert told["focused"]
    (up, rising), (down, falling) = told["sorted"]
    assert (up, down) == ("ascending", "descending")
    assert rising == sorted(rising) and falling == sorted(rising, reverse=True)
    assert len(set(rising)) > 1


def test_curves_follow_the_table_and_the_grouping(told):
    assert told["ready"] == "yes" and told["default"]["group"] == "setting"
    assert [(name, runs) for name, runs, *_ in told["default"]["curves"]] == [
        ("C_complete (3 seeds)", [0, 1, 2]), ("D_complete (all-reduce equivalent) (3 seeds)",
                                              [3, 4, 5]), ("D_ring (3 seeds)", [6, 7, 8])]
    assert told["default"]["bands"] == 9, "a line and the two ends of a band for each setting"
    assert [runs for _, runs, *_ in told["filtered"]] == [[6, 7, 8]]
    assert [(name, runs) for name, runs, *_ in told["partly"]] == [
        (name, [i]) for name, i in told_names(told) if i % 3 < 2], "what remains of each setting"
    assert [runs for _, runs, *_ in told["each"]] == [[i] for i in range(9)]
    assert [(name, runs) for name, runs, *_ in told["bySeed"]] == [
        (f"seed {i + 1}", [i, 3 + i, 6 + i]) for i in range(3)]
    assert all(low < mean < high for low, mean, high in told["means"])


def told_names(told):
    return [(name, runs[0]) for name, runs, *_ in told["each"]]


def test_curves_over_iterations_epochs_and_bytes_but_no_times_that_mislead(told):
    assert told["x"]["iterations"] == [12, "iteration"] and told["x"]["epochs"] == [3, "epoch"]
    megabytes = 12 * 7 * 6058 * 4 / 1e6  # 12 iterations, 7 neighbours, all parameters
    assert told["x"]["bytes"][0] == pytest.approx(megabytes, rel=1e-5)
    (name, why), = told["disabled"]
    assert name == "seconds" and why.startswith("Times are not to be compared")


def test_logarithmic_axes_smoothing_and_definitions(told):
    (accuracy, none, meaning, hint), (distance, zeros, *_) = told["log"]
    assert (accuracy, distance, told["linear"]) == ("linear", "log", "linear")
    assert not none and "Exact zeros" in zeros and "C_complete" in zeros
    assert "model with the averaged parameters" in meaning and hint == meaning
    assert told["rough"][1] < 0.8 * told["rough"][0]


def test_two_runs_are_compared_and_rows_and_curves_point_at_each_other(told):
    assert "/implementation" in told["difference"] and "D_complete" in told["difference"]
    assert told["seeds"] == [["", "C_complete, seed 1", "C_complete, seed 2"], ["/seed", "1", "2"]]
    assert told["picked"] == ["1", "5"] and told["clicked"] == ["5", "7"]
    assert told["marked"] == [5, 7]
    assert told["widths"] == [3.6 if i in (5, 7) else 1.8 for i in range(9)]
    assert told["links"] == ["#run-0", "C_complete-1.h5"] and told["target"]


def test_curves_can_be_saved_and_nothing_is_loaded(told):
    head, first, *rest = told["csv"].splitlines()
    assert head == "curve,epochs,train_loss" and len(rest) == 9 * 12 - 1
    name, epoch, loss = first.rsplit(",", 2)
    assert name == '"C_complete, seed 1"' and float(epoch) >= 0 and float(loss) > 0
    assert told["format"] == "svg" and "Download plot" in " ".join(told["buttons"])
    assert told["svg"].startswith("data:image/svg+xml,<svg")
    assert told["loaded"] == []


def test_a_page_that_is_loaded_again_keeps_what_the_reader_chose(told):
    choices, zoom = told["kept"]
    assert zoom == {"xaxis.range": [1, 2], "yaxis.range": [0, 3]}
    assert {"metric": "train_loss", "x": "epochs", "group": "", "a": "5", "b": "7"}.items() <= dict(
        choices).items()


def test_the_legend_hides_lines_and_a_zoom_lasts_until_an_axis_changes(told):
    assert [float(opacity) < 1 for opacity in told["legend"]] == [True] + [False] * 8
    assert told["hidden"] == told["legend"], "hidden for every quantity"
    assert told["zoomed"] == [1, 2] and told["whole"] is True


def test_it_fits_a_screen_a_phone_and_paper(told):
    inner, outer, *beyond = told["desktop"]
    assert inner <= outer <= 1280 and max(beyond) <= 1
    assert told["phone"][0] <= told["phone"][1] <= 390
    assert max(over for pair in told["print"] for over in pair) <= 1


def test_it_is_dark_where_the_reader_wants_it(page, told):
    assert told["background"] == "rgb(255, 255, 255)"
    dark = opened(page, "--blink-settings=preferredColorScheme=0")
    assert dark["background"] == "rgb(24, 24, 27)" and dark["faults"] == []
    assert set(told["ink"]) == {"rgb(28, 28, 30)"} and set(dark["ink"]) == {"rgb(236, 236, 240)"}
