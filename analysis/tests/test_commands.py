"""Tests of all commands on ordinary runs and on runs that lack something."""

import csv
import inspect
import io
import os
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
from conftest import ODD
from dbench_analysis.cli import COMMANDS, main
from dbench_analysis.commands.table import sorting
from dbench_analysis.figures import drawing


def test_show_one(five, capsys):
    assert main(["show", str(five / "D_ring.h5"), "--verify"]) == 0
    out = capsys.readouterr().out
    for expected in ("D_ring: dsgd, graph ring", "6,058 parameters in 5 tensors",
                     "min / median / max", "consensus distance",
                     "not to be compared", "8 replicas on 2 ranks",
                     "6 % of the samples are left out"):
        assert expected in out
    assert re.search(r"gini +500 +0 .* yes", out)


def test_show_several(five, capsys):
    assert main(["show", str(five)]) == 0
    out = capsys.readouterr().out
    assert "D_complete (all-reduce equivalent)" in out and "/implementation" in out
    assert "Times are not to be compared" in out


def test_show_has_what_the_algorithm_said_at_the_end(make, capsys):
    told = make(name="told")
    with h5py.File(told, "a") as file:
        for name, text in (("kind", "algorithm"), ("text", "seen 7 times: raise /algorithm/theta")):
            del file[f"events/{name}"]
            file[f"events/{name}"] = np.array([text.encode()])
    assert main(["show", str(told)]) == 0
    assert re.search(r"^  algorithm +seen 7 times: raise /algorithm/theta$",
                     capsys.readouterr().out, re.M)
    assert main(["show", str(told), str(make(name="silent"))]) == 0
    assert f"{told}: seen 7 times: raise /algorithm/theta" in capsys.readouterr().out


def test_table_markdown_and_csv(five, tmp_path, capsys):
    assert main(["table", str(five)]) == 0
    out = capsys.readouterr().out
    assert out.count("\n| ") >= 5 and " ms † |" in out and "† Times are not to be compared" in out
    target = tmp_path / "runs.csv"
    assert main(["table", str(five), "--format", "csv", "--columns", "all", "--sort", "variance",
                 "-o", str(target)]) == 0
    rows = list(csv.DictReader(io.StringIO(target.read_text())))
    assert len(rows) == 5 and rows[0]["name"] == "C_complete" and float(rows[0]["variance"]) == 0
    assert float(rows[0]["accuracy_mean_model"]) < 1 and "reproducible" in rows[0]["time_note"]


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_plot_formats(five, tmp_path, form):
    assert main(["plot", str(five), "-o", str(tmp_path), "--format", form, "--kind",
                 "variance-accuracy", "--measure", "gini"]) == 0
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[form]
    assert (tmp_path / f"variance-accuracy.{form}").read_bytes().startswith(start)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ODD)
def test_odd_runs(odd, capsys, name):
    path = str(odd / f"{name}.h5")
    assert main(["show", path]) == 0 and main(["table", path, "--columns", "all"]) == 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["one_iteration", "just_started", "nothing_profiled",
                                  "no_finite_value", "no_accuracy", "everything"])
def test_figures_of_odd_runs(odd, tmp_path, name):
    assert main(["plot", str(odd / f"{name}.h5"), "-o", str(tmp_path), "--dpi", "30"]) == 0
    assert len(list(tmp_path.glob("*.png"))) == len(drawing.KINDS)


@pytest.mark.filterwarnings("error")
def test_odd_runs_together(odd, tmp_path):
    assert main(["show", str(odd), "--full"]) == 0 and main(["table", str(odd)]) == 0
    assert main(["plot", str(odd), "-o", str(tmp_path), "--dpi", "30", "--kind",
                 "variance-accuracy", "--kind", "consensus"]) == 0
    target = tmp_path / "below" / "report.html"
    assert main(["report", str(odd / "just_started.h5"), str(odd / "failed.h5"), "-o",
                 str(target)]) == 0
    assert "rank 1: no space left" in target.read_text()


def test_a_run_in_its_first_evaluation_stops_no_command(make, tmp_path, capsys):
    begun, done = make(name="begun", status="running"), make(name="done", seed=2)
    with h5py.File(begun, "r+") as file:
        for name, column in file["evaluations"].items():
            if name != "replica":
                column.resize(0, axis=0)
    runs = [str(begun), str(done)]
    assert main(["report", *runs, "-o", str(tmp_path / "both.html")]) == 0
    assert main(["plot", *runs, "-o", str(tmp_path), "--kind", "variance-accuracy"]) == 0
    assert main(["table", *runs]) == 0


