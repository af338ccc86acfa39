"""What a mechanism can do, from the singular values of its constraints' rows: analyses in NumPy, on compiled
functions."""
