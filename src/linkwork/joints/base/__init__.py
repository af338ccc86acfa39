"""The contract of a joint type, and what all types derive from it."""
