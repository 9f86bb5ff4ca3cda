"""Tests which files a folder, a pattern and names stand for, also through links."""

from pathlib import Path

import pandas as pd
import pytest
from dbench_analysis.cli import main
from dbench_analysis.reading.files import result_files


@pytest.fixture
def tree(tmp_path):
    """A folder with a file, and a folder elsewhere to which it has links."""
    (tmp_path / "results/own").mkdir(parents=True)
    (tmp_path / "elsewhere/deep").mkdir(parents=True)
    for name in ("results/a.h5", "results/own/b.h5", "elsewhere/c.h5", "elsewhere/deep/d.h5"):
        (tmp_path / name).touch()
    (tmp_path / "results/linked").symlink_to(tmp_path / "elsewhere")
    return tmp_path


def found(*named):
    return [str(path) for path, _ in result_files([str(name) for name in named])]


def test_a_folder_contains_the_folders_to_which_it_has_links(tree):
    results = tree / "results"
    assert found(results) == [f"{results}/{name}" for name in (
        "a.h5", "linked/c.h5", "linked/deep/d.h5", "own/b.h5")]


def test_links_in_a_circle_end_and_add_no_file(tree):
    results = tree / "results"
    before = found(results)
    (results / "up").symlink_to("..")  # contains `results` and `elsewhere`
    (results / "again").symlink_to("own")
    (results / "here").symlink_to(".")
    (results / "nothing").symlink_to("nowhere")
    (results / "itself").symlink_to("itself")
    (tree / "elsewhere/back").symlink_to(results)
    (tree / "elsewhere/deep/round").symlink_to(tree / "elsewhere")
    assert found(results) == before


def test_a_file_with_several_names_counts_once(tree, monkeypatch):
    monkeypatch.chdir(tree)
    (tree / "results/0.h5").symlink_to(tree / "results/a.h5")
    (tree / "other.h5").symlink_to(tree / "results/a.h5")
    assert found("results/a.h5", "results/own/../a.h5", "other.h5", tree / "results/a.h5") == [
        "results/a.h5"]
    # A file's own name comes before links to it; a name that the user gave keeps its errors.
    assert "results/a.h5" in found("results") and "results/0.h5" not in found("results")
    assert result_files(["results/*.h5", "other.h5"])[0] == (Path("results/0.h5"), True)


def test_commands_count_a_run_with_two_names_once(make, tmp_path, capsys):
    file = make(name="ring")
    (tmp_path / "link.h5").symlink_to(file)
    table = tmp_path / "runs.csv"
    assert main(["collect", str(file), str(tmp_path / "link.h5"), "-o", str(table)]) == 0
    assert len(pd.read_csv(table)) == 1
    (tmp_path / "again.csv").symlink_to(table)
    assert main(["collect", str(table), str(tmp_path / "again.csv"), "-o",
                 str(tmp_path / "all.csv")]) == 0
    assert len(pd.read_csv(tmp_path / "all.csv")) == 1
