"""Arrays of symbols with NumPy's functions."""
