"""The figures. `kinds` and `relevance` do without Matplotlib; `drawing` loads it, and draws."""
