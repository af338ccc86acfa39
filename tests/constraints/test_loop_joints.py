"""Loop joints have coordinates, losses and forces that act on the robot."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import HINGE, fourbars, parallel
from linkwork.joints import Composite, Cylindrical, JointType, Planar, Revolute, Spherical, SphericalEuler, Universal
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import (
    constrained_forward_dynamics,
    constrained_forward_dynamics_derivatives,
)
from linkwork.mechanisms.algorithms.loop_joint_functions import loop_configuration, loop_velocity
from linkwork.mechanisms.algorithms.reduced_dynamics import reduced_forward_dynamics
from mechanisms.mechanisms import Mechanism, mechanism, ring

RESISTING = {"damping": 0.4, "friction": 0.3, "friction_velocity": 0.5, "stiffness": 2.0}
PAIRS = [(Revolute, Spherical), (Cylindrical, Spherical), (Universal, Planar), (Spherical, Planar), (Planar, Universal)]


@pytest.mark.parametrize("kinds", [*PAIRS, (SphericalEuler, Planar)], ids=lambda kinds: kinds[0].type_name())
def test_losses_of_a_joint_are_equal_if_it_is_in_the_tree_or_closes_the_loop(
    kinds: tuple[type[JointType], type[JointType]],
) -> None:
    """A ring opened at the joint with damping, friction and springs, and at another: the same accelerations.

    So with a motor's forces in the joint, given as joint forces of the tree, or of the loop.
    """
    (tree_acceleration, loop_acceleration), rates, q = ring(kinds, 5, **RESISTING)
    forces = np.random.default_rng(1).normal(size=kinds[0].example(np.random.default_rng(0)).nv)
    results = []
    for m, v in ((tree_acceleration, rates[0]), (loop_acceleration, rates[1])):
        tau = np.zeros(m.tree.nv)
        tau[:5] = 1.0, -2.0, 0.5, 0.3, 3.0
        driven = None
        if m is tree_acceleration:
            tau[m.tree.v_slices[m.tree.joint_index("j2")]] = forces
        else:
            driven = forces.tolist()
        arguments = (m.tree, m.q, v.tolist(), tau.tolist())
        a, _ = constrained_forward_dynamics(*arguments, loop_forces=driven, passive=True)
        results.append(np.array(a, dtype=float)[:5])
        _, cond = m.dense(v, tau)
    assert np.max(np.abs(results[0] - results[1])) < (1e-12 + 1e-15 * cond) * max(
        1.0, float(np.max(np.abs(results[0])))
    )
    assert np.allclose(
        types_pose(loop_acceleration, loop_configuration(loop_acceleration.tree, loop_acceleration.q)),
        types_pose(loop_acceleration, q[2]),
        atol=1e-12,
    )
    v_2 = rates[0][tree_acceleration.tree.v_slices[tree_acceleration.tree.joint_index("j2")]]
    assert np.allclose(loop_velocity(loop_acceleration.tree, loop_acceleration.q, rates[1].tolist()), v_2, atol=1e-10)


def types_pose(m: Mechanism, q: list[float]) -> list[float]:
    return [float(x) for x in m.tree.constraints[0].joint.X(q).elements()]


def test_loop_joints_report_their_angle_rate_error_and_wrench() -> None:
    """A four-bar's pin: angle, rate, error and wrench in a batch; limits and resistance."""
    robot = fourbars(1, HINGE).without_constraints("C1")
    robot = robot.with_loop("pin", "end1", "tip1", HINGE, lower=-2.0, upper=1.0, effort=3.0, velocity=4.0, **RESISTING)
    pin = robot.joint("pin")
    assert pin is not None and pin.name == "pin" and [loop.name for loop in robot.loops] == ["pin"]
    assert (pin.frame, pin.other, pin.nq, pin.nv, pin.type_name) == ("end1", "tip1", 1, 1, "revolute")
    assert pin.links == ("coupler1", "rod1") and "end1" in repr(pin)
    assert pin.position_bounds == ([-2.0], [1.0]) and pin.joint.effort == [3.0] and pin.joint.velocity == [4.0]
    assert pin.joint.damping == [0.4] and pin.joint.stiffness == [2.0]
    q, v = (np.array(x) for x in zip(*(parallel(robot, angle, 0.7) for angle in (0.4, 0.9)), strict=True))
    angle = np.array([0.4, 0.9])
    assert np.allclose(pin.configuration_from_pose(q)[:, 0], -angle, atol=1e-14) and np.allclose(
        pin.velocity_from_rate(q, v), -0.7, atol=1e-13
    )
    assert pin.error(q).shape == (2, 5) and np.max(np.abs(pin.error(q))) < 1e-14
    expected = -0.4 * -0.7 - 0.3 * np.tanh(-0.7 / 0.5) - 2.0 * -angle
    assert np.allclose(pin.torque_of(q, v)[:, 0], expected, atol=1e-12)
    same = pickle.loads(pickle.dumps(robot))
    assert same == robot and same.joint("pin").configuration_from_pose(q[0]) == pin.configuration_from_pose(q[0])
    with pytest.raises(lw.errors.UnknownNameError, match="pin"):
        robot.joint("pinn")


