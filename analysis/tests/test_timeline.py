"""Tests of `timeline`: shares, pictures, pages and merged traces of invented traces."""

import base64
import gzip
import html
import json
import random
import re
import shutil
import subprocess

import pytest
import traces
from boxes import faults
from dbench_analysis.basics.errors import AnalysisError
from dbench_analysis.cli import main
from dbench_analysis.figures import drawing, page_layout
from dbench_analysis.figures import timeline as figures
from dbench_analysis.pages import timeline as pages
from dbench_analysis.quantities import merged_trace, timeline
from dbench_analysis.reading.trace import PROGRAM, Span, read_trace
from dbench_analysis.tables import timeline as tables

DELAY = 1000.0  # microseconds
SLOW, WHEN = 2, 4  # the rank and the iteration that are delayed
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@pytest.fixture
def traced(make):
    """Return a function that writes a run with traces: traced(name="a", ranks=4, ...) -> path."""
    def writer(name="ring", ranks=4, plan=None, **more):
        path = make(name=name, ranks=ranks, replicas=ranks, **(plan or {}))
        traces.write(path, ranks, **more)
        return path

    return writer


@pytest.fixture
def delayed(traced):
    return traced(delays={(SLOW, WHEN): DELAY})


def read(path, ranks=4):
    return read_trace(path, ranks)


def bars(figure, shade):
    """Return (lane, start, end) of the bars of a colour in the first panel of a picture."""
    found = []
    for collection in figure.axes[0].collections:
        if len(collection.get_facecolor()) and figures.COLOURS[shade] == hex_of(collection):
            for path in collection.get_paths():
                box = path.get_extents()
                found.append((round((box.y0 + box.y1) / 2), box.x0, box.x1))
    return found


def hex_of(collection):
    return "#" + "".join(f"{round(255 * part):02X}" for part in collection.get_facecolor()[0][:3])


def picture(panels, width=None):
    page = page_layout.Page(width)
    with drawing.drawing_settings(page):
        found = figures.figure(panels)
        page_layout.finish(found)
    return found, page


def panel(path, ranks=4):
    trace = read(path, ranks)
    return figures.Panel(trace, f"{path.stem}: {timeline.iteration_time(trace):.0f} us")


def test_an_injected_delay_is_where_it_was(delayed):
    trace = read(delayed)
    long = [span for span in trace.spans if span.name == "forward" and span.end - span.start > 500]
    assert [(span.rank, span.iteration) for span in long] == [(SLOW, WHEN)]
    waits = {(span.rank, span.iteration): span for span in trace.spans
             if span.kind == "wait" and span.end - span.start > 500}
    # The delay reaches the neighbours at once, and the rank opposite an iteration later.
    assert set(waits) == {(1, WHEN), (3, WHEN), (0, WHEN + 1)}
    assert {waits[1, WHEN].details["peer"], waits[3, WHEN].details["peer"]} == {SLOW}
    drawn, _ = picture([panel(delayed)])
    (lane, start, end), = [bar for bar in bars(drawn, "forward") if bar[2] - bar[1] > 0.5]
    first = min(span.start for span in trace.spans)
    unit = 1e-3 if drawn.axes[0].get_xlabel() == "time (ms)" else 1.0
    assert lane == SLOW and start == pytest.approx((long[0].start - first) * unit)
    assert end - start == pytest.approx((traces.FORWARD + DELAY) * unit)


def test_the_slowest_rank_is_named(traced, capsys):
    every = {(SLOW, t): DELAY for t in range(3, 7)}
    assert main(["timeline", str(traced(delays=every))]) == 0
    printed = capsys.readouterr().out
    assert f"the others wait for rank {SLOW}" in printed
    rows = {line.split()[1]: line for line in printed.splitlines() if re.match(r"rank \d", line)}
    assert sorted(rows) == ["0", "1", "2", "3"]
    assert rows["1"].endswith(f"rank {SLOW}") and rows["3"].endswith(f"rank {SLOW}")


def test_several_slow_ranks_are_named(traced, capsys):
    delays = {(1, t): DELAY for t in range(3, 7)} | {(4, t): DELAY for t in range(3, 7)}
    assert main(["timeline", str(traced(ranks=6, delays=delays))]) == 0
    assert re.search(r"Ranks (1, 4|4, 1) wait at most \d+.\d % of their time, the median rank "
                     r"\d+.\d %: the others wait for them", capsys.readouterr().out)


def test_without_a_slow_rank_none_is_named(traced, capsys):
    assert main(["timeline", str(traced())]) == 0
    assert "the others wait" not in capsys.readouterr().out


