"""The command line of `sweep`."""

import argparse
import json
import os
import re
import sys
import time

from . import local, measure, submit, tune
from .plan import Plan
from .problem import Problem
from .status import Status
from .sweepfile import Sweep
from .text import shown, whole


def sweep_of(path):
    """Return the sweep in a file that does not tune."""
    sweep = Sweep(path)
    if sweep.tune is not None:
        raise Problem(f"{path}: /tune", "this file tunes, which this command would leave out",
                      "`sweep tune FILE plan` takes it")
    return sweep


def command_plan(arguments):
    sweep = sweep_of(arguments.file)
    if arguments.site and not sweep.on_gpus:
        raise Problem("--site", "the sweep file has no \"gpus\", and nothing else in a plan "
                      "depends on the site", "leave it out")
    plan = Plan(sweep, site=submit.site_of_plan(sweep, arguments.site) if sweep.on_gpus else None)
    if arguments.measure:
        measure.measure_all(plan)
    print(json.dumps(plan.as_json(), indent=2) if arguments.json else plan.as_text())
    return 2 if plan.refused() else 0


def command_local(arguments):
    return local.run(sweep_of(arguments.file), arguments.jobs)


def command_submit(arguments):
    sweep = sweep_of(arguments.file)
    site = submit.site_for(sweep, arguments.site)  # before the program checks every run
    return submit.submit(Plan(sweep), site, arguments.command == "resubmit", arguments)


def command_status(arguments):
    plan = Plan(sweep_of(arguments.file))
    while True:
        try:
            status = Status(plan)
        except Problem as problem:  # e.g. Slurm's controller is busy or restarts
            if not arguments.watch:
                raise
            sys.stderr.write(f"sweep: {problem}: again in {arguments.watch:g} s\n")
            time.sleep(arguments.watch)
            continue
        if arguments.json:
            print(json.dumps(status.as_json(), indent=2))
        else:
            live = arguments.watch and sys.stdout.isatty()
            print(status.on_terminal() if live else status.as_text())
            sys.stdout.flush()
        if not arguments.watch or not status.runs("running", "pending"):
            return 1 if status.runs("failed") else 0
        time.sleep(arguments.watch)


def command_cancel(arguments):
    return submit.cancel(Plan(sweep_of(arguments.file)))


def positive(text):
    """Return a whole number from 1 up."""
    if not re.fullmatch("[0-9]{1,10}", text) or not whole(int(text)):
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is not a whole number from 1 up")
    return int(text)


def seconds(text):
    """Return a number of seconds above 0, at most a day."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value <= 86400:
        raise argparse.ArgumentTypeError(f"'{shown(text)}' is not a number of seconds above 0, at "
                                         "most a day")
    return value


def add_submission(one):
    one.add_argument("--dry-run", action="store_true",
                     help="print what sbatch would get, submit nothing")
    one.add_argument("--site", metavar="FILE",
                     help="the site file (default: $DBENCH_SITE, or the last one used)")
    one.add_argument("--pack", type=positive, metavar="RANKS",
                     help="put many runs into one job of RANKS ranks, instead of job arrays")
    one.add_argument("--throttle", type=positive, metavar="K",
                     help="the most tasks of an array that run at once")
    one.add_argument("--max-jobs", type=positive, metavar="N",
                     help="the most jobs of this sweep in the queue")
    one.add_argument("--tries", type=positive, default=8, metavar="N",
                     help="how often a refused submission is tried (default: 8)")
    one.add_argument("--wait", type=seconds, default=5, metavar="S",
                     help="seconds before the second try, doubled each time (default: 5)")


TUNE = """Learning rates for the methods of a sweep file with "tune" (docs/studies.md): trials on
one grid with the seeds of trials, judged on the validation set by the mean of the last epoch; then
runs of fresh seeds at the chosen rate. A call does what is missing and can be stopped at any time.
It writes tuning.csv (a row for each method) and trials.csv (a row for each run) beside the results.
"""
TUNE_EXAMPLES = """actions:
  plan      show what would run, how many runs there are, and the estimated time
  local     run everything on this machine
  table     write the tables of what is complete, and start nothing
  submit    submit to Slurm what can run now; again, when it has ended, for what follows
  resubmit, status, cancel   as the commands of the same name
