"""The tables of `sweep tune`: one row for each method, and one row for each run."""

import csv
import io
import json
import math
import os
import tempfile

from . import axes as axis
from . import jsonfile
from .problem import Problem
from .text import table

METHODS, RUNS = "tuning.csv", "trials.csv"


def mean(values):
    return sum(values) / len(values) if values else math.nan


def deviation(values):
    """Return the standard deviation (n - 1) of the values; NaN for fewer than 2."""
    if len(values) < 2:
        return math.nan
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1))


def cell(value):
    """Return a value for CSV: all digits of a number, nothing for one that is not known."""
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return "" if value is None else str(value)


def state(method, tuning):
    """Return how far a method is, in words."""
    if method.unusable():
        return "no rate has a finite value"
    if method.chosen is None:
        done = sum(1 for run in method.runs.values() if run.complete)
        return f"{done} of {tuning.trials(method)} trials"
    done, count = len(tuning.finals(method)), len(tuning.rates.final_seeds)
    return "complete" if done == count else f"{done} of {count} final runs"


def method_rows(tuning):
    """Return (column names, rows) with one row for each method. The metric is a fraction for
    accuracies; `loss_at_...` is what the validation set loses at half and twice the chosen rate."""
    axes = [name for name in tuning.methods[0].point if axis.pointer(name) != tuning.rates.key]
    metric = tuning.rates.metric
    head = ["method", *axes, "trials", "rates", "times_extended", "at_edge", "chosen",
            f"validation_{metric}", "loss_at_half", "loss_at_twice", "final_runs",
            f"test_{metric}", "test_deviation", "state"]
    rows = []
    for method in tuning.methods:
        finals = tuning.finals(method)
        rows.append([
            method.name, *(method.point[name] for name in axes), tuning.trials(method),
            " ".join(f"{rate:g}" for rate in method.rates), method.extended, method.at_edge,
            method.chosen, method.means.get(method.chosen), tuning.sensitivity(method, 0.5),
            tuning.sensitivity(method, 2), len(finals), mean(finals), deviation(finals),
            state(method, tuning)])
    return head, rows


def run_rows(tuning):
    """Return (column names, rows) with one row for each complete run. The test set of a trial is
    left out, so that nobody chooses by it."""
    metric, rows = tuning.rates.metric, []
    validation, test = tuning.rates.columns()
    for method in tuning.methods:
        for (rate, seed), run in method.runs.items():
            if run.complete:
                final = seed in tuning.rates.final_seeds
                rows.append([method.name, "final" if final else "trial", rate, seed,
                             tuning.last(run, validation),
                             tuning.last(run, test) if final else None,
                             os.path.basename(run.complete)])
    return ["method", "role", "rate", "seed", f"validation_{metric}", f"test_{metric}",
            "file"], rows


def write(path, head, rows):
    """Write a table as CSV, the whole file or nothing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([cell(value) for value in row] for row in rows)
    folder = os.path.dirname(path)
    jsonfile.make_folder(folder)
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".tmp-")
        with os.fdopen(handle, "w", newline="") as file:
            file.write(text.getvalue())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise Problem(path, f"cannot be written: {error.strerror}",
                      "free disk space, or change the permissions") from error


def write_all(tuning):
    """Write both tables into the output folder; return the path of the table of methods."""
    path = os.path.join(tuning.sweep.output, METHODS)
    write(path, *method_rows(tuning))
    write(os.path.join(tuning.sweep.output, RUNS), *run_rows(tuning))
    return path


def as_text(tuning):
    """Return the table of methods for a terminal."""
    percent = 100 if tuning.rates.metric == "accuracy" else 1

    def shown(value, signed=False):
        if value is None or not math.isfinite(value):
            return "-"
        return f"{percent * value:{'+' if signed else ''}.2f}"

    unit = "%" if percent == 100 else "loss"
    rows = []
    for method in tuning.methods:
        finals = tuning.finals(method)
        spread = f" +- {shown(deviation(finals))}" if len(finals) > 1 else ""
        edge = f" ({method.at_edge} of the grid)" if method.at_edge else ""
        rows.append([
            method.name, tuning.trials(method),
            "-" if method.chosen is None else f"{method.chosen:g}{edge}",
            shown(method.means.get(method.chosen)), shown(tuning.sensitivity(method, 0.5), True),
            shown(tuning.sensitivity(method, 2), True),
            shown(mean(finals)) + spread,
            len(finals), state(method, tuning)])
    return table(["method", "trials", "chosen", f"validation, {unit}", "lost at half",
                  "lost at twice", f"test, {unit}", "final runs", "state"], rows)
