"""The page of `dbench-analyze report`: everything about one run, or several runs side by side."""

import json
import os
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import numpy as np

from ..basics.formatting import number
from ..figures.drawing import drawn, save
from ..figures.kinds import KINDS, PARTS, Kind
from ..naming import differences, names
from ..quantities.comparability import statement
from ..reading.run import Run
from ..tables import overview
from . import answer, curves, explorer, html, settings_table

MANY = 12  # runs above which the page shows differences instead of each run's figures and spec
EVENTS = 200  # events of a run that the page shows at most


def document(runs: list[Run], title: str | None = None, folder: Path | None = None,
             live: float = 0, links: list[str] | None = None,
             metadata: dict[str, str] | None = None,
             figures: list[tuple[str, str, str]] | None = None) -> str:
    """Return the page as a string. Links to files are relative to `folder`. A page that is `live`
    loads itself again every so many seconds, and has no figures that take long to draw.

    If `links` has the address of each run's spec, the page is for readers who do not have the
    result files: rows link to these addresses, and nothing names a path or a machine. Its result
    has no sentences, because their tests are not corrected for the number of statements. Programs
    that read the page find the values of `metadata` by their names. `figures` are those of
    `figures_of` for the same runs, if they were drawn before."""
    title = title or heading(runs)
    answers = ([] if len(runs) == 1 or links is not None
               else answer.sentences(runs, few(runs)))
    pictured = bool(answers) and few(runs) and KINDS[answer.PICTURE].relevant(runs)
    parts = opening(runs, answers, pictured and not live)
    parts += [("summary", "Summary" if len(runs) == 1 else "Runs and curves",
               summary(runs, folder, links))]
    if not live:
        parts += figures_of(runs, pictured) if figures is None else figures
    if links is None:
        each = ("".join(details(run, i, len(runs) == 1) for i, run in enumerate(runs))
                if len(runs) <= MANY else apart(runs))
        parts += [("runs", "Runs in detail", each)]
    anchors = " ".join(f'<a href="#{anchor}">{html.text(name)}</a>' for anchor, name, _ in parts)
    renewed = (f"<p class=soft>Written at {datetime.now():%H:%M:%S}, while runs are running. The "
               f"page loads itself again every {live:g} s.</p>{html.refresh(live)}" if live else "")
    body = (f"<header><h1>{html.text(title)}</h1><p "
            f"class=soft>{html.text(lead(runs))}</p>{renewed}<nav>{anchors}</nav></header>")
    return html.page(title, body + "".join(html.section(*part) for part in parts), metadata)


def opening(runs: list[Run], answers: list[str],
            pictured: bool) -> list[tuple[str, str, str]]:
    """Return the result in words and for each setting, with a picture if `pictured`. Empty for one
    run."""
    if len(runs) == 1:
        return []
    content = "".join(f"<p>{html.text(line)}</p>" for line in answers) + settings_table.table(runs)
    if pictured:
        kind = KINDS[answer.PICTURE]
        content += "".join(
            html.picture(figure, save, f"{kind.title}: {heading(runs)}", kind.reading)
            for _, figure in drawn(kind, runs))
    return [("result", "Result", content)]


def heading(runs: list[Run]) -> str:
    """Return the title of the page."""
    if len(runs) == 1:
        return runs[0].name
    called = list(dict.fromkeys(map(names.implementation, runs)))
    return f"{len(runs)} runs: {', '.join(called[:8])}{', ...' * (len(called) > 8)}"


def lead(runs: list[Run]) -> str:
    """Return the line below the title: models, data and replicas."""
    models = ", ".join(dict.fromkeys(overview.cell(r, "model") for r in runs))
    data = ", ".join(dict.fromkeys(overview.cell(r, "data") for r in runs))
    replicas = ", ".join(dict.fromkeys(str(r.replicas) for r in runs))
    return (f"Decentralized data-parallel training with DBench: {models} on {data}, {replicas} "
            "replicas.")


