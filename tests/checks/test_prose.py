"""Comments and documents are plain: openings that refer to something, known words, short lines.

These are the rules that a program can check. A text that passes is not yet a good text.
"""

import ast
import importlib.util
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A comment that opens with one of these words refers to something that the reader cannot know.
VAGUE = re.compile(
    r"(?:What|Of|Whose|Who|Whom|Whoever|Whatever|Those|That|The same|Such|But for|Beside|Behind"
    r"|Where|Else|Likewise)\b(?!-)")
LONGEST_LINE = 120  # columns of prose in documents


def tracked(*patterns):
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    return [name for name in listed if name and (ROOT / name).is_file()]


def cpp_comments(text):
    """Yield (line number, text) of each comment. Lines below each other are one comment if nothing
    but the comment stands on them and they start at the same column."""
    block, first, column = [], 0, None
    for number, line in enumerate(text.split("\n") + [""], 1):
        found = re.match(r'((?:[^"/]|"(?:\\.|[^"\\])*"|/(?!/))*)///?<?(.*)', line)
        alone = found and not found.group(1).strip()
        if block and not (alone and len(found.group(1)) == column):
            yield first, " ".join(block)
            block = []
        if found:
            first = first if block else number
            column = len(found.group(1))
            block.append(found.group(2).strip())


def python_comments(text):
    """Yield (line number, text) of each docstring and each group of comment lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = ast.get_docstring(node)
            if doc:
                yield getattr(node, "lineno", 1), " ".join(doc.split())
    block, first, last = [], 0, (-2, 0)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or token.string.startswith("#!"):
            continue
        row, column = token.start
        if (row - 1, column) != last and block:
            yield first, " ".join(block)
            block = []
        if not block:
            first = row
        block.append(token.string.lstrip("# "))
        last = (row, column)
    if block:
        yield first, " ".join(block)


def paragraphs(text):
    """Yield (line number, text) of the paragraphs and list items of a Markdown text without its
    code blocks, tables and headings."""
    block, first, fenced = [], 0, False
    for number, line in enumerate(text.split("\n") + [""], 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        code = fenced or line.startswith("    ") and not block or line.lstrip().startswith("```")
        item = re.match(r"\s*(?:[*+-]|\d+\.) +", line)
        ends = not line.strip() or code or item or line.lstrip().startswith(("|", "#"))
        if ends and block:
            yield first, " ".join(block)
            block = []
        if not line.strip() or code or line.lstrip().startswith(("|", "#", "![")):
            continue
        if not block:
            first = number
        block.append(line[item.end():].strip() if item else line.strip())


def sentences(text):
    """Split a text where a sentence ends; abbreviations and numbers end none."""
    return re.split(r"(?<=[a-z)`\"][.!?]) +(?=[A-Z])", text)


def forbidden_words():
    """Return {word: replacement} from the last table of the glossary."""
    glossary = (ROOT / "docs/glossary.md").read_text().split("## Words that DBench does not use")[1]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", glossary, re.M)
    # A word with a condition in parentheses is right in other senses: a program cannot tell.
    return {word.strip(): use.strip() for words, use in rows for word in words.split(", ")
            if "(" not in words and words != "do not write"}


def problems(name, number, text, words):
    """Yield what is wrong with a comment or paragraph, as "file:line: reason"."""
    plain = re.sub(r"`[^`]*`|\[([^\]]*)\]\([^)]*\)", r"\1", text)
    if found := VAGUE.match(plain.strip("*_ ")):
        yield f"{name}:{number}: opens with \"{found.group()}\": name what it talks about"
    for word, use in words.items():
        if re.search(rf"(?<![\w-]){re.escape(word)}s?(?![\w-])", plain, re.I):
            yield f"{name}:{number}: says \"{word}\": write {use}"


def findings(names, split):
    words = forbidden_words()
    for name in names:
        for number, text in split((ROOT / name).read_text()):
            yield from problems(name, number, text, words)


def report(found):
    found = list(found)
    assert not found, f"{len(found)} findings\n" + "\n".join(found[:200])


def test_comments_of_cpp_are_plain():
    report(findings(tracked("*.cpp", "*.hpp", "*.cu", "*.cuh"), cpp_comments))


def test_comments_of_python_are_plain():
    report(findings(tracked("*.py"), python_comments))


def test_documents_are_plain():
    report(findings([name for name in tracked("*.md") if name != "docs/glossary.md"], paragraphs))


def test_lines_of_documents_are_short():
    report(f"{name}:{number}: {len(line)} columns, at most {LONGEST_LINE}"
           for name in tracked("*.md")
           for number, line in long_lines((ROOT / name).read_text()))


def long_lines(text):
    """Yield (line number, line) of prose lines that are too long; tables, code and links may be."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        exempt = fenced or line.startswith(("    ", "|")) or " " not in line.strip()
        if len(line) > LONGEST_LINE and not exempt:
            yield number, line


def test_codespell_finds_nothing():
    if importlib.util.find_spec("codespell_lib") is None:
        pytest.skip("no codespell: scripts/setup installs it")
    # A page of HTML contains a compressed script.
    unread = (".png", ".ipynb", ".gz", ".lock", ".parquet", ".html")
    names = [name for name in tracked() if not name.endswith(unread)]
    found = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "--ignore-words", "tests/checks/words.txt", *names],
        cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("text", [
    "// What is computed of rows that have come waits for these alone\nint a;\n",
    "int a;  ///< of which there may be none\n///\nint b;  // Those who use it\n",
    "/// Runs on the card.\nint a;\n",
])
def test_the_check_refuses(text):
    found = [problem for number, comment in cpp_comments(text)
             for problem in problems("a.hpp", number, comment, {"card": "GPU"})]
    assert len(found) == 1


def test_the_check_reads_whole_comments():
    text = "/// A bucket's averaging waits\n/// That is one comment.\nint a;  // Where\n"
    assert [number for number, _ in cpp_comments(text)] == [1, 3]
    assert list(paragraphs("# A\n\nOne\ntwo\n\n* three\n  four\n\n    code\n")) == [
        (3, "One two"), (6, "three four")]
    assert [number for number, _ in python_comments('"""One."""\n\n# Two\n# three\nx = 1  # four\n')
            ] == [1, 3, 5]


def test_a_long_line_is_found():
    line = "word " * 30
    assert [number for number, _ in long_lines(f"short\n{line}\n| {line} |\n    {line}\n")] == [2]
