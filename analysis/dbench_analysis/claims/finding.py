"""A published statement, and the verdict that given runs allow."""

from dataclasses import dataclass, field

SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "undecided"


@dataclass(frozen=True)
class Terms:
    """The terms of a judgement.

    alpha    level of each test
    margin   differences of accuracy (a fraction) up to it count as none
    window   share of the iterations that counts as early
    seed     seed of the random numbers
    """

    alpha: float = 0.05
    margin: float = 0.005
    window: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class Finding:
    """The verdict on one statement.

    statement        as published
    rule             which evidence leads to which verdict
    head, evidence   a table of numbers
    missing          what would decide an undecided statement
    assumption       what the p values and intervals assume
    """

    key: str
    statement: str
    rule: str
    verdict: str
    why: str
    head: list[str]
    evidence: list[list[str]]
    missing: list[str] = field(default_factory=list)
    assumption: str = ""


@dataclass(frozen=True)
class Report:
    """Findings, the settings as (choice, published, these runs), and how to make the runs."""

    name: str
    source: str
    findings: list[Finding]
    settings: list[tuple[str, str, str]]
    notes: list[str]
    remedy: str
