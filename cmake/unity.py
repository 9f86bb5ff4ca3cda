#!/usr/bin/env python3
"""Groups sources into few compilation units, so that a first build reads each header a few times
instead of hundreds.

    unity.py SOURCE_ROOT OUTPUT_FOLDER NAME LINES SOURCE...

prints what is to be compiled, one path a line. LINES is how many a group has at most: larger groups
leave cores idle at the end of a build and cost memory.

Sources stand in one group only if neither mentions a name that the other keeps to itself (in an
unnamed namespace or as static): so a group means what its sources mean alone. A source that defines
macros is compiled alone.
"""

import re
import sys
from pathlib import Path

DECLARED = re.compile(r"(?:template\s*<.*>\s*)?"
                      r"(?:struct|class|enum class|enum|union|using)\s+"
                      r"(?:alignas\([^)]*\)\s*)?(\w+)")
NAMED = re.compile(r"(\w+)\s*(?:\(|=|\{|\[|;)")
ALIAS = re.compile(r"namespace \w+ = |using (?:namespace )?[\w:]+;|static_assert")


def private_names(text):
    """What stands at the start of lines in unnamed namespaces; clang-format indents all else."""
    names, inside = set(), False
    for line in text.splitlines():
        if line.startswith("namespace {"):
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif ((inside or line.startswith("static ")) and re.match(r"\w", line)
              and not ALIAS.match(line)):
            found = DECLARED.match(line) or NAMED.search(line)
            if found:
                names.add(found.group(1))
    return names


def groups(sources, most):
    """Lists of sources: (path, text) go into the first group that they fit into."""
    made = []
    for path, text in sources:
        own, words = private_names(text), set(re.findall(r"\w+", text))
        lines = text.count("\n")
        alone = re.search(r"^\s*#\s*(?:define|undef)\b", text, re.M)
        for group in made:
            fits = not alone and not group["alone"] and group["lines"] + lines <= most
            if fits and not own & group["words"] and not words & group["own"]:
                break
        else:
            group = {"paths": [], "own": set(), "words": set(), "lines": 0, "alone": bool(alone)}
            made.append(group)
        group["paths"].append(path)
        group["own"] |= own
        group["words"] |= words
        group["lines"] += lines
    return [group["paths"] for group in made]


def main(root, folder, name, lines, *sources):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    compiled = []
    read = [(path, Path(path).read_text()) for path in sources]
    for number, group in enumerate(groups(read, int(lines))):
        if len(group) == 1:
            compiled.append(group[0])
            continue
        unit = folder / f"{name}_{number}.cpp"
        text = "".join(f'#include "{Path(path).relative_to(root)}"\n' for path in group)
        if not unit.exists() or unit.read_text() != text:
            unit.write_text(text)
        compiled.append(str(unit))
    print("\n".join(compiled))


if __name__ == "__main__":
    main(*sys.argv[1:])
