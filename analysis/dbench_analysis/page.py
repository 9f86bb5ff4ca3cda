"""Pieces of the report: escaped HTML, tables, pictures as data. One file, nothing from outside."""

import base64
import html
import io

STYLE = """
:root { --ink: #1c1c1e; --soft: #63636a; --line: #e2e2e6; --back: #ffffff; --shade: #f6f6f8; --warn: #9a3412; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1.5rem 1rem 4rem; color: var(--ink); background: var(--back);
       font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .2rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .4rem 0; max-width: 46rem; }
.soft, figcaption { color: var(--soft); font-size: .9rem; }
.warn { margin: .8rem 0; color: var(--warn); border-left: 3px solid var(--warn); padding: .1rem .7rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; white-space: nowrap; }
th { font-weight: 600; color: var(--soft); white-space: normal; vertical-align: bottom; line-height: 1.25; }
th:first-child, td:first-child, table.words th, table.words td { text-align: left; }
table.words td { white-space: normal; overflow-wrap: anywhere; }
figure { margin: .6rem 0 1.4rem; }
figure .scroll img { width: 100%; min-width: 34rem; height: auto; display: block; }
figcaption { max-width: 46rem; }
pre { background: var(--shade); padding: .8rem; overflow-x: auto; font-size: .8rem; line-height: 1.35; border-radius: 4px; }
details { margin: .4rem 0; } summary { cursor: pointer; padding: .25rem 0; }
nav a { margin-right: .9rem; white-space: nowrap; } a { color: #0072b2; }
@media print { body { max-width: none; font-size: 10pt; padding: 0; } nav { display: none; }
  figure, tr { break-inside: avoid; } figure .scroll img { min-width: 0; } h2 { break-after: avoid; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; } }
"""

text = html.escape


def table(head: list[str], rows: list[list[str]], words: bool = False) -> str:
    """A table that scrolls sideways on a narrow screen; `words`: prose cells, aligned left."""
    top = "<thead><tr>" + "".join(f"<th>{text(h)}</th>" for h in head) + "</tr></thead>" if head else ""
    body = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table{" class=words" if words else ""}>{top}<tbody>{body}</tbody></table></div>'


def picture(figure, save, alt: str, caption: str) -> str:
    """A figure as an SVG that is part of the page."""
    stream = io.BytesIO()
    save(figure, stream, "svg")
    data = base64.b64encode(stream.getvalue()).decode("ascii")
    return (f'<figure><div class="scroll"><img alt="{text(alt)}" src="data:image/svg+xml;base64,{data}"></div>'
            f"<figcaption>{text(caption)}</figcaption></figure>")


def folded(title: str, content: str, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{text(title)}</summary>{content}</details>"


def code(content: str) -> str:
    return f"<pre>{text(content)}</pre>"


def section(anchor: str, title: str, content: str) -> str:
    return f'<section id="{anchor}"><h2>{text(title)}</h2>{content}</section>'


def page(title: str, body: str) -> str:
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{text(title)}</title><style>{STYLE}</style></head>\n<body>{body}</body></html>\n")
