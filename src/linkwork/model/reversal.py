"""A joint seen from its other side: X_rev(q) = X(q)⁻¹, with the same q, v and τ, signs included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ..joints import Joint
from ..spatial import Inertia, Motion, Pose, Subspace, Vec3

__all__ = ["reversed_joint"]

Scalars = Sequence[Any]


def reversed_joint(joint: Joint) -> Joint:
    """The joint whose stator is this one's rotor: as its type has it, or else by the definition."""
    own = getattr(joint, "reversed", None)
    if own is not None:
        return cast(Joint, own())
    return joint.joint if isinstance(joint, _Reversed) else _Reversed(joint)


@dataclass(frozen=True)
class _Reversed(Joint):
    """X_rev = X⁻¹, S_rev = −X S and, because (S v) × (S v) = 0, bias_rev = −X bias.  q, v and τ are the joint's."""

    joint: Joint

    def __post_init__(self) -> None:
        for name in ("nq", "nv", "q_units", "v_units", "q_names", "v_names"):
            object.__setattr__(self, name, getattr(self.joint, name))

    @classmethod
    def example(cls, rng: np.random.Generator) -> Joint:
        raise NotImplementedError("a reversed joint is made of another")

    def X(self, q: Scalars) -> Pose:
        return self.joint.X(q).inv().formed()

    def S(self, q: Scalars) -> Subspace:
        S = self.joint.S(q)
        if not self._is_screw:
            S = self.joint.X(q) @ S
        return Subspace(tuple(-column for column in S.columns))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        return -(self.joint.X(q) @ self.joint.bias(q, v))

    @property
    def _is_screw(self) -> bool:
        """Whether X is the exponential of one constant twist: then X S = S."""
        return self.nv == 1 and self.joint.has_fixed_subspaces

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        return self.joint.q_dot(q, v)

    def v_of(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        return self.joint.v_of(q, q_dot)

    def retract(self, q: Scalars, phi: Scalars) -> list[Any]:
        return self.joint.retract(q, phi)

    def local(self, q: Scalars, other: Scalars) -> list[Any]:
        return self.joint.local(q, other)

    def zero(self) -> list[float]:
        return self.joint.zero()

    def normalize(self, q: Scalars) -> list[Any]:
        return self.joint.normalize(q)

    def principal(self, q: Scalars) -> list[Any]:
        return self.joint.principal(q)

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        return self.joint.random(rng, lower, upper, size)

    def slides(self) -> tuple[Vec3, ...]:
        """T⁻¹ X T = X is as true of X⁻¹."""
        return self.joint.slides()

    def turns(self) -> tuple[Vec3, ...]:
        return self.joint.turns()

    def felt(self, inertia: Inertia) -> Inertia:
        """δ S = 0 and X δ = δ are as true of −X S and X⁻¹."""
        return self.joint.felt(inertia)

    @property
    def has_fixed_subspaces(self) -> bool:
        return self._is_screw or self.nv == 0
