"""Machines of the cases: closed loops, drives, force elements and constraints, in general position."""

from __future__ import annotations

from functools import cache

import numpy as np

import linkwork as lw
from linkwork import force_elements
from linkwork.joints import Revolute, Spherical, Universal
from linkwork.shapes import Box, Capsule, Cylinder, Material, Sphere
from recorded_results.robots import arm

__all__ = ["armed", "linkage", "obstacles", "states"]


@cache
def linkage() -> lw.Robot:
    """Return a spatial four-bar of one degree of freedom: two hinges, a universal joint, and a ball that closes it."""
    rod = {"mass": 0.7, "com": (0.31, 0.02, -0.01), "inertia": (0.003, 0.02, 0.021)}
    crank = lw.Joint.of(
        Revolute((0.1, 0.97, -0.2)), name="crank", parent="world", child="crank", placement=(0.1, -0.2, 0.3),
        lower=-2.9, upper=2.7, velocity=3.1, effort=11.0, damping=0.13, friction=0.2, armature=0.03,
    )  # fmt: skip
    knee = lw.Joint.of(
        Universal((0.1, 0.9, 0.4), (0.9, -0.1, 0.0)), name="knee", parent="crank", child="rod",
        placement=(0.42, 0.03, 0.05), lower=(-3.0, -2.5), upper=(3.1, 2.6), damping=(0.02, 0.03), velocity=(5.0, 6.0),
    )  # fmt: skip
    rocker = lw.Joint.of(
        Revolute((-0.2, 0.95, 0.15)), name="rocker", parent="world", child="rocker", placement=(0.71, 0.17, 0.65),
        lower=-2.7, upper=2.8, stiffness=1.7, rest=-1.3, damping=0.11, velocity=4.0, effort=7.0,
    )  # fmt: skip
    robot = lw.Robot.build(
        "skew_linkage",
        lw.Link("crank", Box((0.4, 0.05, 0.06)).at((0.2, 0.01, 0.02)), **rod),
        lw.Link("rod", Capsule(0.03, 0.8).at(lw.pose((0.5, 0.02, 0.01), rpy=(0.0, 1.5, 0.1))), **rod),
        lw.Link("rocker", Cylinder(0.04, 0.6).at((0.03, 0.02, 0.3)), **rod),
        crank, knee, rocker, gravity=(0.3, -0.5, -9.6),
    )  # fmt: skip
    robot = robot.with_frame("end", "rod", lw.pose((1.05, 0.04, -0.03), rpy=(0.2, 0.1, -0.3)))
    robot = robot.with_frame("top", "rocker", lw.pose((0.71, 0.02, 0.13), rpy=(-0.1, 0.4, 0.2)))
    return robot.with_loop("pin", "top", "end", Spherical(), damping=0.05, friction=0.02, velocity=9.0)


@cache
def armed() -> lw.Robot:
    """Return the arm with force elements, actuators, a payload, points and a named configuration."""
    robot = arm().with_frame("ground", "world", lw.pose((0.4, -0.3, 0.2), rpy=(0.3, 0.2, -0.5)))
    robot = robot.with_point("nail", "ground", (0.1, 0.2, 0.3)).with_point("knob", "upper", (0.13, -0.06, 0.09))
    robot = robot.with_direction("beam", "fore", (0.3, -0.5, 0.7)).with_payload(
        "load", "tool", 0.37, (0.02, 0.03, -0.01), (0.001, 0.002, 0.0025)
    )
    robot = robot.with_force_elements(
        force_elements.SpringDamper("nail", "knob", stiffness=23.0, damping=1.9, rest_length=0.31, name="coil"),
        force_elements.Bushing(
            "tool", "ground", stiffness=(3.0, 4.0, 5.0, 31.0, 37.0, 41.0), damping=(0.1, 0.2, 0.3, 0.7, 0.8, 0.9),
            rest=lw.pose((0.2, 0.1, 0.4), rpy=(0.2, 0.3, 0.1)), name="bush",
        ),
    )  # fmt: skip
    robot = robot.with_actuators(
        lw.Actuator.motor("turner", "turn", gear=1.7, control_range=(-1.1, 2.3)),
        lw.Actuator.position("lifter", "lift", stiffness=31.0, damping=2.3, gear=0.9, force_range=(-21.0, 17.0)),
        lw.Actuator("jet", frame="tool", wrench=(0.1, 0.2, 0.3, 1.0, -2.0, 0.7), gain=(2.0, 0.3, 0.5)),
    )
    return robot.with_named_configuration("home", [0.3, -0.4, 0.5], v=[0.1, 0.2, -0.3], controls=[0.4, 0.1, 0.7])


@cache
def obstacles() -> lw.Scene:
    """Return obstacles of every kind around the arm."""
    rng = np.random.default_rng(6)
    heights = 0.1 * rng.uniform(size=(4, 5)) - 0.35
    field = lw.distance_field([Sphere(0.11).at((0.02, 0.01, 0.03))], 0.05)
    scene = lw.Scene().with_box("crate", (0.21, 0.33, 0.17), lw.pose((0.71, 0.43, 0.31), rpy=(0.2, 0.4, 0.3)))
    scene = scene.with_sphere("ball", 0.14, (-0.41, 0.52, 0.63)).with_capsule("pole", 0.06, 0.8, (0.3, -0.6, 0.45))
    scene = scene.with_cylinder("drum", 0.17, 0.29, lw.pose((-0.4, -0.45, 0.2), rpy=(0.5, 0.2, 0.1)))
    scene = scene.with_ellipsoid("egg", (0.1, 0.17, 0.23), lw.pose((0.1, 0.8, 0.7), rpy=(0.1, 0.7, -0.3)))
    scene = scene.with_half_space("floor", lw.pose((0.0, 0.0, -0.4), rpy=(0.02, -0.03, 0.4)))
    scene = scene.with_height_field("hills", heights, (0.31, 0.27), lw.pose((-0.6, -0.5, 0.01), rpy=(0.0, 0.01, 0.2)))
    scene = scene.with_point_cloud("dust", 0.2 * rng.normal(size=(9, 3)), 0.013, (0.8, -0.6, 0.9))
    scene = scene.with_distance_field("blob", field, lw.pose((0.6, 0.1, 0.9), rpy=(0.4, 0.1, 0.2)))
    return scene.with_color("crate", (0.8, 0.4, 0.1)).with_color("egg", Material("x", (0.1, 0.2, 0.3)).rgba)


def states(robot: lw.Robot, count: int = 3, seed: int = 4) -> list[np.ndarray]:
    """Return drawn q, v, a and τ of a robot."""
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng, size=count)
    return [q, *rng.normal(size=(3, count, robot.nv))]
