"""Published numbers and the runs that reproduce them: definitions, runs, metrics, verdicts,
pages."""
