"""Errors, numbers as text, and tables as Markdown or LaTeX. These modules need no result file."""
