"""Reference motion as people hold it: trajectories, splines and profiles."""
