"""Tools for developers, which run from the repository: ``python -m tools.NAME``."""
