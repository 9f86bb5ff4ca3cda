"""Tests that names, conditions and figures do not depend on where and how the commands run: other
files, the terminal, the user's settings, a table in between."""

import os
import subprocess
import sys
from pathlib import Path

import dbench_analysis as da
import h5py
import matplotlib
import numpy as np
import pandas as pd
import pytest
from dbench_analysis.basics.errors import AnalysisError
from dbench_analysis.cli import main
from dbench_analysis.quantities import fields
from dbench_analysis.selection.collection import read_table
from dbench_analysis.selection.conditions import Condition
from synthetic import Plan, write

COMMANDS = (["show"], ["table"], ["table", "--rows", "name"], ["collect", "-o", "{}/runs.csv"],
            ["report", "-o", "{}/r.html"], ["plot", "-o", "{}/plots"])


def started(words, **environment):
    """Run dbench-analyze in a process of its own."""
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    return subprocess.run([sys.executable, "-m", "dbench_analysis", *map(str, words)],
                          capture_output=True, timeout=120, env={**plain, **environment},
                          cwd=Path(__file__).parents[1])


@pytest.fixture
def named(tmp_path):
    """Return a folder of runs whose names look like numbers or like missing values."""
    folder = tmp_path / "named"
    folder.mkdir()
    for k, name in enumerate(("007", "07", "7", "1e3", "NA", "null", "True")):
        write(folder / f"{k}.h5", Plan(name=name, per_epoch=2, epochs=1, norms=False, seed=k,
                                       spec={"notes": name, "seed": k}))
    return folder


