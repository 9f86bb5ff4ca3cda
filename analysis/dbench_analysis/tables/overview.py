"""The overview of one run as (label, text) rows by section, for `show` and for reports."""

import numpy as np

from ..basics.errors import reading
from ..basics.formatting import counted, number, seconds
from ..naming import names
from ..quantities import prediction, series
from ..quantities.comparability import caveats
from ..quantities.fields import COLUMNS, batch
from ..reading.metrics import METRICS
from ..reading.run import Run
from . import predictions


def cell(run: Run, key: str) -> str:
    """Return a field of the run as text."""
    field = COLUMNS[key]
    return field.show(field.value(run))


def what_ran(run: Run) -> list[tuple[str, str]]:
    """Return name, state, communication, model, data, optimizer, scale and recorded rows."""
    data = run.spec.get("data", {})
    partition = names.type_of(data.get("partition")) if isinstance(data, dict) else "-"
    optimizer = run.spec.get("optimizer", {})
    details = ""
    if isinstance(optimizer, dict):
        details = ", ".join(f"{k} {number(v)}" for k, v in optimizer.items() if k != "type" and v)
    of_planned = f" of {run.planned}" * (run.planned > len(run.iterations))
    hosts = run.ranks["host"].nunique() if "host" in run.ranks else 0
    devices = sorted({str(d) for d in run.ranks.get("device", [])})
    rows = [
        ("name", run.name),
        ("status", run.state + (f": {run.error}" if run.error else "")),
        ("started", run.started + (f", finished {run.finished}" if run.finished else "")),
        ("communication", f"{names.communication(run)}: {names.algorithm(run)}, graph "
                          f"{names.graph(run)}{spectrum(run)}"),
        ("model",
         f"{cell(run, 'model')}, {run.parameter_count:,} parameters in {len(run.tensors)} tensors"),
        ("data", f"{cell(run, 'data')}, partition {partition}, global batch {number(batch(run))}"),
        ("optimizer", f"{cell(run, 'optimizer')}{': ' * bool(details)}{details}"),
        ("replicas", f"{run.replicas} on {counted(run.rank_count, 'rank')}, "
                     f"{counted(hosts, 'host')}, {', '.join(devices)}"),
        ("recorded", f"{len(run.iterations)}{of_planned} iterations, {cell(run, 'epochs')} epochs, "
                     f"{len(run.evaluations)} evaluations"),
    ]
    if names.message(run) != "float32":
        rows.insert(4, ("messages", names.message(run)))
    rows += final_events(run)
    if run.spec.get("notes"):
        rows.append(("notes", str(run.spec["notes"])))
    return rows


def final_events(run: Run) -> list[tuple[str, str]]:
    """Return the final remarks of the program about a controller or the algorithm."""
    return [(event.kind, event.text) for event in run.last_events(3).itertuples()
            if event.kind in ("controller", "algorithm")]


def spectrum(run: Run) -> str:
    """Return degree and rho of the first graph in parentheses; empty without a graph."""
    degree, rho = run.certificate.get("degree"), run.certificate.get("rho")
    mean = degree.get("mean") if isinstance(degree, dict) else degree
    parts = ([f"degree {number(mean)}"] if mean is not None
             else []) + ([f"rho {number(rho)}"] if rho is not None else [])
    return f" ({', '.join(parts)})" if parts else ""


def accuracies(run: Run) -> list[tuple[str, str]]:
    """Return the metrics of the last evaluation of the test set and the validation set."""
    rows = []
    for prefix, of in (("", "test"), ("validation_", "validation")):
        for metric in METRICS.values():
            if f"{prefix}mean_{metric.name}" not in run.evaluations:
                continue
            found = series.evaluations(run, metric.name, prefix)
            if found.empty or not found.iloc[-1][["median", "mean"]].notna().any():
                continue
            end = found.iloc[-1]
            local = " / ".join(metric.show(float(end[c])) for c in ("min", "median", "max"))
            rows.append((f"{of} {metric.title}", f"local {local} (min / median / max), "
                                                 f"mean model {metric.show(float(end['mean']))}"))
    return rows or [("test accuracy", "no evaluation recorded")]


def spreads(run: Run) -> list[tuple[str, str]]:
    """Return variance, consensus distance and dispersion at the end of the run.

    Of columns with several numbers per iteration, only the last row is read.
    """
    if "variance" not in run.parameters or "consensus_distance" not in run.parameters:
        rows = [("variance", "not recorded")]
    else:
        distance = run.parameters["consensus_distance"][:].astype(float)
        early = number(series.early_spread(run, "variance"))
        rows = [
            ("variance", f"{number(series.final_variance(run, 'variance'))} at the end, {early} "
                         "over the first tenth"),
            ("consensus distance", f"{number(float(distance[-1]))} at the end, largest "
                                   f"{number(float(series.nan_safe(np.nanmax, distance)))}"),
        ]
    measures = [f"{m.replace('_', ' ')} {number(series.final_dispersion(run, m), 3)}"
                for m in series.MEASURES if m in run.parameters]
    rows.append(("dispersion of norms",
                 ", ".join(measures) + " (at the end, median over weights)" if measures
                 else "not recorded"))
    return rows


def timing(run: Run) -> list[tuple[str, str]]:
    """Return step time, its parts, profiling and bytes sent."""
    parts = series.breakdown(run)
    if not parts:
        return [("step", "no times recorded")]
    inside = sum(value for name, value in parts.items() if name != "profile")
    rows = [("step", f"{cell(run, 'step_time')} (median of the slowest rank), "
                     f"{cell(run, 'throughput')} samples/s")]
    shares = [f"{name} {seconds(v)} ({100 * v / inside:.0f} %)"
              for name, v in parts.items() if name != "profile" and inside > 0]
    rows.append(("mean step", f"{seconds(inside)} = {' + '.join(shares)}"))
    rows.append(("profiling", f"{seconds(parts['profile'])} per iteration, not part of the step"))
    rows.append(("sent", f"{cell(run, 'bytes')} by all replicas"))
    if caveats(run):
        rows.append(("note",
                     f"not to be compared with other runs' times: {'; '.join(caveats(run))}"))
    return rows


def predicted(run: Run) -> list[tuple[str, str]]:
    """Return predicted and measured step time, the error, and what the prediction assumes; empty
    without a prediction."""
    found = prediction.comparison(run)
    if found is None:
        return []
    rows = [("step, predicted", f"{predictions.quantiles(found.predicted)}: "
                                f"{found.name}, {found.order}")]
    if found.measured:
        rows += [("step, measured", f"{predictions.quantiles(found.measured)}: "
                                    f"{counted(found.steps, 'step')} of all ranks"),
                 ("error", f"{predictions.error(found.error)} of the measured median"),
                 ("measured steps", f"{predictions.share(found.below_p50)} are below the predicted "
                                    f"median, {predictions.share(found.below_p95)} below the "
                                    "predicted 95 % quantile")]
    else:
        rows.append(("step, measured", "no times recorded after the first iteration"))
    rows.append(("fastest", found.fastest))
    return rows + [("assumes", text) for text in found.assumptions]


def sections(run: Run) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return (title, rows) of each section."""
    found = []
    for title, rows in (("what ran", what_ran), ("accuracy after the last evaluation", accuracies),
                        ("spread over replicas", spreads), ("time", timing)):
        with reading(run.path, f"what \"{title}\" is made from"):
            found.append((title, rows(run)))
    return found + [("prediction", rows) for rows in [predicted(run)] if rows]
