"""`sweep tune`: learning rates by trials on a validation set, then fresh seeds on the test set."""

import calendar
import json
import math
import sys
import time

from . import measure, submit, tunedtable
from .local import Local, work
from .problem import Problem
from .rates import Rates
from .results import find_python
from .status import Status
from .sweepfile import Sweep
from .text import duration_text
from .tuning import Tuning

ACTIONS = ("plan", "local", "table", "submit", "resubmit", "status", "cancel")


def seconds_per_work(tuning):
    """Return the seconds that the complete runs took for each iteration of each replica, and their
    number; (NaN, 0) without one."""
    seconds = done = 0.0
    count = 0
    for run in tuning.plan.runs:
        found = tuning.results.at(run.complete) if run.complete else None
        times = [stamp(found.get(key, "")) for key in ("started", "finished")] if found else []
        if times and all(map(math.isfinite, times)) and times[1] > times[0]:
            seconds, done, count = seconds + times[1] - times[0], done + work(run), count + 1
    return (seconds / done if done else math.nan), count


def stamp(text):
    """Return the seconds of a time such as 2026-01-31T12:00:00Z; NaN for any other text."""
    try:
        return float(calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")))
    except ValueError:
        return math.nan


def estimate(tuning):
    """Return (seconds of everything that is still to do, one run after another; how they are
    known); the seconds are NaN if nothing is known."""
    todo, later = tuning.plan.needed(), tuning.later()[1]
    each, finished = seconds_per_work(tuning)
    measured = [run.measured.seconds / work(run) for run in todo
                if run.measured and not run.measured.error]
    how = f"from {finished} finished runs"
    if measured:
        each, how = sum(measured) / len(measured), "as measured here"
    return each * (sum(work(run) for run in todo) + later), how


def counts(tuning):
    """Return the numbers of runs by what can be done with them."""
    done = sum(1 for run in tuning.plan.runs if run.complete)
    return {"methods": len(tuning.methods), "runs": len(tuning.plan.runs), "complete": done,
            "to_do": len(tuning.plan.needed()), "later": tuning.later()[0],
            "possible": tuning.possible()}


def summary(tuning):
    """Return lines with counts and the estimated time."""
    n, rates = counts(tuning), tuning.rates
    lines = [
        "{} methods: {} rates x {} seeds each on the validation set, then {} seeds at the chosen "
        "rate".format(n["methods"], len(rates.factors), len(rates.seeds), len(rates.final_seeds)),
        "{} runs are complete, {} can run now, {} follow when rates are chosen".format(
            n["complete"], n["to_do"], n["later"])]
    if n["possible"]:
        lines.append("at most {} trials more if the best rate is at an end of its grid".format(
            n["possible"]))
    seconds, how = estimate(tuning)
    if n["to_do"] + n["later"]:
        lines.append("time unknown: --measure trains a few iterations of each"
                     if math.isnan(seconds) else
                     f"about {duration_text(seconds)}, one run after another ({how})")
    return lines


def plan(tuning, arguments):
    if arguments.measure:
        measure.measure_all(tuning.plan)
    if arguments.json:
        head, rows = tunedtable.method_rows(tuning)
        seconds = estimate(tuning)[0]
        print(json.dumps({
            "counts": counts(tuning), "seconds": None if math.isnan(seconds) else seconds,
            "methods": [dict(zip(head, map(plain, row))) for row in rows],
            "runs": [run.as_json() for run in tuning.plan.runs]}, indent=2))
    else:
        for run in tuning.plan.runs:
            if not run.complete:
                print(f"{run.name}  {'refused: ' + run.error if run.error else 'to do'}")
        print(tunedtable.as_text(tuning))
        print("\n".join(summary(tuning)))
    return 2 if tuning.plan.refused() else 0


def plain(value):
    """Return a value for JSON: None in place of a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def report(tuning):
    """Write the tables and print the one of methods."""
    path = tunedtable.write_all(tuning)
    print(tunedtable.as_text(tuning))
    print(path)


def local(tuning, arguments):
    """Run rounds until nothing is left: all trials that are known, then those that follow."""
    tuning.plan.require_sound()
    find_python()  # The rates are chosen from result files: no trial runs in vain.
    status = 0
    while tuning.plan.needed() and not status:
        count, later = tuning.later()
        todo = len(tuning.plan.needed())
        print(f"{todo} runs now, {count} follow when rates are chosen", flush=True)
        status = Local(tuning.plan, arguments.jobs, later).run()
        tuning.refresh()
        tuning.plan.require_sound()
    report(tuning)
    return 1 if status or any(method.unusable() for method in tuning.methods) else 0


def table(tuning, _):
    report(tuning)
    return 0


def submitted(tuning, arguments):
    find_python()
    site = submit.site_for(tuning.sweep, arguments.site)
    status = submit.submit(tuning.plan, site, arguments.action == "resubmit", arguments)
    later = tuning.later()[0]
    if later:
        print(f"{later} runs follow when rates are chosen: submit again when these have ended")
    if not arguments.dry_run:
        tunedtable.write_all(tuning)
    return status


def status(tuning, arguments):
    """Show the state of the runs that are known so far, and of each method."""
    while True:
        try:
            found = Status(tuning.plan)
        except Problem as problem:
            if not arguments.watch:
                raise
            print(f"sweep: {problem}; asking again in {arguments.watch:g} s", file=sys.stderr)
            time.sleep(arguments.watch)
            continue
        print(json.dumps(found.as_json(), indent=2) if arguments.json else
              f"{found.as_text()}\n{tunedtable.as_text(tuning)}", flush=True)
        if not arguments.watch or not found.runs("running", "pending"):
            return 1 if found.runs("failed") else 0
        time.sleep(arguments.watch)
        tuning.refresh()


def cancel(tuning, _):
    return submit.cancel(tuning.plan)


def run(arguments):
    """Run the command `sweep tune FILE ACTION`."""
    for name, given, useful in (
            ("--jobs", arguments.jobs, ("local",)),
            ("--measure", arguments.measure, ("plan",)),
            ("--json", arguments.json, ("plan", "status")),
            ("--watch", arguments.watch, ("status",)),
            ("--dry-run", arguments.dry_run, ("submit", "resubmit", "local")),
            ("--pack", arguments.pack, ("submit", "resubmit")),
            ("--site", arguments.site, ("submit", "resubmit"))):
        if given and arguments.action not in useful:
            raise Problem(name, f"says nothing to `{arguments.action}`",
                          "it belongs to " + ", ".join(useful))
    sweep = Sweep(arguments.file)
    tuning = Tuning(sweep, Rates(sweep))
    if arguments.action == "local" and arguments.dry_run:
        return plan(tuning, arguments)
    action = {"plan": plan, "local": local, "table": table, "submit": submitted,
              "resubmit": submitted, "status": status, "cancel": cancel}[arguments.action]
    return action(tuning, arguments)
