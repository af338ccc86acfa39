"""The reader of SDF files."""
