"""Scalars: symbols, operations, functions and the interpreter of programs."""
