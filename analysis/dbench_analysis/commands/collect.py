"""`dbench-analyze collect`: one tidy table of many result files, for other programs and for later
use."""

import importlib.util
import sys
import time
from pathlib import Path

from ..basics.errors import AnalysisError
from ..basics.formatting import counted
from ..naming.pointers import refuse_unknown, unknown
from ..quantities import fields
from ..reading.files import TABLES
from ..selection.collection import collect, selected, with_one_type
from ..selection.conditions import Condition
from . import page_options

HELP = "one tidy table of many result files, a row per run, as CSV or Parquet"
EXAMPLES = """examples:
  dbench-analyze collect results/ -o runs.csv
  dbench-analyze collect results/ -o runs.parquet
  dbench-analyze collect 'results/*-n16-*.h5' -o runs.csv --add /algorithm/mu,/graph/lazy
  dbench-analyze collect results/ -o few.csv --columns name,seed,lr,accuracy_mean_model
  dbench-analyze table runs.csv --rows implementation --columns replicas
Numbers have no units: accuracies are fractions, times are seconds. Only attributes and small
columns of each file are read. A file that cannot be read is named and left out; the exit status is
then 1.
columns (written if --columns is not given):
""" + "\n".join(f"  {key:22}{fields.find(key).help}" for key in fields.COLLECTED)


def declare(parser):
    parser.add_argument("-o", "--output", required=True, type=page_options.target, metavar="FILE",
                        help="the table to write: .csv or .parquet")
    parser.add_argument(
        "--columns", metavar="KEY,...",
        help="these columns only, in order: keys of `table`, or JSON pointers into the spec")
    parser.add_argument("--add", metavar="KEY,...",
                        help="columns in addition to the usual ones, such as /optimizer/momentum")


def run(arguments) -> int:
    target = Path(arguments.output)
    if target.suffix not in TABLES:  # never overwrite a result file if -o's value is forgotten
        raise AnalysisError(target, "the table's name ends in neither .csv nor .parquet",
                            "give -o runs.csv")
    if target.suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise AnalysisError(target, "Parquet needs pyarrow, which is not installed",
                            f"write -o {target.with_suffix('.csv')}, or `pip install pyarrow`")
    keys = [c.key for c in fields.chosen(arguments.columns, fields.COLLECTED)]
    keys += [c.key for c in fields.chosen(arguments.add, (), "--add") if c.key not in keys]
    started = time.monotonic()
    conditions = [Condition(text) for text in arguments.where]
    found = collect(arguments.runs, [*keys, *(c.key for c in conditions)],
                    progress if sys.stderr.isatty() else None)
    refuse_unknown([c.key for c in conditions], found.specs)
    for note in unknown(keys, found.specs):
        print(f"dbench-analyze: {note}", file=sys.stderr)
    found = selected(found, conditions) if len(found.frame) else found
    found.frame = found.frame[keys]
    for fault in found.faults:
        print(f"dbench-analyze: left out {fault}", file=sys.stderr)
    if found.frame.empty:
        raise AnalysisError(" ".join(arguments.runs), "no result file of dbench among these",
                            "see the notices above")
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.suffix == ".csv":
        found.frame.to_csv(target, index=False)
    else:
        with_one_type(found.frame).to_parquet(target, index=False)
    left = f", {counted(len(found.faults), 'file')} left out" if found.faults else ""
    print(f"{target}: {counted(len(found.frame), 'run')}, {len(keys)} columns, "
          f"{time.monotonic() - started:.1f} s{left}")
    return 1 if found.faults else 0


def progress(done: int, files: int):
    """Print the number of files read, every 20 files."""
    if done % 20 == 0 or done == files:
        print(f"\r{done} of {files} files", end="\n" if done == files else "", file=sys.stderr,
              flush=True)
