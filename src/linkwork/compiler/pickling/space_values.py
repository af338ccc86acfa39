"""Spaces of configurations as data: the maps between velocities and rates are programs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.compiler.derivatives.tangent_spaces import Block, Space, Spaces
from linkwork.compiler.pickling.byte_stream import DamagedBytesError, compressed, decompressed
from linkwork.compiler.pickling.program_bytes import read_values, write_values
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.symbol import Graph

__all__ = ["pickled_space", "spaces_of_values", "value_of_space", "values_of_spaces"]


@dataclass(frozen=True)
class TracedMap:
    """A map from coordinates and a vector to a vector, stored as instructions that run on any scalars."""

    body: Region

    def __call__(self, coordinates: Sequence[Any], vector: Sequence[Any]) -> list[Any]:
        return self.body.run([*coordinates, *vector])


def _traced(function: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]], coordinates: int, size: int) -> Region:
    """Return the body of a map of ``coordinates`` coordinates and a vector of ``size`` elements."""
    if isinstance(function, TracedMap):
        return function.body
    graph = Graph()
    first, second = graph.inputs("q", (coordinates,)), graph.inputs("x", (size,))
    return Region.of(list(function(first, second)), [*first, *second])


def value_of_space(space: Space) -> tuple[Any, ...]:
    """Return a space as a value that `write_values` accepts."""
    blocks = []
    for block in space.blocks:
        nq, nv = block.q.stop - block.q.start, block.v.stop - block.v.start
        maps = _traced(block.q_dot, nq, nv), _traced(block.velocity_from_rate, nq, nq)
        blocks.append((block.q.start, block.q.stop, block.v.start, block.v.stop, *maps))
    return space.nq, space.nv, space.name, space.content, tuple(blocks)


def pickled_space(space: Space) -> tuple[Any, ...]:
    """Return the value of ``Space.__reduce__``."""
    data, _ = write_values(value_of_space(space), with_objects=False)
    return _unpickled_space, (compressed(data),)


def _unpickled_space(data: bytes) -> Space:
    return space_from(read_values(decompressed(data)))


def values_of_spaces(spaces: Spaces) -> tuple[Any, ...]:
    """Return the spaces of a kernel as a value that `write_values` accepts; equal spaces are stored once."""
    distinct = list(dict.fromkeys([*spaces.inputs.values(), *spaces.outputs.values()]))
    sides = [tuple([(name, distinct.index(space)) for name, space in side.items()]) for side in spaces]
    return tuple(map(value_of_space, distinct)), *sides


def spaces_of_values(value: Any, *, trusted: bool = True) -> Spaces:
    """Return the spaces that `values_of_spaces` described.  Raises DamagedBytesError for other values."""
    try:
        described, *sides = value
        read_spaces = [space_from(description, trusted=trusted) for description in described]
        inputs, outputs = ({str(name): read_spaces[_index(k)] for name, k in side} for side in sides)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise DamagedBytesError(f"spaces of configurations: {error}") from None
    return Spaces(inputs, outputs)


def space_from(value: Any, *, trusted: bool = True) -> Space:
    """Return the space that `value_of_space` described.

    Unless ``trusted``, the stored ``Space.content``, part of the key of cached code, is not used: a digest of the
    space's maps replaces it.  Raises DamagedBytesError for values that contradict each other.
    """
    nq, nv, name, content, described = value
    blocks = []
    ends = [0, 0]
    for q, q_end, v, v_end, q_dot, velocity in described:
        if not all(type(end) is int for end in (q, q_end, v, v_end)):
            raise DamagedBytesError("a block of a space has no ends")
        sizes = q_end - q, v_end - v
        shapes = [(body.takes, len(body.results), body.first) for body in (q_dot, velocity)]
        if [q, v] != ends or min(sizes) < 0 or shapes != [(sum(sizes), sizes[0], 0), (2 * sizes[0], sizes[1], 0)]:
            raise DamagedBytesError("the blocks of a space contradict each other")
        ends = [q_end, v_end]
        blocks.append(Block(slice(q, q_end), slice(v, v_end), TracedMap(q_dot), TracedMap(velocity)))
    if ends != [nq, nv] or not isinstance(name, str):
        raise DamagedBytesError("the blocks of a space do not fill it")
    if not trusted:
        content = ("maps", hashlib.sha256(repr(described).encode()).hexdigest())
    return Space(nq, nv, tuple(blocks), name, content)


def _index(k: Any) -> int:
    if type(k) is not int or k < 0:
        raise ValueError(f"{k!r} is not the index of a space")
    return k
