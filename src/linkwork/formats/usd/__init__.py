"""The reader of USD stages."""
