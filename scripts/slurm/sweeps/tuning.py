"""The choice of a rate for each method of a sweep, from the result files that there are.

Nothing but result files and the sweep file decides, so that a second call goes on where the first
one ended: trials on the grid, then, if the best rate is at an end of the grid, trials beyond it,
then runs of fresh seeds at the chosen rate.
"""

import collections
import copy
import math
import os

from . import axes as axis
from .plan import Plan
from .problem import Problem
from .program import Checker
from .rates import number, rounded
from .results import Results
from .text import Progress, shown

OWN_VALIDATION = ("wikitext2", "multi30k")  # data sets with a validation set of their own


def value_at(spec, pointer):
    """Return the entry of a resolved spec at a JSON pointer; None if there is none."""
    place = spec
    for key in pointer.split("/")[1:]:
        place = place.get(key) if isinstance(place, dict) else None
    return place


class Method:
    """One point of the sweep's axes, whose rate is tuned.

    answer     what `dbench check` prints about it
    rates      the grid, which may grow; lowest first
    extended   how often it grew
    means      {rate: mean of the metric over the seeds of the trials, on the validation set} of the
               rates whose trials are complete; NaN if a trial ended without a finite value
    chosen     the best rate; None while trials are missing
    at_edge    "lowest" or "highest" if the chosen rate is still an end of the grid, else ""
    runs       {(rate, seed): run}
    """

    def __init__(self, name, point, answer, base, factors):
        self.name, self.point, self.answer = name, point, answer
        self.rates = sorted({rounded(base * factor) for factor in factors})
        self.extended, self.means, self.chosen, self.at_edge, self.runs = 0, {}, None, "", {}

    def unusable(self):
        """Return whether no rate has a finite mean, although all trials are complete."""
        return len(self.means) == len(self.rates) and not any(map(math.isfinite,
                                                                  self.means.values()))


class Answers:
    """Takes the place of Checker. The program was asked once about each method: its answer about a
    run of the method differs in the rate and the seed only."""

    def __init__(self, sweep, answers, key):
        self.sweep, self.answers, self.key = sweep, answers, key

    def require_cuda(self):
        """Do nothing: the checker of the methods has asked."""

    def keep(self):
        """Do nothing: the checker of the methods has kept its answers."""

    def check_all(self, _):
        """Yield (name, point, answer, error) for each point, in order."""
        for name, point in self.sweep.points:
            answer = copy.deepcopy(self.answers[name])
            *above, last = self.key.split("/")[1:]
            place = answer["spec"]
            for key in above:
                place = place[key]
            place[last] = point[self.key]
            answer["spec"].update(name=name, seed=point["seed"],
                                  output=os.path.join(self.sweep.output, name + ".h5"))
            yield name, point, answer, ""