def test_report_is_one_self_contained_page(five, tmp_path):
    target = tmp_path / "report.html"
    two = [str(five / f"{name}.h5") for name in ("D_complete", "D_ring")]
    assert main(["report", *two, "-o", str(target), "--title", "Two <ways>"]) == 0
    page = target.read_text()
    links = re.findall(r"""(?:src|href)\s*=\s*["']?([^"'>]{0,30})""", page)
    files = [link for link in links if not link.startswith(
        ("data:image/svg+xml;base64,", "#", "URL.createObjectURL"))]
    assert sorted((tmp_path / link).resolve() for link in files) == [
        (five / f"{name}.h5").resolve() for name in ("D_complete", "D_ring")]
    assert not re.search(r"<(script[^>]*\ssrc|link|iframe)|@import|url\("
                         r"|https?://(?!www\.w3\.org/)|fetch\(|import\(", page)
    assert "Two &lt;ways&gt;" in page and "&lt;&amp;&gt;" in page, "text from files is escaped"
    silent = {"variance-accuracy", "early", "scale", "adaptation",  # few runs, or in the answer
              "speed", "break-even", "cost"}  # their times are not measurements
    for kind in drawing.KINDS.values():
        shown = kind.name not in silent and kind.part != ""
        assert page.count(f'<div id="{kind.name}"') == shown, kind.name
    anchors = re.findall('<section id="([a-z-]+)">', page)
    assert anchors == re.findall('href="#([a-z-]+)"', page.split("</nav>")[0])
    assert len(anchors) == 7
    assert "all-reduce equivalent" in page and "rho_period" in page and "OMP_NUM_THREADS" in page
    assert page.count("Times are not to be compared") >= 2, "in the summary and beside the times"


def test_a_report_of_one_run_has_the_figures_that_say_something(make, tmp_path):
    def sections(**plan):
        path = make(**plan)
        assert main(["report", str(path), "-o", str(tmp_path / "one.html")]) == 0
        return re.findall('<(?:section|div) id="([a-z-]+)">', (tmp_path / "one.html").read_text())

    assert sections(name="ring") == ["summary", "part-spread", "variance-accuracy", "tensors",
                                     "part-time", "timing", "part-graphs", "graphs", "runs"]
    assert sections(name="c", implementation="C_complete", graph=None) == [
        "summary", "part-time", "timing", "runs"]
    assert sections(name="bare", norms=False, variance=False) == [
        "summary", "part-time", "timing", "part-graphs", "graphs", "runs"]


@pytest.mark.parametrize("command, reason", [
    (["show", "nowhere.h5"], "no such file"),
    (["show", "nowhere-*.h5"], "no file matches"),
    (["table", "{five}", "--columns", "name,acuracy"], "no such column"),
    (["table", "{five}", "--sort", "step_time"], "times of these runs cannot be compared"),
    (["table", "{five}", "--sort", "all"], "names"),
    (["table", "{five}", "--sort", "name,seed"], "names 2 columns"),
    (["compare", "{five}", "{five}", "--metric", "all"], "one metric at a time"),
    (["compare", "{five}", "{five}", "--seed", "-1"], "is negative"),
    (["reproduce", "relaysgd-fig7", "--margin", "1%"], "is for findings"),
    (["report", "{five}", "-o", "{tmp}/page.h5"], "does not end in .html"),
    (["report", "{five}", "-o", "{tmp}"], "is a folder"),
    (["plot", "{five}", "--dpi", "5"], "out of range"),
    (["plot", "{five}", "-o", "{five}/D_ring.h5"], "File exists"),
    (["show", "{tmp}"], "no .h5 file in this folder"),
])
def test_faults_end_with_status_2(five, tmp_path, capsys, command, reason):
    assert main([part.format(five=five, tmp=tmp_path) for part in command]) == 2
    error = capsys.readouterr().err
    assert error.startswith("dbench-analyze: ") and reason in error and error.count("\n") == 1


def test_tables_sort_numbers_before_texts_before_unknown_values():
    values = ["full", 8, None, float("nan"), 0.5, "any"]
    ordered = sorted(values, key=sorting)
    assert ordered[:4] == [0.5, 8, "any", "full"] and len(ordered) == 6


