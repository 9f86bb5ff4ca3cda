"""Tests that the worked example of docs/adding.md is the code that is compiled."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def code_lines(text):
    """Return the lines of code without comments and indentation."""
    return [line.split("//")[0].strip() for line in text.splitlines() if line.strip()]


def test_the_example_is_the_source():
    text = (ROOT / "docs/adding.md").read_text()
    section = text[text.index("### A worked example"):text.index("## A model")]
    shown = code_lines("\n".join(line for line in section.splitlines()
                                 if line.startswith("    ") and not line.startswith("    x <- ")))
    source = iter(code_lines((ROOT / "src/algorithms/types/extra.cpp").read_text()))
    missing = [line for line in shown if line not in source]  # advances, so that order counts
    assert len(shown) > 40 and not missing, missing
