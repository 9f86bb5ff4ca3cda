"""Tests that links in documents lead to existing files and headings."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(text):
    """Yield the anchors of the headings, as GitHub makes them."""
    outside = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#+ +(.*?) *$", outside, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken(document, text):
    """Yield the broken links in `text`, the contents of `document`."""
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = document.parent / path if path else document
        if path and not place.exists():
            yield target
        elif anchor and anchor not in anchors(text if place == document else place.read_text()):
            yield target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_links(document):
    assert not list(broken(document, document.read_text()))


def missing_tests(text):
    """Yield the tests that rows of tables name and that do not exist, and rows that name none."""
    for row in re.findall(r"^\| .*\|$", text, re.M):
        cell = row.rsplit("|", 2)[1]
        names = re.findall(r"`([\w/]*?test_\w+(?:\.py)?|[\w/]+_test\.cpp)(?:::(\w+))?`", cell)
        if not names and cell.strip() not in ("tested by", "reads"):
            yield row[:40]
        path = ROOT / "tests/program/test_full_disk.py"
        for file, test in names:
            if file.endswith((".py", ".cpp")):
                path = ROOT / file if "/" in file else ROOT / "tests/program" / file
            else:
                test = file
            text_of_file = path.read_text() if path.exists() else ""
            if not text_of_file or (test and f"def {test}(" not in text_of_file):
                yield f"{file} {test}"


def test_promises_name_their_tests():
    text = (ROOT / "docs/reliability.md").read_text()
    assert not list(missing_tests(text[:text.index("## Fuzzing")]))
    assert list(missing_tests("| a fault | a promise | `test_stalls.py::test_none`, `test_no` |\n"
                              "| a fault | a promise | `no_test.cpp` |\n| a | b | |\n")) == [
        "test_stalls.py test_none", "test_no test_no", "no_test.cpp ", "| a | b | |"]


def test_the_check_refuses():
    text = ("# A b, `c`\n[ok](#a-b-c) [file](README.md) [web](https://a.b/c#d)\n"
            "[no](#a-b) [gone](gone.md) [anchor](README.md#nonesuch)")
    assert list(broken(ROOT / "X.md", text)) == ["#a-b", "gone.md", "README.md#nonesuch"]
