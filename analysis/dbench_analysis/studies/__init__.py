"""Studies: from folders of finished runs to tables, statements with verdicts, and pages."""
