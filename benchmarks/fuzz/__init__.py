"""Random and hostile input of files, arguments and public callables: `python -m benchmarks.fuzz`."""
