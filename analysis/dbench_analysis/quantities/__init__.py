"""Quantities computed from one run: curves over iterations, and single values for table cells."""
