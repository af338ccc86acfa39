"""Properties of a joint type in almost every configuration: rank of S, and whether S is constant."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.own_code import is_own
from linkwork.joints.base.checks import parameter_error
from linkwork.spatial import Pose, Rotation, Vec3

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = ["cached_property_of", "check_joint_type", "has_constant_subspace", "is_elementary", "subspace_rank"]

_SAMPLES = 8
_SAME = 1e-9  # tolerance of S, relative to its largest element


def subspace_rank(joint: JointType) -> int:
    """Return the rank of the motion subspace S in almost every configuration."""
    return joint.nv if is_elementary(joint) else int(cached_property_of(joint, _rank))


def has_constant_subspace(joint: JointType) -> bool:
    """Return True if the motion subspace S is the same in all random configurations that were tried."""
    return bool(cached_property_of(joint, _same))


def check_joint_type(joint: JointType, name: str = "") -> None:
    """Raise ValueError for a joint type whose attributes, transform or motions are invalid.

    They are invalid for a type without its sizes or units, with a transform that is not a pose, with more than six
    velocities, or with linearly dependent motions in all configurations.  ``name`` is the joint's name, for messages.
    """
    of = f"joint {name!r} ({joint.type_name()})" if name else joint.type_name()
    for attribute, example in _STATED.items():
        if not hasattr(joint, attribute):
            raise parameter_error(of, attribute, f"the class attribute, such as `{attribute} = {example}`", "none")
    if joint.nv > 6:
        raise parameter_error(of, "nv", "at most 6 degrees of freedom", str(joint.nv))
    _check_transform(of, joint)
    try:
        result = subspace_rank(joint)
    except Exception:  # errors of its methods are reported where they are called; parameters may be symbols
        return
    if result < joint.nv:
        expected = f"{joint.nv} linearly independent columns of S"
        got = f"{joint.nv}, of which {result} {'is' if result == 1 else 'are'} independent in every configuration tried"
        raise parameter_error(of, "motions", expected, got, "leave out the others")


def _check_transform(of: str, joint: JointType) -> None:
    """Raise ValueError if the type's transform does not return a pose."""
    if is_elementary(joint):
        return
    try:
        X: Any = joint.X(joint.zero())
    except Exception:  # reported where it is called
        return
    if not isinstance(X, Pose):  # of an inverse, `formed` returns the pose
        raise parameter_error(of, "X", "a method that returns a linkwork.spatial.Pose", type(X).__name__)
    if not (isinstance(X.rotation, Rotation) and isinstance(X.translation, Vec3)):
        got = f"Pose({type(X.rotation).__name__}, {type(X.translation).__name__})"
        raise parameter_error(of, "X", "a method that returns Pose(Rotation, Vec3) of linkwork.spatial", got)


_STATED = {"nq": "1", "nv": "1", "q_units": '("rad",)', "v_units": '("rad/s",)'}  # every type states these


def is_elementary(joint: JointType) -> bool:
    """Return True for a built-in type that is not composed of other joints.

    The motions of such a type are linearly independent, except for Euler angles, which override `regularity`.
    """
    return is_own(type(joint), "linkwork.joints") and not joint.parts


def cached_property_of(joint: JointType, find: Callable[[JointType], Any]) -> Any:
    """Return ``find(joint)``, computed once for equal joints."""
    kind = type(joint)
    try:
        return _find_cached(joint, find, kind.X, kind.S, kind.q_dot)  # a method may have been replaced
    except TypeError:  # it cannot be hashed
        return find(joint)


@lru_cache(maxsize=512)
def _find_cached(joint: JointType, find: Callable[[JointType], Any], *methods: object) -> Any:
    return find(joint)


def _rank(joint: JointType) -> int:
    largest = 0
    for S in _subspaces(joint):
        lengths = float(np.max(np.abs(S[3:]), initial=0.0))
        scaled = np.concatenate([S[:3], S[3:] / lengths if lengths > 0.0 else S[3:]])
        sizes = np.linalg.norm(scaled, axis=0)
        largest = max(largest, int(np.linalg.matrix_rank(scaled / np.where(sizes > 0.0, sizes, 1.0), tol=1e-9)))
    return largest


def _same(joint: JointType) -> bool:
    first, *later = _subspaces(joint)
    size = max(1.0, float(np.max(np.abs(first), initial=0.0)))
    return all(float(np.max(np.abs(S - first), initial=0.0)) <= _SAME * size for S in later)


def _subspaces(joint: JointType) -> list[np.ndarray]:
    """Return the motion subspace S (6, nv) at several random configurations."""
    free = np.full(joint.nq, np.inf).tolist()
    drawn = joint.random(np.random.default_rng(0), [-x for x in free], free, (_SAMPLES,)).tolist()
    result = [[[float(x) for x in column.elements()] for column in joint.S(q).columns] for q in drawn]
    return [np.array(columns, dtype=float).reshape(-1, 6).T for columns in result]
