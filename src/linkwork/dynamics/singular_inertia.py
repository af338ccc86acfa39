"""Checks for a singular mass matrix: by values at trace time, and by guards for singular configurations."""

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
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.function_spec import InertiaCheck
from linkwork.model.tree import Tree

__all__ = ["SINGULAR_INERTIA", "singular_joints", "unfelt"]

SINGULAR = 1e-13  # relative size of a pivot that is rounding; pivots of real robots are above 1e-4
NEARLY = 1e-6  # relative size below which a pivot is checked again, in float64


def refuse_singular_inertia(subject: KernelOwner, request: Request) -> None:
    """Raise SingularInertiaError, which names the joints, if a function needs M⁻¹ and M is singular everywhere.

    One or two random configurations decide.
    """
    if (
        isinstance(subject, RobotOwner)
        and request.spec.requires_regular_coordinates
        and subject.tree.nv
        and not _depends_on_parameters(subject, request)
    ):
        key = _inertia_key(subject, request)
        result = subject.singular_joints.get(key, lambda: singular_joints(subject.joint_space_tree, *key))
        if result:
            armature = not key[0] and request.option("passive") is not None
            regular = armature and not singular_joints(subject.joint_space_tree, True, key[1])
            raise SingularInertiaError(result[0], joints=result, passive=regular)


def _depends_on_parameters(subject: RobotOwner, request: Request) -> bool:
    """Return True if parameters replace values of the tree that M depends on."""
    return any(parameter.kind in _KINDS_IN_M for parameter in (*subject.parameter_values, *request.parameters))


_KINDS_IN_M = ("inertia", "armature", "placement", "frame")


def inertia_guards(subject: KernelOwner, request: Request, walked: Any, q: Sequence[Any]) -> list[Any]:
    """Return expressions that are positive in configurations where the mass matrix M is almost singular.

    There is one for each velocity whose pivot of M may vanish in some configuration.
    """
    if not (
        isinstance(subject, RobotOwner) and request.spec.requires_regular_coordinates and "q" in request.spec.inputs
    ):
        return []
    armature, fixed = _inertia_key(subject, request)
    sample = _random_configuration(subject.tree, 0)
    weak = _weak_velocities(subject, armature, fixed, sample)
    if not weak:
        return []
    sizes, pivots = mass_sizes(subject.joint_space_tree, sample, armature), mass_pivots(walked, q, armature, fixed)
    return [NEARLY * sizes[k] - pivots[k] for k in weak]


def warn_of_singular_inertia(subject: KernelOwner, request: Request, label: str, arguments: Sequence[Any]) -> None:
    """Warn of joints that move no inertia, singly or in combination, in any of these configurations."""
    if not (isinstance(subject, RobotOwner) and request.spec.requires_regular_coordinates and "q" in request.inputs):
        return
    armature, fixed = _inertia_key(subject, request)
    weak = _weak_velocities(subject, armature, fixed, _random_configuration(subject.tree, 0))
    if not weak:
        return
    q = np.asarray(arguments[request.inputs.index("q")], dtype=float)
    columns = [q[..., k] for k in range(subject.tree.nq)]
    with np.errstate(all="ignore"):
        sizes = mass_sizes(subject.joint_space_tree, columns, armature)
        pivots = mass_pivots(subject.joint_space_tree, columns, armature, fixed, _inverse)
    for k in weak:
        part = np.broadcast_to(np.asarray(pivots[k] - SINGULAR * sizes[k], dtype=float), q.shape[:-1])
        if not (part > 0.0).all():
            at = q[np.unravel_index(np.argmin(part), part.shape)]
            names = unfelt_joints(subject.joint_space_tree, at.tolist(), armature, fixed)
            joint = subject.tree.bodies[owners(subject.tree)[k]].joint_name
            warnings.warn(
                f"{label}: joint {joint!r}: {_clause(names or [joint])} no inertia at q = {at.tolist()}: the mass "
                f"matrix is singular there, and accelerations are not defined",
                ConfigurationWarning,
                stacklevel=levels_up(),
            )
            return


