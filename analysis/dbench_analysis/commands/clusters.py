"""`dbench-analyze clusters`: which method reaches an accuracy first on predicted clusters."""

from pathlib import Path

from ..basics.errors import AnalysisError
from ..basics.formatting import aligned, counted, number, seconds
from ..basics.markup import markdown
from ..reading.metrics import METRICS
from ..studies import clusters
from ..studies.runs import open_studies

HELP = "which method reaches an accuracy first on clusters whose step times were predicted"
EXAMPLES = """examples:
  dbench predict spec.json --hosts 16 --gpus-per-node 1 --bandwidth 125e6 --json > 1Gbps.json
  dbench-analyze clusters results/studies/time --prediction 1Gbps.json --target 80%
  dbench-analyze clusters results/mine --prediction 1Gbps.json 10Gbps.json --target 80% --markdown
The time is the iterations until the mean model first reaches the target, times the predicted mean
step time. A prediction is used for runs with as many replicas as it has ranks; its label is its
file name. Iterations are means over the seeds; a method has a time only if every seed reached the
target. In each column the shortest time of a cell is marked. A prediction is looked up by graph and
order: predict with the spec of the method's algorithm and message. Runs of several algorithms,
messages, models or batches are refused, because a prediction is that of one spec (--where).
"""


def declare(parser):
    parser.add_argument("--prediction", nargs="+", required=True, metavar="FILE",
                        help="output of `dbench predict --json`")
    parser.add_argument("--target", required=True, metavar="A",
                        help="accuracy to reach, such as 80%%, or value of --metric")
    parser.add_argument("--metric", default="accuracy", choices=list(METRICS),
                        help="what reaches the target (default: accuracy)")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")


def parse_target(text: str, metric: str) -> float:
    """Return the target as a number; the text may end in a per cent sign."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise AnalysisError(f"--target {text}", "is not a number", "such as 0.8 or 80%") from None
    if METRICS[metric].fraction and not 0 < value <= 1:
        raise AnalysisError(f"--target {text}", f"{metric} is a fraction from 0 to 1",
                            "such as 0.8 or 80%")
    return value


def table(found: list[clusters.Reached], labels: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows: a method of a cell in each row. Several studies are named."""
    several = len({one.study for one in found}) > 1
    head = [*["study"] * several, "cell", "method", "seeds that reach it", "iterations", *labels]
    rows = []
    for one in found:
        cell = [other for other in found if (other.study, other.cell) == (one.study, one.cell)]
        row = [*[one.study] * several, one.cell, one.method,
               f"{sum(n is not None for n in one.iterations)} of {len(one.iterations)}"
               + f" ({one.lost} lost)" * (one.lost > 0),
               number(round(one.mean, 1)) if one.always else "-"]
        for label in labels:
            mark = " *" if clusters.fastest(cell, label) is one else ""
            row.append(seconds(one.seconds.get(label)) + mark)
        rows.append(row)
    return head, rows


def run(arguments) -> int:
    target = parse_target(arguments.target, arguments.metric)
    predicted = [clusters.cluster(Path(name)) for name in arguments.prediction]
    labels = [each.label for each in predicted]
    if len(set(labels)) < len(labels):
        raise AnalysisError("--prediction", "two files have the same name, which labels a column",
                            "rename one")
    found, notes = [], []
    studies, faults = open_studies(arguments.runs, arguments.where)
    clusters.check(studies, predicted)
    for one in studies:
        found += clusters.reached(one, predicted, arguments.metric, target)
        notes.append(clusters.note(one))
    known = {one.replicas for one in found}
    unused = [each.label for each in predicted if each.ranks not in known]
    if len(unused) == len(predicted):
        raise AnalysisError("--prediction", "none has as many ranks as the runs have replicas "
                            f"({', '.join(map(str, sorted(known)))})",
                            "predict with --hosts and --gpus-per-node that make as many")
    head, rows = table(found, labels)
    print(markdown(head, rows) if arguments.markdown else aligned([head, *rows]))
    if any(notes):
        print(f"\n{next(filter(None, notes))}")
    if unused and not arguments.markdown:
        print(f"\nno runs have as many replicas as {', '.join(unused)} "
              f"{'has' if len(unused) == 1 else 'have'} ranks")
    never = sum(not one.always for one in found)
    if never and not arguments.markdown:
        print(f"\n{counted(never, 'method')} with a seed that did not reach {arguments.target}: "
              "no time")
    lost = sum(one.lost for one in found)
    if lost and not arguments.markdown:
        print(f"\n{counted(lost, 'seed')} lost, whose run is not complete: counted as not reaching "
              f"{arguments.target}")
    return 1 if faults else 0
