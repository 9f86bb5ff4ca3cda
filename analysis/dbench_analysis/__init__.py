"""Labelled arrays, curves, tables and reports of dbench result files.

    import dbench_analysis as da
    with da.open("results/ring.h5") as run:
        run.spec["model"], run.state
        run.parameters["gini"].frame()          # index: iteration, columns: tensor names
        run.evaluations.frame()                 # one row per evaluation
        da.verify(run)                          # dispersion computed again from the norms
"""

from .errors import AnalysisError
from .run import Run, load, open
from .verify import verify

__all__ = ["AnalysisError", "Run", "load", "open", "verify"]
