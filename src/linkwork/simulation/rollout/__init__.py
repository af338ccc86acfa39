"""Roll-outs: time stepping of a robot and its compiled kernels."""
