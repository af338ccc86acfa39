"""Compiled functions of joints in float64 and float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork
from helpers.joints import EVERY
from linkwork.joints import JointType

SAMPLE_VALUES = (0.3, -1.0, 0.5, 0.7, 0.2, -0.4)
moving = {name: joint for name, joint in EVERY.items() if joint.nv}
every_moving_joint = pytest.mark.parametrize("joint", moving.values(), ids=moving.keys())


def everything(joint: JointType, q: Any, v: Any) -> list[Any]:
    """Return transform, motion subspace, bias, maps of the manifold, and the borne part of a wrench."""
    moved = joint.integrate(q, [0.5 * x for x in v])
    wrenches = [F.elements() for F in joint.constraint_wrench_subspace(q)]
    along = [sum(a * b for a, b in zip(F, SAMPLE_VALUES, strict=True)) for F in wrenches]
    return [
        *joint.X(q).elements(),
        *(x for column in joint.S(q).columns for x in column.elements()),
        *joint.bias(q, v).elements(),
        *joint.q_dot(q, v),
        *joint.velocity_from_rate(q, joint.q_dot(q, v)),
        *moved,
        *joint.difference(q, moved),
        *joint.canonical(q),
        joint.regularity(q),
        *(sum((a * F[k] for a, F in zip(along, wrenches, strict=True)), 0.0) for k in range(6)),  # whatever the basis
    ]


@every_moving_joint
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_joint_functions_equal_interpreted_functions(joint: JointType, dtype: Any) -> None:
    rng, free = np.random.default_rng(0), np.full(joint.nq, np.inf)
    q = joint.random(rng, -free, free, (9,)).astype(dtype)
    v = (0.5 * rng.normal(size=(9, joint.nv))).astype(dtype)
    function = linkwork.compile(
        lambda q, v: np.array(everything(joint, list(q), list(v)), dtype=object), q=(joint.nq,), v=(joint.nv,)
    )
    result = function(q, v)
    assert result.dtype == dtype
    expected = np.array([everything(joint, *pair) for pair in zip(q.tolist(), v.tolist(), strict=True)], dtype=float)
    size = np.maximum(1.0, np.linalg.norm(expected, axis=-1, keepdims=True))
    assert np.max(np.abs(result - expected) / size) <= 64.0 * np.finfo(dtype).eps
