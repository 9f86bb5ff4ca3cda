"""Labelled arrays, curves, tables and reports from dbench result files.

    import dbench_analysis as da
    runs = da.collect("results/")                   # DataFrame, a row per run
    da.plot(runs[runs.replicas == 16], "scale")     # Matplotlib figure
    da.compare("results/ring-*.h5", "results/torus-*.h5", margin="0.5%")
    da.report("results/").save("report.html")

    with da.open("results/ring.h5") as run:
        run.spec["model"], run.state
        run.parameters.gini.frame()                 # DataFrame, iterations x tensors
        run.to_xarray("norm", "variance")           # Dataset: iteration, replica, tensor
        da.verify(run)                              # recomputes the dispersion from the norms

A sub-package imports only itself and the sub-packages before it in this order: basics, reading,
naming, quantities, selection, statistics, graphs, tables, claims, reproduction, figures, pages,
studies, notebook, commands. `tests/checks/test_python_layers.py` checks the order.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .basics.errors import AnalysisError
    from .notebook.comparing import compare
    from .notebook.drawing import Report, plot, report
    from .notebook.runs import Run, Runs, collect, curves, load, open, runs
    from .quantities.verification import verify
    from .reading.table import Column, Table
    from .statistics.outcome import Outcome

__all__ = ["AnalysisError", "Column", "Outcome", "Report", "Run", "Runs", "Table", "collect",
           "compare", "curves", "load", "open", "plot", "report", "runs", "verify"]

_HOME = {
    "AnalysisError": "basics.errors", "Column": "reading.table", "Table": "reading.table",
    "verify": "quantities.verification", "Outcome": "statistics.outcome",
    **dict.fromkeys(("Run", "Runs", "collect", "curves", "load", "open", "runs"), "notebook.runs"),
    "compare": "notebook.comparing",
    **dict.fromkeys(("Report", "plot", "report"), "notebook.drawing"),
}


def __getattr__(name: str) -> Any:
    """Load the module that defines `name` at its first use: pandas and Matplotlib take a second
    each, and most commands need only one of them, or neither."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
