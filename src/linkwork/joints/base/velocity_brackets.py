"""Lie brackets of a joint's velocities: q̇ = Σ v_i X_i(q), [X_i, X_j] = Σ c_ij^k X_k.

The brackets are zero where q̇ = v.  The velocities of a rotation or of a rigid motion in moving axes have constant
brackets, by which Euler's equations differ from Newton's.

Source: Hamel, Theoretische Mechanik, 1949; Marsden and Ratiu, Introduction to Mechanics and Symmetry, 2nd ed. 1999.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.joints.base.generic_rank import cached_property_of

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = ["velocity_brackets"]

Brackets = Mapping[tuple[int, int, int], Any]  # c_ij^k by (i, j, k), without zeros

_SAMPLES = 4
_SAME = 1e-9  # accepted difference between configurations of brackets that count as constant


def velocity_brackets(joint: JointType, q: Sequence[Any]) -> Brackets:
    """Return the coefficients c_ij^k of the brackets at q, floats where they are the same at every q."""
    constant: Brackets | None = cached_property_of(joint, _constant) if joint.nv > 1 else {}
    return _brackets(joint, q) if constant is None else constant


def _constant(joint: JointType) -> Brackets | None:
    """Return the coefficients if they are the same at random configurations, else None."""
    free = np.full(joint.nq, np.inf).tolist()
    drawn = joint.random(np.random.default_rng(0), [-x for x in free], free, (_SAMPLES,)).tolist()
    each = [_brackets(joint, q) for q in drawn]
    keys = sorted({key for row in each for key in row})
    values = np.array([[float(row.get(key, 0.0)) for key in keys] for row in each])
    if values.size and np.ptp(values, axis=0).max() > _SAME * max(1.0, float(np.abs(values).max())):
        return None
    mean = values.mean(axis=0).round(12).tolist()
    return {key: c for key, c in zip(keys, mean, strict=True) if c}


def _brackets(joint: JointType, q: Sequence[Any]) -> Brackets:
    fields = [joint.q_dot(q, unit) for unit in unit_vectors(joint.nv)]
    result: dict[tuple[int, int, int], Any] = {}
    for i, field in enumerate(fields):
        moving = seeded(q, field)
        for j, unit in enumerate(unit_vectors(joint.nv)):
            along = [parts(x, moving[0].level)[1] for x in joint.q_dot(moving, unit)]  # the derivative of X_j along X_i
            for k, x in enumerate(joint.velocity_from_rate(q, along) if i != j else ()):
                for key, c in (((i, j, k), x), ((j, i, k), -x)):
                    result[key] = result[key] + c if key in result else c
    return result
