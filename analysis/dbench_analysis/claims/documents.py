"""Writes a report on claims as Markdown, LaTeX or JSON."""

import dataclasses
import json

from ..basics import markup
from .finding import CONTRADICTED, SUPPORTED, UNDECIDED, Report

# The verdicts on a finding, in the words of published tables.
CELL_VERDICTS = {SUPPORTED: "reproduced", CONTRADICTED: "not reproduced", UNDECIDED: "undecided"}


def markdown(report: Report) -> str:
    """Return the verdicts as a table, and a section for each finding."""
    parts = [f"# Reproducing {report.source}", markup.markdown(["finding", "verdict", "because"], [
        [f.statement, f.verdict, f.why] for f in report.findings])]
    for finding in report.findings:
        parts.append(f"## {finding.statement}\n\n**{finding.verdict}**: {finding.why}.\n\nRule: "
                     f"{finding.rule}")
        if finding.assumption:
            parts.append(f"Assumptions: {finding.assumption}")
        if finding.evidence:
            parts.append(markup.markdown(finding.head, finding.evidence))
        if finding.missing:
            parts.append(
                "\n".join(["Missing to decide:", "", *(f"* {line}" for line in finding.missing)]))
    parts.append("## Settings\n\n"
                 + markup.markdown(["", "published, or assumed by this project", "these runs"],
                                   [list(row) for row in report.settings]))
    if report.notes:
        parts.append("\n".join(f"* {note}" for note in report.notes))
    if report.remedy:
        parts.append(report.remedy)
    return "\n\n".join(parts)


def latex(report: Report) -> str:
    """Return the verdicts, and the evidence of each finding, as tabulars; rules become comments."""
    parts = [markup.latex(["finding", "verdict", "because"],
                          [[f.statement, f.verdict, f.why] for f in report.findings], words=3)]
    parts += [markup.latex(f.head, f.evidence,
                           notes=[f"{f.statement} {f.verdict}", f.rule, f.assumption])
              for f in report.findings if f.evidence]
    return "\n\n".join(parts)


def as_json(report: Report) -> str:
    """Return all fields of the report as JSON. `cells` and `assumptions` have the form of those of
    published tables, with one cell per finding."""
    cells = [{"cell": finding.key, "published": finding.statement, "ours": None,
              "verdict": CELL_VERDICTS[finding.verdict], "why": finding.why}
             for finding in report.findings]
    assumptions = dict.fromkeys(each.assumption for each in report.findings if each.assumption)
    return json.dumps({**dataclasses.asdict(report), "cells": cells,
                       "assumptions": list(assumptions)}, indent=2)
