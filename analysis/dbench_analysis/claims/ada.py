"""Ada's claims, and the control experiments that offer other explanations."""

from ..reading.run import Run
from .cases import Case, by_group, settings
from .finding import CONTRADICTED, SUPPORTED, UNDECIDED, Finding, Terms
from .judgement import ASSUMED, POINTS, Judged, judged, more_seeds
from .settings import DBENCH as SETTINGS  # noqa: F401 (read by the command)

SWEEP = "configs/sweeps/ada.json"
ALL_REDUCE = "D_complete"
EXPECTED = ("the reverse schedule", "equal bytes, mixed evenly", "a fixed lattice", "Base-(k+1)")


def judge(found: list[Case], terms: Terms, runs: list[Run]) -> list[Finding]:
    """Return the three findings for each form of Ada."""
    forms = sorted({case.name for case in found if case.role == "ada"}) or ["ada"]
    return [make(found, form, terms) for form in forms for make in (best, reaches, controls)]


def against(found: list[Case], form: str, chosen,
            terms: Terms) -> dict[str, tuple[Case, Judged, Judged]]:
    """Return {name and setting: (case, difference of final accuracies, difference of mean
    accuracies over the run)} for every case that `chosen` accepts, paired over seeds."""
    pairs: dict[tuple, list[tuple[Case, Case]]] = {}
    for members in by_group(found):
        for case in members.values():
            if form in members and case.name != form and chosen(case):
                pairs.setdefault((case.name, case.setting), []).append((members[form], case))
    words = settings([case for them in pairs.values() for _, case in them])
    titles = {key: key[0] + f", {words[key[1]]}" * (len(words) > 1) for key in sorted(pairs)}
    return {titles[key]: (pairs[key][0][1],
                        judged([a.accuracy - b.accuracy for a, b in pairs[key]], terms),
                        judged([a.curve - b.curve for a, b in pairs[key]], terms))
            for key in titles}


def rows_of(tested: dict) -> list[list[str]]:
    """Return a row of final differences and a row of differences over the whole run for each
    name."""
    return [[row, *outcome.points()] for name, (_, end, curve) in tested.items()
            for row, outcome in ((f"{name}, final", end), (f"{name}, whole curve", curve))]


def missing_runs(tested: dict, form: str, what: str, share: int = 1) -> list[str]:
    """Return which runs or seeds would decide."""
    if not tested:
        return [f"runs of {form} and of {what}, alike in all else, with the same seeds"]
    return [line for name, (_, end, _) in tested.items()
            for line in more_seeds(f"{form} and {name}", end, share)]


def best(found: list[Case], form: str, terms: Terms) -> Finding:
    """Judge whether Ada is better than every fixed graph."""
    tested = against(found, form, lambda c: c.role == "fixed" and c.name != ALL_REDUCE, terms)
    share = max(1, len(tested))
    better = [end.above() for _, end, _ in tested.values()]
    worse = [name for name, (_, end, _) in tested.items() if end.below(share)]
    verdict, why = UNDECIDED, ("neither better than every fixed graph nor worse than one: "
                               "the differences can be chance")
    if better and all(better):
        verdict, why = SUPPORTED, f"better than {', '.join(tested)}"
    elif worse:
        verdict, why = CONTRADICTED, f"worse than {', '.join(worse)}"
    complete = against(found, form, lambda c: c.name == ALL_REDUCE, terms)
    rule = (f"Difference between {form} and each fixed graph, in each setting and scale, paired "
            "over seeds. The complete graph is not tested because it is an all-reduce; its "
            "numbers are shown too. Supported: the final accuracy of the mean model is higher "
            f"than with every graph (sign flips, p <= {terms.alpha:g} each). Contradicted: it is "
            f"lower than with one (p <= {terms.alpha:g} / number of graphs). Otherwise undecided. "
            "The mean accuracy over all evaluations is shown too, for the speed of convergence.")
    return Finding(f"best:{form}", f"{form} converges best of the decentralized implementations.",
                   rule, verdict, why, ["against", *POINTS],
                   rows_of({**tested, **complete}),
                   missing_runs(tested, form, "fixed graphs")
                   if verdict == UNDECIDED else [], ASSUMED)


def reaches(found: list[Case], form: str, terms: Terms) -> Finding:
    """Judge whether Ada reaches the accuracy of centralized training."""
    tested = against(found, form, lambda c: c.role == "centralized", terms)
    ends = {name: end for name, (_, end, _) in tested.items()}
    lower = [name for name, end in ends.items() if end.below_margin(len(ends))]
    verdict, why = UNDECIDED, "neither equivalence nor a lower accuracy is shown"
    if ends and all(end.equivalent() or end.above() for end in ends.values()):
        verdict, why = SUPPORTED, f"equivalent or better: {', '.join(ends)}"
    elif lower:
        verdict, why = CONTRADICTED, (f"less accurate by more than {100 * terms.margin:g} points: "
                                      f"{', '.join(lower)}")
    rule = (f"Difference of the final accuracies of {form} and C_complete in each setting and "
            "scale, paired over seeds. Supported: in each equivalent within "
            f"{100 * terms.margin:g} points (two one-sided t-tests, 5 pairs or more) or higher "
            f"(sign flips), p <= {terms.alpha:g}. Contradicted: in one lower by more than "
            f"{100 * terms.margin:g} points (sign flips, p <= {terms.alpha:g} / number of "
            "settings). Otherwise undecided.")
    return Finding(f"reaches:{form}", f"{form} reaches the accuracy of centralized training.", rule,
                   verdict, why, ["against", *POINTS], rows_of(tested),
                   missing_runs(tested, form, "C_complete") if verdict == UNDECIDED else [],
                   ASSUMED)


def controls(found: list[Case], form: str, terms: Terms) -> Finding:
    """Judge whether Ada is better than every control."""
    tested = against(found, form, lambda c: c.role == "control", terms)
    share = max(1, len(tested))
    as_good = [name for name, (_, end, _) in tested.items() if end.below(share)
               or end.equivalent(share)]
    there = {case.what for case, _, _ in tested.values()}
    absent = [f"the control \"{what}\"" for what in EXPECTED if what not in there]
    verdict, why = UNDECIDED, "a control is missing, or the difference to one can be chance"
    if as_good:
        verdict, why = CONTRADICTED, f"as good or better: {', '.join(as_good)}"
    elif not absent and all(end.above() for _, end, _ in tested.values()):
        verdict, why = SUPPORTED, "better than every control"
    rule = (f"Difference of {form} to each control in each setting and scale, paired over seeds. "
            f"Supported: all of {', '.join(EXPECTED)} were run, and {form} is better than each "
            f"(p <= {terms.alpha:g}). Contradicted: a control is better, or equivalent within "
            f"{100 * terms.margin:g} points (p <= {terms.alpha:g} / number of controls). Else "
            "undecided. Equal effort of tuning cannot be seen from result files.")
    missing = (absent + missing_runs(tested, form, "a control")
               if verdict == UNDECIDED else [])
    return Finding(f"controls:{form}",
                   f"What {form} gains is due to its adapting (the controls do not gain as much).",
                   rule, verdict, why, ["against", *POINTS],
                   rows_of(tested), missing, ASSUMED)