def test_copies_of_the_first_iterations_are_no_runs_of_a_folder(make, tmp_path, capsys):
    for copy in ("run.h5.until-20.h5", "run.h5.until-20-2.h5"):
        shutil.copy(make(name="run"), tmp_path / copy)
    assert main(["table", str(tmp_path), "--format", "csv", "--columns", "file"]) == 0
    assert capsys.readouterr().out.count("run.h5") == 1
    assert main(["table", str(tmp_path / "*.h5"), "--format", "csv", "--columns", "file"]) == 0
    assert capsys.readouterr().out.count("run.h5") == 1
    for named in ("run.h5.until-20.h5", "run.h5.until-*.h5"):
        assert main(["table", str(tmp_path / named)]) == 0


def test_files_of_a_folder_come_in_natural_order(make, tmp_path, capsys):
    for n in (16, 4, 8):
        make(name=f"ring-n{n}", replicas=4)
    assert main(["table", str(tmp_path), "--columns", "name", "--format", "csv"]) == 0
    assert capsys.readouterr().out.split() == ["name", "ring-n4", "ring-n8", "ring-n16"]


def test_foreign_files_in_a_folder_are_passed_over(make, tmp_path, capsys):
    make()
    (tmp_path / "foreign.h5").write_text("not a result")
    assert main(["table", str(tmp_path), "--columns", "name"]) == 0
    told = capsys.readouterr()
    assert "passed over" in told.err and "foreign.h5" in told.err and "| ring |" in told.out


@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize("words", [
    ["ranks", "{runs}"], ["reproduce", "dbench", "{runs}"],
    ["publish", "{runs}", "-o", "{out}"],
    ["clusters", "{runs}", "--target", "0.1", "--prediction", "{out}.json"]])
def test_numbers_that_lack_a_run_have_the_status_1(five, tmp_path, capsys, words):
    folder = tmp_path / "runs"
    shutil.copytree(five, folder)
    (tmp_path / "out.json").write_text('{"ranks": 8, "graphs": []}')
    words = [word.format(runs=folder, out=tmp_path / "out") for word in words]
    assert main(words) == 0 and "passed over" not in capsys.readouterr().err
    (folder / "cut.h5").write_bytes((folder / "D_ring.h5").read_bytes()[:5000])
    assert main(words) == 1
    told = capsys.readouterr()
    assert f"passed over {folder}/cut.h5: " in told.err and told.out


def test_help_has_examples(capsys):
    for command in COMMANDS:
        with pytest.raises(SystemExit) as end:
            main([command, "--help"])
        assert end.value.code == 0 and f"dbench-analyze {command}" in capsys.readouterr().out.split(
            "examples:")[1]


def test_only_commands_that_draw_load_matplotlib(five):
    """Loading Matplotlib takes a second. The table of kinds does not load it."""
    code = ("import sys; import dbench_analysis as da; da.open; "
            "import dbench_analysis.figures.kinds; from dbench_analysis.cli import main; "
            f"main(['show', {str(five)!r}]); assert 'matplotlib' not in sys.modules")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr


def test_kinds_and_drawing_functions_belong_together():
    """Each kind has a function, which accepts the options that the kind names."""
    for name, kind in drawing.KINDS.items():
        parameters = inspect.signature(drawing.DRAW[name]).parameters.values()
        accepted = {p.name for p in parameters if p.default is not p.empty} - {"each"}
        assert accepted == {*kind.options}


def test_a_closed_pipe_is_no_error(five):
    code = ("import sys; from dbench_analysis.cli import main; sys.exit(main(['table', "
            f"{str(five)!r}] * 1))")
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run([sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE,
                           env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    os.close(write)
    assert ended.returncode == 0 and b"Traceback" not in ended.stderr


@pytest.mark.parametrize("command", sorted(
    set(COMMANDS) - {"show", "compare", "prediction", "clusters"}))
def test_an_empty_name_of_the_output_is_refused(five, command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, str(five / "D_ring.h5"), "-o", ""])
    assert ended.value.code == 2 and "the name is empty" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["table", "ranks", "reproduce"])
def test_a_result_file_is_not_overwritten_if_a_name_is_forgotten(command, tmp_path, capsys):
    path = tmp_path / "run.h5"
    path.write_bytes(b"a result")
    words = ["early"] if command == "reproduce" else []
    with pytest.raises(SystemExit) as ended:
        main([command, *words, "-o", str(path), str(path)])
    assert ended.value.code == 2 and path.read_bytes() == b"a result"
    assert "has the name of a result file" in capsys.readouterr().err
