"""Spaces: what an array is a point of, and how its motions are counted.

The numbers of a configuration may be more than its degrees of freedom (a quaternion's four, of three).  Its tangent
vector has a number for each degree of freedom; `Block` says how such a vector moves the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

__all__ = ["Block", "Space", "Spaces"]

Map = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


class Block(NamedTuple):
    """Numbers that move together, independently of all others: where they stand, and their maps over any scalar."""

    q: slice
    v: slice
    q_dot: Map  # q̇ of these numbers from their velocity
    v_of: Map  # the velocity from q̇


@dataclass(frozen=True, eq=False, repr=False)
class Space:
    """What an array of configurations is a point of: ``nq`` numbers that move with ``nv`` degrees of freedom.

    In `linkwork.compile` it stands for a shape: ``compile(f, q=robot.configuration_space, v=robot.nv)`` tells that
    derivatives by ``q`` are by its tangent vector.
    """

    nq: int
    nv: int
    blocks: tuple[Block, ...]
    name: str = "space"
    content: tuple[str, ...] | None = None
    """All that the maps depend on besides linkwork itself; None where that includes other code."""

    @property
    def shape(self) -> tuple[int, ...]:
        """That of a configuration, (nq,)."""
        return (self.nq,)

    @property
    def tangent_shape(self) -> tuple[int, ...]:
        """That of a tangent vector, (nv,)."""
        return (self.nv,)

    def q_dot(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """How the numbers change at velocity v."""
        found: list[Any] = [0.0] * self.nq
        for block in self.blocks:
            found[block.q] = block.q_dot(q[block.q], v[block.v])
        return found

    def v_of(self, q: Sequence[Any], q_dot: Sequence[Any]) -> list[Any]:
        """The velocity at which the numbers change at the rate q̇."""
        found: list[Any] = [0.0] * self.nv
        for block in self.blocks:
            found[block.v] = block.v_of(q[block.q], q_dot[block.q])
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        if self is other:
            return True
        return self.content is not None and (self.nq, self.nv, self.content) == (other.nq, other.nv, other.content)

    def __hash__(self) -> int:
        return hash((self.nq, self.nv, self.content))

    def __repr__(self) -> str:
        return f"<Space {self.name}: nq {self.nq}, nv {self.nv}>"


_NONE: Mapping[str, Space] = MappingProxyType({})


class Spaces(NamedTuple):
    """The spaces of a kernel's inputs and of its outputs, by name, of those that are points of some."""

    inputs: Mapping[str, Space] = _NONE
    outputs: Mapping[str, Space] = _NONE
