"""Description of a workspace map that is read without its robot."""

IDENTITY = {
    "version": 1,
    "robot": "arm",
    "fingerprint": "f",
    "frame": "hand",
    "relative_to": "world",
    "samples": 40,
    "seed": 3,
    "voxel_size": 0.5,
    "approach_axis": "-x",
    "part": "angular",
    "collision": True,
    "margin": 0.0,
    "manipulability_unit": 0.25,
}