def unfelt(M: np.ndarray, sizes: Sequence[float]) -> np.ndarray:
    """Return an orthonormal basis (nv, k) of the null space of the mass matrix M (nv, nv).

    ``sizes`` (nv) are the scales of M's diagonal, relative to which an eigenvalue counts as rounding.
    """
    scale = np.array([1.0 / math.sqrt(size) if size > 0.0 else 1.0 for size in sizes])
    values, vectors = np.linalg.eigh(M * scale * scale[:, None])
    basis = vectors[:, values <= SINGULAR * len(M)] * scale[:, None]
    return np.asarray(np.linalg.qr(basis)[0])


def unfelt_joints(tree: Tree, q: list[float], armature: bool, fixed: Sequence[int] = ()) -> list[str]:
    """Return the names of the joints of motions that no inertia resists, in the order of velocities."""
    owner = owners(tree)
    free = [k for k, i in enumerate(owner) if i not in fixed]
    sizes = mass_sizes(tree, q, armature)
    M = np.array(mass_matrix(tree, q, armature), dtype=float)[np.ix_(free, free)]
    taking_part = np.abs(unfelt(M, [sizes[k] for k in free])).max(axis=1, initial=0.0) > 1e-6
    bodies = dict.fromkeys(owner[k] for k, part in zip(free, taking_part, strict=True) if part)
    return [tree.bodies[i].joint_name for i in bodies]


def singular_joints(tree: Tree, armature: bool, fixed: tuple[int, ...] = ()) -> tuple[str, ...]:
    """Return the names of the joints that move no inertia; () where M is regular.

    The joint of the first failing pivot is first.
    """
    failing: list[int] = []
    for seed in range(2):
        q = _random_configuration(tree, seed)
        sizes = mass_sizes(tree, q, armature)
        pivots = mass_pivots(tree, q, armature, fixed, _inverse)
        failing = [k for k, D in pivots.items() if not SINGULAR * sizes[k] < D]
        if not failing:
            return ()
    joint = tree.bodies[owners(tree)[failing[0]]].joint_name
    return joint, *(name for name in unfelt_joints(tree, q, armature, fixed) if name != joint)


def _inertia_key(subject: RobotOwner, request: Request) -> tuple[bool, tuple[int, ...]]:
    """Return (passive, bodies): True if armature is part of M, and the bodies with prescribed accelerations."""
    tree, joints = subject.tree, request.option("joints") or ()
    fixed = {tree.joint_index(joint) for joint in ((joints,) if isinstance(joints, str) else joints)}
    return request.option("passive") is True, tuple(sorted(fixed))


def _weak_velocities(subject: RobotOwner, armature: bool, fixed: Sequence[int], q: list[float]) -> list[int]:
    """Return the indices in v with a pivot of M that may vanish in a configuration."""
    owner = owners(subject.tree)
    return [k for k in yielding(subject.tree, q, armature) if owner[k] not in fixed]


def _random_configuration(tree: Tree, seed: int) -> list[float]:
    """Return a random configuration, without regard to the joints' limits, with lengths of the robot's size."""
    rng, size = np.random.default_rng(seed), {"m": characteristic_length(tree)}
    q = [0.0] * tree.nq
    for i, body in tree.stacked():
        free = [math.inf] * body.joint.nq
        drawn = body.call_joint("random", rng, [-x for x in free], free, ())
        q[tree.q_slices[i]] = [
            x * size.get(unit, 1.0) for x, unit in zip(drawn.tolist(), body.joint.q_units, strict=True)
        ]
    return q


def _inverse(D: Any) -> Any:
    return where(D > 0.0, 1.0 / where(D > 0.0, D, 1.0), 0.0)


def _clause(joints: Sequence[str]) -> str:
    if len(joints) == 1:
        return "it moves"
    return f"joints {', '.join(map(repr, joints[:-1]))} and {joints[-1]!r} together move"


SINGULAR_INERTIA = InertiaCheck(refuse_singular_inertia, inertia_guards, warn_of_singular_inertia, singular_joints)
