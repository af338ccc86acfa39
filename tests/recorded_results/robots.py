"""Robots of the cases: small, in general position, with a value of every option of their joints."""

from __future__ import annotations

from functools import cache

import numpy as np

import linkwork as lw
from linkwork.joints import Prismatic, Revolute
from linkwork.shapes import Box, Capsule, Sphere

__all__ = ["arm", "crane", "hopper", "inside", "pusher"]


@cache
def arm() -> lw.Robot:
    """Return an arm of three joints about skew axes, with limits, resistance and shapes of every link."""
    resistance = {"friction": 0.31, "static_friction": 0.43, "friction_velocity": 0.07, "armature": 0.04}
    first = lw.Joint.of(
        Revolute((0.1, -0.2, 0.97)), name="turn", parent="world", child="column", placement=(0.03, -0.05, 0.21),
        lower=-2.6, upper=2.3, velocity=2.1, effort=37.0, acceleration=5.3, jerk=41.0, damping=0.7, **resistance,
    )  # fmt: skip
    second = lw.Joint.of(
        Revolute((0.3, 0.93, 0.2)), name="lift", parent="column", child="upper", placement=(0.07, 0.02, 0.33),
        lower=-1.9, upper=1.7, velocity=1.7, effort=29.0, acceleration=4.1, jerk=33.0, damping=0.5,
        stiffness=2.3, rest=0.4, gear_ratio=1.3, rotor_inertia=0.02, friction=0.23,
    )  # fmt: skip
    third = lw.Joint.of(
        Revolute((-0.15, 0.95, -0.27)), name="bend", parent="upper", child="fore", placement=(0.31, -0.04, 0.05),
        lower=-2.2, upper=2.4, velocity=2.9, effort=13.0, acceleration=7.7, jerk=59.0, damping=0.21,
    )  # fmt: skip
    return lw.Robot.build(
        "skew_arm",
        lw.Link("column", Box((0.11, 0.09, 0.36)).at((0.02, -0.01, 0.15)), mass=3.1),
        lw.Link("upper", Capsule(0.045, 0.22).at(lw.pose((0.16, -0.02, 0.03), rpy=(0.1, 1.4, -0.2))), mass=1.9,
                com=(0.14, 0.017, 0.033), inertia=(0.011, 0.037, 0.041)),
        lw.Link("fore", Sphere(0.06).at((0.21, 0.03, -0.02)), mass=0.83, com=(0.17, -0.012, 0.021),
                inertia=(0.004, 0.013, 0.015),
                frames={"tool": lw.pose((0.29, 0.043, -0.037), rpy=(0.4, -0.7, 1.1)), "elbow": (0.02, 0.05, 0.011)}),
        first, second, third,
        gravity=(0.41, -0.63, -9.7),
    )  # fmt: skip


@cache
def crane() -> lw.Robot:
    """Return a cart on an inclined rail with a load on a hinge: two coordinates, one motor."""
    rail = lw.Joint.of(
        Prismatic((0.96, 0.1, 0.26)), name="rail", parent="world", child="cart", placement=(0.1, 0.2, 0.3),
        lower=-1.9, upper=2.2, velocity=2.6, effort=23.0, damping=0.9, armature=0.2,
    )  # fmt: skip
    hinge = lw.Joint.of(
        Revolute((0.1, 0.97, -0.2)), name="hinge", parent="cart", child="load", placement=(0.02, -0.03, 0.05),
        lower=-5.0, upper=4.3, velocity=9.0, effort=7.0, damping=0.04,
    )  # fmt: skip
    load = lw.Link("load", Sphere(0.07).at((0.04, 0.02, -0.41)), mass=0.7, com=(0.03, 0.01, -0.38),
                   inertia=(0.01, 0.012, 0.003), frames={"hook": (0.05, -0.02, -0.47)})  # fmt: skip
    return lw.Robot.build("skew_crane", lw.Link("cart", Box((0.2, 0.12, 0.09)), mass=1.7), load, rail, hinge)


@cache
def hopper() -> lw.Robot:
    """Return a body in space on a sprung leg with a foot."""
    slide = lw.Joint.of(
        Prismatic((0.08, -0.05, -0.99)), name="slide", parent="trunk", child="shin", placement=(0.03, -0.02, -0.11),
        lower=-0.09, upper=0.13, velocity=4.0, effort=90.0, stiffness=800.0, rest=0.02, damping=9.0, friction=0.4,
    )  # fmt: skip
    trunk = lw.Link("trunk", Box((0.24, 0.2, 0.16)), mass=4.7)
    shin = lw.Link("shin", Sphere(0.04).at((0.01, 0.02, -0.21)), mass=0.6, com=(0.006, 0.009, -0.12),
                   inertia=(0.004, 0.005, 0.002), frames={"foot": (0.01, 0.02, -0.21)})  # fmt: skip
    return lw.Robot.build("hopper", trunk, shin, slide, floating_base=True, gravity=(0.2, -0.3, -9.6))


@cache
def pusher() -> lw.Robot:
    """Return a hand of three coordinates in a plane: two slides and a turn, with accelerations and jerks limited."""
    return lw.Robot.build(
        "pusher",
        lw.Link("beam", mass=2.3),
        lw.Link("sled", mass=1.1, com=(0.02, -0.04, 0.01), inertia=(0.02, 0.03, 0.04)),
        lw.Link("plate", Box((0.31, 0.12, 0.07)).at((0.05, 0.02, 0.01)), mass=0.6, frames={"edge": (0.2, 0.05, 0.02)}),
        *(
            lw.Joint.of(kind, name=name, parent=parent, child=child, lower=-low, upper=up, velocity=velocity,
                        effort=31.0, acceleration=3.0 * velocity, jerk=23.0 * velocity)
            for kind, name, parent, child, low, up, velocity in (
                (Prismatic((0.98, 0.17, 0.05)), "along", "world", "beam", 1.7, 2.1, 1.3),
                (Prismatic((-0.12, 0.97, 0.2)), "across", "beam", "sled", 1.4, 1.6, 1.1),
                (Revolute((0.1, -0.06, 0.99)), "turn", "sled", "plate", 2.8, 2.5, 2.3),
            )
        ),
    )  # fmt: skip


def inside(robot: lw.Robot, count: int, seed: int, share: float = 0.8) -> np.ndarray:
    """Return configurations drawn in the inner share of the limits."""
    middle, half = 0.5 * (robot.lower + robot.upper), 0.5 * (robot.upper - robot.lower)
    return middle + share * half * np.random.default_rng(seed).uniform(-1.0, 1.0, (count, robot.nq))
