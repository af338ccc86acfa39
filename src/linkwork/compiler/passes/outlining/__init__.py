"""Outlining: steps that a long program repeats become one function and a table of its calls."""
