"""Optimal motion as people hold it: problems, and what solving them gives."""
