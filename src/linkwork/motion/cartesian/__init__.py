"""Poses along lines, arcs and splines in space, and joints that follow them."""
