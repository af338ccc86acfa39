"""The joint that people hold: a named joint of a robot, with its place in q and v and its bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .joints import Joint as JointType
from .model.body import WORLD, Mimic
from .model.tree import Tree

__all__ = ["Joint", "joint_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """A joint of a robot: an immutable value, equal and hashable by content."""

    name: str
    type: JointType  # the type with its parameters, e.g. Revolute(axis)
    parent: str  # the body before it; "world" where there is none
    child: str  # the body it carries
    q_slice: slice  # its numbers in a configuration
    v_slice: slice  # its numbers in a velocity, acceleration or force
    lower: np.ndarray  # (nq,) bounds of the configuration [rad, m], −inf where there is none
    upper: np.ndarray  # (nq,)
    velocity: np.ndarray  # (nv,) bounds of the speed [rad/s, m/s], inf where there is none
    effort: np.ndarray  # (nv,) bounds of the force [N·m, N], inf where there is none
    damping: np.ndarray  # (nv,) viscous damping [N·m·s/rad, N·s/m]
    friction: np.ndarray  # (nv,) static friction [N·m, N]
    mimic: Mimic | None  # the joint it is meant to follow, as the file says; not enforced

    @property
    def nq(self) -> int:
        """How many numbers its configuration has."""
        return self.type.nq

    @property
    def nv(self) -> int:
        """Its degrees of freedom."""
        return self.type.nv

    @property
    def type_name(self) -> str:
        """The type's name, e.g. "revolute"."""
        return self.type.type_name()

    def checked(self, q: ArrayLike) -> np.ndarray:
        """A configuration (..., nq) as floats; quaternions a little off unit length are normalised with a warning.

        Raises ValueError, with the joint's name and the value, for the wrong number of them, for what is not finite
        and for quaternions whose length is off by more than 1e-3.
        """
        return self.type.checked(q, self.name)

    def regularity(self, q: ArrayLike) -> np.ndarray:
        """How far the configuration (..., nq) is from a singularity of the joint's coordinates, (...).

        1 is far from any, 0 is one: gimbal lock of Euler angles, where forward dynamics has no solution.
        """
        numbers = self.checked(q)
        found = self.type.regularity([numbers[..., k] for k in range(self.nq)])
        return np.broadcast_to(np.asarray(found, dtype=float), numbers.shape[:-1])

    def _content(self) -> tuple[object, ...]:
        places = (self.q_slice.start, self.q_slice.stop, self.v_slice.start, self.v_slice.stop)
        arrays = (self.lower, self.upper, self.velocity, self.effort, self.damping, self.friction)
        bounds = tuple(tuple(array.tolist()) for array in arrays)
        return self.name, self.type, self.parent, self.child, places, bounds, self.mimic

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Joint) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        return f"<Joint {self.name!r}: {self.type_name}, {self.parent!r} -> {self.child!r}>"


def joint_of(tree: Tree, index: int) -> Joint:
    """The joint that carries the tree's body of this index."""
    body = tree.bodies[index]
    return Joint(
        body.joint_name,
        body.joint,
        "world" if body.parent == WORLD else tree.bodies[body.parent].name,
        body.name,
        tree.q_slices[index],
        tree.v_slices[index],
        lower=_fixed(body.limits.lower),
        upper=_fixed(body.limits.upper),
        velocity=_fixed(body.limits.velocity),
        effort=_fixed(body.limits.effort),
        damping=_fixed(body.damping),
        friction=_fixed(body.friction),
        mimic=body.mimic,
    )


def _fixed(values: tuple[float, ...]) -> np.ndarray:
    array = np.array(values, dtype=float)
    array.setflags(write=False)
    return array