def test_shares_add_up(delayed):
    for one in timeline.shares(read(delayed)):
        parts = sum(one.parts.values())
        assert parts <= one.total * (1 + 1e-9)
        assert parts / one.total + one.rest == pytest.approx(1)
        computing = 4 * (traces.FORWARD + traces.BACKWARD - traces.UPDATE)
        assert one.parts["computing"] == pytest.approx(computing + DELAY * (one.rank == SLOW))
        assert one.parts["updating"] == pytest.approx(4 * traces.UPDATE)


def test_the_time_of_a_span_leaves_out_those_just_inside_it():
    def span(start, end):
        return Span(0, PROGRAM, "a", "compute", start, end, 0, {})

    spans = [span(0, 100), span(10, 60), span(20, 50), span(60, 70), span(100, 130)]
    assert timeline.own_times(spans) == [40, 20, 30, 10, 30]
    assert timeline.around(spans) == [[], [0], [0, 1], [0], []]


def test_waiting_while_the_program_measures_is_recording(traced):
    trace = read(traced())
    for one in timeline.shares(trace):
        assert one.parts["recording"] == pytest.approx(4 * traces.RECORD)
        assert 0 not in one.waited_for or one.rank in (1, 3)
    drawn = timeline.drawn(trace)
    assert len([s for s in drawn if s.kind == "wait"]) == 4 * 4  # not those inside `measure`


def test_the_time_of_an_iteration_is_that_between_starts(traced):
    expected = traces.FORWARD + traces.BACKWARD + traces.LATENCY + traces.RECORD + 5.0
    assert timeline.iteration_time(read(traced())) == pytest.approx(expected)
    alone = read(traced(name="alone", iterations=range(8, 9)))
    assert timeline.iteration_time(alone) == pytest.approx(expected - 5.0)


@pytest.mark.parametrize("skew, suspect", [(0.0, False), (25.0, False), (500.0, True)])
def test_clocks_that_contradict_messages_are_named(traced, capsys, skew, suspect):
    """A message takes 30 us, so a clock that is 25 us ahead contradicts none."""
    assert main(["timeline", str(traced(skews={1: skew}))]) == 0
    printed = capsys.readouterr().out
    assert ("before they are sent" in printed) == suspect
    if suspect:
        found = re.search(r"from rank 1 to rank (\d) seem to arrive up to (\d+) us", printed)
        assert found and abs(int(found[2]) - (skew - traces.LATENCY - 1 - 2 * 2)) <= 2


def test_a_stated_uncertainty_excuses_a_clock(traced, capsys):
    assert main(["timeline", str(traced(skews={1: 500.0}, uncertainty=300.0))]) == 0
    assert "before they are sent" not in capsys.readouterr().out


def test_a_killed_rank_is_read_as_far_as_it_got(traced):
    path = traced()
    whole = len(read(path).events)
    file = path.with_name("ring.trace-1.json")
    content = file.read_bytes()
    last = content.rstrip().rfind(b"\n") + 1
    for end in range(last, len(content) - 2):  # each part of the last line, which has no comma
        file.write_bytes(content[:end])
        assert len(read(path).events) == whole - 1
    file.write_bytes(b"[\n")
    assert read(path).ranks == [0, 2, 3]
    file.write_bytes(b"")
    assert read(path).ranks == [0, 2, 3]


def test_traces_of_a_result_file_with_another_ending(traced):
    """The program writes out.hdf5.trace-0.json next to out.hdf5; out.trace-0.json belongs to
    another run."""
    other = traced(name="out", iterations=range(8, 9))
    path = traced(name="mine").rename(other.with_name("out.hdf5"))
    for rank in range(4):
        path.with_name(f"mine.trace-{rank}.json").rename(
            path.with_name(f"out.hdf5.trace-{rank}.json"))
    assert read(path).iterations == [3, 4, 5, 6] and read(other).iterations == [8]


def test_a_rank_without_a_trace_is_named(traced, capsys):
    path = traced()
    path.with_name("ring.trace-3.json").unlink()
    assert main(["timeline", str(path)]) == 0
    assert "No iteration of 1 rank is shown: 3." in capsys.readouterr().out
    assert main(["timeline", str(path), "--ranks", "0-2"]) == 0
    assert "No iteration of" not in capsys.readouterr().out


def load(path):
    """Return the events of a merged trace."""
    found = json.loads(path.read_text())
    assert found["displayTimeUnit"] == "ms"
    return found["traceEvents"]


