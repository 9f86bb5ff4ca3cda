"""Reasons why measured times must not be compared between runs (rule 6 of the numerical rules)."""

import numpy as np

from ..basics.errors import AnalysisError
from ..basics.formatting import counted
from ..reading.run import Run
from . import series


def on_cpu(run: Run) -> bool:
    """Return whether no rank used a GPU."""
    devices = [str(d) for d in run.ranks.get("device", [])]
    return not any(d.startswith("cuda") for d in devices)


def reproducible(run: Run) -> bool:
    """Return whether reductions were reproducible, as the run recorded, or else as its spec says
    ("auto": reproducible on the CPU)."""
    recorded = run.provenance.get("environment", {}).get("reduction")
    if recorded and not on_cpu(run) and len(run.ranks.get("device", [])) > 1:
        return recorded == "reproducible"
    kind = run.spec.get("reduction", "auto")
    return kind == "reproducible" or (kind == "auto" and on_cpu(run))


def bound(run: Run) -> bool:
    """Return whether the launcher bound each rank to its own cores, from its environment
    variables."""
    variables = run.provenance.get("environment", {}).get("variables", {})
    kind = variables.get("SLURM_CPU_BIND_TYPE", "none")
    return variables.get("OMPI_MCA_orte_bound_at_launch") == "1" or kind not in ("", "none")


def crowded(run: Run) -> str:
    """Return a host with more ranks than cores in words; empty if there is none.

    /ranks/cpus counts the cores that a rank may use. The ranks of a host share them, unless the
    launcher bound the ranks.
    """
    if "cpus" not in run.ranks or "host" not in run.ranks or bound(run):
        return ""
    cpus: dict[str, list[int]] = {}
    for host, count in zip(run.ranks["host"], run.ranks["cpus"]):
        cpus.setdefault(host, []).append(int(count))
    for host, counts in sorted(cpus.items()):
        if 0 < max(counts) < len(counts):
            return f"{len(counts)} ranks on {max(counts)} cores of {host}"
    return ""


def mostly_delays(run: Run) -> bool:
    """Return whether /delays of the spec account for more than half of the steps' time. The machine
    then has little influence on the times."""
    if not run.spec.get("delays") or "time_delay" not in run.iterations:
        return False
    injected = run.iterations["time_delay"].rowwise(
        lambda v: series.nan_safe(np.nanmax, v, axis=1))
    return bool(np.nansum(injected) > 0.5 * np.nansum(series.step_times(run)))


def caveats(run: Run) -> list[str]:
    """Return the reasons why this run's times are not measurements; empty if they are."""
    reasons = []
    delayed = mostly_delays(run)
    if reproducible(run) and not delayed:
        reasons.append("reproducible reductions")
    if crowded(run) and not delayed:
        reasons.append(f"more ranks than cores ({crowded(run)})")
    sharing = run.provenance.get("environment", {}).get("ranks_per_gpu", 1)
    if sharing > 1:
        reasons.append(f"{sharing} ranks on one GPU")
    if run.replicas > run.rank_count:
        reasons.append(f"{run.replicas} replicas on {counted(run.rank_count, 'rank')}")
    return reasons


def statement(runs: list[Run]) -> str:
    """Return one sentence on why the times of these runs must not be compared; empty if they
    may."""
    groups: dict[str, int] = {}
    for run in runs:
        for reason in caveats(run):
            groups[reason] = groups.get(reason, 0) + 1
    if not groups:
        return ""
    some = [reason if count == len(runs) else f"{reason} ({count} of {len(runs)} runs)"
            for reason, count in groups.items()]
    return "Times are not to be compared between runs: " + "; ".join(some) + "."


def refuse_times(timed: list[str], time_notes: list[str], place: str):
    """Raise AnalysisError if the columns `timed` of several runs would be compared although some
    times are not measurements.

    time_notes: the caveats of each run, joined by "; ".
    """
    if not timed or len(time_notes) < 2 or not any(time_notes):
        return
    groups: dict[str, int] = {}
    for note in time_notes:
        for reason in filter(None, note.split("; ")):
            groups[reason] = groups.get(reason, 0) + 1
    why = "; ".join(f"{reason} ({count} of {len(time_notes)} runs)"
                    for reason, count in groups.items())
    raise AnalysisError(f"{place} {', '.join(timed)}", "times of these runs cannot be "
                        f"compared: {why}",
                        "measure with \"reduction\": \"library\", one replica a rank and a core "
                        "for each rank")
