"""Self-contained HTML: the pages of `dbench-analyze report`, and their parts."""