def balanced(events):
    """Assert that each message has one start and one end; return their number."""
    ends = {kind: [e["id"] for e in events if e["ph"] == kind] for kind in "sf"}
    assert sorted(ends["s"]) == sorted(ends["f"]) == sorted(set(ends["s"]))
    return len(ends["s"])


def test_the_merged_trace_has_every_event_of_every_rank(delayed, tmp_path):
    target = tmp_path / "all.json"
    assert main(["timeline", str(delayed), "-o", str(target)]) == 0
    events = load(target)
    assert balanced(events) == 4 * 4 * 2
    assert {e["pid"] for e in events} == {0, 1, 2, 3}
    timed = [e["ts"] for e in events if "ts" in e]
    assert timed == sorted(timed)

    def without_ids(found):
        return sorted(json.dumps({k: v for k, v in e.items() if k != "id"}, sort_keys=True)
                      for e in found)

    assert without_ids(events) == without_ids(read(delayed).events)
    sent = {e["id"]: e for e in events if e["ph"] == "s"}
    for end in (e for e in events if e["ph"] == "f"):
        start = sent[end["id"]]
        assert start["args"]["peer"] == end["pid"] and end["args"]["peer"] == start["pid"]
        assert start["args"]["iteration"] == end["args"]["iteration"] and end["ts"] > start["ts"]


def test_several_runs_have_their_own_processes_and_begin_together(traced, tmp_path):
    one, other = traced(name="one"), traced(name="other", ranks=2, iterations=range(5, 7))
    target = tmp_path / "all.json"
    assert main(["timeline", str(one), str(other), "-o", str(target)]) == 0
    events = load(target)
    assert {e["pid"] for e in events} == {0, 1, 2, 3, 10, 11}
    assert balanced(events) == 4 * 4 * 2 + 2 * 2
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names[1] == "one: rank 1 (node01)" and names[11] == "other: rank 1 (node01)"
    begin = {run: min(e["ts"] for e in events if "ts" in e and e["pid"] // 10 == run)
             for run in (0, 1)}
    assert begin[0] == begin[1]


def test_messages_of_which_one_end_is_missing_are_left_out(traced, tmp_path):
    path = traced()
    path.with_name("ring.trace-3.json").unlink()
    target = tmp_path / "all.json"
    assert main(["timeline", str(path), "-o", str(target)]) == 0
    assert balanced(load(target)) == 4 * 4  # between 0 and 1, and between 1 and 2
    assert main(["timeline", str(traced(name="b")), "-o", str(target), "--ranks", "1,2",
                 "--iterations", "4:6"]) == 0
    events = load(target)
    assert balanced(events) == 2 * 2 and {e["pid"] for e in events} == {1, 2}
    assert {e["args"]["iteration"] for e in events if "ts" in e} == {4, 5}


@pytest.mark.parametrize("ends, kept", [("4:6", [4, 5]), (":4", [3]), ("6:", [6]),
                                        (":", [3, 4, 5, 6])])
def test_iterations_are_chosen_as_a_spec_does(delayed, tmp_path, ends, kept):
    target = tmp_path / "part.json"
    assert main(["timeline", str(delayed), "-o", str(target), "--iterations", ends]) == 0
    assert sorted({e["args"]["iteration"] for e in load(target) if e["ph"] == "X"}) == kept


def refused(capsys, *words):
    """Return the error of a command that is refused."""
    try:
        status = main(["timeline", *map(str, words)])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    return capsys.readouterr().err


def test_errors_say_what_to_try(traced, make, capsys, tmp_path):
    path = traced()
    without = refused(capsys, make(name="untraced"))
    assert "untraced.trace-0.json" in without and '"profile": {"trace": {"iterations"' in without
    for output, named in (("a.gif", "a.pdf"), ("a", "a.pdf"), (".", "timeline.pdf"),
                          ("/", "/timeline.pdf"), (tmp_path, f"{tmp_path}/timeline.pdf")):
        found = refused(capsys, path, "-o", output)
        assert ".svg, .html or .json" in found and f"give -o {named})" in found
    assert "choose from 3 to 6" in refused(capsys, path, "--iterations", "7:9")
    assert "choose from 0 to 3" in refused(capsys, path, "--ranks", "4,8-9")
    assert "no run has rank 99" in refused(capsys, path, "--ranks", "0,99")
    assert "one rank's trace" in refused(capsys, path, "-o", str(path.parent / "x.trace-0.json"))
    for option, value in (("--iterations", "6:4"), ("--iterations", "a:b"), ("--iterations", "3"),
                          ("--ranks", "1;2"), ("--ranks", "3-1"), ("--ranks", "")):
        assert option in refused(capsys, path, option, value)
    assert "--dpi" in refused(capsys, path, "--dpi", "1")
    traces.write(make(name="early"), 2, iterations=range(0))
    assert "early.h5: its trace has no iteration" in refused(capsys, tmp_path / "early.h5")


@pytest.mark.parametrize("line, reason", [
    ("{", "not an event"), ("7", "not an event"), ('{"ph":"X","pid":1}', "an event of rank 1"),
    ('{"ph":"sf","pid":0,"id":1}', "one letter as ph"),
    ('{"ph":"X","pid":0,"ts":1,"name":"a"}', "dur"),
    ('{"ph":"X","pid":0,"dur":1,"name":"a"}', "ts"),
    ('{"ph":"X","pid":0,"ts":NaN,"dur":1,"name":"a"}', "ts"), ('{"ph":"s","pid":0,"ts":1}', "id"),
    ('{"ph":"X","pid":0,"ts":1,"dur":-1,"name":"a"}', "dur"), ('{"ph":"i","pid":0}', "ts"),
    ('{"ph":"X","pid":0,"ts":1,"dur":1,"name":"a","args":{"iteration":-1}}', "iteration"),
    ('{"ph":"X","pid":0,"ts":1,"dur":1,"name":"a","args":[]}', "args")])
def test_a_damaged_trace_is_named_with_its_line(traced, capsys, line, reason):
    path = traced()
    file = path.with_name("ring.trace-0.json")
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:9], line + ",", *lines[9:]]) + "\n")
    found = refused(capsys, path)
    assert f"{file}, line 10: " in found and reason in found


