"""Free bodies in simulation do not rotate without torque, by any method and joint type."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.simulation.algorithms import METHODS
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics


def thrown(joint, com=(0.0, 0.0, 0.0), carried=False):
    """A small body on a joint that leaves it free, on a sliding carriage if that is asked for."""
    body = lw.Link("body", mass=1.0, com=com, inertia=(1e-4, 2e-4, 2.5e-4))
    if not carried:
        return lw.Robot.build("thrown", body, lw.Joint.of(joint, name="free", parent="world", child="body"))
    rail = lw.joints.Prismatic((0, 1, 0))
    return lw.Robot.build(
        "carried",
        lw.Link("carriage", mass=2.0, inertia=(1e-2,) * 3),
        lw.Joint.of(rail, name="rail", parent="world", child="carriage"),
        body,
        lw.Joint.of(joint, name="free", parent="carriage", child="body"),
    )


@pytest.mark.slow(every=9)
def test_bodies_thrown_without_spin_keep_their_orientation(drawn):
    """The centre of mass falls freely for 1 s.

    A body whose frame is at its centre of mass does not turn at all; where it is beside it the variational method meets
    the rounding of momenta.
    """
    floating = (lw.joints.Floating(), lw.joints.FloatingMRP(), lw.joints.FloatingEuler())
    plane = lw.joints.Planar((1, 0, 0), (0, 0, 1))
    both = lw.joints.Composite((plane, lw.joints.Prismatic((0, 1, 0))))
    robots = [thrown(joint) for joint in (*floating, plane, both)]
    beside = thrown(floating[0], (0.03, -0.02, 0.05))
    robots += [beside, thrown(floating[0], carried=True)]
    for robot in drawn(robots):
        q, start = robot.neutral(), robot.pose(robot.neutral(), "body")
        S = robot.jacobian(q, "body", expressed_in="world")
        v = np.linalg.lstsq(S, [0.0, 0.0, 0.0, 1.0, 0.0, 3.0], rcond=None)[0]
        assert np.abs((S @ v)[:3]).max() < 1e-12
        for method, row in drawn(METHODS.items()):
            h = 0.01
            result = robot.simulate(q, v, duration=1.0, dt=h, method=method, record_every=100)
            end = robot.pose(result.q[-1], "body")
            most = 1e-11 if robot is beside and method == "variational" else 1e-20
            assert np.abs(end[:3, :3] - start[:3, :3]).max() < most, (robot.joints, method)
            fall = end[2, 3] - start[2, 3] - (3.0 - 0.5 * 9.81)
            assert abs(fall) < (0.5 * 9.81 * h * 1.01 if row.order == 1 else 1e-9), (robot.joints, method)


@pytest.mark.slow(every=3)
def test_simulated_fast_top_has_at_most_the_error_of_the_midpoint_rule():
    """A heavy top of 150 rad/s, and a free body that spins about a general axis: errors at the end."""
    m, l, about, I3 = 0.5, 0.1, 0.002, 0.001
    top = lw.Robot.build(
        "top",
        lw.Link("top", mass=m, com=(0, 0, l), inertia=(about, about, I3)),
        lw.Joint.of(lw.joints.Spherical(), name="tip", parent="world", child="top"),
    )
    free = thrown(lw.joints.Floating())
    tilted = [math.cos(0.25), 0.0, math.sin(0.25), 0.0]
    cases = ((top, tilted, [0.0, 0.0, 150.0], 1.0), (free, free.neutral(), [30.0, 40.0, 60.0, 1.0, 2.0, 3.0], 3.0))
    for robot, q, v, factor in cases:
        best = robot.simulate(q, v, duration=0.2, dt=2e-5, method="rk4", record_every=10000).q[-1]
        errors = [
            np.abs(
                robot.difference(best, robot.simulate(q, v, duration=0.2, method=method, record_every=200).q[-1])
            ).max()
            for method in ("variational", "implicit_midpoint")
        ]
        assert errors[0] < factor * errors[1], (robot.name, errors)


def test_discrete_momenta_are_derivatives_of_the_discrete_action():
    robot, h = lw.load("double_pendulum", floating_base=True), 0.1
    mechanics, rng = DiscreteMechanics(robot.tree, armature=False), np.random.default_rng(4)
    q = robot.random_configuration(seed=1)
    for size in (1e-3, 1.0, 12.0):
        w = rng.normal(size=robot.nv) * size
        end = np.array(mechanics.space.integrate(q.tolist(), (h * w).tolist()))

        def action(start, last, h=h):
            phi = mechanics.space.difference(start.tolist(), last.tolist())
            middle, moved = mechanics.space.halfway(start.tolist(), phi)
            return h * robot.kinetic_energy(np.array(middle), np.array(moved) / h)

        steps = 1e-5 * np.concatenate([np.eye(robot.nv), -np.eye(robot.nv)])
        by_start = [action(at, end) for at in robot.integrate(q, steps)]
        by_end = [action(q, at) for at in robot.integrate(end, steps)]
        leaving, arriving = (np.subtract(*np.split(np.array(x), 2)) / 2e-5 for x in (by_start, by_end))
        state = q.tolist(), w.tolist(), h
        bound = 1e-8 * max(size, size**2)
        np.testing.assert_allclose(mechanics.leaving_momentum(*state), -leaving, rtol=0, atol=bound)
        np.testing.assert_allclose(mechanics.arriving_momentum(*state), arriving, rtol=0, atol=bound)
