"""Tests that only a limited number of files is open, for any number of runs."""

import os
import shutil
import subprocess
import sys

import dbench_analysis as da
from dbench_analysis.reading import open_files


def test_a_closed_file_is_read_on(five, monkeypatch):
    monkeypatch.setattr(open_files, "MOST", 2)
    paths = sorted(five.glob("*.h5"))
    runs = [da.open(path) for path in paths]
    assert runs[0]._handle not in open_files._open and runs[4]._handle in open_files._open
    columns = [run.parameters["norm"] for run in runs]
    for _ in range(2):
        for run, column, path in zip(runs, columns, paths):
            with da.open(path) as fresh:
                assert ((column[-1] == fresh.parameters["norm"][-1]).all()
                        and run.iterations.frame().equals(fresh.iterations.frame()))
            assert len(open_files._open) <= 2
    for run in runs:
        run.close()
    assert not {run._handle for run in runs} & set(open_files._open)


def test_the_file_read_last_stays_open(five, monkeypatch):
    monkeypatch.setattr(open_files, "MOST", 2)
    a, b, c = (da.open(five / f"{name}.h5") for name in ("D_ring", "D_torus", "D_complete"))
    kept = list(open_files._open)
    b.iterations["lr"][0]
    a.iterations["lr"][0]  # c was read before b
    assert kept[-1] is c._handle
    assert c._handle not in open_files._open and b._handle in open_files._open
    for run in (a, b, c):
        run.close()


def test_a_run_that_nobody_holds_is_closed(make):
    path = make()
    run = da.open(path)
    assert any(kept.path == path for kept in open_files._open)
    del run
    assert not any(kept.path == path for kept in open_files._open)
    make()  # HDF5 refuses to write a file that is open


COMMANDS = ("table {runs}", "show {runs}", "report {runs} -o {tmp}/page.html",
            "plot {runs} -o {tmp}/plots --kind early --kind scale --dpi 30")


def test_more_runs_than_files_may_be_open(make, tmp_path):
    """The limits of open files are low, as after `ulimit -n`, soft and hard. One process runs all
    commands, because loading Matplotlib takes longer than they do."""
    one, folder = make(per_epoch=5, epochs=2), tmp_path / "runs"
    folder.mkdir()
    for i in range(30):
        shutil.copy(one, folder / f"ring-{i}.h5")
    code = ("import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))\n"
            "from dbench_analysis.cli import main\n"
            "sys.exit(sum(main(words.split()) for words in sys.argv[1:]))")
    commands = [command.format(runs=folder, tmp=tmp_path) for command in COMMANDS]
    assert not any(" " in str(place) for place in (folder, tmp_path))
    done = subprocess.run([sys.executable, "-c", code, *commands], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    assert "passed over" not in done.stderr
