"""What users hold: robots, joints and their functions, a documented method each."""
