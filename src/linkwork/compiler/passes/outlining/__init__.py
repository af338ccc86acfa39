"""Outlining: repeated steps of a long program become one function and a table of its calls."""
