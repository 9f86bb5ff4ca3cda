"""Published claims: by which rule each one is judged, and what given runs say about it."""
