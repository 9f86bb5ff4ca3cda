"""Decides which figures show anything for given runs; a report omits the others."""

import numpy as np

from ..naming import differences, names
from ..quantities import controllers, series
from ..quantities.comparability import caveats
from ..reading.run import Run
from ..reading.schema import MEASURES


def always(runs: list[Run]) -> bool:
    return True


def evaluated(runs: list[Run]) -> bool:
    """Return whether some run has more than the evaluation of the initial state."""
    return any(len(run.evaluations) > 1 for run in runs)


def spread(runs: list[Run]) -> bool:
    """Return whether some run recorded the variance of replicas that can differ."""
    return any("variance" in run.parameters and run.replicas > 1
               and names.algorithm(run) != "centralized" for run in runs)


def norms(runs: list[Run]) -> bool:
    """Return whether some run recorded dispersion measures of replicas that can differ."""
    return any(run.replicas > 1 and names.algorithm(run) != "centralized"
               and any(m in run.parameters for m in MEASURES) for run in runs)


def tensors(runs: list[Run]) -> bool:
    return norms(runs) or spread(runs)


def several_settings(runs: list[Run]) -> bool:
    return evaluated(runs) and len(differences.by_setting(runs)) > 1


def communications(runs: list[Run]) -> bool:
    """Return whether the evaluated runs differ in algorithm, graph or message."""
    return several_settings(runs) and len(set(differences.communications(runs))) > 1


def three_settings(runs: list[Run]) -> bool:
    """Return whether there are enough settings for a correlation, which needs three points."""
    return evaluated(runs) and len(differences.by_setting(runs)) > 2


def scales(runs: list[Run]) -> bool:
    """Return whether the evaluated runs differ in the number of replicas."""
    return evaluated(runs) and len({run.replicas for run in runs}) > 1


def changing_graphs(runs: list[Run]) -> bool:
    """Return whether the graph of some run changes, or has a controller that could change it."""
    return any(controllers.watched(run) or len(degree) and np.ptp(degree) > 0
               for run, degree in ((run, run.iterations["degree"][:]) for run in runs))


def several_runs(runs: list[Run]) -> bool:
    return evaluated(runs) and len(runs) > 1


def graphs(runs: list[Run]) -> bool:
    """Return whether some run recorded the graph over which it averages."""
    return any(len(run.graphs) for run in runs)


def measured(runs: list[Run]) -> bool:
    """Return whether the times of all runs are measurements."""
    return all("step_time" in run.iterations and not caveats(run) for run in runs)


def speeds(runs: list[Run]) -> bool:
    """Return whether the runs measured time with several numbers of replicas."""
    return len({run.replicas for run in runs}) > 1 and measured(runs)


def messages_in_time(runs: list[Run]) -> bool:
    """Return whether the runs measured time, and some run sent messages."""
    return measured(runs) and any(series.bytes_sent(run).any() for run in runs)


def costs(runs: list[Run]) -> bool:
    """Return whether the runs measured time and accuracy."""
    return evaluated(runs) and measured(runs) and any(
        series.performance(run)[1] == "accuracy" for run in runs)