def changed(value, random_numbers):
    """Return a JSON value with a random change."""
    odd = [None, "", "<b>", -1, 1e308, 0, 10**30, [], {}, True, "x" * 50]
    if isinstance(value, dict) and value and random_numbers.random() < 0.8:
        key = random_numbers.choice(list(value))
        if random_numbers.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: changed(value[key], random_numbers)}
    return random_numbers.choice(odd)


@pytest.mark.parametrize("seed", range(60))
def test_a_changed_event_is_refused_or_drawn(traced, seed):
    numbers = random.Random(seed)
    path = traced(ranks=2, iterations=range(2))
    file = path.with_name("ring.trace-1.json")
    lines = file.read_text().splitlines()
    k = numbers.randrange(1, len(lines))
    lines[k] = json.dumps(changed(json.loads(lines[k].removesuffix(",")), numbers)) + ","
    file.write_text("\n".join(lines) + "\n")
    try:
        trace = read(path, 2)
    except AnalysisError:
        return
    one = figures.Panel(trace, "changed")
    assert tables.shares(trace) and all(isinstance(text, str) for text in tables.remarks(trace))
    json.loads(merged_trace.as_json(merged_trace.merged([trace, trace], ["a", "b"])))
    json.dumps(pages.figure([one]), allow_nan=False)
    picture([one])


