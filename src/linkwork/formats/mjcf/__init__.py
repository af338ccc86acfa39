"""Robots of MuJoCo: MJCF files and compiled models, read from the arrays of MuJoCo's own compiler."""
