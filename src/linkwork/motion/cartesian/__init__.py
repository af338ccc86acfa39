"""Cartesian paths: lines, arcs and splines of poses, and joints that follow them."""
