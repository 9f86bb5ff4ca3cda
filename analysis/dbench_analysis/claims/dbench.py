"""The DBench paper's claims: scaling, connections, variance."""

import math
from dataclasses import dataclass

from ..reading.run import Run
from .cases import Case
from .finding import CONTRADICTED, SUPPORTED, UNDECIDED, Finding, Terms
from .graph_correlations import (
    CELLS,
    DEGREES,
    GRAPHS,
    PERMUTED,
    Outcome,
    Values,
    compared,
    correlated,
    more_graphs,
    over_graphs,
)
from .judgement import ASSUMED, POINTS, Judged, judged, more_seeds
from .settings import DBENCH as SETTINGS  # noqa: F401 (read by the command)

SWEEP = "configs/sweeps/dbench.json"


def judge(found: list[Case], terms: Terms, runs: list[Run]) -> list[Finding]:
    """Return the three findings."""
    return [scaling(found, terms), connections(found, terms), variance(found, terms)]


def falls(found: list[Case]) -> dict[tuple, tuple[str, str, tuple[int, int], list[float]]]:
    """Return (application, role, (least n, most n), accuracies at least n minus accuracies at most
    n, for each seed that has both) by setting and implementation. The batch per replica is fixed,
    and only scales count at which the setting has centralized runs, too."""
    lines: dict[frozenset, dict[str, dict[int, dict[str, Case]]]] = {}
    for case in found:
        if case.role in ("centralized", "fixed") and case.fixed_batch:
            lines.setdefault(case.line, {}).setdefault(case.name, {}).setdefault(case.replicas, {})[
                case.seed] = case
    losses = {}
    for line, by_name in lines.items():
        central = next((by_n for by_n in by_name.values() if next(
            iter(next(iter(by_n.values())).values())).role == "centralized"), None)
        for name, by_n in by_name.items():
            scales = sorted(n for n in by_n if central is None or n in central)
            if len(scales) > 1:
                few, many = by_n[scales[0]], by_n[scales[-1]]
                differences = [few[seed].accuracy - many[seed].accuracy
                               for seed in few if seed in many]
                one = next(iter(few.values()))
                losses[line, name] = (one.application, one.role, (scales[0], scales[-1]),
                                      differences)
    return losses


@dataclass(frozen=True)
class Fall:
    """The loss of accuracy of an implementation between two numbers of replicas, judged over
    seeds."""

    application: str
    name: str
    role: str
    scales: tuple[int, int]
    outcome: Judged

    def state(self, share: int) -> str:
        """Return "falls", "does not fall" or "open"."""
        if self.outcome.above():
            return "falls"
        refuted = self.outcome.below(share) or self.outcome.equivalent(share)
        return "does not fall" if refuted else "open"


def scaling(found: list[Case], terms: Terms) -> Finding:
    """Judge whether decentralized training loses accuracy with more replicas, as centralized
    training does."""
    losses = [Fall(application, name, role, scales, judged(values, terms))
            for (_, name), (application, role, scales, values) in falls(found).items()]
    share = max(1, sum(fall.role == "fixed" for fall in losses))
    rows, missing = [], []
    states: dict[str, list[str]] = {"centralized": [], "fixed": []}
    for fall in sorted(losses, key=lambda fall: (fall.application, fall.role, fall.name)):
        state, (few, many) = fall.state(share), fall.scales
        states[fall.role].append(state)
        rows.append([fall.application, fall.name, f"{few} to {many}", *fall.outcome.points(),
                     state])
        if state == "open":
            missing += more_seeds(f"{fall.application}, {fall.name}, n = {few} and {many}",
                                  fall.outcome)
    central, others = states["centralized"], states["fixed"]
    for role, there in (("centralized (C_complete)", central),
                        ("decentralized (a fixed graph)", others)):
        if not there:
            missing.append(
                f"{role} runs at two or more numbers of replicas with the same batch per replica")
    clear = any(fall.outcome.above(share) for fall in losses if fall.role == "fixed")
    verdict, why = scaling_verdict(central, others, clear)
    rule = ("The fall is the accuracy of the mean model at the fewest replicas minus that at the "
            "most, batch per replica fixed, paired over seeds. It is shown where it is above 0 "
            f"(sign flips, p <= {terms.alpha:g}), refuted where it is below 0 or equivalent to 0 "
            f"within {100 * terms.margin:g} points (at {terms.alpha:g} / number of decentralized "
            "implementations). Supported: shown for C_complete and for every decentralized "
            "implementation. Contradicted: shown for C_complete and refuted for a decentralized "
            "one, or the other way round. Otherwise undecided.")
    return Finding("scaling", "Decentralized training loses accuracy as replicas are added, as "
                              "centralized training does.", rule, verdict, why,
                   ["application", "implementation", "replicas", *POINTS, "accuracy"], rows,
                   missing, ASSUMED)


def scaling_verdict(central: list[str], others: list[str], clear: bool) -> tuple[str, str]:
    """Return (verdict, reason). `clear`: a decentralized implementation falls even at the level
    corrected for the number of implementations."""
    if not central or not others:
        return UNDECIDED, "centralized and decentralized runs at several scales are needed"
    if {"falls"} == set(central) == set(others):
        return SUPPORTED, ("centralized and all decentralized implementations lose accuracy with "
                           "scale")
    if {"falls"} == set(central) and "does not fall" in others:
        return CONTRADICTED, ("a decentralized implementation keeps its accuracy where centralized "
                              "training does not")
    if {"does not fall"} == set(central) and clear:
        return CONTRADICTED, ("decentralized training loses accuracy where centralized training "
                              "does not")
    if {"does not fall"} == set(central) == set(others):
        return UNDECIDED, ("no trouble with scale to compare at these numbers of replicas: larger "
                           "ones are needed")
    return UNDECIDED, "the fall of some implementation is neither shown nor refuted"


