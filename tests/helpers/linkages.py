"""Mechanisms that are known in closed form."""

import numpy as np

import linkwork as lw

HINGE = lw.joints.Revolute((0, 1, 0))


def rod(name, length):
    """A thin rod of 1 kg/m from its frame's origin along x."""
    return lw.Link(name, mass=length, com=(length / 2, 0, 0), inertia=(0.0, length**3 / 12, length**3 / 12))


def linkage(crank=1.0, coupler=2.5, rocker=2.0, ground=3.0, **limits):
    """A planar four-bar: the crank at the origin, the rocker at ``ground``, pinned at the coupler's end.

    Angles about y: a crank at q is at −q from x toward z.
    """
    robot = lw.Robot.build(
        "linkage",
        *(rod("crank", crank), rod("coupler", coupler), rod("rocker", rocker)),
        lw.Joint.of(HINGE, name="crank", parent="world", child="crank"),
        lw.Joint.of(HINGE, name="knee", parent="crank", child="coupler", placement=lw.pose((crank, 0, 0))),
        lw.Joint.of(HINGE, name="rocker", parent="world", child="rocker", placement=lw.pose((ground, 0, 0)), **limits),
    )
    robot = robot.with_frame("end", "coupler", lw.pose((coupler, 0, 0)))
    return robot.with_frame("tip", "rocker", lw.pose((rocker, 0, 0))).with_loop("pin", HINGE, "end", "tip")


def freudenstein(angle, crank=1.0, coupler=2.5, rocker=2.0, ground=3.0):
    """The rocker's two angles by the crank's, (..., 2): from K1 cos ψ − K2 cos φ + K3 = cos(φ − ψ)."""
    phi = np.asarray(angle, dtype=float)[..., np.newaxis]
    a, b, c, d = crank, coupler, rocker, ground
    x, z = a * np.cos(phi) - d, a * np.sin(phi)  # from the rocker's pivot to the crank's end
    r = np.hypot(x, z)
    inside = np.arccos((r**2 + c**2 - b**2) / (2 * r * c))
    return np.arctan2(z, x) + np.array([1.0, -1.0]) * inside


def five_bar():
    """Two chains of two rods from the ground, pinned at their ends: two degrees of freedom."""
    parts = []
    for side, x in (("left", 0.0), ("right", 1.5)):
        parts += [rod(f"{side}_upper", 1.0), rod(f"{side}_lower", 1.2)]
        parts.append(
            lw.Joint.of(
                HINGE, name=f"{side}_hip", parent="world", child=f"{side}_upper", placement=lw.pose((x, 0.0, 0.0))
            )
        )
        parts.append(
            lw.Joint.of(
                HINGE,
                name=f"{side}_knee",
                parent=f"{side}_upper",
                child=f"{side}_lower",
                placement=lw.pose((1.0, 0, 0)),
            )
        )
    robot = lw.Robot.build("five-bar", *parts)
    for side in ("left", "right"):
        robot = robot.with_frame(f"{side}_end", f"{side}_lower", lw.pose((1.2, 0.0, 0.0)))
    return robot.with_loop("pin", HINGE, "left_end", "right_end")
