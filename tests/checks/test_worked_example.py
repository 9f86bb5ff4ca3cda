"""Tests that the worked examples of docs/adding.md are the code that is compiled."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def code_lines(text):
    """Return the lines of code without comments and indentation."""
    return [line.split("//")[0].strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(("heading", "source", "fewest"), [
    ("### A worked example: EXTRA", "src/algorithms/types/extra.cpp", 40),
    ("### The keys of an algorithm: DecentLaM", "src/algorithms/types/decentlam.cpp", 12),
])
def test_the_example_is_the_source(heading, source, fewest):
    text = (ROOT / "docs/adding.md").read_text()
    section = text.split(heading + "\n")[1].split("\n#")[0]
    shown = code_lines("\n".join(line for line in section.splitlines()
                                 if line.startswith("    ") and not line.startswith("    x <- ")))
    lines = iter(code_lines((ROOT / source).read_text()))
    missing = [line for line in shown if line not in lines]  # advances, so that order counts
    assert len(shown) > fewest and not missing, missing
