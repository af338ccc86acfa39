"""How motions of frames chain, against differentiated trajectories, over every kind of scalar.

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
    """Rotation by rows and place, (ω; v), (ω̇; v̇), all in the axes of the frame in which the path is."""
    with mpmath.workdps(DIGITS):
        time = mpmath.mpf(t)
        before, now, after = pose(time - STEP), pose(time), pose(time + STEP)
        rate, second = (after - before) / (2 * STEP), (after - 2 * now + before) / STEP**2
        R, R1, R2 = (M[:3, :3] for M in (now, rate, second))
        spin, spin_rate = R1 * R.T, R2 * R.T + R1 * R1.T
        numbers = [*R, *now[:3, 3]]
        for M, linear in ((spin, rate[:3, 3]), (spin_rate, second[:3, 3])):
            numbers += [M[2, 1], M[0, 2], M[1, 0], *linear]
        return np.array([float(x) for x in numbers])


def read(r: Reader) -> FrameMotion:
    return FrameMotion(r.pose(), r.motion(), r.motion())


def parts(m: FrameMotion) -> list[Any]:
    return scalars_of([m.pose.rotation, m.pose.translation, m.twist, m.acceleration])


def cases() -> tuple[np.ndarray, np.ndarray]:
    """Of B in A and of C in B, and of C in A."""
    given, expected = [], []
    for seed in range(3):
        B, C = path(2 * seed), path(2 * seed + 1)
        for t in TIMES:
            given.append(np.concatenate([motion_along(B, t), motion_along(C, t)]))
            expected.append(motion_along(lambda t, B=B, C=C: B(t) * C(t), t))
    return np.array(given), np.array(expected)


@every_scalar
def test_a_frame_on_a_moving_frame(run: Any) -> None:
    given, expected = cases()

    def function(x: list[Any]) -> list[Any]:
        r = Reader(x)
        return parts(read(r) @ read(r))

    for result, reference in zip(run(function, given), expected, strict=True):
        assert_near(result, reference, times=64.0)


@every_scalar
def test_the_motion_seen_from_the_other_frame(run: Any) -> None:
    samples, expected = [], []
    for seed in range(3):
        B = path(seed)
        for t in TIMES:
            samples.append(motion_along(B, t))
            expected.append(motion_along(lambda t, B=B: B(t) ** -1, t))
    found = run(lambda x: parts(read(Reader(x)).inv()), np.array(samples))
    for result, reference in zip(found, expected, strict=True):
        assert_near(result, reference, times=64.0)


def test_a_chain_may_be_taken_in_any_order_and_rest_changes_nothing() -> None:
    A, B, C = (read(Reader(motion_along(path(seed), 0.3).tolist())) for seed in range(3))
    assert_near(parts((A @ B) @ C), np.array(parts(A @ (B @ C)), dtype=float), times=256.0)
    rest = FrameMotion.at_rest(Pose.identity())
    assert parts(rest @ A) == parts(A @ rest) == parts(A)
    assert_near(parts(A @ A.inv()), np.array(parts(rest), dtype=float), times=256.0)


def test_coriolis_counts_twice() -> None:
    """With ω × V once, as the footnote has it, and no V̇ and Ẇ, the result is another one."""
    given, expected = cases()
    parent, relative = (read(Reader(x.tolist())) for x in (given[0][:24], given[0][24:]))
    R, w, w_dot = parent.pose.rotation, parent.twist.angular, parent.acceleration.angular
    P, V = R @ relative.pose.translation, R @ relative.twist.linear
    moved = parent.acceleration.linear + R @ relative.acceleration.linear + w.cross(w.cross(P)) + w_dot.cross(P)
    assert_near(list(moved + w.cross(V) * 2.0), expected[0][21:], times=64.0)
    once = np.array([*(moved + w.cross(V))], dtype=float)
    assert_near([*once], expected[0][21:] - np.array([*w.cross(V)], dtype=float), times=64.0)
    assert np.linalg.norm(once - expected[0][21:]) > 0.1


@every_scalar
def test_the_body_before_a_moving_joint(run: Any) -> None:
    """`RigidMotion.before` undoes `RigidMotion.through`."""
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
        there = RigidMotion.of(*(Reader(sample[3 * k :][:3].tolist()).vec3() for k in range(3))).omega
        expected = [*sample[:9], *there.x, *there.y, *there.z]
        assert_near(result, np.array(expected, dtype=float), times=256.0)
