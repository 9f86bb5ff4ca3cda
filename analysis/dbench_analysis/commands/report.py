"""`dbench-analyze report`: everything about one run, or several side by side, on one page."""

import json
from pathlib import Path

from .. import differences, explorer, names, overview, page, sweep
from ..comparable import statement
from ..errors import AnalysisError
from ..run import Run
from ..select import open_runs
from ..textual import number

MANY = 12  # runs above which figures and whole specs of single ones give way to what differs
HELP = "one self-contained HTML page for one run or many"
EXAMPLES = """examples:
  dbench-analyze report results/ring.h5 -o ring.html
  dbench-analyze report results/ -o all.html --title "Five implementations, n = 16"
Of several runs the page has a table to filter and sort, and curves to hover over; it loads nothing
from anywhere.
"""
EVENTS = 200  # shown of each run at most


def declare(parser):
    parser.add_argument("-o", "--output", required=True, metavar="FILE",
                        help="the page to write (.html)")
    parser.add_argument("--title", help="heading of the page (default: the runs' names)")


def run(arguments) -> int:
    target = Path(arguments.output)
    if target.is_dir():
        raise AnalysisError(target, "is a folder", "name the page, such as report.html")
    # a forgotten file name must not cost a result file
    if target.suffix.lower() not in (".html", ".htm"):
        raise AnalysisError(target, "the page's name does not end in .html", "give -o FILE.html")
    runs = open_runs(arguments.runs, arguments.where)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(document(runs, arguments.title), encoding="utf-8")
    print(target)
    return 0


def document(runs: list[Run], title: str | None = None) -> str:
    """The page, as a string."""
    title = title or heading(runs)
    parts = [("summary", "Summary" if len(runs) == 1 else "Runs", summary(runs)),
             *figures_of(runs)]
    each = ("".join(details(run, len(runs) == 1) for run in runs) if len(runs) <= MANY
            else apart(runs))
    parts += [("runs", "Runs in detail", each)]
    parts = opening(runs) + parts
    links = " ".join(f'<a href="#{anchor}">{page.text(name)}</a>' for anchor, name, _ in parts)
    body = (f"<header><h1>{page.text(title)}</h1><p "
            f"class=soft>{page.text(lead(runs))}</p><nav>{links}</nav></header>")
    return page.page(title, body + "".join(page.section(*part) for part in parts))


def opening(runs: list[Run]) -> list[tuple[str, str, str]]:
    """Of several runs: what came of each setting; where they differ in communication only, in words
    and with a picture, too."""
    from .. import answer, figures

    if len(runs) == 1:
        return []
    table = sweep.table(runs)
    said = answer.sentences(runs) if answered(runs) else []
    if not said:
        return [("result", "Result", table)]
    kind = figures.KINDS[answer.PICTURE]
    title = f"{kind.title}: {heading(runs)}"
    pictures = "".join(page.picture(figure, figures.save, title, kind.reading)
                       for _, figure in figures.drawn(kind, runs))
    return [("result", "Result", "".join(f"<p>{page.text(line)}</p>" for line in said)
             + table + pictures)]


def answered(runs: list[Run]) -> bool:
    """Whether the page opens with an answer in words and its picture."""
    from .. import answer

    return len(runs) > 1 and few(runs) and bool(answer.sentences(runs))


def heading(runs: list[Run]) -> str:
    if len(runs) == 1:
        return runs[0].name
    called = list(dict.fromkeys(map(names.implementation, runs)))
    return f"{len(runs)} runs: {', '.join(called[:8])}{', ...' * (len(called) > 8)}"


def lead(runs: list[Run]) -> str:
    models = ", ".join(dict.fromkeys(overview.cell(r, "model") for r in runs))
    data = ", ".join(dict.fromkeys(overview.cell(r, "data") for r in runs))
    replicas = ", ".join(dict.fromkeys(str(r.replicas) for r in runs))
    return (f"Decentralized data-parallel training with DBench: {models} on {data}, {replicas} "
            "replicas.")


def summary(runs: list[Run]) -> str:
    if len(runs) == 1:
        return "".join(f"<h3>{page.text(title.capitalize())}</h3>"
                       + page.table([], [list(row) for row in rows], words=True)
                       for title, rows in overview.sections(runs[0]))
    content = explorer.section(runs, labels(runs))
    odd = [f"{r.path.name}: {r.state}{': ' * bool(r.error)}{r.error}"
           for r in runs if r.status != "complete"]
    content += "".join(f"<p class=warn>{page.text(line)}</p>" for line in odd)
    found = differences.differences(runs)
    if found and len(runs) > MANY:
        content += "<h3>What the specs differ in</h3>" + page.table(
            ["", "values (runs)"], [[p, tallied(v)] for p, v in found], words=True)
    elif found:
        content += "<h3>What the specs differ in</h3>" + page.table(
            ["", *labels(runs)], [[pointer, *values] for pointer, values in found])
    return content + warning(runs)


