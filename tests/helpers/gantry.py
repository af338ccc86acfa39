"""A small box that slides along x and y: configurations are places."""

import linkwork as lw

__all__ = ["gantry"]


def gantry(radius: float = 0.1) -> lw.Robot:
    """Within two metres of the origin, its box so wide."""
    x, y = lw.joints.Prismatic((1, 0, 0)), lw.joints.Prismatic((0, 1, 0))
    limits = {"lower": -2.0, "upper": 2.0}
    return lw.Robot.build(
        "gantry",
        lw.Link("beam", mass=1.0),
        lw.Joint.of(x, name="x", parent="world", child="beam", **limits),
        lw.Link("tool", mass=1.0),
        lw.Joint.of(y, name="y", parent="beam", child="tool", **limits),
    ).with_collisions("tool", lw.shapes.Box((radius, radius, radius)))
