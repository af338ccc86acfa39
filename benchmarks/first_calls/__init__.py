"""First calls in fresh processes: `python -m benchmarks.first_calls`."""
