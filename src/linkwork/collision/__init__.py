"""Distances as people hold them: of two shapes, of a robot and a scene."""
