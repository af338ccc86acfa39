"""Whether a robot's mass matrix can be inverted: looked at with numbers while a function is traced, and where it may
fail in some configurations, by guards.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix, mass_pivots, mass_sizes, owners, yielding
from linkwork.errors import ConfigurationWarning, SingularInertiaError
from linkwork.expr.scalar.functions import where
from linkwork.kernels.function_request import Request
from linkwork.kernels.owners import KernelOwner, RobotOwner
from linkwork.model.function_spec import InertiaCheck
from linkwork.model.tree import Tree

__all__ = ["SINGULAR_INERTIA", "unfelt"]

SINGULAR = 1e-13  # a pivot as small as this beside its size is rounding; of real robots none is below 1e-4
NEARLY = 1e-6  # and one as small as this is looked at again, in float64


def refuse_singular_inertia(subject: KernelOwner, request: Request) -> None:
    """Raises SingularInertiaError, which names the joints, where M is singular in every configuration, and the
    function needs its inverse.  One or two configurations drawn at random tell.
    """
    if (
        isinstance(subject, RobotOwner)
        and request.spec.regular
        and subject.tree.nv
        and not _told_later(subject, request)
    ):
        key = _key(subject, request)
        result = subject.singular_joints.get(key, lambda: _singular_joints(subject.joint_space_tree, *key))
        if result:
            raise SingularInertiaError(result[0], joints=result)


def _told_later(subject: RobotOwner, request: Request) -> bool:
    """Whether numbers that M depends on are not those of the tree."""
    return any(asked.kind in _OF_M for asked in (*subject.parameter_values, *request.parameters))


_OF_M = ("inertia", "armature", "placement", "frame")


def inertia_guards(subject: KernelOwner, request: Request, walked: Any, q: Sequence[Any]) -> list[Any]:
    """What is above zero where a pivot of M is small, of those that inertia may stop to resist."""
    if not (isinstance(subject, RobotOwner) and request.spec.regular and "q" in request.spec.inputs):
        return []
    armature, held = _key(subject, request)
    some = _drawn(subject.tree, 0)
    weak = _weak(subject, armature, held, some)
    if not weak:
        return []
    sizes, pivots = mass_sizes(subject.joint_space_tree, some, armature), mass_pivots(walked, q, armature, held)
    return [NEARLY * sizes[k] - pivots[k] for k in weak]


def tell_of_singular_inertia(subject: KernelOwner, request: Request, label: str, arguments: Sequence[Any]) -> None:
    """Warns of joints that move no inertia, or depend on others in that, in some of these configurations."""
    if not (isinstance(subject, RobotOwner) and request.spec.regular and "q" in request.inputs):
        return
    armature, held = _key(subject, request)
    weak = _weak(subject, armature, held, _drawn(subject.tree, 0))
    if not weak:
        return
    q = np.asarray(arguments[request.inputs.index("q")], dtype=float)
    columns = [q[..., k] for k in range(subject.tree.nq)]
    with np.errstate(all="ignore"):
        sizes = mass_sizes(subject.joint_space_tree, columns, armature)
        pivots = mass_pivots(subject.joint_space_tree, columns, armature, held, _inverse)
    for k in weak:
        part = np.broadcast_to(np.asarray(pivots[k] - SINGULAR * sizes[k], dtype=float), q.shape[:-1])
        if not (part > 0.0).all():
            at = q[np.unravel_index(np.argmin(part), part.shape)]
            names = unfelt_joints(subject.joint_space_tree, at.tolist(), armature, held)
            joint = subject.tree.bodies[owners(subject.tree)[k]].joint_name
            warnings.warn(
                f"{label}: joint {joint!r}: {_in_words(names or [joint])} no inertia at q = {at.tolist()}: the mass "
                f"matrix is singular there, and accelerations mean nothing",
                ConfigurationWarning,
                stacklevel=levels_up(),
            )
            return


def unfelt(M: np.ndarray, sizes: Sequence[float]) -> np.ndarray:
    """A basis (nv, k) of what M (nv, nv) takes to nothing, beside the rounding of what its diagonal is made of."""
    scale = np.array([1.0 / math.sqrt(size) if size > 0.0 else 1.0 for size in sizes])
    values, vectors = np.linalg.eigh(M * scale * scale[:, None])
    basis = vectors[:, values <= SINGULAR * len(M)] * scale[:, None]
    return np.asarray(np.linalg.qr(basis)[0])


def unfelt_joints(tree: Tree, q: list[float], armature: bool, held: Sequence[int] = ()) -> list[str]:
    """The joints that take part in motions which move no inertia, in the order of their numbers."""
    owner = owners(tree)
    free = [k for k, i in enumerate(owner) if i not in held]
    sizes = mass_sizes(tree, q, armature)
    M = np.array(mass_matrix(tree, q, armature), dtype=float)[np.ix_(free, free)]
    taking_part = np.abs(unfelt(M, [sizes[k] for k in free])).max(axis=1, initial=0.0) > 1e-6
    bodies = dict.fromkeys(owner[k] for k, part in zip(free, taking_part, strict=True) if part)
    return [tree.bodies[i].joint_name for i in bodies]


def _singular_joints(tree: Tree, armature: bool, held: tuple[int, ...]) -> tuple[str, ...]:
    """The joints that move no inertia, the first one that is found to at the front; none where M is regular."""
    failing: list[int] = []
    for seed in range(2):
        q = _drawn(tree, seed)
        sizes = mass_sizes(tree, q, armature)
        pivots = mass_pivots(tree, q, armature, held, _inverse)
        failing = [k for k, D in pivots.items() if not SINGULAR * sizes[k] < D]
        if not failing:
            return ()
    joint = tree.bodies[owners(tree)[failing[0]]].joint_name
    return joint, *(name for name in unfelt_joints(tree, q, armature, held) if name != joint)


def _key(subject: RobotOwner, request: Request) -> tuple[bool, tuple[int, ...]]:
    """Whether armature counts, and the bodies whose accelerations are given."""
    options, tree = dict(request.options), subject.tree
    joints = options.get("joints", ())
    held = {tree.joint_index(joint) for joint in ((joints,) if isinstance(joints, str) else joints)}
    return options.get("passive") is True, tuple(sorted(held))


def _weak(subject: RobotOwner, armature: bool, held: Sequence[int], q: list[float]) -> list[int]:
    owner = owners(subject.tree)
    return [k for k in yielding(subject.tree, q, armature) if owner[k] not in held]


def _drawn(tree: Tree, seed: int) -> list[float]:
    """A configuration, whatever the joints' limits are."""
    rng = np.random.default_rng(seed)
    q = [0.0] * tree.nq
    for i, body in tree.stacked():
        free = [math.inf] * body.joint.nq
        q[tree.q_slices[i]] = body.asked("random", rng, [-x for x in free], free, ()).tolist()
    return q


def _inverse(D: Any) -> Any:
    return where(D > 0.0, 1.0 / where(D > 0.0, D, 1.0), 0.0)


def _in_words(joints: Sequence[str]) -> str:
    if len(joints) == 1:
        return "it moves"
    return f"joints {', '.join(map(repr, joints[:-1]))} and {joints[-1]!r} together move"


SINGULAR_INERTIA = InertiaCheck(refuse_singular_inertia, inertia_guards, tell_of_singular_inertia)
