"""Nearest configurations and velocities of poses and twists: every scalar, derivatives, half turns, counted turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.joints import EVERY, EXAMPLES, Helical, bare
from helpers.scalars import dual_jacobian, on_batches, on_floats, on_symbols, symbolic_jacobian
from linkwork.expr.autodiff.dual_numbers import parts, seeded, value_of
from linkwork.joints import ALL, Composite, JointType, Prismatic, Revolute
from linkwork.joints import Helical as Screw
from linkwork.joints.base.pose_inversion import least_squares, nearest_configuration, pose_error
from linkwork.spatial import Motion, Pose, Quaternion, Rotation, Vec3
from linkwork.spatial.quaternion import translation_of_twist

CLOSED = {
    name: joint
    for name, joint in EXAMPLES.items()
    if type(joint).configuration_from_pose is not JointType.configuration_from_pose
}
SEARCHED = {name: joint for name, joint in EVERY.items() if name not in CLOSED}
HALF_TURNS = [np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, 1.0, -1.0]), np.diag([-1.0, -1.0, 1.0]), np.eye(3)]


def poses(joint: JointType, count: int, seed: int = 0) -> np.ndarray:
    """Poses (count, 12) that the joint can take, without their last rows."""
    free = np.full(joint.nq, np.inf)
    drawn = joint.random(np.random.default_rng(seed), -free, free, (count - 1,)).tolist()
    return np.array([joint.X(q).elements()[:12] for q in (joint.zero(), *drawn)], dtype=float)


def pose(elements: Any) -> Pose:
    return Pose.of_elements([*elements, 0.0, 0.0, 0.0, 1.0])


def moved(X: Pose, V: Motion) -> Pose:
    """Moving with a twist for unit time."""
    return X @ Pose(Quaternion.exp(V.angular).rotation(), translation_of_twist(V.angular, V.linear))


def everything(joint: JointType, elements: Any) -> list[Any]:
    """Return q, v and gap of a pose and a twist."""
    X = pose(elements)
    q = joint.configuration_from_pose(X)
    return [
        *q,
        *joint.velocity_from_twist(q, Motion.of([0.3, -1.0, 2.0, 0.4, 1.1, 0.7])),
        *joint.pose_residual(X).elements(),
    ]


@pytest.mark.slow(every=5)
def test_nearest_joint_configurations_to_poses_agree_on_all_scalars_with_derivatives(drawn: Any) -> None:
    """Poses of the joint, and half a turn away from the identity for closed forms."""
    joints_of_test = {
        name: joint for name, joint in EVERY.items() if not (name.endswith("-1") or name in ("cam", "swivel"))
    }
    for name, joint in drawn(joints_of_test.items()):
        samples = poses(joint, 2)
        if name in CLOSED:
            ends = [np.concatenate([R, [[0.1], [0.2], [0.3]]], axis=1).ravel() for R in HALF_TURNS]
            samples = np.array([*samples, *ends])
        said = lambda x, joint=joint: everything(joint, x)  # noqa: E731
        floats = on_floats(said, samples)
        assert np.isfinite(floats).all()
        for run in (on_batches, on_symbols):
            assert np.max(np.abs(run(said, samples) - floats)) <= 1e-12, (name, run)
        for sample in samples:
            assert np.isfinite(dual_jacobian(said, sample)).all(), name
        assert np.allclose(symbolic_jacobian(said, samples[1]), dual_jacobian(said, samples[1]), atol=1e-9), name


@pytest.mark.slow(every=3)
def test_rate_of_the_pose_residual_equals_the_twist_across_the_motion_subspace_of_a_joint(drawn: Any) -> None:
    """Against differences, across the constraint wrenches; q follows the pose along the motion subspace."""
    rng, h = np.random.default_rng(1), 1e-6
    for name, joint in drawn(EVERY.items()):
        X, V = pose(poses(joint, 2)[1]), Motion.of(rng.normal(size=6).tolist())
        q = joint.configuration_from_pose(X)
        for F in joint.constraint_wrench_subspace(q):
            ahead, behind = (joint.pose_residual(moved(X, V * k)).dot(F) for k in (h, -h))
            assert abs((ahead - behind) / (2.0 * h) - V.dot(F)) <= 2e-7 * (1.0 + abs(V.dot(F))), name
        v = rng.normal(size=joint.nv).tolist()
        rate = [float(x) for x in joint.q_dot(q, v)]
        configurations = [joint.configuration_from_pose(moved(X, joint.S(q) @ v * k)) for k in (h, -h)]
        assert np.allclose(np.subtract(*configurations) / (2.0 * h), rate, atol=1e-6), name


@pytest.mark.slow(every=5)
def test_rates_of_nearest_joint_configurations_of_unreachable_poses_equal_finite_differences() -> None:
    """The rate of the nearest configuration's transform equals differences, to second order in a direction."""
    rng, h = np.random.default_rng(2), 1e-4
    for name, joint in SEARCHED.items():
        X = moved(pose(poses(joint, 2)[1]), Motion.of((0.3 * rng.normal(size=6)).tolist()))
        V = Motion.of(rng.normal(size=6).tolist())

        def reached(s: Any, joint: JointType = joint, X: Pose = X, V: Motion = V) -> list[Any]:
            return joint.X(joint.configuration_from_pose(moved(X, V * s))).elements()[:12]

        (inner,) = seeded([0.0], [1.0])
        (s,) = seeded([inner], [1.0])
        dual_rates = [parts(x, s.level) for x in reached(s)]
        second = [parts(rate, inner.level)[1] for _, rate in dual_rates]
        ahead, at_pose, behind = (np.array(reached(x)) for x in (h, 0.0, -h))
        rates = np.array([float(value_of(rate)) for _, rate in dual_rates])
        assert np.allclose(rates, (ahead - behind) / (2.0 * h), atol=1e-6), name
        assert np.allclose(np.array(second, dtype=float), (ahead - 2.0 * at_pose + behind) / h**2, atol=1e-5), name