def summary(runs: list[Run], folder: Path | None, specs: list[str] | None = None) -> str:
    """Return the curves, with the overview of one run, or with the table of several runs and the
    differences of their specs. `specs`: addresses to which rows link in place of the files."""
    if len(runs) == 1:
        return "".join(f"<h3>{html.text(title.capitalize())}</h3>"
                       + html.table([], [list(row) for row in rows], words=True)
                       for title, rows in overview.sections(runs[0])) + (
            f"<h3>Curves</h3>{curves.section(runs, labels(runs), [])}")
    files = specs or [link(run, folder) for run in runs]
    content = (explorer.section(runs, labels(runs), files, len(runs) <= MANY and not specs,
                                bool(specs))
               + curves.section(runs, labels(runs), explorer.groups(runs)))
    odd = [f"{r.path.name}: {r.state}{': ' * bool(r.error)}{r.error}"
           for r in runs if r.status != "complete"]
    content += "".join(f"<p class=warn>{html.text(line)}</p>" for line in odd)
    found = differences.differences(runs)
    if found and len(runs) > MANY:
        content += "<h3>What the specs differ in</h3>" + html.table(
            ["", "values (runs)"], [[p, tallied(v)] for p, v in found], words=True)
    elif found:
        content += "<h3>What the specs differ in</h3>" + html.table(
            ["", *labels(runs)], [[pointer, *values] for pointer, values in found])
    return content + warning(runs)


def link(run: Run, folder: Path | None) -> str:
    """Return the address of a run's file, relative to the page's folder if that is known."""
    place = run.path.resolve()
    return (place.as_uri() if folder is None
            else quote(Path(os.path.relpath(place, folder.resolve())).as_posix()))


def tallied(values: list[str]) -> str:
    """Return the distinct values and how many runs have each, the most frequent first."""
    counts = {value: values.count(value) for value in dict.fromkeys(values)}
    parts = [f"{value} ({count})"
            for value, count in sorted(counts.items(), key=lambda item: -item[1])]
    return ", ".join(parts[:24]) + (f", and {len(parts) - 24} more" if len(parts) > 24 else "")


def labels(runs: list[Run]) -> list[str]:
    """Return distinct labels of the runs."""
    return differences.labels(runs)


def few(runs: list[Run]) -> bool:
    """Return whether there are few enough settings for every figure, and few enough runs to read
    all their curves."""
    return len(runs) <= 5 * MANY and len(differences.by_setting(runs)) <= MANY


def warning(runs: list[Run]) -> str:
    """Return the warning that times must not be compared; empty if they may."""
    sentence = statement(runs)
    dagger = "† " if len(runs) > 1 else ""
    return f"<p class=warn>{html.text(dagger + sentence)}</p>" if sentence else ""


def figures_of(runs: list[Run], pictured: bool) -> list[tuple[str, str, str]]:
    """Return (anchor, title, content) of each part that has relevant figures; `pictured`: the
    result has its picture already. Of the settings of a kind with a picture for each, the page
    shows the one whose replicas disagree most."""
    found = []
    for part, title in PARTS.items():
        shown = [kind for kind in KINDS.values() if kind.part == part and kind.relevant(runs)
                 and (kind.many_runs or few(runs))
                 and not (kind.name == answer.PICTURE and pictured)]
        content = "".join(figure_of(kind, runs) for kind in shown)
        if content:
            found.append((f"part-{part}", title, content))
    return found


def figure_of(kind: Kind, runs: list[Run]) -> str:
    """Return a kind of figure with its title, explanation and numbers."""
    one = most_apart(runs) if kind.per_setting else runs
    alone = ("" if len(one) == len(runs) else f" Shown: {differences.labels([one[0]])[0]}, whose "
             f"replicas disagree most; `dbench-analyze plot --kind {kind.name}` draws every "
             "setting.")
    pictures = "".join(html.picture(figure, save, f"{kind.title}: {heading(runs)}",
                                    kind.reading + alone) for _, figure in drawn(kind, one))
    extra = warning(runs) if kind.name == "timing" else ""
    if kind.text and len(runs) > 2:
        extra += html.details("Numbers", html.code(kind.text(runs)))
    return f'<div id="{kind.name}"><h3>{html.text(kind.title)}</h3>{pictures}{extra}</div>'


