"""Mechanisms in some state that tests of dynamics run over, and how functions vary with a state."""

from dataclasses import dataclass

import numpy as np

import linkwork as lw
from linkwork.constraints import Constraint, References

from .fourbars import fourbars, parallel


@dataclass(frozen=True)
class Height(Constraint):
    """A frame goes up and down in time: an error, whose rates follow from it."""

    name: str
    frame: str
    rate: float
    time_dependent = True
    component_names = ("height",)
    row_units = ("m",)

    @property
    def references(self):
        return References(frames=(self.frame,))

    def error(self, k):
        return [k.pose(self.frame).translation.z - lw.expr.sin(k.time * self.rate)]


@dataclass(frozen=True)
class Blade(Constraint):
    """A frame does not slip along its x axis: a row of velocities alone."""

    name: str
    frame: str
    holonomic = False
    component_names = ("slip",)
    row_units = ("m",)

    @property
    def references(self):
        return References(frames=(self.frame,))

    def velocity(self, k):
        return [k.between(self.frame).twist.linear.x]


def moving_fourbars():
    """Two four-bars out of the plane's symmetry, their loops not quite closed."""
    robot, rng = fourbars(2), np.random.default_rng(0)
    q, _ = parallel(robot, 0.8)
    return robot, q + 0.1 * rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def standing(doubled=False):
    """A pendulum of two links afloat, both ends pinned to where they are, one of them twice if that is asked for."""
    robot = lw.load("double_pendulum", floating_base=True)
    q = robot.random_configuration(seed=3)
    for name in ("base", "tip", "tip")[: 2 + doubled]:
        ground = f"ground {len(robot.constraints)}"
        placed = robot.with_frame(ground, "world", robot.pose(q, name))
        robot = placed.with_loop(f"stands on {ground}", ground, name, lw.joints.Spherical())
    return robot, q, np.random.default_rng(4).normal(size=robot.nv)


def driven():
    """An arm whose hand goes up and down in time, and slips in no direction of its own x axis."""
    robot = lw.load("arm6")
    frame = robot.bodies[-1]
    robot = robot.with_constraints(Height("lift", frame, 2.0), Blade("blade", frame))
    return robot, robot.random_configuration(seed=5), np.random.default_rng(6).normal(size=robot.nv)


def differences(function, count, step=1e-6):
    """∂f/∂x of each result, by central differences of f(step · x)."""
    columns = []
    for k in range(count):
        x = np.eye(count)[k] * step
        ahead, back = function(x), function(-x)
        columns.append([(np.asarray(a) - np.asarray(b)) / (2 * step) for a, b in zip(ahead, back, strict=True)])
    return [np.stack(of, axis=-1) for of in zip(*columns, strict=True)]
