"""Motor torques and pin forces over a full turn: beside dead centres, in them, and at any pose in space."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import HINGE, freudenstein, rod
from linkwork.errors import ConfigurationWarning, UnderactuatedError

SLIDE = lw.joints.Prismatic((1, 0, 0))


def _linkage(lengths, position, mass=1.0):
    """A four-bar (crank, coupler, rocker, ground), or without the last two a slider-crank, at a place in space."""
    a, b, *remaining = lengths
    links = [
        lw.Link(n, mass=mass, com=(0.5 * x, 0, 0), inertia=(mass * x**2 / 9,) * 3)
        for n, x in zip("ABC", lengths, strict=False)
    ]
    if not remaining:
        links.append(lw.Link("C", mass=mass))
    last = (HINGE, position @ lw.pose((remaining[1], 0, 0))) if remaining else (SLIDE, position)
    robot = lw.Robot.build(
        "linkage",
        *links,
        lw.Joint.of(HINGE, name="a", parent="world", child="A", placement=position),
        lw.Joint.of(HINGE, name="b", parent="A", child="B", placement=lw.pose((a, 0, 0))),
        lw.Joint.of(last[0], name="c", parent="world", child="C", placement=last[1]),
    )
    robot = robot.with_frame("end", "B", lw.pose((b, 0, 0)))
    return robot.with_frame("tip", "C", lw.pose((remaining[0] if remaining else 0, 0, 0))).with_loop(
        "pin", "end", "tip", HINGE
    )


def _turn(lengths, count=361):
    """Configurations of a turn of the crank."""
    a, b, *remaining = lengths
    angle = np.linspace(0.0, 2.0 * np.pi, count)
    x, z = a * np.cos(angle), a * np.sin(angle)
    if remaining:
        c, d = remaining
        psi = freudenstein(angle, a, b, c, d)[:, 0]
        coupler = np.arctan2(c * np.sin(psi) - z, d + c * np.cos(psi) - x)
        return np.stack([-angle, angle - coupler, -psi], axis=-1)
    coupler = np.arcsin(-z / b)
    return np.stack([-angle, angle - coupler, x + b * np.cos(coupler)], axis=-1)


def _pose_at(seed):
    rng = np.random.default_rng(seed)
    return lw.pose(rng.normal(size=3), rpy=rng.normal(size=3)) if seed else lw.pose()


@pytest.mark.slow(every=5)
def test_motor_torques_of_mechanisms_satisfy_virtual_work_at_any_joint(drawn):
    """τ = u·r/u_k along the only motion u, in all states in which the motor's joint moves."""
    for seed in drawn(range(6)):
        size = (1.0, 1e-3, 10.0)[seed % 3]
        lengths = size * np.array([[1.0, 2.5, 2.0, 3.0], [1.0, 3.0]][seed // 3])
        robot, q = _linkage(lengths, _pose_at(seed), mass=10.0 ** (seed - 3)), _turn(lengths)
        u = robot.explicit_jacobian(q, ["a"])[..., 0]
        work = (robot.gravity_force(q) * u).sum(axis=-1)
        for k, name in enumerate("abc"):
            moves = np.abs(u[:, k]) > 1e-3 * np.abs(u[:, k]).max()
            expected = work[moves] / u[moves, k]
            tau = robot.constrained_inverse_dynamics(q[moves], *np.zeros((2, moves.sum(), 3)), actuators=name).tau
            assert np.abs(tau[:, k] - expected).max() < 1e-8 * np.abs(expected).max(), (seed, name)


def test_motor_torques_at_a_singular_configuration_are_limits_of_nearby_torques():
    """A slider-crank of equal bars folds, where the constraints permit a second motion."""
    robot = _linkage([0.3, 0.3], _pose_at(2))
    near = 0.5 * np.pi + np.array([-2e-4, -1e-4, 0.0, 1e-4, 2e-4])

    def motion(angle):
        unit_speed = np.ones_like(angle)
        q = np.stack([-angle, 2.0 * angle, 0.6 * np.cos(angle)], axis=-1)
        v = 3.0 * np.stack([-unit_speed, 2.0 * unit_speed, -0.6 * np.sin(angle)], axis=-1)
        return q, v, 9.0 * np.stack([0.0 * unit_speed, 0.0 * unit_speed, -0.6 * np.cos(angle)], axis=-1)

    state = motion(near)
    for k, name in ((0, "a"), (2, "c")):
        tau, forces, missing = robot.constrained_inverse_dynamics(*state, actuators=name)
        assert abs(tau[2, k] - (4.0 * (tau[1, k] + tau[3, k]) - tau[0, k] - tau[4, k]) / 6.0) < 1e-9
        alone = robot.constrained_inverse_dynamics(*(x[2] for x in state), actuators=name)
        assert np.array_equal(alone.tau, tau[2]) and np.abs(missing).max() < 1e-12
        wide = np.isnan(robot.joint_wrenches(*state, actuators=name)).any(axis=(1, 2))
        assert np.array_equal(wide, np.isnan(forces).any(axis=1))
        assert not wide[[0, 1, 3, 4]].any() and np.abs(forces[[1, 3]]).max() > 1.9 * np.abs(forces[[0, 4]]).max()


def test_configuration_at_a_dead_centre_does_not_affect_other_samples_of_a_batch():
    """A slide cannot turn its crank at the dead centre: NaN and a warning in a batch, an error for one state."""
    lengths = [0.1, 0.3]
    robot, q = _linkage(lengths, _pose_at(0)), _turn(lengths)
    zeros = np.zeros_like(q)
    with pytest.warns(ConfigurationWarning, match="the forces of 3 states are NaN, the first is state 0: it is a dead"):
        dynamics_result = robot.constrained_inverse_dynamics(q, zeros, zeros, actuators="c")
    assert np.flatnonzero(np.isnan(dynamics_result.tau).any(axis=1)).tolist() == [0, 180, 360]
    with pytest.warns(ConfigurationWarning, match="the forces of 3 states are NaN"):
        wrenches = robot.joint_wrenches(q, zeros, zeros, actuators="c")
    assert np.flatnonzero(np.isnan(wrenches).any(axis=(1, 2))).tolist() == [0, 180, 360]
    with pytest.raises(UnderactuatedError, match="actuators 'c' cannot induce the motion"):
        robot.constrained_inverse_dynamics(q[180], zeros[0], zeros[0], actuators="c")
    with pytest.raises(UnderactuatedError, match="in state 0 "):  # no state of the batch can be held
        robot.constrained_inverse_dynamics(q[1:180], zeros[1:180], zeros[1:180], actuators=[])


def test_joint_of_a_mechanism_that_moves_no_inertia_needs_no_torque():
    """A point mass at the end of a rod turns about itself without effort."""
    links = rod("A", 0.1), rod("B", 0.3), lw.Link("C", mass=1.0)
    joints = [
        lw.Joint.of(HINGE, name="a", parent="world", child="A"),
        lw.Joint.of(HINGE, name="b", parent="A", child="B", placement=lw.pose((0.1, 0, 0))),
        lw.Joint.of(HINGE, name="c", parent="B", child="C", placement=lw.pose((0.3, 0, 0))),
    ]
    robot = lw.Robot.build("point", *links, *joints).with_frame("rail", "world", lw.pose((0, 0, 0)))
    robot = robot.with_loop("slide", "rail", "C", SLIDE)
    q = _turn([0.1, 0.3], 25)
    q[:, 2] = -q[:, 0] - q[:, 1]
    u = robot.explicit_jacobian(q, ["a"])[..., 0]
    tau = robot.constrained_inverse_dynamics(q, 0.0 * q, 0.0 * q, actuators="a").tau
    assert np.allclose(tau[:, 0] * u[:, 0], (robot.gravity_force(q) * u).sum(axis=-1), rtol=0.0, atol=1e-12)
