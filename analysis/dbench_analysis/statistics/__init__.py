"""Statistics over several runs: tests, intervals, rankings, correlations, and pivot tables."""
