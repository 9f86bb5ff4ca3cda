"""Labelled arrays, curves, tables and reports of dbench result files.

    import dbench_analysis as da
    runs = da.collect("results/")                   # DataFrame, a row per run
    da.plot(runs[runs.replicas == 16], "scale")     # matplotlib Figure
    da.compare("results/ring-*.h5", "results/torus-*.h5", margin="0.5%")
    da.report("results/").save("report.html")

    with da.open("results/ring.h5") as run:
        run.spec["model"], run.state
        run.parameters.gini.frame()                 # DataFrame, iterations x tensors
        run.to_xarray("norm", "variance")           # Dataset: iteration, replica, tensor
        da.verify(run)                              # dispersion computed again from the norms
"""

from .chosen import Runs
from .errors import AnalysisError
from .notebook import Report, collect, compare, curves, plot, report, runs
from .outcome import Outcome
from .run import Run, load, open
from .table import Column, Table
from .verify import verify

__all__ = ["AnalysisError", "Column", "Outcome", "Report", "Run", "Runs", "Table", "collect",
           "compare", "curves", "load", "open", "plot", "report", "runs", "verify"]
