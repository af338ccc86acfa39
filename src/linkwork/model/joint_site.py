"""Where a joint sits: what the functions of one joint are of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.joints import JointType
from linkwork.spatial import Motion, Pose, Subspace

__all__ = ["Scalars", "Site"]

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Site:
    """A joint type between two links: X_PB = placement · X_FM(q) · rotor, asked about in one of both directions."""

    type: JointType
    placement: Pose = Pose.identity()  # X_parent_stator
    rotor: Pose = Pose.identity()  # X_rotor_child
    swapped: bool = False  # the link before the joint is the child

    def X(self, q: Scalars) -> Pose:
        """X_PB: the pose of the child in the parent."""
        X: Pose = self.placement @ self.type.X(q) @ self.rotor
        return X.inv().formed() if self.swapped else X

    def across(self, q: Scalars, V: Motion) -> Motion:
        """A motion of M relative to F, in M's coordinates, as one of B relative to P, in B's."""
        if self.swapped:
            return -(self.placement @ (self.type.X(q) @ V))
        moved: Motion = self.rotor.inv() @ V
        return moved

    def S(self, q: Scalars) -> Subspace:
        """The motion subspace of B relative to P, in B's coordinates."""
        return Subspace(tuple(self.across(q, column) for column in self.type.S(q).columns))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """The spatial acceleration of B relative to P, in B's coordinates, while v̇ = 0.

        Swapped it is −X_PB A too: what the turning of the coordinates adds is V × V = 0.
        """
        return self.across(q, self.type.bias(q, v))
