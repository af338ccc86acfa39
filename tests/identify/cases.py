"""Motions, noisy forces, and robots that differ a little from their model."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.identify import convex_inertia_fit as deformed
from linkwork.identify.physically_consistent_fit import with_deformed_bodies

__all__ = ["deformed_robot", "motion", "pendulum_motion"]


def motion(robot: lw.Robot, samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random states: no motion, but all that a fit looks at."""
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(rng, size=samples)
    v, a = rng.normal(size=(2, samples, robot.nv))
    return q, v, a


def pendulum_motion(samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two joints on sines."""
    t = np.linspace(0.0, 12.0, samples)[:, np.newaxis]
    w = np.array([1.3, 2.1])
    return 1.2 * np.sin(w * t), 1.2 * w * np.cos(w * t), -1.2 * w * w * np.sin(w * t)


def deformed_robot(robot: lw.Robot, size: float, seed: int) -> lw.Robot:
    """The robot with other inertias that bodies can have: steps of a normal distribution, in ten numbers each."""
    rng = np.random.default_rng(seed)
    ten = robot.inertial_parameters().reshape(-1, 10)
    positions = np.flatnonzero(deformed.has_extent(ten))
    U = deformed.factors(ten[positions])
    L = deformed.stepped(
        np.broadcast_to(np.eye(4), U.shape), deformed.symmetric(size * rng.normal(size=(len(positions), 10)))
    )
    return with_deformed_bodies(robot, dict(zip(positions.tolist(), U @ L @ np.linalg.inv(U), strict=True)))
