"""Distances of a robot's shapes from each other and from a scene, over any scalar."""
