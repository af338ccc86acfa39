"""The joint of a robot: its functions, placement, limits and passive parameters."""
