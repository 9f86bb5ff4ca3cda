"""The report on published claims: the claims by name, and what given runs say about each.

`SOURCES` maps a name to its source and its module. A module has `judge(cases, terms, runs)`, which
returns the findings, `SETTINGS`, the published settings, and `SWEEP`, the sweep file that makes the
runs ("" if there is none).
"""

import dataclasses

from ..basics.formatting import counted
from . import ada, dbench, promise
from .cases import cases
from .finding import UNDECIDED, Finding, Report, Terms
from .settings import compared

SOURCES = {
    "dbench": ("the DBench paper's three findings (arXiv 2509.12213)", dbench),
    "ada": ("Ada's two claims and the controls they need (arXiv 2509.12213)", ada),
    "promise": ("the tables of From Promise to Practice (ICLR 2025)", promise),
}


def report(name: str, runs: list, terms: Terms) -> Report:
    """Return the findings under `name`, judged from the runs; the list of runs may be empty."""
    source, module = SOURCES[name]
    # A fixed order: verdicts must not depend on the order of the arguments.
    runs = sorted(runs, key=lambda run: (run.started, str(run.path)))
    found, notes = cases(runs, terms.window)
    findings = [with_missing(finding) for finding in module.judge(found, terms, runs)]
    applications = sorted({case.application for case in found})
    if found:
        notes.append(f"{counted(len(found), 'run')} judged, on {', '.join(applications)}. The "
                     "verdicts are valid for these settings, not for the published ones.")
    remedy = ("Runs that can decide this, small enough for one machine:\n\n    "
              f"scripts/slurm/sweep local {module.SWEEP}"
              if module.SWEEP else
              "configs/applications/sweeps/resnet50-imagenet-adam.json has runs on ImageNet, for "
              "a cluster of GPUs. WMT14 is no data set of dbench. The statements on methods can be "
              "judged with any model.")
    return Report(name, source, findings, compared(
        module.SETTINGS, [run for run in runs if run.status == "complete"]), notes, remedy)


def with_missing(finding: Finding) -> Finding:
    """Return the finding; an undecided one always says what would decide it."""
    if finding.verdict != UNDECIDED or finding.missing:
        return finding
    return dataclasses.replace(
        finding, missing=["more seeds: with so few, the difference can be chance"])
