"""Reproduces numbers of iterations of RelaySGD's figures 2 and 7, with one command each."""

import json

import pytest
from dbench_analysis.cli import main

FIGURE7 = [13, 1469, 19818, 18, 34, 54, 10, 301, 641, 51, 51, 54]


@pytest.mark.parametrize("name, published", [("relaysgd-fig7", FIGURE7), ("relaysgd-fig2", None)])
def test_all_numbers_are_reproduced(tmp_path, capsys, name, published):
    assert main(["reproduce", name, "--run", "--folder", str(tmp_path), "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [cell["ours"] for cell in cells] == [cell["published"] for cell in cells]
    assert {cell["verdict"] for cell in cells} == {"reproduced"}
    assert len(cells) == 46 if published is None else [
        cell["published"] for cell in cells] == published