examples:
  sweep tune docs/studies/heterogeneity/sweep.json plan --measure
  sweep tune docs/studies/heterogeneity/sweep.json local --jobs 2
  sweep tune docs/studies/heterogeneity/sweep.json submit --site my-site.json
"""


def add_tune(commands):
    one = commands.add_parser("tune", help="tune each method's learning rate on a validation set, "
                              "then run fresh seeds", description=TUNE, epilog=TUNE_EXAMPLES,
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    one.add_argument("file", metavar="FILE", help="the sweep file, with the key \"tune\"")
    one.add_argument("action", choices=tune.ACTIONS, metavar="ACTION",
                     help=", ".join(tune.ACTIONS))
    one.add_argument("--json", action="store_true", help="plan, status: machine-readable")
    one.add_argument("--measure", action="store_true",
                     help="plan: train a few iterations of each run here, to estimate the time")
    one.add_argument("--jobs", type=positive, metavar="N",
                     help="local: runs at once (default: as many as have a core per rank)")
    one.add_argument("--watch", type=seconds, nargs="?", const=10.0, metavar="S",
                     help="status: repeat every S seconds (default: 10) while runs wait or run")
    add_submission(one)
    one.set_defaults(function=tune.run)


def parser():
    top = argparse.ArgumentParser(
        prog="sweep", description="Many runs of dbench from one file (docs/cluster.md).",
        epilog="Exit status: 0 done; 1 a run failed; 2 the command, file or site is at fault.")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    commands.required = True

    def add(name, function, about):
        one = commands.add_parser(name, help=about, description=about)
        one.add_argument("file", metavar="FILE", help="the sweep file")
        one.set_defaults(function=function)
        return one

    one = add("plan", command_plan,
              "check every run; show what is complete and what the rest costs")
    one.add_argument("--json", action="store_true", help="machine-readable")
    one.add_argument("--measure", action="store_true",
                     help="also train a few iterations of each run here, to estimate its time and "
                     "memory")
    one.add_argument("--site", metavar="FILE",
                     help="the site file, whose nodes decide how many GPUs \"gpus\" occupies "
                     "(default: $DBENCH_SITE, or the last one used)")
    add_submission(add("submit", command_submit,
                       "submit what is to do to Slurm, as job arrays or packed"))
    add_submission(add("resubmit", command_submit,
                       "submit also what failed, was interrupted or cancelled"))
    one = add("status", command_status,
              "show the state of each run, from result files, queue and logs")
    one.add_argument("--json", action="store_true", help="machine-readable")
    one.add_argument("--watch", type=seconds, nargs="?", const=10.0, metavar="S",
                     help="repeat every S seconds (default: 10) while runs wait or run")
    add("cancel", command_cancel, "cancel this sweep's jobs that wait or run")
    one = add("local", command_local,
              "run the sweep on this machine; the first Ctrl-C ends runs at their next step")
    one.add_argument("--jobs", type=positive, metavar="N",
                     help="runs at once (default: as many as have a core per rank); runs with "
                     "\"gpus\" also need their own GPUs")
    add_tune(commands)
    return top


def flush_output():
    """Flush the output, or discard it if its reader has gone."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(words=None):
    arguments = parser().parse_args(words)
    if hasattr(sys.stdout, "reconfigure"):  # since Python 3.7; file names may not be valid text
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        status = arguments.function(arguments)
        sys.stdout.flush()
        return status
    except Problem as problem:
        sys.stderr.write(f"sweep: error: {problem}\n")
        return 2
    except BrokenPipeError:  # such as `sweep plan FILE | head`
        flush_output()
        return 1
    except OSError as error:  # such as a full disk
        flush_output()
        where = f"{shown(str(error.filename), 4096)}: " if error.filename else ""
        sys.stderr.write(f"sweep: error: {where}{error.strerror}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("sweep: stopped\n")
        return 130