class Tuning:
    """The methods of a sweep file with "tune", and the plan of the runs that are known so far."""

    def __init__(self, sweep, rates):
        self.sweep, self.rates = copy.copy(sweep), rates
        self.sweep.metrics = rates.columns()
        self.results = Results(sweep.output, self.sweep.metrics)
        self.methods = self._methods()
        self.refresh()

    def _methods(self):
        checker, found = Checker(self.sweep), []
        checker.require_cuda()
        names = collections.Counter(name for name, _ in self.sweep.points)
        name, count = names.most_common(1)[0]
        if count > 1:
            raise Problem(f"{self.sweep.path}: /name", f"two methods would be called '{name}'",
                          "name more axes in the template")
        for name, point, answer, error in checker.check_all(Progress()):
            if error:
                raise Problem(self.sweep.path, f"{name}: {error}", "correct the spec there")
            data = answer["spec"].get("data", {})
            if not data.get("validation") and data.get("type") not in OWN_VALIDATION:
                raise Problem(f"{self.sweep.path}: {name}: /data/validation",
                              "0, so there is no validation set on which to choose a rate",
                              "give the number of training samples to hold out, such as 5000")
            base = value_at(answer["spec"], self.rates.key)
            if not number(base):
                raise Problem(f"{self.sweep.path}: {name}: {self.rates.key}",
                              f"{shown(str(base))} is no number above 0, so it has no multiples",
                              "correct \"key\" under \"tune\"")
            found.append(Method(name, point, answer, base, self.rates.factors))
        checker.keep()
        return found

    def _run_name(self, method, rate, seed):
        name = f"{method.name}-{self.rates.label()}{rate:g}-s{seed}"
        if len(name) > axis.MOST_LETTERS:
            raise Problem(f"{self.sweep.path}: /name", f"gives '{name:.40}...' of {len(name)} "
                          f"letters (at most {axis.MOST_LETTERS})", "shorten the template")
        return name

    def _keys(self, method):
        """Yield (rate, seed) of the method's runs that are known so far, trials first."""
        for rate in method.rates:
            for seed in self.rates.seeds:
                yield rate, seed
        if method.chosen is not None:
            for seed in self.rates.final_seeds:
                yield method.chosen, seed

    def _plan(self):
        """Make the plan of all runs that are known so far, and give each method its runs."""
        places, answers = {}, {}
        self.sweep.points = []
        for method in self.methods:
            for rate, seed in self._keys(method):
                name = self._run_name(method, rate, seed)
                point = collections.OrderedDict(method.point)
                point.pop(self.rates.key, None)
                point[self.rates.key], point["seed"] = rate, seed
                places[name], answers[name] = (method, rate, seed), method.answer
                self.sweep.points.append((name, point))
        self.plan = Plan(self.sweep, results=self.results,
                         checker=Answers(self.sweep, answers, self.rates.key))
        if self.plan.duplicates:
            raise Problem(f"{self.sweep.path}: /axes", "{} and {} are the same run, so two methods "
                          "are one".format(*self.plan.duplicates[0]), "\"exclude\" one of them")
        for method in self.methods:
            method.runs = {}
        for run in self.plan.runs:
            method, rate, seed = places[run.name]
            method.runs[rate, seed] = run

    def last(self, run, column):
        """Return the last value of a column of a complete run; NaN if the file has none."""
        return self.results.at(run.complete).get("last", {}).get(column, math.nan)

    def refresh(self):
        """Read the results, choose rates, extend grids; repeat until no more runs become known."""
        self._plan()
        while sum([self._advance(method) for method in self.methods]):
            self._plan()

    def _advance(self, method):
        """Choose the method's rate, or extend its grid. Return whether this added runs."""
        if method.chosen is not None:
            return False
        column, method.means = self.rates.columns()[0], {}
        for rate in method.rates:
            runs = [method.runs[rate, seed] for seed in self.rates.seeds]
            if all(run.complete for run in runs):
                method.means[rate] = sum(self.last(run, column) for run in runs) / len(runs)
        usable = {rate: mean for rate, mean in method.means.items() if math.isfinite(mean)}
        if len(method.means) < len(method.rates) or not usable:
            return False
        best = max(usable.values()) if self.rates.metric == "accuracy" else min(usable.values())
        chosen = min(rate for rate, mean in usable.items() if mean == best)
        low, high = chosen == method.rates[0], chosen == method.rates[-1]
        if (low or high) and method.extended < self.rates.extend:
            method.rates.append(rounded(chosen / 2 if low else chosen * 2))
            method.rates.sort()
            method.extended += 1
            return True
        method.chosen, method.at_edge = chosen, "lowest" if low else "highest" if high else ""
        return True

    def trials(self, method):
        """Return the number of trials of a method, those beyond its first grid included."""
        return len(method.rates) * len(self.rates.seeds)

    def sensitivity(self, method, factor):
        """Return by how much the metric on the validation set is worse at `factor` times the chosen
        rate; NaN if no trial has that rate."""
        rate = rounded(method.chosen * factor) if method.chosen is not None else None
        if rate not in method.means:
            return math.nan
        return self.rates.worse(method.means[rate], method.means[method.chosen])

    def finals(self, method):
        """Return the values of the metric on the test set of the complete runs at the chosen
        rate."""
        if method.chosen is None:
            return []
        runs = [method.runs[method.chosen, seed] for seed in self.rates.final_seeds]
        return [self.last(run, self.rates.columns()[1]) for run in runs if run.complete]

    def later(self):
        """Return the number of runs at chosen rates that cannot start yet, because trials are
        missing, and their work, as iterations times replicas."""
        waiting = [method for method in self.methods
                   if method.chosen is None and not method.unusable()]
        each = len(self.rates.final_seeds)
        size = [next(iter(method.runs.values())) for method in waiting]
        return each * len(waiting), sum(each * run.iterations * run.replicas for run in size)

    def possible(self):
        """Return how many further trials extended grids may need, at most."""
        return sum((self.rates.extend - method.extended) * len(self.rates.seeds)
                   for method in self.methods
                   if method.chosen is None and not method.unusable())