def rows(capsys, *words):
    assert main(["table", *map(str, words)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_of_collect_gives_the_same_rows_as_the_files(named, tmp_path, capsys, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    table = tmp_path / f"runs.{suffix}"
    assert main(["collect", str(named), "-o", str(table), "--add", "/notes,/model/type"]) == 0
    capsys.readouterr()
    for more in (["--rows", "name"], ["--rows", "/notes"], ["--rows", "seed"],
                 ["--rows", "name", "--where", "name=7"], ["--rows", "/notes", "--columns", "lr"]):
        from_files = rows(capsys, named, *more)
        assert rows(capsys, table, *more) == from_files
        assert from_files.count("\n| ") == (2 if "--where" in more else 8)
    found = read_table(table, fields.COLLECTED)
    with da.open(named / "0.h5") as run:
        for key in fields.COLLECTED:
            value, cell = fields.find(key).value(run), found[key][0]
            assert cell == value or (value != value and cell != cell), key
            assert isinstance(cell, str) == isinstance(value, str), key


def test_values_of_each_field_have_the_type_of_its_key(five, odd):
    for path in [*five.glob("*.h5"), *odd.glob("*.h5")]:
        with da.open(path) as run:
            for field in {**fields.COLUMNS, **fields.NOTES}.values():
                assert isinstance(field.value(run), str) == field.is_text, (path, field.key)


def test_a_table_with_a_byte_order_mark_is_read(named, tmp_path, capsys):
    table = tmp_path / "runs.csv"
    assert main(["collect", str(named), "-o", str(table)]) == 0
    table.write_bytes(b"\xef\xbb\xbf" + table.read_bytes())
    assert list(read_table(table, ["name"])["name"])[:3] == ["007", "07", "7"]


def test_numbers_keep_every_digit(tmp_path):
    values = [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, float("nan"), 2.0]
    pd.DataFrame({"lr": values, "seed": [2**63 - 1] * 6, "batch_size": ["full", *[8.0] * 5]}
                 ).to_csv(tmp_path / "t.csv")
    found = read_table(tmp_path / "t.csv", ["lr", "seed", "batch_size"])
    np.testing.assert_array_equal(found["lr"], values)
    assert list(found["seed"]) == [2**63 - 1] * 6
    assert list(found["batch_size"]) == ["full", *[8.0] * 5]


@pytest.mark.parametrize("text, said", [
    ("accuracy>80", "accuracy_mean_model, .*as fractions: 0.8 is 80 %"),
    ("loss<2", "name one: loss_mean_model"),
    ("accuracy_best>80", "did you mean accuracy_best>0.8, which is 80 %"),
    ("accuracy_min<80", "is a fraction from 0 to 1"),
    ("accuracy_min=1|25", "did you mean accuracy_min=0.25, which is 25 %"),
])
def test_a_condition_on_accuracy_in_per_cent_is_refused(text, said):
    with pytest.raises(AnalysisError, match=said):
        Condition(text)


def test_a_condition_may_say_per_cent():
    assert Condition("accuracy_best>80%").holds(0.81)
    assert not Condition("accuracy_best>80 %").holds(0.8)
    assert Condition("accuracy_best<=1").holds(1.0) and Condition("perplexity_best>80").holds(81)


@pytest.mark.parametrize("name, remedy", [("fig.pdf", "-o {}/fig --format pdf"),
                                          ("a.h5", "-o {}/a --format png")])
def test_a_folder_of_figures_is_not_named_like_a_file(five, tmp_path, capsys, name, remedy):
    assert main(["plot", str(five), "-o", str(tmp_path / name), "--kind", "accuracy"]) == 2
    assert remedy.format(tmp_path) in capsys.readouterr().err
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("environment", [
    {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}], ids=["ascii", "latin", "C"])
def test_a_terminal_without_every_letter_gets_other_letters(tmp_path, environment):
    for seed in (1, 2):
        write(tmp_path / f"{seed}.h5", Plan(name="größe", seed=seed, spec={"seed": seed},
                                            ranks=2, bound=False))
    done = started(["table", tmp_path, "--rows", "name"], **environment)
    said = done.stdout.decode("ascii" if "latin" not in str(environment) else "latin-1")
    assert done.returncode == 0, done.stderr
    assert (" ± " if "latin" in str(environment) else " +- ") in said
    assert ("größe" if "latin" in str(environment) else "gro") in said
    done = started(["table", tmp_path, "--columns", "name,step_time"], **environment)
    assert done.returncode == 0 and b" * |" in done.stdout


SETTINGS = {"text.usetex": True, "font.size": 30, "figure.figsize": (1, 1), "lines.linewidth": 9,
            "savefig.bbox": "tight", "axes.formatter.use_locale": True, "axes.grid": False,
            "font.family": "no such font", "axes.prop_cycle": matplotlib.cycler("lw", [7])}


def test_figures_do_not_depend_on_the_settings_of_the_user(five):
    def picture():
        return da.plot(five, "accuracy")._repr_png_()

    expected = picture()
    with matplotlib.rc_context(SETTINGS):
        assert picture() == expected
        assert matplotlib.rcParams["font.size"] == 30  # the user's settings are as before


@pytest.mark.parametrize("content", [b"text.usetex: True\n", b"\xff\xfe not text\n"])
def test_a_matplotlibrc_changes_or_breaks_no_command(five, tmp_path, content):
    (tmp_path / "matplotlibrc").write_bytes(content)
    done = started(["plot", five / "D_ring.h5", "--kind", "accuracy", "-o", tmp_path / "plots"],
                   MPLCONFIGDIR=str(tmp_path), MPLBACKEND="nonesuch")
    assert done.returncode == 0 and list((tmp_path / "plots").glob("*.png")), done.stderr


def test_a_command_inside_a_process_leaves_its_surroundings(five, capsys):
    before = dict(os.environ)
    assert main(["table", str(five)]) == 0 and dict(os.environ) == before


def test_neither_a_home_nor_a_cache_is_needed(five, tmp_path):
    plain = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), "")
    done = started(["report", five / "D_ring.h5", "-o", tmp_path / "r.html"],
                   MPLCONFIGDIR="/dev/null/none", **plain)
    assert done.returncode == 0 and (tmp_path / "r.html").exists(), done.stderr
    assert b"Traceback" not in done.stderr


def external_link(file, place, other):
    del file[place]
    file[place] = h5py.ExternalLink(other, place)


def external_storage(file, place, other):
    rows = len(file[place])
    del file[place]
    file.create_dataset(place, (rows,), "f8", external=[(str(other), 0, 8 * rows)])


def virtual(file, place, other):
    layout = h5py.VirtualLayout((len(file[place]),), "f8")
    layout[:] = h5py.VirtualSource(str(other), place, (len(file[place]),))
    del file[place]
    file.create_virtual_dataset(place, layout)


@pytest.mark.parametrize("make_other", [external_link, external_storage, virtual])
@pytest.mark.parametrize("place", ["iterations/lr", "spec", "extra/deep/thing"])
def test_a_result_file_never_makes_a_command_read_another_file(make, tmp_path, capsys, make_other,
                                                               place):
    """The other file is a FIFO: a command that opened it would hang, or succeed without a word."""
    path = make(name="ring")
    other = tmp_path / "other"
    os.mkfifo(other)
    with h5py.File(path, "r+") as file:
        if place != "iterations/lr":
            if place in file:
                del file[place]
            file[place] = np.arange(3.0)
        make_other(file, place, other)
    for words in COMMANDS:
        main([words[0], str(path), *(word.format(tmp_path) for word in words[1:])])
        said = capsys.readouterr()
        assert f"/{place} is " in said.err and "refers to no other file" in said.err, words


def test_fifos_and_devices_never_hang(tmp_path, capsys):
    for name in ("runs.h5", "runs.csv", "runs.parquet"):
        os.mkfifo(tmp_path / name)
        for words in (["table"], ["show"], ["report", "-o", f"{tmp_path}/r.html"]):
            assert main([words[0], str(tmp_path / name), *words[1:]]) == 2
            assert "is not a regular file" in capsys.readouterr().err
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    assert main(["table", str(tmp_path / "zero.csv"), "--rows", "name"]) == 2
    assert "is not a regular file" in capsys.readouterr().err


def test_a_file_time_in_the_future_shows_no_living_writer(make, monkeypatch):
    path = make(name="ring", status="running")
    ahead = os.stat(path).st_mtime + 7200
    os.utime(path, (ahead, ahead))
    monkeypatch.setattr("dbench_analysis.reading.writer.guarded", lambda path: None)
    with da.open(path) as run:
        assert run.state.startswith("running, but its writer is dead, last written at a time that "
                                    "is ") and run.state.endswith("in the future")
