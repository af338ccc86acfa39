"""Contract of a joint type, and the defaults that all types derive from it."""
