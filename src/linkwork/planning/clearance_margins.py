"""Distances that pairs have to keep: one for all, or by kind of pair and by pair, and pairs that may touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.validation import finite_number
from linkwork.collision.kernels import PairSelection
from linkwork.errors import UnknownNameError
from linkwork.model.collision_pairs import link_shapes

__all__ = ["Margins", "PairBlock", "pair_blocks", "read_margins", "read_pairs", "touching_margins"]

_OWN, _SCENE = "self", "scene"
_DEEPER = 1e-4  # [m]: by how much pairs that may touch may be deeper than at the ends of the path


@dataclass(frozen=True)
class Margins:
    """Margins [m] of the robot's own pairs, of those with obstacles, and of single pairs of names, which go before."""

    own: float = 0.0
    scene: float = 0.0
    pairs: tuple[tuple[frozenset[str], float], ...] = ()

    @property
    def is_one(self) -> bool:
        """Whether all pairs keep the same margin."""
        return self.own == self.scene and not self.pairs

    def of(self, robot: Any, asked: PairSelection, *, strict: bool = True) -> np.ndarray:
        """Return the margin of each of the pairs (n,), in their order.

        Unless it is not ``strict``, raises ValueError for a pair of a margin that is not among them, UnknownNameError
        for a name that is not there.
        """
        result = np.full(len(asked.names), self.scene)
        result[: len(asked.spec.pairs)] = self.own
        link = {shape.name: shape.link for shape in link_shapes(robot.tree)}
        of = [({a, link.get(a, a)}, {b, link.get(b, b)}) for a, b in asked.names]
        for names, margin in self.pairs:
            one, other = sorted(names)
            here = [k for k, (a, b) in enumerate(of) if (one in a and other in b) or (other in a and one in b)]
            if not here and strict:
                known = sorted({name for a, b in of for name in (*a, *b)})
                for name in (one, other):
                    if name not in known:
                        raise UnknownNameError("link with a collision shape, or obstacle,", name, known)
                raise ValueError(
                    f"plan: margin: ({one!r}, {other!r}) is no pair that is looked at: with_collision_pairs and pairs= "
                    f"say which are"
                )
            result[here] = margin
        return result


class PairBlock(NamedTuple):
    """Pairs that one kernel looks at, and the margin [m] of all of them; ``each``: arrays of margins of their own that
    kernels take besides, the robot's own pairs (n,) first, then by kind of obstacle (capacity, shapes).
    """

    asked: PairSelection
    margin: float
    each: tuple[np.ndarray, ...] | None = None

    @property
    def is_deep(self) -> bool:
        """Whether pairs may overlap, so that depths have to be measured."""
        return self.margin < 0.0 or any((x < 0.0).any() for x in self.each or ())


def pair_blocks(robot: Any, scene: Any, pairs: Any, margins: Margins) -> tuple[PairBlock, ...]:
    """Return the pairs that are looked at, with their margins."""
    asked: PairSelection = robot._pair_selection("plan", scene, pairs)
    if margins.is_one:
        return tuple([PairBlock(block, margins.own) for block in asked.blocks])
    margins.of(robot, asked)  # every name is that of some pair
    return tuple([PairBlock(block, 0.0, _each(robot, block, margins)) for block in asked.blocks])


def _each(robot: Any, block: PairSelection, margins: Margins) -> tuple[np.ndarray, ...]:
    """Return the margins of a block's pairs as its kernels take them, with a scene's rows by distance."""
    kernel, own = block.spec, len(block.spec.pairs)
    values = margins.of(robot, block, strict=False)
    shapes = len(kernel.shapes)
    table = np.full((sum(capacity for _, capacity in kernel.capacities), shapes), margins.scene)
    if isinstance(block.indices, slice):
        kept = np.arange(len(block.names))
    else:
        kept = block.indices
    row = dict(zip(block.scene.places, block.scene.places_by_distance, strict=True))
    for place, value in zip(kept[own:].tolist(), values[own:].tolist(), strict=True):
        table[row[(place - own) // shapes], (place - own) % shapes] = value
    cuts = np.cumsum([capacity for _, capacity in kernel.capacities])[:-1]
    tables = np.split(table, cuts) if kernel.capacities else []
    return (*([values[:own]] if own else []), *tables)


def read_margins(margin: Any) -> Margins:
    """Return the margins of a number for all pairs, or of a mapping whose keys are "self" (pairs of the robot's links),
    "scene" (links and obstacles) and pairs of names; 0 of what is not in it.  Raises ValueError.
    """
    if isinstance(margin, Margins):
        return margin
    if not isinstance(margin, Mapping):
        number = _number("margin", margin)
        return Margins(number, number)
    result = Margins()
    for key, value in margin.items():
        number = _number(f"margin[{key!r}]", value)
        if isinstance(key, str) and key in (_OWN, _SCENE):
            result = replace(result, own=number) if key == _OWN else replace(result, scene=number)
            continue
        result = replace(result, pairs=(*result.pairs, (_pair("margin", key), number)))
    return result


def read_pairs(pairs: Any) -> Any:
    """Return pairs as a tuple, which may be gone over twice; what are no pairs as it is, for who looks them up."""
    return tuple(pairs) if isinstance(pairs, Iterable) and not isinstance(pairs, (str, bytes, Mapping)) else pairs


def touching_margins(
    robot: Any, scene: Any, pairs: Any, margins: Margins, touching: Any, ends: Sequence[np.ndarray]
) -> Margins:
    """Return the margins with those of pairs that may touch: as deep as they are at the ends (n, nq) and 0.1 mm more.

    Raises ValueError and UnknownNameError for what are no pairs that are looked at.
    """
    if isinstance(touching, (str, bytes)) or not isinstance(touching, Iterable):
        raise ValueError(f"plan: touching: expected pairs of names of links and obstacles, got {touching!r}")
    asked = [(_pair("touching", pair), 0.0) for pair in touching]
    if not asked:
        return margins
    every: PairSelection = robot._pair_selection("plan", scene, pairs)
    result = robot.distances(np.stack(ends), scene, pairs=pairs).distance.min(axis=0)
    allowed = list(margins.pairs)
    for names, _ in asked:
        here = Margins(pairs=((names, 1.0),)).of(robot, every) == 1.0
        allowed.append((names, min(0.0, float(result[here].min())) - _DEEPER))
    return replace(margins, pairs=tuple(allowed))


def _pair(what: str, key: Any) -> frozenset[str]:
    if isinstance(key, str) or not isinstance(key, (tuple, list)) or len(key) != 2:
        expected = "'self', 'scene' or a pair of names" if what == "margin" else "pairs of names"
        raise ValueError(f"plan: {what}: expected {expected} of links and obstacles, got {key!r}")
    for name in key:
        if not isinstance(name, str):
            raise TypeError(f"plan: {what}: expected names in a pair, got {name!r}")
    if key[0] == key[1]:
        raise ValueError(f"plan: {what}: expected two names, got {key[0]!r} twice")
    return frozenset(key)


def _number(what: str, x: Any) -> float:
    return float(finite_number("plan", what, x, symbols=False, unit="m"))