@pytest.mark.slow(every=5)
def test_searches_of_nearest_joint_configurations_reach_distant_poses_and_never_increase_the_error(drawn: Any) -> None:
    """Joints of robots in mm reach their poses; errors of other poses do not grow."""
    rng = np.random.default_rng(1)
    for name, joint in drawn({name: EVERY[name] for name in ("composite-0", "composite-1")}.items()):
        free = np.full(joint.nq, np.inf)
        drawn_q = joint.random(np.random.default_rng(5), -free, free, ()).tolist()
        far = [x * 300.0 if unit == "m" else x for x, unit in zip(drawn_q, joint.q_units, strict=True)]
        for k in range(6):
            turn = Quaternion(*rng.normal(size=4).tolist()).normalized().rotation()
            X = Pose(turn, Vec3(*(10.0 ** (k % 4) * rng.normal(size=3)).tolist())) if k else joint.X(far)
            ends = joint.configuration_from_pose(X), joint.zero()
            final_error, initial_error = (
                np.linalg.norm(np.array(pose_error(joint.X(q), X).elements(), dtype=float)) for q in ends
            )
            assert final_error <= (1.0 + 1e-9 if k else 1e-12) * initial_error, (name, k)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.type_name())
def test_nearest_joint_configurations_in_closed_form_equal_searched_configurations(kind: type[JointType]) -> None:
    """The same transform, the same velocities, and the same gap next to a pose of the joint."""
    joint = kind.example(np.random.default_rng(3))
    X, q = pose(poses(joint, 2)[1]), joint.configuration_from_pose(pose(poses(joint, 2)[1]))
    configuration = nearest_configuration(joint, X)
    assert np.allclose(joint.X(configuration).elements(), X.elements(), atol=1e-12)
    if kind.configuration_from_pose is not JointType.configuration_from_pose:  # a robot in mm
        far = joint.X([x * 300.0 if unit == "m" else x for x, unit in zip(q, joint.q_units, strict=True)])
        assert np.allclose(joint.X(nearest_configuration(joint, far)).elements(), far.elements(), rtol=1e-12, atol=1e-9)
    V = Motion.of(np.random.default_rng(4).normal(size=6).tolist())
    S = [column.elements() for column in joint.S(q).columns]
    assert np.allclose(joint.velocity_from_twist(q, V), least_squares(S, V.elements()), atol=1e-12)


@pytest.mark.slow(every=3)
def test_residuals_of_unreachable_joint_poses_are_not_zero() -> None:
    """A joint constraint measures an error as large as the distance, at half turns and anywhere."""
    rng = np.random.default_rng(5)
    for name, joint in CLOSED.items():
        for k in range(24):
            turn = Rotation(*(Vec3(*row) for row in HALF_TURNS[k % 4].tolist()))
            far = Quaternion(*(rng.normal(size=4)).tolist()).normalized().rotation()
            X = pose(poses(joint, 2, k)[1]) @ Pose(
                turn if k < 12 else far, Vec3(*(k % 2 * rng.normal(size=3)).tolist())
            )
            q = joint.configuration_from_pose(X)
            missed = np.max(np.abs(np.subtract(joint.X(q).elements(), X.elements())))
            residuals = [joint.pose_residual(X).dot(F) for F in joint.constraint_wrench_subspace(q)]
            assert np.max(np.abs(residuals), initial=0.0) >= 0.3 * missed - 1e-12, name


