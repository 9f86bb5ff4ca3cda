"""The command line of `sweep`."""

import argparse
import json
import os
import sys
import time

from . import local, submit
from .plan import Plan
from .problem import Problem
from .status import Status
from .sweepfile import Sweep


def command_plan(arguments):
    plan = Plan(Sweep(arguments.file))
    print(json.dumps(plan.as_json(), indent=2) if arguments.json else plan.as_text())
    return 2 if plan.refused() else 0


def command_local(arguments):
    if arguments.jobs is not None and arguments.jobs < 1:
        raise Problem("--jobs", "{} runs at once".format(arguments.jobs), "at least 1")
    return local.run(Sweep(arguments.file), arguments.jobs)


def command_submit(arguments):
    for option in ("pack", "max_jobs", "throttle", "tries"):
        if (getattr(arguments, option) or 1) < 1:
            raise Problem("--" + option.replace("_", "-"), "not a positive number")
    return submit.submit(Plan(Sweep(arguments.file)), arguments.command == "resubmit", arguments)


def command_status(arguments):
    if arguments.watch is not None and not arguments.watch > 0:
        raise Problem("--watch", "{:g} s".format(arguments.watch), "more than 0")
    plan = Plan(Sweep(arguments.file))
    while True:
        try:
            status = Status(plan)
        except Problem as problem:  # such as a controller that is busy or restarts
            if not arguments.watch:
                raise
            sys.stderr.write("sweep: {}: again in {:g} s\n".format(problem, arguments.watch))
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
        plan.refresh()


def command_cancel(arguments):
    return submit.cancel(Plan(Sweep(arguments.file)))


def add_submission(one):
    one.add_argument("--dry-run", action="store_true", help="print what sbatch would get, submit nothing")
    one.add_argument("--site", metavar="FILE", help="the site file (default: $DBENCH_SITE, or the last one used)")
    one.add_argument("--pack", type=int, metavar="RANKS", help="many runs inside one job of so many ranks, not arrays")
    one.add_argument("--throttle", type=int, metavar="K", help="tasks of an array that run at once, at most")
    one.add_argument("--max-jobs", type=int, metavar="N", help="jobs of this sweep in the queue, at most")
    one.add_argument("--tries", type=int, default=8, help="how often a refused submission is tried (default 8)")
    one.add_argument("--wait", type=float, default=5, metavar="S", help="before the second try; then twice as long each time (default 5)")


def parser():
    top = argparse.ArgumentParser(prog="sweep", description="Many runs of dbench from one file (docs/cluster.md).",
                                  epilog="Exit status: 0 done; 1 a run failed; 2 the command, file or site is at fault.")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    commands.required = True

    def add(name, function, about):
        one = commands.add_parser(name, help=about, description=about)
        one.add_argument("file", metavar="FILE", help="the sweep file")
        one.set_defaults(function=function)
        return one

    one = add("plan", command_plan, "every run, checked; what is complete, what is to do, what it costs")
    one.add_argument("--json", action="store_true", help="machine-readable")
    add_submission(add("submit", command_submit, "give Slurm what is to do, as job arrays or packed"))
    add_submission(add("resubmit", command_submit, "and also what failed, was interrupted or cancelled"))
    one = add("status", command_status, "where each run stands, by result files, queue and logs")
    one.add_argument("--json", action="store_true", help="machine-readable")
    one.add_argument("--watch", type=float, nargs="?", const=10.0, metavar="S",
                     help="again every S seconds (default 10) while runs wait or run")
    add("cancel", command_cancel, "cancel this sweep's jobs that wait or run")
    one = add("local", command_local, "the sweep on this machine; the first Ctrl-C ends runs at their next step")
    one.add_argument("--jobs", type=int, metavar="N", help="runs at once (default: as many as have a core per rank)")
    return top


def main(words=None):
    arguments = parser().parse_args(words)
    try:
        status = arguments.function(arguments)
        sys.stdout.flush()
        return status
    except Problem as problem:
        sys.stderr.write("sweep: error: {}\n".format(problem))
        return 2
    except BrokenPipeError:  # such as `sweep plan FILE | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("sweep: stopped\n")
        return 130
