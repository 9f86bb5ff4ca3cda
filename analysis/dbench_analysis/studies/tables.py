"""The tables of a study: one row for each run, each method, each statement, each correlation."""

import math

import numpy as np
import pandas as pd

from ..naming import names
from ..quantities import fields, series
from ..quantities.ends import ends
from ..reading.metrics import METRICS
from ..reading.run import Run
from ..statistics import significance
from ..statistics.early_correlation import WINDOWS, Correlation, identical_replicas, measured
from .family import Statement, grouped, is_reference
from .runs import Study, cell_labels, commit, method_labels, spec_hash

# Columns of a run that say nothing about the machine or the place of its file, and nothing of the
# best evaluation: the last one counts.
OF_RUN = [key for key in fields.COLLECTED if not key.endswith("_best") and key not in (
    "file", "spec", "started", "error", "elapsed", "time_note", "status", "ranks")]
SETTINGS = 4  # settings without C_complete below which nothing is correlated


def of_runs(study: Study) -> pd.DataFrame:
    """Return a row for each complete run, trials included, with the hash of its spec and the
    commit. The test set of trials is left out, so that nobody chooses by it."""
    runs = [*study.finals, *study.trials]
    roles = ["final"] * len(study.finals) + ["trial"] * len(study.trials)
    every = [*runs, *study.lost]
    labels = method_labels(every)
    labels[:len(study.finals)] = study.labels[:len(study.finals)]  # as in the other tables
    return pd.DataFrame([
        {"study": study.name, "role": role, "cell": cell, "method": method,
         **{key: fields.find(key).value(run) for key in OF_RUN
            if role == "final" or not of_test_set(key)},
         "alpha": fields.find("alpha").value(run), "spec_hash": spec_hash(run),
         "commit": commit(run)}
        for run, role, cell, method in zip(runs, roles, cell_labels(every), labels)])


def of_test_set(key: str) -> bool:
    """Return whether a column is a metric on the test set."""
    return key.rpartition("_")[0] in METRICS or key.removesuffix("_mean_model") in METRICS


def number(text: str | None) -> float:
    """Return a number of tuning.csv; NaN for an empty cell."""
    try:
        return float(text) if text else math.nan
    except ValueError:
        return math.nan


def of_methods(study: Study) -> pd.DataFrame:
    """Return a row for each method and cell: accuracies of mean model and worst local model, what
    was sent, and how the rate was chosen."""
    found = []
    for cell, methods in grouped(study).items():
        for method, every in methods.items():
            runs = [run for run in every if run.status == "complete"]
            row, tuned = {"study": study.name, "cell": cell, "method": method,
                          "seeds": len(runs)}, study.tuned(every[0])
            for key in ("accuracy_mean_model", "accuracy_min", "loss_mean_model", "bytes",
                        "variance_early"):
                values = np.array([float(fields.find(key).value(run)) for run in runs])
                row[key] = float(values.mean()) if runs else math.nan
                row[key + "_deviation"] = (float(values.std(ddof=1)) if len(values) > 1
                                           else math.nan)
            found.append({**row, "lr": fields.find("lr").value(every[0]),
                          "trials": number(tuned.get("trials")),
                          "tuned_by": "loss" if "validation_loss" in tuned else "accuracy",
                          "at_edge": tuned.get("at_edge", ""),
                          "loss_at_half": number(tuned.get("loss_at_half")),
                          "loss_at_twice": number(tuned.get("loss_at_twice")),
                          "spec_hash": spec_hash(every[0]), "lost": len(every) - len(runs)})
    return pd.DataFrame(found)


def of_statements(study: Study, made: list[Statement]) -> pd.DataFrame:
    """Return a row for each statement."""
    return pd.DataFrame([
        {"study": study.name, "cell": s.cell, "method": s.method, "reference": s.reference,
         "metric": s.terms.metric, "pairs": len(s.d), "difference": s.mean,
         "interval_low": s.interval[0], "interval_high": s.interval[1],
         "interval_coverage": s.interval[2], "p": s.p, "p_family": s.p_family,
         "p_sign_flips": s.flips_p, "p_sign_test": s.sign_p, "margin": s.terms.margin,
         "p_equivalence": s.equivalence_p, "p_equivalence_family": s.equivalence_family,
         "power_of_equivalence": s.power, "verdict": s.verdict,
         "lost": s.lost + s.incomplete} for s in made])


def of_correlations(study: Study) -> pd.DataFrame:
    """Return the rank correlations of the spread in each fixed window with the final result, over
    the methods of a cell without C_complete. A point is the mean over the seeds of a method; one
    with a run that is not complete or has no finite result has none."""
    found = []
    for cell, methods in grouped(study).items():
        points = [runs for runs in methods.values()
                  if all(run.status == "complete" for run in runs)
                  and not identical_replicas(runs[0]) and not is_reference(runs[0])]
        for name, when in measured("variance") if points else []:
            spreads, final = by_method(points, name)
            for k, window in enumerate(WINDOWS):
                use = np.isfinite(spreads[:, k]) & np.isfinite(final)
                if use.sum() < SETTINGS:
                    continue
                rho = Correlation(significance.spearman(spreads[use, k], final[use]),
                                  int(use.sum()), math.nan)
                low, high = rho.interval()
                found.append({"study": study.name, "cell": cell, "measure": name, "when": when,
                              "window": window, "settings": rho.count, "rho": rho.rho,
                              "interval_low": low, "interval_high": high})
    return pd.DataFrame(found)


def by_method(methods: list[list[Run]], measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Return (spreads [methods, windows], final result of the mean model [methods]), means over the
    seeds, from the runs of each method."""
    kept = {end.run: end.mean for end in ends([run for runs in methods for run in runs])[0]}
    spreads, final = [], []
    for runs in methods:
        if all(run in kept for run in runs):
            spreads.append(np.mean([series.early_spreads(run, measure, list(WINDOWS))
                                    for run in runs], axis=0))
            final.append(np.mean([kept[run] for run in runs]))
    return np.array(spreads).reshape(-1, len(WINDOWS)), np.array(final)


def seeds(study: Study) -> str:
    """Return the seeds of the final runs in words."""
    return ", ".join(str(seed) for seed in dict.fromkeys(names.seed(r) for r in study.finals))
