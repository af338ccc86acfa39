"""Joints and links of a robot: construction, checks, edits, structure and drawings."""
