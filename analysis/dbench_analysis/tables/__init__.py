"""Facts about runs as rows of text, for the terminal, for Markdown and for reports."""
