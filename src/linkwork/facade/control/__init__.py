"""Control: regulators."""
