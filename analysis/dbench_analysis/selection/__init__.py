"""From file names and conditions to open runs, or to one data frame with a row per run."""
