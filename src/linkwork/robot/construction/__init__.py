"""Construction of robots from files, Python objects and tables of parameters."""
