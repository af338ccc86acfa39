"""Chained motions of frames against differentiated trajectories, over every kind of scalar.

Frames B(t) in A and C(t) in B follow smooth paths; the poses, and their product, are differentiated at 120 digits.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

from helpers.paths import Path, path
from helpers.precise import DIGITS, STEP
from helpers.scalars import assert_near, every_scalar
from helpers.spatial import Reader, scalars_of
from linkwork.spatial import FrameMotion, Pose, RigidMotion

TIMES = [0.0, 0.7, -1.3]


def motion_along(pose: Path, t: float) -> np.ndarray:
    """Return rotation rows and position, (ω; v), (ω̇; v̇), all in the axes of the path's frame."""
    with mpmath.workdps(DIGITS):
        time = mpmath.mpf(t)
        before, now, after = pose(time - STEP), pose(time), pose(time + STEP)
        rate, second = (after - before) / (2 * STEP), (after - 2 * now + before) / STEP**2
        R, R1, R2 = (M[:3, :3] for M in (now, rate, second))
        spin, spin_rate = R1 * R.T, R2 * R.T + R1 * R1.T
        elements = [*R, *now[:3, 3]]
        for M, linear in ((spin, rate[:3, 3]), (spin_rate, second[:3, 3])):
            elements += [M[2, 1], M[0, 2], M[1, 0], *linear]
        return np.array([float(x) for x in elements])


def read(r: Reader) -> FrameMotion:
    return FrameMotion(r.pose(), r.motion(), r.motion())


def parts(m: FrameMotion) -> list[Any]:
    return scalars_of([m.pose.rotation, m.pose.translation, m.twist, m.acceleration])


def cases() -> tuple[np.ndarray, np.ndarray]:
    """Return motions of B in A and of C in B, and of C in A."""
    samples, expected = [], []
    for seed in range(3):
        B, C = path(2 * seed), path(2 * seed + 1)
        for t in TIMES:
            samples.append(np.concatenate([motion_along(B, t), motion_along(C, t)]))
            expected.append(motion_along(lambda t, B=B, C=C: B(t) * C(t), t))
    return np.array(samples), np.array(expected)


@every_scalar
def test_motions_of_chained_frames_equal_differentiated_trajectories(run: Any) -> None:
    samples, expected = cases()

    def function(x: list[Any]) -> list[Any]:
        r = Reader(x)
        return parts(read(r) @ read(r))

    for result, reference in zip(run(function, samples), expected, strict=True):
        assert_near(result, reference, times=64.0)


@every_scalar
def test_inverse_of_a_frame_motion_equals_the_differentiated_inverse_path(run: Any) -> None:
    samples, expected = [], []
    for seed in range(3):
        B = path(seed)
        for t in TIMES:
            samples.append(motion_along(B, t))
            expected.append(motion_along(lambda t, B=B: B(t) ** -1, t))
    inverse_motions = run(lambda x: parts(read(Reader(x)).inv()), np.array(samples))
    for result, reference in zip(inverse_motions, expected, strict=True):
        assert_near(result, reference, times=64.0)


def test_chaining_frame_motions_is_associative_with_a_resting_identity() -> None:
    A, B, C = (read(Reader(motion_along(path(seed), 0.3).tolist())) for seed in range(3))
    assert_near(parts((A @ B) @ C), np.array(parts(A @ (B @ C)), dtype=float), times=256.0)
    at_rest = FrameMotion.at_rest(Pose.identity())
    assert parts(at_rest @ A) == parts(A @ at_rest) == parts(A)
    assert_near(parts(A @ A.inv()), np.array(parts(at_rest), dtype=float), times=256.0)


def test_chained_frame_motions_contain_twice_omega_cross_v() -> None:
    """A single ω × V gives another result."""
    samples, expected = cases()
    parent, relative = (read(Reader(x.tolist())) for x in (samples[0][:24], samples[0][24:]))
    R, w, w_dot = parent.pose.rotation, parent.twist.angular, parent.acceleration.angular
    P, V = R @ relative.pose.translation, R @ relative.twist.linear
    moved = parent.acceleration.linear + R @ relative.acceleration.linear + w.cross(w.cross(P)) + w_dot.cross(P)
    assert_near(list(moved + w.cross(V) * 2.0), expected[0][21:], times=64.0)
    once = np.array([*(moved + w.cross(V))], dtype=float)
    assert_near([*once], expected[0][21:] - np.array([*w.cross(V)], dtype=float), times=64.0)
    assert np.linalg.norm(once - expected[0][21:]) > 0.1


@every_scalar
def test_rigid_motion_before_is_the_inverse_of_rigid_motion_through(run: Any) -> None:
    """`RigidMotion.before` inverts `RigidMotion.through`."""
    rng = np.random.default_rng(0)
    poses = [motion_along(path(seed), 0.1)[:12] for seed in range(4)]
    samples = np.array([np.concatenate([rng.normal(size=9), pose, rng.normal(size=12)]) for pose in poses])

    def function(x: list[Any]) -> list[Any]:
        r = Reader(x)
        motion, joint = RigidMotion.of(r.vec3(), r.vec3(), r.vec3()), (r.pose(), r.motion(), r.motion())
        back = motion.through(*joint).before(*joint)
        rows = [back.omega.x, back.omega.y, back.omega.z]
        return scalars_of([back.angular_velocity, back.angular_acceleration, back.acceleration, *rows])

    for sample, result in zip(samples, run(function, samples), strict=True):
        omega_of_motion = RigidMotion.of(*(Reader(sample[3 * k :][:3].tolist()).vec3() for k in range(3))).omega
        expected = [*sample[:9], *omega_of_motion.x, *omega_of_motion.y, *omega_of_motion.z]
        assert_near(result, np.array(expected, dtype=float), times=256.0)
