"""Constraints of a robot: putting them on, and what they rule out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ...algorithms.constraints.settling import settled
from ...constraints import Constraint, LoopJoint
from ...joints import JointType
from ...model.constrained import with_constraints, without_constraints
from ..named import Named
from .base import Array, Axes, RobotBase, Wrenches, edits
from .method import computed

__all__ = ["ConstraintMethods"]


class ConstraintMethods(RobotBase):
    """What a robot obeys besides its joints: loops, couplings, rolling ... (see `linkwork.constraints`).

    Rows of all constraints stand one after the other, ``nc`` of them, ``ne`` of those that have an error; G is their
    matrix.  ``time`` (...) [s] is for constraints that depend on it, 0 if left out.
    """

    __slots__ = ()

    @property
    def constraints(self) -> Named[Constraint]:
        """The constraints, by name, in the order in which they were put on."""
        return Named(self._tree.constraints, "constraint")

    @edits
    def with_loop(self, name: str, joint: JointType, frame: str, other: str) -> Self:
        """The robot with a joint of any type between two frames that are both already there, which closes a loop.

        The joint's frame F is ``frame`` and its frame M is ``other``, as a tree's joint leads from parent to child.

        Raises UnknownNameError for a frame that is not there, TypeError for what is no joint type, ValueError for a
        name that is taken, and for frames of one rigid body.
        """
        if not isinstance(joint, JointType):
            raise TypeError(f"with_loop: expected a joint type, as in linkwork.joints, got {joint!r}")
        return type(self)(with_constraints(self._tree, [LoopJoint(name, joint, other, frame)]))

    @edits
    def with_constraints(self, *constraints: Constraint) -> Self:
        """The robot with further constraints, after those that it has.

        Raises UnknownNameError for a name that the robot does not have, TypeError for what is no constraint, ValueError
        for a name that is taken, for what cannot be of this robot, and for a function that raises or gives no numbers.
        """
        return type(self)(with_constraints(self._tree, [settled(self._tree, c) for c in constraints]))

    @edits
    def without_constraints(self, *names: str) -> Self:
        """The robot without the named constraints, or without any where none is named.

        Raises UnknownNameError for a name that no constraint has.
        """
        return type(self)(without_constraints(self._tree, names or [c.name for c in self._tree.constraints]))

    # -- what they rule out

    @computed
    def constraint_error(self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """φ(q, t): what is left to where the constraints hold, those that are of configurations.

        q (..., nq) -> (..., ne) [m, rad].  All are zero where they hold, and nowhere else.
        """

    @computed
    def constraint_jacobian(
        self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """G(q): velocities that obey all constraints have G v + σ = 0, σ what time adds.  q (..., nq) -> (..., nc, nv)
        [m, 1].
        """

    @computed
    def constraint_drift(self, q: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """σ(q, t): velocities that obey all constraints have G v + σ = 0; 0 but where these move by themselves.

        q (..., nq) -> (..., nc) [m/s, rad/s].
        """

    @computed
    def constraint_bias(
        self, q: Array, v: Array, *, time: ArrayLike | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """γ(q, v): accelerations that obey all constraints have G a + γ = 0.

        q (..., nq), v (..., nv) -> (..., nc) [m/s², rad/s²].
        """

    # -- dynamics

    @computed
    def constrained_forward_dynamics(
        self,
        q: Array,
        v: Array,
        tau: Array,
        *,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        time: ArrayLike | None = None,
        passive: bool = False,
        out: tuple[np.ndarray, ...] | None = None,
    ) -> Any:
        """a and λ, the accelerations under joint forces τ and what each row exerts: M a + h = τ + Gᵀ λ, G a + γ = 0.

        q (..., nq), v, tau (..., nv) -> a (..., nv) [rad/s², m/s²], constraint_forces (..., nc) [N, N·m].  Where rows
        depend on each other, λ is the one of least Σ Λ_ii λ_i², with Λ = G M⁻¹ Gᵀ.  `forward_dynamics` gives a alone.
        """
