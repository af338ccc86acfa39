"""Random programs, compared with a reference bit by bit: `python -m benchmarks.soak`."""
