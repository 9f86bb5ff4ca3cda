"""Tests that the cells of docs/notebook.ipynb run, on shorter runs, and show the same kinds of
output as before."""

import ast
import importlib.util
import json
import os
from pathlib import Path

import dbench_analysis as da
import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
PROGRAM = Path(os.environ.get("DBENCH_PROGRAM", Path(__file__).parents[2] / "build" / "dbench"))
FORMS = {"image/png": "_repr_png_", "text/html": "_repr_html_"}


def cells():
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"]
            if cell["cell_type"] == "code"]


def source(cell) -> str:
    """Return the text of a cell with fewer and shorter runs."""
    short = {'"epochs": 4': '"epochs": 1', "range(1, 7)": "range(1, 3)"}
    text = "".join(cell["source"])
    for long, brief in short.items():
        text = text.replace(long, brief)
    return text


def forms(outputs) -> list[set]:
    """Return the forms in which each output can be shown."""
    return [{"text/plain", *FORMS} & set(out["data"]) for out in outputs if "data" in out]


def executed(code: str, names: dict):
    """Run a cell and return the value of its last line, which a notebook shows."""
    parsed = ast.parse(code)
    last = parsed.body[-1]
    shown = ast.Expression(parsed.body.pop().value) if isinstance(last, ast.Expr) else None
    exec(compile(parsed, NOTEBOOK.name, "exec"), names)
    return eval(compile(shown, NOTEBOOK.name, "eval"), names) if shown else None


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return the folder in which the cells run, with DBENCH_PROGRAM set."""
    if not PROGRAM.exists():
        pytest.skip(f"no program at {PROGRAM}")
    pytest.importorskip("xarray")
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    monkeypatch.setenv("DBENCH_PROGRAM", str(PROGRAM.resolve()))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(da.__file__).parents[1]))  # of the kernel
    return tmp_path / "docs"


def test_cells_run_and_show_what_they_showed(place, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict = {}
    for cell in cells():
        value = executed(source(cell), names)
        for out in cell["outputs"]:
            if out["output_type"] == "execute_result":
                for form in FORMS.keys() & set(out["data"]):
                    assert getattr(value, FORMS[form])(), source(cell)
                assert repr(value)
    assert len(names["table"]) == 6 and (names["table"]["status"] == "complete").all()
    assert (place.parent / "results" / "notebook" / "report.html").stat().st_size > 10000


def test_a_kernel_runs_it(place):
    for name in ("nbclient", "nbformat", "ipykernel"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"no {name}")
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOK, 4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = source(cell)
    before = [forms(cell["outputs"]) for cell in cells()]
    nbclient.NotebookClient(notebook, timeout=300,
                            resources={"metadata": {"path": str(place)}}).execute()
    after = [forms(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    assert after == before


def test_it_was_executed_in_order_without_errors_and_is_small():
    assert NOTEBOOK.stat().st_size < 300_000
    found = cells()
    assert [cell["execution_count"] for cell in found] == list(range(1, len(found) + 1))
    kinds = [out["output_type"] for cell in found for out in cell["outputs"]]
    assert "error" not in kinds and "stream" not in kinds and kinds.count("execute_result") > 8