def most_apart(runs: list[Run]) -> list[Run]:
    """Return the runs of the setting whose replicas disagree most."""
    return max(differences.by_setting(runs), key=lambda group: np.nan_to_num(
        max(answer.largest_distance(run) for run in group), nan=-1.0))


def details(run: Run, nth: int, is_open: bool) -> str:
    """Return certificate, events, spec and provenance of one run."""
    parts = [f"<p class=soft>{html.text(str(run.path))}, {html.text(run.state)}</p>"]
    if len(run.events):
        rows = [[str(e.iteration), f"{e.time:.1f} s" if isinstance(e.time, float) else str(e.time),
                 e.kind, e.text]
                for e in run.events.head(EVENTS).itertuples()]
        more = (f"<p class=soft>and {len(run.events) - EVENTS} more</p>" if len(run.events) > EVENTS
                else "")
        parts.append(html.details(f"Events and warnings ({len(run.events)})",
                                 html.table(["iteration", "time", "kind", "text"], rows, words=True)
                                 + more, True))
    parts.append(html.details("Graph certificate", certificate(run), is_open))
    parts.append(html.details("Spec", html.code(json.dumps(run.spec, indent=2))))
    parts.append(html.details("Provenance", html.code(json.dumps(run.provenance, indent=2))))
    parts.append(html.details("Ranks", html.table(
        list(run.ranks), [[str(v) for v in row] for row in run.ranks.itertuples(index=False)])))
    return f'<h3 id="run-{nth}">{html.text(run.name)}</h3>' + "".join(parts)


def apart(runs: list[Run]) -> str:
    """Return spec and provenance of many runs: what all share, and what each has alone."""
    texts, parts = labels(runs), []
    for title, values in (("Spec", [run.spec for run in runs]),
                          ("Provenance", [run.provenance for run in runs])):
        flat = [differences.flattened(value) for value in values]
        shared = {p: v for p, v in flat[0].items() if all(other.get(p) == v for other in flat)}
        parts.append(html.details(f"{title}: what all runs share",
                                 html.table([], [[p, v] for p, v in shared.items()], words=True)))
        own = [{p: v for p, v in one.items() if p not in shared} for one in flat]
        content = "".join(html.details(text,
                                      html.table([], [[p, v] for p, v in one.items()], words=True))
                          for text, one in zip(texts, own) if one)
        parts.append(html.details(f"{title}: what each run has alone",
                                  content or "<p>nothing</p>"))
    rows = [[text, str(e.iteration), e.kind, e.text] for run, text in zip(runs, texts)
            for e in run.events.head(EVENTS).itertuples()]
    more = f"<p class=soft>and {len(rows) - 5 * EVENTS} more</p>" if len(rows) > 5 * EVENTS else ""
    parts.append(html.details(f"Events and warnings ({len(rows)})", html.table(
        ["run", "iteration", "kind", "text"], rows[: 5 * EVENTS], words=True) + more))
    return "".join(parts)


def certificate(run: Run) -> str:
    """Return the certificate of the first graph as a table."""
    if not run.certificate:
        return "<p>No parameters are averaged over a graph in this run.</p>"
    rows = [[key, ", ".join(f"{k} {number(v)}" for k, v in value.items()) if isinstance(value, dict)
             else number(value)]
            for key, value in run.certificate.items()]
    note = (f"<p>{names.ALL_REDUCE}: every replica averages over all.</p>"
            if names.ALL_REDUCE in names.communication(run) else "")
    many = (f"<p class=soft>The first of {len(run.graphs)} mixing matrices.</p>"
            if len(run.graphs) > 1 else "")
    return html.table([], rows, words=True) + note + many

