"""Tests of paths with the notation of shells."""

import pytest
from dbench_analysis.basics.errors import AnalysisError
from dbench_analysis.basics.paths import user_path
from dbench_analysis.cli import main


def test_a_leading_tilde_is_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_path("~/a.csv", "--output") == f"{tmp_path}/a.csv"
    assert user_path("a~b.csv", "--output") == "a~b.csv"


@pytest.mark.parametrize("path, said", [("$SCRATCH/a.csv", "contains $SCRATCH"),
                                        ("${S}/a.csv", "contains ${S}"),
                                        ("{name}.csv", "contains {name}"),
                                        ("~nobody-here/a.csv", "names a home folder")])
def test_other_notation_is_refused_unless_such_a_file_exists(tmp_path, path, said, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnalysisError, match="--output") as error:
        user_path(path, "--output")
    assert said in str(error.value)
    (tmp_path / "{name}.csv").write_text("")
    assert user_path("{name}.csv", "--output") == "{name}.csv"


def test_an_unknown_command_names_the_nearest_one(capsys):
    assert main(["plots", "x.h5"]) == 2
    assert "did you mean 'plot'?" in capsys.readouterr().err
    assert main(["xyz"]) == 2
    assert "choose from: show, plot" in capsys.readouterr().err


def test_commands_refuse_such_an_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["collect", "x.h5", "-o", "$SCRATCH/{name}.csv"]) == 2
    assert "contains $SCRATCH" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