def tallied(values: list[str]) -> str:
    """Distinct values and how many runs have each, the commonest first."""
    counts = {value: values.count(value) for value in dict.fromkeys(values)}
    told = [f"{value} ({count})"
            for value, count in sorted(counts.items(), key=lambda item: -item[1])]
    return ", ".join(told[:24]) + (f", and {len(told) - 24} more" if len(told) > 24 else "")


def labels(runs: list[Run]) -> list[str]:
    """What tells the runs apart."""
    return differences.labels(runs)


def few(runs: list[Run]) -> bool:
    """Few enough settings for every figure, and few enough runs to read all of their curves."""
    return len(runs) <= 5 * MANY and len(differences.alike(runs)) <= MANY


def warning(runs: list[Run]) -> str:
    said = statement(runs)
    dagger = "† " if len(runs) > 1 else ""
    return f"<p class=warn>{page.text(dagger + said)}</p>" if said else ""


def figures_of(runs: list[Run]) -> list[tuple[str, str, str]]:
    """(anchor, title, content) of each kind of figure; one picture a run folded where there are
    many."""
    from .. import answer, figures

    parts = []
    for kind in figures.KINDS.values():
        if not kind.tells(runs) or not (kind.many or few(runs)) or (
                kind.name == answer.PICTURE and answered(runs)):
            continue
        pictures = []
        for name, figure in figures.drawn(kind, runs):
            shown = page.picture(figure, figures.save, f"{kind.title}: {heading(runs)}",
                                 kind.reading)
            pictures.append(page.folded(name.removeprefix(f"{kind.name}-"), shown)
                            if kind.each and len(runs) > 1 else shown)
        extra = warning(runs) if kind.name == "timing" else ""
        if kind.words and len(runs) > 2:
            extra += page.folded("Numbers", page.code(kind.words(runs)))
        parts.append((kind.name, kind.title, "".join(pictures) + extra))
    return parts


def details(run: Run, is_open: bool) -> str:
    """Certificate, events, spec and provenance of one run."""
    parts = [f"<p class=soft>{page.text(str(run.path))}, {page.text(run.state)}</p>"]
    if len(run.events):
        rows = [[str(e.iteration), f"{e.time:.1f} s" if isinstance(e.time, float) else str(e.time),
                 e.kind, e.text]
                for e in run.events.head(EVENTS).itertuples()]
        more = (f"<p class=soft>and {len(run.events) - EVENTS} more</p>" if len(run.events) > EVENTS
                else "")
        parts.append(page.folded(f"Events and warnings ({len(run.events)})",
                                 page.table(["iteration", "time", "kind", "text"], rows, words=True)
                                 + more, True))
    parts.append(page.folded("Graph certificate", certificate(run), is_open))
    parts.append(page.folded("Spec", page.code(json.dumps(run.spec, indent=2))))
    parts.append(page.folded("Provenance", page.code(json.dumps(run.provenance, indent=2))))
    parts.append(page.folded("Ranks", page.table(
        list(run.ranks), [[str(v) for v in row] for row in run.ranks.itertuples(index=False)])))
    return f"<h3>{page.text(run.name)}</h3>" + "".join(parts)


def apart(runs: list[Run]) -> str:
    """Of many runs: spec and provenance that all share, and of each what it has for itself."""
    texts, parts = labels(runs), []
    for title, values in (("Spec", [run.spec for run in runs]),
                          ("Provenance", [run.provenance for run in runs])):
        flat = [differences.flattened(value) for value in values]
        shared = {p: v for p, v in flat[0].items() if all(other.get(p) == v for other in flat)}
        parts.append(page.folded(f"{title}: what all runs share",
                                 page.table([], [[p, v] for p, v in shared.items()], words=True)))
        own = [{p: v for p, v in one.items() if p not in shared} for one in flat]
        content = "".join(page.folded(text,
                                      page.table([], [[p, v] for p, v in one.items()], words=True))
                          for text, one in zip(texts, own) if one)
        parts.append(page.folded(f"{title}: what each has for itself", content or "<p>nothing</p>"))
    rows = [[text, str(e.iteration), e.kind, e.text] for run, text in zip(runs, texts)
            for e in run.events.head(EVENTS).itertuples()]
    more = f"<p class=soft>and {len(rows) - 5 * EVENTS} more</p>" if len(rows) > 5 * EVENTS else ""
    parts.append(page.folded(f"Events and warnings ({len(rows)})", page.table(
        ["run", "iteration", "kind", "text"], rows[: 5 * EVENTS], words=True) + more))
    return "".join(parts)


def certificate(run: Run) -> str:
    if not run.certificate:
        return "<p>No parameters are averaged over a graph in this run.</p>"
    rows = [[key, ", ".join(f"{k} {number(v)}" for k, v in value.items()) if isinstance(value, dict)
             else number(value)]
            for key, value in run.certificate.items()]
    note = (f"<p>{names.ALL_REDUCE}: every replica averages over all.</p>"
            if names.graph(run) == "complete" else "")
    many = (f"<p class=soft>The first of {len(run.graphs)} mixing matrices.</p>"
            if len(run.graphs) > 1 else "")
    return page.table([], rows, words=True) + note + many