@pytest.mark.parametrize("form, begin", [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_pictures_are_written(traced, tmp_path, form, begin, capsys):
    one, other = traced(name="one", ranks=6), traced(name="other", ranks=6)
    target = tmp_path / "new" / f"timeline.{form}"
    assert main(["timeline", str(one), str(other), "-o", str(target), "--dpi", "50"]) == 0
    assert target.read_bytes().startswith(begin)
    assert capsys.readouterr().out.endswith(f"{target}\n")


def test_runs_are_stacked_on_one_time_axis(traced):
    slow = traced(name="slow", delays={(SLOW, t): DELAY for t in range(3, 7)})
    drawn, _ = picture([panel(traced(name="fast")), panel(slow)])
    above, below = drawn.axes
    spans = read(slow).spans
    longest = 1e-3 * (max(span.end for span in spans) - spans[0].start)
    assert above.get_xlim() == below.get_xlim() == pytest.approx((0, 1.02 * longest))
    assert above.get_position().y0 > below.get_position().y1
    assert above.get_title("left").startswith("fast") and below.get_title("left").startswith("slow")
    assert [text.get_text() for text in below.get_yticklabels()] == [f"rank {r}" for r in range(4)]


@pytest.mark.parametrize("width", [None, 7.0, 3.5])
def test_no_text_is_cut_or_overlaps(traced, width):
    panels = [panel(traced(name=name, ranks=6, iterations=range(95, 105)), 6)
              for name in ("all-reduce", "decentralized")]
    assert faults(*picture(panels, width)) == []


def test_too_many_messages_are_not_drawn_and_this_is_said(traced, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(figures, "ARROWS", 10)
    target = tmp_path / "a.svg"
    assert main(["timeline", str(traced()), "-o", str(target)]) == 0
    assert "note: 32 messages are too many" in capsys.readouterr().out
    assert main(["timeline", str(traced()), "-o", str(target), "--iterations", "3:4"]) == 0
    assert "note:" not in capsys.readouterr().out


def figure_of(page):
    """Return the Plotly figure that a page contains."""
    packed = re.search(r'id="timeline-figure">([^<]*)<', page)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_the_page_contains_everything(delayed, traced, tmp_path):
    target = tmp_path / "page.html"
    assert main(["timeline", str(delayed), str(traced(name="b")), "-o", str(target)]) == 0
    page = target.read_text()
    visible = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)=|https?://|@import|url\(", visible)
    assert f"<td>rank {SLOW}</td>" in visible
    found = figure_of(page)
    drawn = timeline.drawn(read(delayed))
    first = [one for one in found["data"] if one["type"] == "bar" and one["yaxis"] == "y"]
    assert sum(len(one["x"]) for one in first) == len(drawn)
    assert sum(sum(one["x"]) for one in first) == pytest.approx(
        1e-3 * sum(span.end - span.start for span in drawn), rel=1e-4)
    assert {one["yaxis"] for one in found["data"]} == {"y", "y2"}
    assert found["layout"]["xaxis2"]["matches"] == "x"
    shown = [one["legendgroup"] for one in found["data"] if one["showlegend"]]
    assert len(shown) == len(set(shown)) and {"forward", "message"} <= set(shown)


def test_words_of_a_trace_are_no_markup(traced, tmp_path):
    path = traced(host="<img src=x>")
    file = path.with_name("ring.trace-0.json")
    file.write_text(file.read_text().replace('"name":"update"', '"name":"<img src=x>"'))
    target = tmp_path / "page.html"
    assert main(["timeline", str(path), "-o", str(target)]) == 0
    assert "<img" not in target.read_text() and "<img" not in json.dumps(
        [one["name"] for one in figure_of(target.read_text())["data"] if "name" in one])


def test_a_page_of_too_many_spans_is_refused(traced, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("dbench_analysis.commands.timeline.MOST", 100)
    found = refused(capsys, traced(), "-o", tmp_path / "new" / "page.html")
    assert "--iterations" in found and not (tmp_path / "new").exists()


@pytest.mark.skipif(not CHROMIUM, reason="no chromium to open the page in")
def test_a_browser_draws_the_page(delayed, tmp_path):
    target = tmp_path / "page.html"
    assert main(["timeline", str(delayed), "-o", str(target)]) == 0
    told = """<pre id="told"></pre><script>(function look() {
      const plot = document.getElementById('timeline');
      if (!plot.dataset.ready) return setTimeout(look, 50);
      document.getElementById('told').textContent = JSON.stringify({
        faults, bars: plot.querySelectorAll('.barlayer .point path').length,
        lanes: [...plot.querySelectorAll('.ytick text')].map(t => t.textContent),
        entries: [...plot.querySelectorAll('.legendtext')].map(t => t.textContent),
        loaded: performance.getEntriesByType('resource').map(one => one.name)});
    })();</script></body>"""
    first = ("<head><script>window.faults = []; addEventListener('error', "
             "e => faults.push(e.message))</script>")
    target.write_text(target.read_text().replace("<head>", first, 1).replace("</body>", told))
    ended = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
         "--virtual-time-budget=20000", "--window-size=1280,900",
         f"--user-data-dir={tmp_path / 'profile'}", target.as_uri()],
        capture_output=True, text=True, timeout=300)
    found = re.search(r'<pre id="told">(.+?)</pre>', ended.stdout, re.DOTALL)
    assert found, ended.stderr[-2000:]
    seen = json.loads(html.unescape(found[1]))
    assert seen["faults"] == [] and seen["loaded"] == []
    assert seen["lanes"] == [f"rank {rank}" for rank in range(4)]
    assert seen["entries"] == ["forward", "backward", "update", "exchange", "wait", "measure",
                               "message", "start of an iteration"]
    assert seen["bars"] == len(timeline.drawn(read(delayed)))


def test_starts_do_not_count_exchanges_of_the_iteration_before(traced):
    path = traced(ranks=2)
    file = path.with_name("ring.trace-0.json")
    begun = {"name": "exchange", "cat": "exchange", "ph": "X", "ts": 1001.0, "dur": 1.0, "pid": 0,
             "tid": PROGRAM, "args": {"iteration": 5}}
    file.write_text(file.read_text() + json.dumps(begun) + ",\n")
    began = timeline.starts(read(path, 2), 0)
    assert began[5] > began[4] > began[3] == 1000.0
