"""Random configurations of joints: within bounds, on the manifold, uniform, and reproducible."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from helpers.joints import EVERY, EXAMPLES
from helpers.scalars import EPS
from linkwork.joints import Fixed, Floating, JointType, Prismatic, Revolute

INF = math.inf
N = 500

every_joint = pytest.mark.parametrize("joint", EVERY.values(), ids=EVERY.keys())


def bounded(joint: JointType) -> list[int]:
    """The coordinates that bounds apply to: a quaternion has none."""
    return [k for k in range(joint.nq) if joint.q_units[k] != "1"]


def expected_range(unit: str, low: float, high: float) -> tuple[float, float]:
    """An angle without bounds is from [-π, π], a length from [-1, 1] m; with one bound, as far from it."""
    reach = math.pi if unit == "rad" else 1.0
    if low == -INF and high == INF:
        return -reach, reach
    return (high - 2.0 * reach if low == -INF else low), (low + 2.0 * reach if high == INF else high)


BOUNDS = [(-INF, INF), (-0.3, INF), (-INF, 0.2), (-0.3, 0.2), (5.0, INF), (-INF, -7.0), (2.0, 2.0)]


@every_joint
@pytest.mark.parametrize("shift", range(len(BOUNDS)))
def test_random_joint_configurations_are_within_their_bounds(joint: JointType, shift: int) -> None:
    """All combinations of bounds over one coordinate, and mixtures over several."""
    bounds = [BOUNDS[(shift + 2 * k) % len(BOUNDS)] for k in range(joint.nq)]
    lower, upper = [b[0] for b in bounds], [b[1] for b in bounds]
    q = joint.random(np.random.default_rng(shift), lower, upper, (N,))
    assert q.shape == (N, joint.nq) and q.dtype == np.float64
    assert np.isfinite(q).all()
    for k in bounded(joint):
        low, high = expected_range(joint.q_units[k], lower[k], upper[k])
        assert low <= q[:, k].min() and q[:, k].max() <= high
        # and it fills them: N draws come within 5 % of either end but once in 10¹⁰ times
        assert q[:, k].min() <= low + 0.05 * (high - low) and q[:, k].max() >= high - 0.05 * (high - low)


@every_joint
@pytest.mark.parametrize("size", [(), (1,), (3,), (0,), (2, 3), (2, 0, 3), (4, 1, 2)])
def test_random_joint_configurations_have_the_requested_shape(joint: JointType, size: tuple[int, ...]) -> None:
    free = [INF] * joint.nq
    q = joint.random(np.random.default_rng(0), [-x for x in free], free, size)
    assert isinstance(q, np.ndarray) and q.shape == (*size, joint.nq)


@every_joint
def test_equal_seeds_give_equal_random_joint_configurations(joint: JointType) -> None:
    free = np.full(joint.nq, INF)
    first, again, of_another_seed = (joint.random(np.random.default_rng(seed), -free, free, (5,)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert joint.nq == 0 or not np.array_equal(first, of_another_seed)
    rng = np.random.default_rng(1)
    assert np.array_equal(joint.random(rng, -free, free, (5,)), first)
    assert joint.nq == 0 or not np.array_equal(joint.random(rng, -free, free, (5,)), first)


@every_joint
def test_drawing_random_joint_configurations_does_not_modify_the_bounds(joint: JointType) -> None:
    lower, upper = np.full(joint.nq, -INF), np.full(joint.nq, 0.5)
    joint.random(np.random.default_rng(0), lower, upper, (5,))
    assert np.all(lower == -INF) and np.all(upper == 0.5)


@every_joint
def test_random_joint_configurations_are_on_the_manifold(joint: JointType) -> None:
    free = np.full(joint.nq, INF)
    q = joint.random(np.random.default_rng(7), -free, free, (50,))
    for columns in joint.unit_length:
        assert np.max(np.abs(np.linalg.norm(q[:, columns], axis=1) - 1.0)) <= 2.0 * EPS
    normalized = np.array([joint.normalize(x) for x in q.tolist()]).reshape(50, joint.nq)
    assert np.max(np.abs(normalized - q), initial=0.0) <= 4.0 * EPS


def test_random_rotations_of_joints_are_uniformly_distributed() -> None:
    """Quaternions have mean 0 and covariance 1/4; a point on the moving frame's axis is uniform on the sphere."""
    n, free = 4000, np.full(7, INF)
    q = Floating().random(np.random.default_rng(0), -free, free, (n,))
    epsilon = q[:, :4]
    assert np.max(np.abs(epsilon.mean(axis=0))) <= 5.0 * math.sqrt(0.25 / n)
    assert np.max(np.abs(epsilon.T @ epsilon / n - np.eye(4) / 4.0)) <= 5.0 * math.sqrt(1.0 / 16.0 / n)
    heights = np.array([float(Floating().X(x).rotation.z.z) for x in q[:1000].tolist()])
    assert abs(heights.mean()) <= 5.0 * math.sqrt(1.0 / 3.0 / 1000)
    assert abs(np.mean(heights**2) - 1.0 / 3.0) <= 5.0 * math.sqrt(4.0 / 45.0 / 1000)
    assert np.max(np.abs(q[:, 4:].mean(axis=0))) <= 5.0 * math.sqrt(1.0 / 3.0 / n)


@pytest.mark.parametrize(("kind", "reach"), [(Revolute, math.pi), (Prismatic, 1.0)])
def test_unbounded_joint_coordinates_are_drawn_from_the_documented_ranges(kind: Any, reach: float) -> None:
    joint = kind((0.0, 0.0, 1.0))
    for (low, high), (first, last) in {
        (-INF, INF): (-reach, reach),
        (1.0, INF): (1.0, 1.0 + 2.0 * reach),
        (-INF, 1.0): (1.0 - 2.0 * reach, 1.0),
        (-0.5, 0.25): (-0.5, 0.25),
    }.items():
        q = joint.random(np.random.default_rng(0), [low], [high], (N,))
        assert first <= q.min() <= first + 0.05 * (last - first)
        assert last - 0.05 * (last - first) <= q.max() <= last


def test_fixed_joint_has_empty_random_configurations() -> None:
    assert Fixed().random(np.random.default_rng(0), [], [], (3,)).shape == (3, 0)


def test_joint_bounds_of_wrong_length_are_refused() -> None:
    for joint in EXAMPLES.values():
        for lower, upper in itertools.product(([0.0] * (joint.nq + 1),), ([1.0] * (joint.nq + 2),)):
            with pytest.raises(ValueError, match="could not be broadcast"):
                joint.random(np.random.default_rng(0), lower, upper, (3,))
