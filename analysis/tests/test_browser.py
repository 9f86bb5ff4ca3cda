"""Tests of the report of several runs in a real browser: sort, filter, hover, widths, no errors."""

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
    curves = found[""][2]
    assert found[""][:2] == [9, "9 of 9 runs"] and curves == 9 * 3
    assert found["D_ring"] == [3, "3 of 9 runs", 9] and found["seed>1"][0] == 6
    assert found["replcias=8"] == [
        0, "0 of 9 runs: there is no field replcias: did you mean replicas?", 0]
    assert found["seed=9"][1].startswith("0 of 9 runs: no run has seed=9; nearest is seed=")
    assert found["implementation=D_rong"][1].endswith("nearest is implementation=D_ring")


def test_heads_sort_by_keyboard_and_say_so(told):
    assert told["focused"]
    (up, rising), (down, falling) = told["sorted"]
    assert (up, down) == ("ascending", "descending")
    assert rising == sorted(rising) and falling == sorted(rising, reverse=True)
    assert len(set(rising)) > 1


def test_curves_tell_their_values_under_the_mouse(told):
    assert told["tip"][0] == "block" and told["after"] == "none"
    assert re.search(r"C_complete, seed 1\nepoch [0-9.]+: [0-9.]+ %", told["tip"][1])


def test_it_fits_a_screen_a_phone_and_paper(told):
    inner, outer, *beyond = told["desktop"]
    assert inner <= outer <= 1280 and max(beyond) <= 1
    assert told["phone"][0] <= told["phone"][1] <= 390
    assert max(over for pair in told["print"] for over in pair) <= 1


def test_it_is_dark_where_the_reader_wants_it(page, told):
    assert told["background"] == "rgb(255, 255, 255)"
    dark = opened(page, "--blink-settings=preferredColorScheme=0")
    assert dark["background"] == "rgb(24, 24, 27)" and dark["faults"] == []
