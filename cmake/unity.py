#!/usr/bin/env python3
"""Groups sources into few compilation units, so that a first build reads each header a few times
instead of hundreds.

    unity.py SOURCE_ROOT OUTPUT_FOLDER NAME LINES SOURCE...

prints what is to be compiled, one path a line. LINES is how many a group has at most: larger groups
leave cores idle at the end of a build and cost memory.

Sources stand in one group only if neither mentions a name that the other keeps to itself (in an
unnamed namespace or as static), or if such a name can be given another for the time of its source,
by a macro: so a group means what its sources mean alone. A source that defines macros is compiled
alone.
"""

import re
import sys
from pathlib import Path

DECLARED = re.compile(r"(?:template\s*<.*>\s*)?"
                      r"(?:struct|class|enum class|enum|union|using)\s+"
                      r"(?:alignas\([^)]*\)\s*)?(\w+)")
NAMED = re.compile(r"(\w+)\s*(?:\((?!\*)|=|\{|\[|;)|\(\*(\w+)")
ENUMERATORS = re.compile(r"(?<!\")\benum\b(?! class)[^{;()]*\{([^}]*)\}")
SKIPPED = re.compile(r"namespace \w+ = |using (?:namespace )?[\w:]+;|static_assert|[A-Z][A-Z_]+\(")


def private_names(text):
    """What stands at the start of lines in unnamed namespaces; clang-format indents all else."""
    names, inside = set(), False
    for line in text.splitlines():
        line = re.sub(r"^\[\[\w+\]\] ", "", line)
        if line.startswith("namespace {"):
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif ((inside or line.startswith("static ")) and re.match(r"\w", line)
              and not SKIPPED.match(line)):
            found = DECLARED.match(line) or NAMED.search(re.sub(r"<.*>", "", line))
            if found:
                names.add(found.group(found.lastindex))
                names.update(re.findall(r", (\w+) = (?=[^()]*;$)", line))
    if names:  # wherever an enumeration stands: a name too many only keeps sources apart
        for enumerators in ENUMERATORS.findall(text):
            names.update(re.findall(r"(\w+)[^,]*", enumerators))
    return names


class Source:
    """A source and the names that it has for itself."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.lines = text.count("\n")
        self.own, self.words = private_names(text), set(re.findall(r"\w+", text))
        self.alone = bool(re.search(r"^\s*#\s*(?:define|undef)\b", text, re.M))
        self.renamed = set()

    def may_rename(self, name):
        """Whether all that `name` means in here is the private one: no member, nothing of another
        namespace. Its headers come before the macro, so none may stand under a condition."""
        return (name in self.own and not re.search(r"^\s*#\s*if", self.text, re.M)
                and not re.search(rf"(?:\.|->|::)\s*{name}\b", self.text))

    def clash(self, other):
        """Names that one keeps to itself and the other mentions."""
        mine, others = self.own - self.renamed, other.own - other.renamed
        return (mine & (other.words - other.renamed)) | (others & (self.words - self.renamed))

    def renamings(self, group):
        """What must be renamed, as (source, name), for this one to stand in the group; or None."""
        wanted = []
        for other in group:
            for name in sorted(self.clash(other)):
                who = next((one for one in (self, other) if one.may_rename(name)), None)
                if not who:
                    return None
                wanted.append((who, name))
        return wanted


def groups(sources, most):
    """Lists of Source: each (path, text) goes into the first group that it fits into."""
    made = []
    for source in (Source(path, text) for path, text in sources):
        for group in made:
            if source.alone or group[0].alone or (
                    sum(one.lines for one in group) + source.lines > most):
                continue
            wanted = source.renamings(group)
            if wanted is not None:
                for who, name in wanted:
                    who.renamed.add(name)
                group.append(source)
                break
        else:
            made.append([source])
    return made


def headers_of(root, source):
    """Its #include lines, as they are written outside its folder."""
    for line in re.findall(r"^#include .*", source.text, re.M):
        beside = re.match(r'#include "(.*)"', line)
        path = beside and Path(source.path).parent / beside.group(1)
        yield f'#include "{path.relative_to(root)}"' if path and path.exists() else line


def unit(root, group):
    """The text of one that includes the group's sources."""
    headers = dict.fromkeys(line for source in group if source.renamed
                            for line in headers_of(root, source))
    text = "".join(line + "\n" for line in headers)
    for source in group:
        path = Path(source.path).relative_to(root)
        mark = re.sub(r"\W", "_", str(path.with_suffix("")))
        names = sorted(source.renamed)
        text += "".join(f"#define {name} {name}_{mark}\n" for name in names)
        text += f'#include "{path}"\n' + "".join(f"#undef {name}\n" for name in names)
    return text


def main(root, folder, name, lines, *sources):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    compiled = []
    read = [(path, Path(path).read_text()) for path in sources]
    for number, group in enumerate(groups(read, int(lines))):
        if len(group) == 1:
            compiled.append(group[0].path)
            continue
        file = folder / f"{name}_{number}.cpp"
        text = unit(root, group)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        compiled.append(str(file))
    print("\n".join(compiled))


if __name__ == "__main__":
    main(*sys.argv[1:])
