"""Ways to a robot: files, programs, tables of parameters."""
