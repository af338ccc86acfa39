"""Whether a joint type keeps its contract, line by line."""
