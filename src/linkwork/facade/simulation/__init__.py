"""Motion by time, as people ask for it."""
