"""The reader of URDF files."""
