"""Names for runs and measures, and the entries in which the specs of several runs differ."""
