"""The bridge between the towers: the tables of functions, and how they become kernels and checked calls."""
