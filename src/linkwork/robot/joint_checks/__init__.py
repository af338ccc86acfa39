"""Checks that a joint type fulfils its contract."""
