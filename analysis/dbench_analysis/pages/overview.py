"""The overview of one run as HTML, which notebooks show for a run."""

from html import escape

from ..reading.run import Run
from ..tables.overview import sections
from .html import details, table


def run_as_html(run: Run) -> str:
    """Return the name, the file and the overview's sections."""
    shown = "".join(details(title, table([], [list(row) for row in rows], words=True), True)
                    for title, rows in sections(run))
    return f"<b>{escape(run.name)}</b> <code>{escape(str(run.path))}</code>{shown}"


Run.render = run_as_html  # `reading.run` cannot import this module, which imports it
