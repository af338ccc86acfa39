"""linkwork's benchmarks: `python -m benchmarks` measures it beside Pinocchio and prints one table.

What is compared: float64, one thread, row-major NumPy arrays in and new ones out, through the public methods of a
robot; Pinocchio through its own Python calls in the form that is fastest there (see
`benchmarks.pinocchio_peer`).  Outputs are compared before anything is timed; the two are timed in turns
(see `benchmarks.paired_timing`).
"""
