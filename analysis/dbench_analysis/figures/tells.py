"""Whether a figure says something of given runs: in a report, those that do not are left out."""

import numpy as np

from .. import controller, differences, names
from ..run import Run
from ..schema import MEASURES


def always(runs: list[Run]) -> bool:
    return True


def evaluated(runs: list[Run]) -> bool:
    return any(len(run.evaluations) > 1 for run in runs)


def spread(runs: list[Run]) -> bool:
    """Replicas that could differ, and a record of it."""
    return any("variance" in run.parameters and run.replicas > 1
               and names.algorithm(run) != "centralized" for run in runs)


def norms(runs: list[Run]) -> bool:
    return any(run.replicas > 1 and names.algorithm(run) != "centralized"
               and any(m in run.parameters for m in MEASURES) for run in runs)


def tensors(runs: list[Run]) -> bool:
    return norms(runs) or spread(runs)


def settings(runs: list[Run]) -> bool:
    return evaluated(runs) and len(differences.alike(runs)) > 1


def communications(runs: list[Run]) -> bool:
    return settings(runs) and len(set(differences.communications(runs))) > 1


def points(runs: list[Run]) -> bool:
    """A correlation takes three."""
    return evaluated(runs) and len(differences.alike(runs)) > 2


def sizes(runs: list[Run]) -> bool:
    return evaluated(runs) and len({run.replicas for run in runs}) > 1


def changes(runs: list[Run]) -> bool:
    """A graph that changes, or could have."""
    return any(controller.sight(run) or len(degree) and np.ptp(degree) > 0
               for run, degree in ((run, run.iterations["degree"][:]) for run in runs))


def several(runs: list[Run]) -> bool:
    return evaluated(runs) and len(runs) > 1
