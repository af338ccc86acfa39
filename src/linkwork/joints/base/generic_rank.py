"""What holds of a type in nearly every configuration: how many motions it has, and whether they are always the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.joints.base.checks import refused
from linkwork.spatial import InversePose, Pose, Rotation, Vec3

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = ["independent_motions", "known_independent", "rank", "same_motions"]

_SAMPLES = 8
_SAME = 1e-9  # of S, relative to its size


def rank(joint: JointType) -> int:
    """The rank of S in nearly every configuration."""
    return joint.nv if known_independent(joint) else int(_known(joint, _rank))


def same_motions(joint: JointType) -> bool:
    """Whether S is the same in every configuration, as far as random ones tell."""
    return bool(_known(joint, _same))


def independent_motions(joint: JointType, name: str = "") -> None:
    """Raises ValueError where a type does not say its sizes and units, has a transform that is no pose, more than six
    velocities, or motions that depend on each other everywhere.
    """
    of = f"joint {name!r} ({joint.type_name()})" if name else joint.type_name()
    for what, example in _STATED.items():
        if not hasattr(joint, what):
            raise refused(of, what, f"the type to say it, such as `{what} = {example}`", "nothing")
    if joint.nv > 6:
        raise refused(of, "nv", "at most 6 degrees of freedom", str(joint.nv))
    _check_transform(of, joint)
    try:
        result = rank(joint)
    except Exception:  # what is wrong with its methods is told where they are used; and parameters may be symbols
        return
    if result < joint.nv:
        got = f"{joint.nv} of which {result} {'is' if result == 1 else 'are'} independent, in every configuration tried"
        raise refused(of, "motions", f"{joint.nv} columns of S that are independent", got, "leave out the others")


def _check_transform(of: str, joint: JointType) -> None:
    """Raises ValueError where a type's transform is another thing than a pose."""
    if known_independent(joint):  # one of linkwork's own
        return
    try:
        X: Any = joint.X(joint.zero())
    except Exception:  # told where it is used
        return
    if not isinstance(X, (Pose, InversePose)):
        raise refused(of, "X", "a linkwork.spatial.Pose from it", type(X).__name__)
    if isinstance(X, Pose) and not (isinstance(X.rotation, Rotation) and isinstance(X.translation, Vec3)):
        got = f"Pose({type(X.rotation).__name__}, {type(X.translation).__name__})"
        raise refused(of, "X", "Pose(Rotation, Vec3) from it, of linkwork.spatial", got)


_STATED = {"nq": "1", "nv": "1", "q_units": '("rad",)', "v_units": '("rad/s",)'}  # what no type goes without


def known_independent(joint: JointType) -> bool:
    """Whether it is one of linkwork's own that is made of no others: their motions are independent, but for Euler
    angles', which say where they are not.
    """
    return type(joint).__module__.startswith("linkwork.joints.") and not joint.parts


def _known(joint: JointType, find: Callable[[JointType], Any]) -> Any:
    kind = type(joint)
    try:
        return _found(joint, find, kind.X, kind.S, kind.q_dot)  # a method may have been replaced
    except TypeError:  # it cannot be hashed
        return find(joint)


@lru_cache(maxsize=512)
def _found(joint: JointType, find: Callable[[JointType], Any], *methods: object) -> Any:
    return find(joint)


def _rank(joint: JointType) -> int:
    most = 0
    for S in _subspaces(joint):
        lengths = float(np.max(np.abs(S[3:]), initial=0.0))
        scaled = np.concatenate([S[:3], S[3:] / lengths if lengths > 0.0 else S[3:]])
        sizes = np.linalg.norm(scaled, axis=0)
        most = max(most, int(np.linalg.matrix_rank(scaled / np.where(sizes > 0.0, sizes, 1.0), tol=1e-9)))
    return most


def _same(joint: JointType) -> bool:
    first, *others = _subspaces(joint)
    size = max(1.0, float(np.max(np.abs(first), initial=0.0)))
    return all(float(np.max(np.abs(S - first), initial=0.0)) <= _SAME * size for S in others)


def _subspaces(joint: JointType) -> list[np.ndarray]:
    """S (6, nv) at random configurations."""
    free = np.full(joint.nq, np.inf).tolist()
    drawn = joint.random(np.random.default_rng(0), [-x for x in free], free, (_SAMPLES,)).tolist()
    result = [[[float(x) for x in column.elements()] for column in joint.S(q).columns] for q in drawn]
    return [np.array(columns, dtype=float).reshape(-1, 6).T for columns in result]