def test_wrench_of_a_loop_joint_replaces_the_loop_joint_when_applied_to_its_bodies() -> None:
    """Cut open, and the wrench put on both of its frames, the robot accelerates as it did with the loop."""
    robot = fourbars(1, HINGE)
    (loop,) = robot.loops
    q, v = parallel(robot, 0.6, 1.3)
    tau = np.array([0.3, -0.2, 0.5])
    a, forces = robot.constrained_forward_dynamics(q, v, tau)
    w = loop.wrench_of(q, forces)
    free = robot.without_constraints()
    R = free.pose(q, loop.frame, relative_to=loop.other)[:3, :3]  # the opposite wrench, in F's axes at the same point
    back = -np.concatenate([R.T @ w[:3], R.T @ w[3:]])
    assert np.allclose(free.pose(q, loop.frame, relative_to=loop.other)[:3, 3], 0.0, atol=1e-14)
    opened = free.forward_dynamics(
        q,
        v,
        tau,
        wrenches={loop.other: w, loop.frame: back},
        expressed_in={loop.other: loop.other, loop.frame: loop.frame},
    )
    assert np.allclose(opened, a, atol=1e-11)


def test_loop_joints_lead_from_the_first_to_the_second_named_frame() -> None:
    """F is the frame that is named first, as shown by a joint that differs in the opposite direction."""
    joint = Universal((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    robot = lw.Robot.build(
        "one", lw.Link("b", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1)),
        lw.Joint.of(lw.joints.Spherical(), name="ball", parent="world", child="b"),
    )  # fmt: skip
    robot = robot.with_frame("F", "world", np.eye(4)).with_frame("M", "b", np.eye(4)).with_loop("u", "F", "M", joint)
    q = robot.joint("ball").configuration_of(lw.Joint.of(joint).transform([0.5, 0.8]))
    assert np.max(np.abs(robot.constraint_error(q))) < 1e-14
    assert np.allclose(robot.loops["u"].configuration_from_pose(q), [0.5, 0.8], atol=1e-14)


def test_invalid_loop_joints_are_refused() -> None:
    robot = fourbars(1).without_constraints()
    for options, said in (
        ({"damping": -1.0}, "damping: expected a finite number, non-negative"),
        ({"lower": 1.0, "upper": 0.0}, "lower limit 1"),
        ({"stiffness": (1.0, 2.0)}, "stiffness: expected a finite number"),
        ({"friction": float("nan")}, "friction: expected a finite number"),
        ({"rest": float("inf")}, "rest: expected finite numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            robot.with_loop("pin", "end1", "tip1", HINGE, **options)
    for options in ({"damping": (-1.0,)}, {"lower": (1.0,), "upper": (0.0,)}, {"stiffness": (1.0, 2.0)}):
        with pytest.raises(ValueError, match="pin"):
            robot.with_constraints(lw.constraints.LoopJoint("pin", HINGE, "tip1", "end1", **options))
    with pytest.raises(TypeError, match="damping"):
        lw.constraints.LoopJoint("pin", HINGE, "tip1", "end1", damping="much")
    with pytest.raises(ValueError, match="loop_forces"):
        fourbars(1).constrained_forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3), loop_forces=np.zeros(2))


def test_derivatives_of_accelerations_include_losses_in_loop_joints() -> None:
    """∂a/∂q and ∂a/∂v with passive joints, against differences along feasible and other directions."""
    (_, m), rates, _ = ring((Universal, Spherical), 5, **RESISTING)
    v, tau, h = rates[1], np.zeros(m.tree.nv), 1e-6

    def a(q: list[float], v: np.ndarray) -> np.ndarray:
        dynamics_result, _ = constrained_forward_dynamics(m.tree, q, v.tolist(), tau.tolist(), passive=True)
        return np.array(dynamics_result, dtype=float)

    dynamics_result = constrained_forward_dynamics_derivatives(m.tree, m.q, v.tolist(), tau.tolist(), passive=True)
    by_q, by_v = (np.array(matrix, dtype=float) for matrix in dynamics_result[:2])
    for z in np.random.default_rng(2).normal(size=(2, m.tree.nv)):
        z = z - np.linalg.pinv(m.G) @ (m.G @ z)
        accelerations = [a(integrate(m.tree, m.q, (s * h * z).tolist()), v) for s in (1.0, -1.0)]
        assert np.allclose(
            (accelerations[0] - accelerations[1]) / (2.0 * h), by_q @ z, rtol=0.0, atol=2e-6 * np.max(np.abs(by_q))
        )
        assert np.allclose((a(m.q, v + h * z) - a(m.q, v - h * z)) / (2.0 * h), by_v @ z, rtol=0.0, atol=1e-6)


@pytest.mark.slow(every=5)
def test_coordinates_of_a_composite_loop_joint_are_computed_by_iteration_in_the_kernel() -> None:
    """A composite's configuration comes from a loop in the kernel: accelerations and its numbers, in a batch."""
    m = mechanism(Composite, 3)
    robot, v, tau = lw.Robot(m.tree), m.feasible(), np.ones(m.tree.nv)
    expected, _ = m.accelerations(v, tau)
    kernel = robot.compile({"a": "constrained_forward_dynamics", "q": "loop_configuration"})
    a, _, q = kernel(np.array([m.q] * 3), v, tau)
    assert np.max(np.abs(a - expected)) < 1e-10 * max(1.0, float(np.max(np.abs(expected))))
    joint = robot.loops["loop"]
    assert np.allclose(q, loop_configuration(m.tree, m.q), atol=1e-12) and joint.nq == q.shape[-1]


def test_loops_files_contain_limits_and_losses_of_loop_joints() -> None:
    tree = lw.load("fourbar").without_constraints()
    loop = '"name": "pin", "type": "revolute", "axis": [0, 1, 0], "frame": "rocker_tip", "other": "coupler_tip"'
    text = f'{{"version": 1, "loops": [{{{loop}, "damping": 0.3, "limits": {{"lower": -1.0}}}}]}}'
    pin = tree.with_loops_document(text).loops["pin"]
    assert pin.joint.damping == [0.3] and pin.position_bounds == ([-1.0], [np.inf])
    assert '"damping": 0.3' in tree.with_loops_document(text).loops_document()
    for wrong, said in (
        ("-1", "not be negative"),
        ('"much"', "expected a number"),
        ("[1, 2]", "expected a number or a list of 1, got 2"),
    ):
        with pytest.raises(lw.errors.ModelError, match=said):
            tree.with_loops_document(text.replace("0.3", wrong))


def test_reduced_dynamics_include_losses_in_loop_joints() -> None:
    robot = fourbars(1, HINGE).without_constraints().with_loop("pin", "end1", "tip1", HINGE, **RESISTING)
    q, v = (x.tolist() for x in parallel(robot, 0.6, 0.9))
    arguments = (robot.tree, q, v, [0.3, 0.1, -0.2])
    a, _ = constrained_forward_dynamics(*arguments, passive=True)
    first = robot.joints[0]
    assert reduced_forward_dynamics(*arguments, (first.name,), passive=True)[0] == pytest.approx(a[0], abs=1e-12)


_SPRUNG = (
    (Revolute((0, 0, 1)), 0),
    (Cylindrical((0, 0, 1)), 0),
    (Planar(), 2),
    (Universal((1, 0, 0), (0, 0, 1)), 1),
    (SphericalEuler("zyx"), 0),
    (Revolute((0, 0, -1)).reversed(), 0),
    (Composite((Revolute((0, 0, 1)), Universal((1, 0, 0), (0, 1, 0)))), 0),
)  # joint types, and the coordinate of each that is an angle about z
_STIFFNESS, _REST_ANGLE = 0.7, 2.0


def _sprung_disc(kind: Any, axis: np.ndarray) -> Any:
    """Return a disc on a hinge whose angle a second joint with a spring has, too."""
    hinge = lw.Joint.of(Revolute((0, 0, 1)), name="hinge", parent="world", child="disc")
    disc = lw.Robot.build("disc", lw.Link("disc", mass=1.0, inertia=(0.1, 0.1, 0.2)), hinge, gravity=(0, 0, 0))
    spring = {"stiffness": _STIFFNESS * axis, "rest": _REST_ANGLE * axis, "damping": 0.1 * axis}
    return disc.with_loop("pin", "world", "disc", kind, **spring)


def test_springs_of_angles_that_close_loops_pull_along_the_shorter_direction(drawn) -> None:
    """Energy ½ k d², |d| at most half a turn."""
    q = np.linspace(-9.0, 9.0, 61)[:, None]
    d = np.angle(np.exp(1j * (q[:, 0] - _REST_ANGLE)))
    for kind, index in drawn(_SPRUNG):
        name, robot = kind.type_name(), _sprung_disc(kind, np.eye(kind.nv)[index])
        energy = 0.5 * _STIFFNESS * d**2
        assert np.allclose(robot.potential_energy(q, passive=True), energy, rtol=0.0, atol=1e-9), name
        force = robot.loop_passive_force(q, np.ones_like(q))[:, index]
        assert np.allclose(force, -_STIFFNESS * d - 0.1, rtol=0.0, atol=1e-9), name
        a = robot.constrained_forward_dynamics(q, np.ones_like(q), [0.0], passive=True)[0][:, 0]
        assert np.allclose(a, (-_STIFFNESS * d - 0.1) / 0.2, rtol=0.0, atol=1e-8), name


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(("kind", "index"), _SPRUNG, ids=[kind.type_name() for kind, _ in _SPRUNG])
def test_simulations_take_rest_angles_of_springs_that_close_loops_as_parameters(kind: Any, index: int) -> None:
    axis = np.eye(kind.nv)[index]
    robot, parameters = _sprung_disc(kind, axis), {"rest:pin": 1.5 * axis}
    run = robot.simulate([0.0], [1.0], duration=0.01, parameters=parameters)
    expected = robot.with_parameters(parameters).simulate([0.0], [1.0], duration=0.01)
    assert np.allclose(run.q, expected.q, rtol=0.0, atol=1e-14)
