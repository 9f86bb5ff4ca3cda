"""The DBench paper's findings: scaling, connections, variance."""

import math

from .. import stats
from ..run import Run
from .cases import Case, by_group
from .finding import CONTRADICTED, SUPPORTED, UNDECIDED, Finding, Terms
from .judged import PLAIN, POINTS, Judged, judged, more_seeds
from .settings import DBENCH as SETTINGS  # noqa: F401 (read by the command)

SWEEP = "configs/sweeps/dbench.json"
# decentralized implementations, and different degrees among them, below which a correlation says
# nothing
GRAPHS, DEGREES = 4, 3


def judge(found: list[Case], terms: Terms, runs: list[Run]) -> list[Finding]:
    return [scaling(found, terms), connections(found, terms), variance(found, terms)]


def falls(found: list[Case]) -> dict[tuple, tuple[str, str, tuple[int, int], list[float]]]:
    """(application, implementation, (least n, most n), accuracy at least n minus at most n for each
    seed that has both), by setting and implementation: fixed batch per replica, the scales that the
    centralized runs of the setting have, too."""
    lines: dict[frozenset, dict[str, dict[int, dict[str, Case]]]] = {}
    for case in found:
        if case.role in ("centralized", "fixed") and case.fixed_batch:
            lines.setdefault(case.line, {}).setdefault(case.name, {}).setdefault(case.replicas, {})[
                case.seed] = case
    told = {}
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
                told[line, name] = (one.application, one.role, (scales[0], scales[-1]), differences)
    return told


def scaling(found: list[Case], terms: Terms) -> Finding:
    told = {key: (*rest, judged(values, terms)) for key, (*rest, values) in falls(found).items()}
    share = max(1, sum(role == "fixed" for _, role, _, _ in told.values()))
    rows, missing, central, others = [], [], [], []
    for (_, name), (application, role, (few, many), outcome) in sorted(
        told.items(), key=lambda item: (item[1][0], item[1][1], item[0][1])):
        state = ("falls" if outcome.above() else "does not fall" if outcome.below(share)
                 or outcome.equivalent(share) else "open")
        (central if role == "centralized" else others).append(state)
        rows.append([application, name, f"{few} to {many}", *outcome.points(), state])
        missing += more_seeds(f"{application}, {name}, n = {few} and {many}", outcome.count,
                              terms) if state == "open" else []
    for role, states in (("centralized (C_complete)", central),
                         ("decentralized (a fixed graph)", others)):
        if not states:
            missing.append(
                f"{role} runs at two or more numbers of replicas with the same batch per replica")
    verdict, why = scaling_verdict(central, others)
    rule = ("The fall is the accuracy of the mean model at the fewest replicas minus that at the "
            "most, batch per replica fixed, paired over seeds. It is shown where it is above 0 "
            f"(sign flips, p <= {terms.alpha:g}), refuted where it is below 0 or equivalent to 0 "
            f"within {100 * terms.margin:g} points (at {terms.alpha:g} / number of decentralized "
            "implementations). Supported: shown for C_complete and for every decentralized "
            "implementation. Contradicted: shown for C_complete and refuted for a decentralized "
            "one, or the other way round. Else undecided.")
    return Finding("scaling", "Decentralized training loses accuracy as replicas are added, as "
                              "centralized training does.", rule, verdict, why,
                   ["application", "implementation", "replicas", *POINTS, "accuracy"], rows,
                   missing)


def scaling_verdict(central: list[str], others: list[str]) -> tuple[str, str]:
    if not central or not others:
        return UNDECIDED, "centralized and decentralized runs at several scales are needed"
    if {"falls"} == set(central) == set(others):
        return SUPPORTED, ("centralized and all decentralized implementations lose accuracy with "
                           "scale")
    if {"falls"} == set(central) and "does not fall" in others:
        return CONTRADICTED, ("a decentralized implementation keeps its accuracy where centralized "
                              "training does not")
    if {"does not fall"} == set(central) and "falls" in others:
        return CONTRADICTED, ("decentralized training loses accuracy where centralized training "
                              "does not")
    if {"does not fall"} == set(central) == set(others):
        return UNDECIDED, ("no trouble with scale to compare at these numbers of replicas: larger "
                           "ones are needed")
    return UNDECIDED, "the fall of some implementation is neither shown nor refuted"


def correlations(found: list[Case], x, y="accuracy",
                 roles=("fixed",)) -> list[tuple[Case, float, int]]:
    """(a case of the group, Spearman's rho over its implementations, their number) of each group
    with enough graphs."""
    told = []
    for members in by_group(found):
        kept = [c for c in members.values() if c.role in roles and math.isfinite(getattr(c, x))]
        decentralized = [c for c in kept if c.role != "centralized"]
        if len(decentralized) >= GRAPHS and len({round(c.degree, 6)
                                                 for c in decentralized}) >= DEGREES:
            told.append((kept[0], stats.spearman([getattr(c, x) for c in kept],
                                                 [getattr(c, y) for c in kept]), len(kept)))
    return told


