"""Motion profiles from state to state: arguments, kernels and results."""
