"""Manipulability of mechanisms: the volume of frame velocities per unit velocities of the motors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import linkwork as lw
from helpers.linkages import five_bar
from invariants.cases import Functions
from linkwork.ik.algorithms.task_stack import TaskState
from linkwork.mechanisms.algorithms.constrained_manipulability import _RangeInverse

FUNCTIONS = ("manipulability", "manipulability_gradient")
ROWS = {"all": slice(0, 6), "position": slice(3, 6), "angular": slice(0, 3)}


@pytest.mark.slow(every=9)
def test_constrained_manipulability_is_the_volume_of_permitted_velocities(drawn):
    """A basis of the permitted velocities, for any number of motors and degrees of freedom."""
    cases = (
        ("scissor_lift", "platform", None),
        ("jansen_leg", "toe", None),
        ("fourbar", "rocker_tip", None),
        ("planetary_gear", "planet_gear_1", None),
        ("double_wishbone", "knuckle", None),
        ("double_wishbone", "upper_arm", None),
        ("fourbar", "coupler", ["crank_hinge"]),
        ("fourbar", "rocker", ["crank_hinge", "rocker_hinge"]),
        ("delta", "platform", [f"shoulder_{k}" for k in (1, 2, 3)]),
        ("delta", "platform", None),
        ("leg", "sole", ["hip_roll", "hip_yaw", "hip_pitch", "knee", "shin_spring", "heel", "foot_motor"]),
    )
    for name, frame, motors in drawn(cases):
        robot = lw.load(name)
        q = robot.assemble(robot.random_configuration(seed=1) if name == "leg" else None).q
        _, sizes, rows = np.linalg.svd(robot.constraint_jacobian(q))
        T = rows[np.count_nonzero(sizes > 1e-9 * sizes[0]) :].T
        index = robot.v_index([b.joint_name for b in robot.tree.bodies if b.joint.nv < 6] if motors is None else motors)
        inner = T[index].T @ T[index]
        for part, rows_ in ROWS.items():
            J = robot.jacobian(q, frame)[rows_] @ T
            joints = T[robot.v_index(list(robot.moving_joints(frame)))]
            count = min(len(J), len(index), np.linalg.matrix_rank(joints, 1e-9))
            values = np.linalg.svd(J @ np.linalg.inv(np.linalg.cholesky(inner)).T, compute_uv=False)
            expected = np.prod(np.r_[values, np.zeros(6)][:count])
            result = robot.manipulability(q, frame, part=part, actuators=motors)
            assert abs(result - expected) < 1e-9 * max(values[0], 1e-3) ** count, (name, part)


def test_constrained_manipulability_of_a_four_bar_is_its_speed_per_norm_of_hinge_velocities():
    """Hinges of a four-bar move a frame of one degree of freedom by |J u| per norm of their velocities u."""
    bar = lw.load("fourbar")
    q = bar.assemble().q
    u = bar.explicit_jacobian(q, ["crank_hinge"])[:, 0]
    expected = np.linalg.norm(bar.jacobian(q, "rocker_tip") @ u) / np.linalg.norm(u)
    assert abs(bar.manipulability(q, "rocker_tip") - expected) < 1e-12


@pytest.mark.slow(every=5)
def test_frames_that_move_without_motors_have_infinite_manipulability():
    robot, frame, part, motors = lw.load("delta"), "platform", "position", ["shoulder_1", "shoulder_2"]
    assert robot.manipulability(robot.assemble().q, frame, part=part, actuators=motors) == np.inf
    with pytest.raises(ValueError, match="manipulability: actuators: expected None for a robot without constraints"):
        lw.load("arm6").manipulability(np.zeros(6), "tool", actuators="elbow")
    robot = five_bar()
    q = robot.assemble(hold={"left_hip": 2.0, "right_hip": 1.2}).q
    assert robot.manipulability(q, "right_lower", part="position", actuators=["left_hip"]) == np.inf
    assert not robot.manipulability_gradient(q, "right_lower", part="position", actuators=["left_hip"]).any()


@pytest.mark.parametrize(
    ("name", "frame", "part", "motors"),
    [
        pytest.param("delta", "platform", "position", None, marks=pytest.mark.slow(every=3)),
        ("fourbar", "coupler", "all", ["crank_hinge"]),
        ("fourbar", "rocker", "angular", None),
    ],
)
def test_constrained_manipulability_gradient_is_the_rate_along_the_mechanism(name, frame, part, motors):
    """The rate of the gradient as well; the symmetric Delta has equal singular values."""
    robot, options = lw.load(name), {"part": part} | ({} if motors is None else {"actuators": motors})
    q = robot.assemble().q
    moves = scipy.linalg.null_space(robot.constraint_jacobian(q), rcond=1e-9)
    direction = moves @ np.random.default_rng(5).normal(size=moves.shape[1])
    before, after = (robot.assemble(robot.integrate(q, s * direction)).q for s in (-1e-5, 1e-5))
    w, gradient = (getattr(robot, f)([before, q, after], frame, **options) for f in FUNCTIONS)
    step = robot.difference(before, after)
    assert abs(gradient[1] @ step - (w[2] - w[0])) < 1e-9 * w[2], name
    f, kernel = Functions(robot.tree), (FUNCTIONS[1], frame, options)
    rate = f.rate(kernel, (q, f("velocity_to_configuration_derivative", q, step)))
    np.testing.assert_allclose(rate, gradient[2] - gradient[0], rtol=0, atol=1e-9 * abs(gradient).max())


def test_pseudoinverses_in_the_range_of_motor_forces_have_exact_derivatives():
    """Matrices have rank 2, and floors are not small; reverse mode is the adjoint of forward mode."""
    rng = np.random.default_rng(3)
    left, right, turn, stretch, weights = (rng.normal(size=n) for n in ((3, 2), (2, 4), (3, 2), (2, 4), 18))
    for floor in (0.0, 0.3):

        def at(s, floor=floor):
            F = (left + s * turn) @ (right + s * stretch)
            sizes, vectors = np.linalg.eigh(F @ F.T)
            range_, eigenvalues = vectors[:, 1:], sizes[1:]
            both = [(range_ / (eigenvalues + f)) @ range_.T for f in (floor, 0.0)]
            return np.ravel([*both, F @ F.T + floor * np.eye(3)])

        rule, inputs, rate = _RangeInverse(3), at(0.0), (at(1e-5) - at(-1e-5)) / 2e-5
        results, extra = rule.compute(inputs)
        change = np.array(rule.tangent(inputs, results, extra, rate))
        np.testing.assert_allclose(change, rate[:18], rtol=0, atol=1e-8 * abs(rate).max())
        gradient = np.array(rule.cotangent(inputs, results, extra, weights.tolist()))
        np.testing.assert_allclose(gradient @ rate, weights @ change, rtol=1e-12)


@pytest.mark.slow(every=3)
def test_manipulability_task_errors_of_mechanisms_are_logarithms_of_ratios():
    """Its rate along the mechanism is that of the logarithm."""
    cases = (
        (lw.load("fourbar"), "coupler", "all"),
        (lw.load("fourbar"), "rocker", "angular"),
        (five_bar(), "right_lower", "all"),
    )
    for robot, frame, part in cases:
        q = robot.assemble(robot.integrate(robot.neutral(), np.linspace(0.2, 0.4, robot.nv))).q
        task = lw.ik.ManipulabilityTask(frame, part=part)
        issues = TaskState(robot.tree, q.tolist()).derived(lambda state, task=task: task.errors(state, [0.5]))
        w = robot.manipulability(q, frame, part=part)
        np.testing.assert_allclose(issues.errors, np.log(w / 0.5), rtol=0, atol=1e-6)
        direction = np.linalg.svd(robot.constraint_jacobian(q))[2][-1]
        both = robot.assemble(robot.integrate(q, np.outer([-1e-4, 1e-4], direction))).q
        before, after = np.log(robot.manipulability(both, frame, part=part))
        np.testing.assert_allclose(issues.rows[0] @ robot.difference(both[0], both[1]), after - before, atol=1e-7)
