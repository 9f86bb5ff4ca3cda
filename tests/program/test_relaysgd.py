"""Reproduces the twelve numbers of iterations in RelaySGD's Figure 7 with one command."""

import json

from dbench_analysis.cli import main

PUBLISHED = [13, 1469, 19818, 18, 34, 54, 10, 301, 641, 51, 51, 54]


def test_all_numbers_are_reproduced(tmp_path, capsys):
    assert main(["reproduce", "relaysgd-fig7", "--run", "--folder", str(tmp_path), "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [cell["ours"] for cell in cells] == [cell["published"] for cell in cells] == PUBLISHED
    assert {cell["verdict"] for cell in cells} == {"reproduced"}