def rows_of(values: Values, outcome: Outcome, title: str) -> list[list[str]]:
    """Return a row for each group and a row for all groups."""
    rows = [[f"{title}: {case.application}, n = {case.replicas}, seed {case.seed}",
             str(len(values.names)), f"{rho:+.2f}", "", ""]
            for case, rho in zip(values.cases, values.rho)]
    return [*rows, [f"{title}: all", *outcome.cells()]]


def missing_runs(outcome: Outcome, patterns, level: float, what: str) -> list[str]:
    """Return which groups or graphs would decide."""
    if not outcome.count:
        return [f"groups (one setting, scale and seed) with {GRAPHS} or more decentralized "
                f"implementations of {DEGREES} or more degrees{what}, the same in all groups"]
    return more_graphs(outcome.graphs, patterns, level)


def scope(values: Values) -> str:
    """Return the applications of the groups in parentheses."""
    applications = sorted({case.application for case in values.cases})
    return f" (on {', '.join(applications)} only)" if applications else ""


def exchanges(graphs: int) -> int:
    """Return the number of ways to exchange two values of each graph."""
    return int(2**graphs)


def connections(found: list[Case], terms: Terms) -> Finding:
    """Judge whether accuracy increases with the number of connections."""
    values = over_graphs(found, "degree")
    outcome = correlated(values, terms)
    central = over_graphs(found, "degree", ("fixed", "centralized"))
    verdict, why = UNDECIDED, "the mean correlation is neither shown to be positive nor negative"
    if outcome.high_p <= terms.alpha:
        verdict, why = SUPPORTED, f"the mean rank correlation is positive{scope(values)}"
    elif outcome.low_p <= terms.alpha:
        verdict, why = CONTRADICTED, f"the mean rank correlation is negative{scope(values)}"
    rows = [*rows_of(values, outcome, "decentralized"),
            ["with C_complete: all", *correlated(central, terms).cells()]]
    rule = (f"In each group (one setting, scale and seed) with {GRAPHS} or more fixed graphs of "
            f"{DEGREES} or more degrees: Spearman's rho of the mean number of neighbours and the "
            "final accuracy of the mean model, over the decentralized implementations. Supported: "
            f"the mean over groups is above 0 (p <= {terms.alpha:g}, one-sided, by permuting the "
            "graphs in the same way in all groups, because seeds and scales repeat the same graphs "
            f"and add none). Contradicted: it is below 0 (p <= {terms.alpha:g}). Otherwise "
            "undecided.")
    return Finding("connections", "Accuracy goes with the number of connections.", rule, verdict,
                   why, ["group", *CELLS], rows,
                   missing_runs(outcome, math.factorial, terms.alpha, "") if verdict == UNDECIDED
                   else [], PERMUTED)


def variance(found: list[Case], terms: Terms) -> Finding:
    """Judge whether accuracy decreases with the variance of parameters, most of all early in
    training."""
    both = [case for case in found if math.isfinite(case.early) and math.isfinite(case.late)]
    early, late = over_graphs(both, "early"), over_graphs(both, "late")
    first, stronger = correlated(early, terms), compared(late, early, terms)
    share, half = 100 * terms.window, terms.alpha / 2
    verdict, why = UNDECIDED, "it is not shown that accuracy falls with early variance"
    if first.low_p <= terms.alpha and stronger.high_p <= terms.alpha:
        verdict, why = SUPPORTED, ("accuracy falls with variance, and more clearly with early than "
                                   f"with late variance{scope(early)}")
    elif first.high_p <= half:
        verdict, why = CONTRADICTED, f"accuracy rises with early variance{scope(early)}"
    elif stronger.low_p <= half:
        verdict, why = CONTRADICTED, ("accuracy depends more on late than on early "
                                      f"variance{scope(early)}")
    elif first.low_p <= terms.alpha:
        verdict, why = UNDECIDED, ("accuracy falls with early variance, but it is not shown that "
                                   "it falls less with late variance")
    rows = [*rows_of(early, first, "early"), *rows_of(late, correlated(late, terms), "late"),
            ["late - early: all", *stronger.cells()]]
    rule = ("In each group as above: Spearman's rho of the variance just before averaging (mean "
            f"over the first {share:g} % of the iterations: early; over the second half: late) and "
            "the final accuracy. Supported: the mean rho of early is below 0 (by permuting the "
            "graphs), and late minus early above 0 (by exchanging early and late of each graph), "
            f"one-sided p <= {terms.alpha:g} each. Contradicted: early is above 0, or late minus "
            f"early below 0 (p <= {half:g} each). Otherwise undecided. A correlation over graphs "
            "does not show a cause: that needs runs in which only the variance is changed.")
    missing = missing_runs(first, exchanges, terms.alpha, " and recorded variance")
    return Finding("variance", "Accuracy is sensitive to the variance of parameter tensors over "
                               "replicas, most of all early.", rule, verdict, why,
                   ["group", *CELLS], rows, missing if verdict == UNDECIDED else [],
                   PERMUTED)
