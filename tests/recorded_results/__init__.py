"""Results of calls in general position, compared with recorded numbers."""
