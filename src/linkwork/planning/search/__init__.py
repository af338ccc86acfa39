"""Search for collision-free paths: trees, graphs and shortcuts."""
