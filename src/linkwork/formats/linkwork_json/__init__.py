"""Files of whole robots in linkwork's own JSON format."""
