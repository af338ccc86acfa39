"""Derivatives of inverse kinematics solutions, compared with differences of solutions that are computed again."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError

ARM, ARM6 = lw.load("arm7"), lw.load("arm6")
H = 2e-4
FINE = 1e-11


def moved(X, k, by):
    """A pose moved in its own axes: by an angle, or a way."""
    rotation, translation = np.zeros(3), np.zeros(3)
    (rotation if k < 3 else translation)[k % 3] = by
    x, y, z = rotation
    angle = np.linalg.norm(rotation)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    step = np.eye(4)
    if angle:
        step[:3, :3] += np.sin(angle) / angle * K + (1.0 - np.cos(angle)) / angle**2 * K @ K
    step[:3, 3] = translation
    return X @ step


def differences(answer, n, h=H):
    """(..., nv, n), central and of fourth order."""
    columns = []
    for k in range(n):
        a, b = (answer(k, h) - answer(k, -h)), (answer(k, 2 * h) - answer(k, -2 * h))
        columns.append((8.0 * a - b) / (12.0 * h))
    return np.stack(columns, axis=-1)


def regular(robot, frame, q, least=0.05):
    return np.linalg.svd(robot.jacobian(q, frame), compute_uv=False)[..., -1] > least


@pytest.mark.slow(every=5)
def test_ik_solutions_of_six_axis_arms_vary_by_the_inverse_jacobian():
    """J⁻¹ equals the change of the solution that is computed again from the previous one."""
    q = ARM6.random_configuration(seed=1, size=60) * 0.9
    q = q[regular(ARM6, "tool", q, 0.1)][:10]
    X = ARM6.pose(q, "tool")
    solution = ARM6.inverse_kinematics(X, "tool", q_init=q, position_tolerance=FINE, orientation_tolerance=FINE)
    D = solution.derivative("X_target")
    again = differences(
        lambda k, h: (
            ARM6.inverse_kinematics(
                moved(X, k, h), "tool", q_init=q, position_tolerance=FINE, orientation_tolerance=FINE
            ).q
        ),
        6,
    )
    assert D.shape == (len(q), 6, 6) and np.abs(D - again).max() <= 1e-6 * np.abs(again).max()
    J = ARM6.jacobian(solution.q, "tool", expressed_in="tool")  # the frame's own axes are the target's
    assert np.abs(J @ D - np.eye(6)).max() <= 1e-8


def test_ik_solutions_of_seven_axis_arms_vary_by_the_pseudoinverse():
    q = ARM.random_configuration(seed=2, size=20) * 0.9
    q = q[regular(ARM, "hand", q)][:8]
    solution = ARM.inverse_kinematics(
        ARM.pose(q, "hand"), "hand", q_init=q, position_tolerance=FINE, orientation_tolerance=FINE
    )
    D, J = solution.derivative("X_target"), ARM.jacobian(solution.q, "hand", expressed_in="hand")
    assert np.abs(D - np.linalg.pinv(J)).max() <= 1e-6


def nearest_cases():
    q = ARM.random_configuration(seed=3, size=120)
    near = np.clip(q + 0.5 * np.random.default_rng(3).normal(size=q.shape), ARM.lower, ARM.upper)
    X = ARM.pose(q, "hand")
    solution = ARM.inverse_kinematics(X, "hand", nearest_to=near, position_tolerance=FINE, orientation_tolerance=FINE)
    at_limit = ((solution.q <= ARM.lower) | (solution.q >= ARM.upper)).any(axis=1)
    fine = regular(ARM, "hand", solution.q, 0.1) & solution.success
    inside, pressed = np.flatnonzero(fine & ~at_limit)[:6], np.flatnonzero(fine & at_limit)[:3]
    return near, X, inside, pressed


@pytest.mark.slow(every=9)
def test_derivatives_of_nearest_ik_solutions_by_pose_and_reference_equal_finite_differences():
    near, X, inside, pressed = nearest_cases()
    assert len(inside) >= 4 and len(pressed)
    for chosen, limits in ((inside, None), (pressed, None)):
        X1, near1 = X[chosen], near[chosen]
        solution = ARM.inverse_kinematics(
            X1, "hand", nearest_to=near1, position_tolerance=FINE, orientation_tolerance=FINE, position_limits=limits
        )

        def by_pose(k, h, X1=X1, near1=near1, q=solution.q, limits=limits):
            problem = ARM.inverse_kinematics
            return problem(
                moved(X1, k, h),
                "hand",
                nearest_to=near1,
                q_init=q,
                position_tolerance=FINE,
                orientation_tolerance=FINE,
                position_limits=limits,
            ).q

        def by_near(k, h, X1=X1, near1=near1, q=solution.q, limits=limits):
            reference_k = near1 + h * np.eye(7)[k]
            return ARM.inverse_kinematics(
                X1,
                "hand",
                nearest_to=reference_k,
                q_init=q,
                position_tolerance=FINE,
                orientation_tolerance=FINE,
                position_limits=limits,
            ).q

        for name, answer, n in (("X_target", by_pose, 6), ("nearest_to", by_near, 7)):
            D, again = solution.derivative(name), differences(answer, n)
            assert D.shape == (len(chosen), 7, n)
            assert np.abs(D - again).max() <= 1e-5 * max(1.0, np.abs(again).max()), name


def planar(*lengths):
    rows = [{"a": a, "alpha": 0.0, "d": 0.0, "theta": 0.0} for a in lengths]
    return lw.Robot.from_dh("planar", rows, convention="standard")


def test_nearest_ik_solution_of_a_planar_arm_has_its_closed_form_derivative():
    """Conditions q − q₀ + Jᵀλ = 0 and p(q) = p: the matrix [[1 + Σ λ ∂²p, Jᵀ], [J, 0]]."""
    lengths = np.array([0.5, 0.4, 0.3])
    robot = planar(*lengths)
    task = lw.ik.PositionTask(robot.frames[-1], axes="reference", name="place", tolerance=FINE)
    near, position = np.array([0.4, 0.9, -0.5]), np.array([0.45, 0.6, 0.0])
    solution = robot.ik_problem(task, solver="nearest").solve(near, place=position, nearest_to=near)
    links = lengths[:, None] * np.stack([f(np.cumsum(solution.q)) for f in (np.cos, np.sin)], axis=-1)
    outer = np.cumsum(links[::-1], axis=0)[::-1]  # from each joint to the end
    J = np.stack([-outer[:, 1], outer[:, 0]])
    forces = -np.linalg.pinv(J.T) @ (solution.q - near)
    K = np.eye(3) - (outer @ forces)[np.maximum.outer(np.arange(3), np.arange(3))]
    inverse = np.linalg.inv(np.block([[K, J.T], [J, np.zeros((2, 2))]]))
    assert solution.success and np.abs(K - np.eye(3)).max() > 0.01
    np.testing.assert_allclose(solution.derivative("nearest_to"), inverse[:3, :3], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(solution.derivative("place")[:, :2], inverse[:3, 3:], rtol=0.0, atol=1e-6)


@pytest.mark.slow(every=9)
def test_derivatives_of_ik_solutions_by_link_lengths_equal_finite_differences():
    """Derivatives by the offset of a joint, of arms with and without a redundant joint."""
    for lengths, solver in (((0.5, 0.4), "auto"), ((0.5, 0.4, 0.3), "nearest")):
        robot = planar(*lengths)
        task = lw.ik.PositionTask(robot.frames[-1], axes="reference", name="place", tolerance=FINE)
        q0 = np.array([0.3, 0.8, -0.4][: len(lengths)])
        position = robot.pose(q0, robot.frames[-1])[:3, 3] - [0.1, 0.05, 0.0]
        parameter = f"placement:{robot.joints[1].name}"
        options = {"nearest_to": q0} if solver == "nearest" else {}
        solution = robot.ik_problem(task, solver=solver).solve(q0, place=position, **options)
        D = solution.derivative(parameter)
        assert solution.success and D.shape == (robot.nv, 6)
        for k in (2, 3):  # in the plane: an angle, and along the link

            def answer(
                _, h, robot=robot, k=k, q=solution.q, task=task, solver=solver, options=options, position=position
            ):
                changed = robot.with_parameters({f"placement:{robot.joints[1].name}": h * np.eye(6)[k]})
                return changed.ik_problem(task, solver=solver).solve(q, place=position, **options).q

            again = differences(answer, 1)[:, 0]
            assert np.abs(D[:, k] - again).max() <= 1e-6 * max(1.0, np.abs(again).max())
            assert np.abs(again).max() > 0.1


@pytest.mark.slow(every=5)
def test_derivatives_of_ik_solutions_by_position_rotation_and_joint_targets_equal_finite_differences():
    q = ARM.random_configuration(seed=6, size=4) * 0.5
    X, near = ARM.pose(q, "hand"), q + 0.1
    for task, target, answer in (
        (lw.ik.PositionTask("hand", axes="reference"), X[:, :3, 3], lambda k, h: X[:, :3, 3] + h * np.eye(3)[k]),
        (lw.ik.OrientationTask("hand"), X[:, :3, :3], lambda k, h: moved(X, k, h)[:, :3, :3]),
    ):
        problem = ARM.ik_problem(task, solver="nearest")
        solution = problem.solve(nearest_to=near, hand=target, tolerance=FINE)
        D = solution.derivative("hand")

        def solved(k, h, answer=answer, problem=problem, solution=solution):
            return problem.solve(solution.q, nearest_to=near, tolerance=FINE, hand=answer(k, h)).q

        assert np.abs(D - differences(solved, 3, 1e-3)).max() <= 1e-6 * max(1.0, np.abs(D).max())
        single = problem.solve(nearest_to=near[1], hand=target[1], tolerance=FINE)
        assert np.abs(single.derivative("hand") - D[1]).max() <= 1e-12 * max(1.0, np.abs(D).max())


@pytest.mark.slow(every=9)
def test_derivatives_of_ik_solutions_are_finite_or_refused_at_singularities_and_failures():
    """Singular poses, failed solutions, and every joint at a limit."""
    q = np.zeros(6)
    for robot, frame, options in (
        (ARM6, "tool", {"q_init": q}),
        (ARM6, "tool", {"nearest_to": q}),
        (ARM, "hand", {"nearest_to": ARM.upper + 0.0}),
    ):
        at = robot.neutral() if robot is ARM6 else robot.upper
        for X in (robot.pose(at, frame), lw.pose((40.0, 0.0, 0.0))):
            solution = robot.inverse_kinematics(X, frame, max_iterations=300, **options)
            assert np.isfinite(solution.derivative("X_target")).all()
    solution = ARM6.inverse_kinematics(ARM6.pose(ARM6.neutral(), "tool"), "tool")
    for by, error, text in (
        ("hand", ValueError, "expected a target, 'X_target', or a robot"),
        (3, ValueError, "expected a target, 'X_target', or a robot"),
        ("placement:elbow9", UnknownNameError, "no joint named 'elbow9'"),
    ):
        with pytest.raises(error, match=text):
            solution.derivative(by)


@pytest.mark.slow(every=5)
def test_derivatives_of_ik_solutions_inside_a_compiled_function_are_exact():
    """A compiled function has the method's solution, with forward and reverse derivatives."""
    q0 = np.array([0.3, -0.4, 0.5, 1.2, 0.2, 0.6, 0.1])
    near, name = q0 + 0.1, f"placement:{ARM.joints[3].name}"
    X = ARM.pose(q0, "hand")

    def squared(X, near, offset):
        robot = ARM.with_parameters({name: offset})
        q = robot.inverse_kinematics(X, "hand", nearest_to=near, position_tolerance=FINE, orientation_tolerance=FINE).q
        return q, q @ q

    kernel = lw.compile(squared, X=(4, 4), near=(7,), offset=(6,))
    solution = ARM.inverse_kinematics(X, "hand", nearest_to=near, position_tolerance=FINE, orientation_tolerance=FINE)
    q, total = kernel(X, near, np.zeros(6))
    assert np.abs(q - solution.q).max() <= 1e-12 and abs(total - solution.q @ solution.q) <= 1e-12
    single = lw.compile(lambda near, offset: squared(X, near, offset)[1], near=(7,), offset=(6,))
    for by, D in (("near", solution.derivative("nearest_to")), ("offset", solution.derivative(name))):
        expected = 2.0 * solution.q @ D
        _, in_reverse = single.value_and_gradient(by)(near, np.zeros(6))
        for gradient in (single.jacobian(by)(near, np.zeros(6)), in_reverse):
            assert np.abs(gradient - expected).max() <= 1e-9 * np.abs(expected).max()