@pytest.mark.slow(every=5)
def test_residuals_after_an_unsuccessful_search_of_a_joint_configuration_are_not_zero() -> None:
    for name in ("composite-0", "helical"):
        joint = SEARCHED[name]
        X = pose(poses(joint, 2)[1]) @ Pose(Rotation.about(Vec3(1.0, 0.0, 0.0), np.pi), Vec3(0.1, 0.0, 0.0))
        q = joint.configuration_from_pose(X)
        missed = np.max(np.abs(np.subtract(joint.X(q).elements(), X.elements())))
        residuals = [joint.pose_residual(X).dot(F) for F in joint.constraint_wrench_subspace(q)]
        assert missed > 0.01 and np.max(np.abs(residuals)) >= 0.3 * missed, name


@pytest.mark.slow(every=9)
def test_nearest_joint_configurations_do_not_jump_between_revolutions() -> None:
    """Chains of hinges and slides at poses 1e-3 out of reach, 1e-6 apart: angles are close, and within half turns."""
    rng = np.random.default_rng(1)
    for types in ((Revolute, Prismatic), (Revolute, Revolute)):
        placements = [pose(poses(EXAMPLES["floating-0"], 2, seed=k)[1]) for k in range(2)]
        joint = Composite(tuple(kind.example(rng) for kind in types), tuple(placements))
        for elements in poses(joint, 4, seed=3)[1:]:
            X = moved(pose(elements), Motion.of((1e-3 * rng.normal(size=6)).tolist()))
            q = np.array(joint.configuration_from_pose(X))
            assert np.abs(q[[unit == "rad" for unit in joint.q_units]]).max() <= np.pi
            for _ in range(5):
                near = moved(X, Motion.of((1e-6 * rng.normal(size=6)).tolist()))
                assert np.abs(np.array(joint.configuration_from_pose(near)) - q).max() < 1e-4, types


def test_nearest_configuration_of_a_screw_joint_counts_its_turns() -> None:
    screw = Screw((0.6, 0.0, 0.8), 0.05)
    for q in (0.3, 3.1, -9.0, 40.0):
        assert screw.configuration_from_pose(screw.X([q]))[0] == pytest.approx(q, abs=1e-12)
    without = Screw((0.0, 0.0, 1.0), 0.0)
    assert (
        without.configuration_from_pose(without.X([1.0]))
        == Revolute((0.0, 0.0, 1.0)).configuration_from_pose(without.X([1.0]))
        == [pytest.approx(1.0)]
    )
    users = Helical(Vec3(0.0, 0.0, 1.0), 0.3)  # its transform alone, and more than a turn away
    assert users.configuration_from_pose(users.X([8.0]))[0] == pytest.approx(8.0, abs=1e-12)


def test_nearest_angles_at_gimbal_lock_reproduce_the_rotation() -> None:
    """At gimbal lock and next to it, to rounding; derivatives at it stay finite."""
    for order in ("xyz", "zxz", "yzx", "yxy"):
        joint = next(kind for kind in ALL if kind.__name__ == "SphericalEuler")(order)
        lock = 0.0 if order[0] == order[2] else 0.5 * np.pi
        for off in (0.0, 1e-15, 1e-13, 1e-10, 1e-7):
            X = joint.X([0.4, lock + off, -1.3])
            assert np.allclose(
                joint.X(joint.configuration_from_pose(X)).elements(), X.elements(), rtol=0.0, atol=4e-15
            ), (order, off)
        at = np.array(joint.X([0.0, lock, 0.0]).elements()[:12])
        assert np.isfinite(dual_jacobian(lambda x, joint=joint: joint.configuration_from_pose(pose(x)), at)).all()


def test_joint_type_without_closed_forms_has_the_same_nearest_configuration() -> None:
    """All functions that follow from the transform equal those of a type with closed forms."""
    joint = EXAMPLES["cylindrical-0"]
    searched = bare(type(joint)(joint.axis))
    plain = type(
        "Plain",
        (type(searched),),
        {"configuration_from_pose": JointType.configuration_from_pose, "pose_residual": JointType.pose_residual},
    )(joint.axis)
    X = joint.X([0.7, 0.2])
    assert np.allclose(plain.configuration_from_pose(X), [0.7, 0.2], atol=1e-12)
    assert np.allclose(plain.pose_residual(X).elements(), 0.0, atol=1e-12)
