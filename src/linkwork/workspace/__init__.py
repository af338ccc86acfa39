"""Maps of what a robot's frame reaches."""