def group_rows(told: list[tuple[Case, float, int]], title: str, outcome: Judged) -> list[list[str]]:
    rows = [[f"{title}: {c.application}, n = {c.replicas}, seed {c.seed}", str(count),
             f"{rho:+.2f}", ""] for c, rho, count in told]
    return [*rows, [f"{title}: all", *outcome.plain()]]


def wanting(count: int, terms: Terms, what: str) -> list[str]:
    if not count:
        return [f"groups (one setting, scale and seed) with {GRAPHS} or more decentralized "
                f"implementations of {DEGREES} or more degrees{what}"]
    return more_seeds("groups of such runs", count, terms)


def scope(told: list[tuple[Case, float, int]]) -> str:
    applications = sorted({c.application for c, _, _ in told})
    return f" (on {', '.join(applications)} only)" if applications else ""


def connections(found: list[Case], terms: Terms) -> Finding:
    told, with_central = correlations(found, "degree"), correlations(found, "degree",
                                                                     roles=("fixed", "centralized"))
    outcome, beside = judged([rho for _, rho, _ in told],
                             terms), judged([rho for _, rho, _ in with_central], terms)
    verdict, why = UNDECIDED, "the mean correlation is neither shown to be positive nor to be weak"
    enough = not more_seeds("", outcome.count, terms)
    if outcome.above():
        verdict, why = SUPPORTED, f"the mean rank correlation is positive{scope(told)}"
    elif enough and outcome.interval[1] < terms.weak:
        verdict, why = CONTRADICTED, ("the mean rank correlation is below "
                                      f"{terms.weak:g}{scope(told)}")
    rows = group_rows(told, "decentralized", outcome) + [["with C_complete: all", *beside.plain()]]
    rule = (f"In each group (one setting, scale and seed) with {GRAPHS} or more fixed graphs of "
            f"{DEGREES} or more degrees: Spearman's rho of the mean number of neighbours and the "
            "final accuracy of the mean model, over the decentralized implementations. Supported: "
            f"the mean over groups is above 0 (sign flips, p <= {terms.alpha:g}). Contradicted: "
            f"its bootstrap interval lies below {terms.weak:g}, from as many groups as could have "
            "given such a p. Else undecided. Seeds repeat the same graphs: they show the order of "
            "these graphs, not of all.")
    return Finding("connections", "Accuracy goes with the number of connections.", rule, verdict,
                   why,
                   ["group", *PLAIN], rows,
                   wanting(outcome.count, terms, "") if verdict == UNDECIDED else [])


def variance(found: list[Case], terms: Terms) -> Finding:
    early, late = correlations(found, "early"), correlations(found, "late")
    late_of = {c.group: rho for c, rho, _ in late}
    first = judged([rho for _, rho, _ in early], terms)
    stronger = judged([late_of[c.group] - rho for c, rho, _ in early if c.group in late_of], terms)
    share = 100 * terms.window
    enough = not more_seeds("", first.count, terms)
    verdict, why = UNDECIDED, "it is not shown that accuracy falls with early variance"
    if first.below() and stronger.above():
        verdict, why = SUPPORTED, ("accuracy falls with variance, and more clearly with early than "
                                   f"with late variance{scope(early)}")
    elif enough and first.interval[0] > -terms.weak:
        verdict, why = CONTRADICTED, ("accuracy hardly goes with early variance (interval above "
                                      f"-{terms.weak:g}){scope(early)}")
    elif stronger.below():
        verdict, why = CONTRADICTED, ("accuracy goes more with late than with early "
                                      f"variance{scope(early)}")
    elif first.below():
        verdict, why = UNDECIDED, ("accuracy falls with early variance, but that it does more so "
                                   "than with late variance is not shown")
    rows = [*group_rows(early, "early", first),
            *group_rows(late, "late", judged([rho for _, rho, _ in late], terms)),
            ["late - early: all", *stronger.plain()]]
    rule = ("In each group as above: Spearman's rho of the variance just before averaging (mean "
            f"over the first {share:g} % of the iterations: early; over the second "
            "half: late) and the final accuracy. Supported: the mean rho of early is below 0, and "
            f"late minus early above 0 (sign flips, p <= {terms.alpha:g} each). "
            f"Contradicted: the interval of early lies above -{terms.weak:g}, from enough groups, "
            "or late minus early is below 0. Else undecided. A correlation over graphs "
            "does not show what causes what: that needs runs in which variance alone is changed.")
    missing = wanting(len(early), terms, " and recorded variance") if verdict == UNDECIDED else []
    return Finding("variance", "Accuracy is sensitive to the variance of parameter tensors over "
                               "replicas, most of all early.", rule, verdict, why,
                   ["group", *PLAIN], rows, missing)
