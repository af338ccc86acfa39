"""Benchmarks of linkwork: `python -m benchmarks` compares it with Pinocchio and prints one table.

linkwork is called through the public methods of a robot: float64, one thread, row-major NumPy arrays in and new arrays
out.  Pinocchio is called from Python in its fastest form (see `benchmarks.peers.pinocchio_peer`).  Outputs are compared
before anything is timed.  Both are timed in alternating rounds (see `benchmarks.measurement.paired_timing`).

A program of this package that prints nothing ends with an error (see `benchmarks.tables.rows`).
"""

import os

from benchmarks.tables.rows import require_rows

require_rows()
os.environ.setdefault("LINKWORK_EFFORT", "2")  # no quick code: the best code is timed
