"""A published statement, and what given runs say of it."""

from dataclasses import dataclass, field

SUPPORTED, CONTRADICTED, UNDECIDED = "supported", "contradicted", "undecided"


@dataclass(frozen=True)
class Terms:
    """On what terms is judged. alpha: level of each test; margin: differences of accuracy (a
    fraction) up to it count as none; window: share of the iterations that is early; seed: of the
    random numbers."""

    alpha: float = 0.05
    margin: float = 0.005
    window: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class Finding:
    """statement: as published; rule: when which verdict; evidence: (head, rows) of numbers;
    missing: what would decide it."""

    key: str
    statement: str
    rule: str
    verdict: str
    why: str
    head: list[str]
    evidence: list[list[str]]
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """Findings, with (choice, published, these runs) of the settings, and how the runs can be
    made."""

    name: str
    source: str
    findings: list[Finding]
    settings: list[tuple[str, str, str]]
    notes: list[str]
    remedy: str
