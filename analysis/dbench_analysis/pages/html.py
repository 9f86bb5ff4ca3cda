"""Pieces of HTML: escaped text, tables, pictures as data. A page needs no other file."""

import base64
import html
import io
from importlib import resources

text = html.escape


def asset(name: str) -> str:
    """Return a style sheet or script of this package, which becomes part of the page."""
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


def table(head: list[str], rows: list[list[str]], words: bool = False) -> str:
    """Return a table that scrolls sideways on a narrow screen; `words`: cells are prose, aligned
    left."""
    top = ("<thead><tr>" + "".join(f"<th>{text(h)}</th>" for h in head) + "</tr></thead>" if head
           else "")
    body = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>"
                   for row in rows)
    kind = " class=words" if words else ""
    return f'<div class="scroll"><table{kind}>{top}<tbody>{body}</tbody></table></div>'


def picture(figure, save, alt: str, caption: str) -> str:
    """Return a figure as an SVG that is part of the page. Its text is text: a reader without the
    font of the figures sees Verdana, which has the same widths."""
    stream = io.BytesIO()
    save(figure, stream, "svg", text_as_text=True)
    content = stream.getvalue().replace(b"'DejaVu Sans'", b"'DejaVu Sans', Verdana, sans-serif")
    data = base64.b64encode(content).decode("ascii")
    return (f'<figure><div class="scroll"><img alt="{text(alt)}" '
            f'src="data:image/svg+xml;base64,{data}"></div>'
            f"<figcaption>{text(caption)}</figcaption></figure>")


def details(title: str, content: str, is_open: bool = False) -> str:
    """Return content that the reader can fold and unfold."""
    state = " open" if is_open else ""
    return f"<details{state}><summary>{text(title)}</summary>{content}</details>"


def code(content: str) -> str:
    """Return preformatted text."""
    return f"<pre>{text(content)}</pre>"


def refresh(seconds: float) -> str:
    """Return a script that loads the page again every so many seconds, except while nobody sees it
    or a control is in use."""
    return ("<script>setInterval(() => document.hidden || document.activeElement?.matches("
            f"'select, input') || location.reload(), {1000 * seconds:.0f})</script>")


def section(anchor: str, title: str, content: str) -> str:
    """Return a section with a heading."""
    return f'<section id="{anchor}"><h2>{text(title)}</h2>{content}</section>'


def page(title: str, body: str, metadata: dict[str, str] | None = None) -> str:
    """Return a whole page, with named values for programs that read it (meta elements)."""
    named = "".join(f'<meta name="{text(name)}" content="{text(value)}">'
                    for name, value in (metadata or {}).items())
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">{named}'
            f"<title>{text(title)}</title><style>\n{asset('page.css')}</style></head>\n"
            f"<body>{body}</body></html>\n")
