"""Run the cases in turn (A B C A B C), with a line of progress."""

import sys
import time

from .measure import Failed, measure


class Progress:
    """Prints the progress of a comparison on stderr: a line that is updated in place on a terminal,
    or a line about every 10 seconds in a log."""

    def __init__(self, total, stream=sys.stderr, clock=time.monotonic):
        self.total, self.done, self.stream, self.clock = total, 0, stream, clock
        self.seconds = {}  # of the runs of each kind
        self.said = -float("inf")

    def left(self, coming):
        """Return the estimated seconds of the remaining runs, from earlier runs of the same kind,
        otherwise from all earlier runs."""
        known = [second for seconds in self.seconds.values() for second in seconds]
        if not known:
            return None
        mean = sum(known) / len(known)
        kinds = {kind: sum(seconds) / len(seconds) for kind, seconds in self.seconds.items()}
        return sum(kinds.get(kind, mean) for kind in coming)

    def say(self, what, coming):
        if not self.stream.isatty() and self.clock() - self.said < 10:
            return
        self.said = self.clock()
        left = self.left(coming)
        about = "" if left is None else f", about {max(1, round(left / 60))} min left"
        line = f"run {self.done + 1} of {self.total}: {what}{about}"
        self.stream.write(f"\r\033[K{line}" if self.stream.isatty() else f"{line}\n")
        self.stream.flush()

    def end(self):
        if self.stream.isatty():
            self.stream.write("\r\033[K")

    def ran(self, kind, seconds):
        self.seconds.setdefault(kind, []).append(seconds)
        self.done += 1


def alternate(cases, part, rounds, run, progress, later=()):
    """Return the milliseconds of every round, and the reasons of failed cases, both by name. A case
    that failed is not tried again. `part` is (place, model, hosts); `later` lists the kinds of runs
    after this part."""
    place, model, hosts = part
    seen, failed = {}, {}
    coming = [(place, model, case.name) for _ in range(rounds) for case in cases] + list(later)
    for number in range(rounds):
        for case in cases:
            if case.name in failed:
                progress.done += 1
                continue
            kind = coming.pop(0)
            progress.say(f"{place}, {model}, round {number + 1} of {rounds}, {case.name}",
                         [kind, *coming])
            start = time.monotonic()
            try:
                seen.setdefault(case.name, []).append(measure(case, model, run, hosts))
            except Failed as error:
                failed[case.name] = str(error)
                coming = [other for other in coming if other != kind]
            progress.ran(kind, time.monotonic() - start)
    progress.end()
    return seen, failed
