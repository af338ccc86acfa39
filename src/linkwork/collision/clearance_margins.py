"""Margins: minimum distances of pairs (one for all, by kind of pair or by pair), and pairs that may touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from linkwork._util.validation import finite_number
from linkwork.collision.kernels import EACH, PairSelection, worst_edge
from linkwork.collision.motion_validity import MotionCheck, check_depths, check_edges, edge_kernel
from linkwork.errors import UnknownNameError
from linkwork.model.collision_pairs import link_shapes

__all__ = [
    "Margins",
    "PairBlock",
    "check_motions",
    "pair_blocks",
    "read_margins",
    "read_pairs",
    "touching_margins",
]

_SELF, _SCENE = "self", "scene"
_EXTRA_DEPTH = 1e-4  # [m] permitted depth of touching pairs beyond that at the ends of the path


@dataclass(frozen=True)
class Margins:
    """Minimum distances [m] of checked pairs: of the robot's links, of links and obstacles, and of single pairs.

    The margins of single pairs take precedence.
    """

    self_collision: float = 0.0
    scene: float = 0.0
    pairs: tuple[tuple[frozenset[str], float], ...] = ()

    @property
    def is_uniform(self) -> bool:
        """True if all pairs have the same margin."""
        return self.self_collision == self.scene and not self.pairs

    def of(
        self, robot: Any, selection: PairSelection, *, strict: bool = True, argument: str = "plan: margin"
    ) -> np.ndarray:
        """Return the margin [m] of each selected pair (n,), in the order of the selection.

        If ``strict``, raises ValueError that names the ``argument`` for a margin of a pair that is not selected, and
        UnknownNameError for unknown names.
        """
        result = np.full(len(selection.names), self.scene)
        result[: len(selection.spec.pairs)] = self.self_collision
        link = {shape.name: shape.link for shape in link_shapes(robot.tree)}
        end_names = [({a, link.get(a, a)}, {b, link.get(b, b)}) for a, b in selection.names]
        for names, margin in self.pairs:
            first, second = sorted(names)
            matches = [
                k for k, (a, b) in enumerate(end_names) if (first in a and second in b) or (second in a and first in b)
            ]
            if not matches and strict:
                known = sorted({name for a, b in end_names for name in (*a, *b)})
                for name in (first, second):
                    if name not in known:
                        raise UnknownNameError("link with a collision shape, or obstacle,", name, known)
                raise ValueError(
                    f"{argument}: ({first!r}, {second!r}) is not a checked pair; see with_collision_pairs and pairs="
                )
            result[matches] = margin
        return result


class PairBlock(NamedTuple):
    """Pairs that one kernel checks, with their margins [m].

    ``margin`` applies to all pairs.  ``each``, if not None, has an additional margin of each pair, in arrays for the
    kernels: the robot's own pairs (n,) first, then by kind of obstacle (capacity, shapes).
    """

    selection: PairSelection
    margin: float
    each: tuple[np.ndarray, ...] | None = None

    @property
    def is_deep(self) -> bool:
        """True if a margin is negative: pairs may overlap, so the check needs penetration depths."""
        return self.margin < 0.0 or any((x < 0.0).any() for x in self.each or ())


def pair_blocks(robot: Any, scene: Any, pairs: Any, margins: Margins, caller: str = "plan") -> tuple[PairBlock, ...]:
    """Return the selected pairs with their margins, as one block for each kernel."""
    selection: PairSelection = robot._pair_selection(caller, scene, pairs)
    if margins.is_uniform:
        return tuple([PairBlock(block, margins.self_collision) for block in selection.blocks])
    margins.of(robot, selection, argument=f"{caller}: margin")  # check that every name belongs to a pair
    return tuple([PairBlock(block, 0.0, _individual_margins(robot, block, margins)) for block in selection.blocks])


def _individual_margins(robot: Any, block: PairSelection, margins: Margins) -> tuple[np.ndarray, ...]:
    """Return the margin of each pair in a block, as arrays that the block's kernels take.

    The rows of obstacles are in the order that the block's scene has when it is sorted by distance.
    """
    kernel, pair_count = block.spec, len(block.spec.pairs)
    values = margins.of(robot, block, strict=False)
    shapes = len(kernel.shapes)
    table = np.full((sum(capacity for _, capacity in kernel.capacities), shapes), margins.scene)
    if isinstance(block.indices, slice):
        selected = np.arange(len(block.names))
    else:
        selected = block.indices
    row = dict(zip(block.scene.row_indices, block.scene.row_indices_by_distance, strict=True))
    for index, value in zip(selected[pair_count:].tolist(), values[pair_count:].tolist(), strict=True):
        table[row[(index - pair_count) // shapes], (index - pair_count) % shapes] = value
    cuts = np.cumsum([capacity for _, capacity in kernel.capacities])[:-1]
    tables = np.split(table, cuts) if kernel.capacities else []
    return (*([values[:pair_count]] if pair_count else []), *tables)


def check_motions(
    robot: Any,
    scene: Any,
    margins: Margins,
    q0: np.ndarray,
    q1: np.ndarray,
    *,
    collision_check: Literal["certified", "sampled"],
    resolution: float,
    room: float,
    tolerance: float,
    caller: str,
) -> MotionCheck:
    """Check straight motions (n, nq) as `Robot.is_motion_free` does, with ``margins`` + ``room`` [m] of each pair."""
    if margins.is_uniform:
        result: MotionCheck = robot.is_motion_free(
            q0,
            q1,
            scene,
            collision_check=collision_check,
            margin=margins.scene + room,
            tolerance=tolerance,
            resolution=resolution,
        )
        return result
    outputs = []
    for block in pair_blocks(robot, scene, None, margins, caller):
        spec, kernels = block.selection.spec, block.selection.kernels
        if collision_check == "certified":
            check_depths(caller, block.selection, margins.of(robot, block.selection, strict=False) + room)
        name = f"is_motion_free {collision_check} {EACH}"
        if name not in kernels:
            if collision_check == "certified":
                check_edges(spec)
            kernels[name] = edge_kernel(collision_check, spec, robot.configuration_space, each=True)
        rows = block.selection.inputs(block.selection.scene.rows_by_distance)
        step = tolerance if collision_check == "certified" else resolution
        outputs.append(np.asarray(kernels[name](q0, q1, block.margin + room, step, *(block.each or ()), *rows)))
    return MotionCheck._of(collision_check, worst_edge(outputs))


def read_margins(margin: Any, caller: str = "plan") -> Margins:
    """Return the margins that an argument states: a number for all pairs, or a mapping.

    Keys of a mapping are "self" (pairs of the robot's links), "scene" (links and obstacles) and pairs of names;
    missing margins are 0. Raises ValueError and TypeError.
    """
    if isinstance(margin, Margins):
        return margin
    if not isinstance(margin, Mapping):
        number = _number(f"{caller}: margin", margin)
        return Margins(number, number)
    result = Margins()
    for key, value in margin.items():
        number = _number(f"{caller}: margin[{key!r}]", value)
        if isinstance(key, str) and key in (_SELF, _SCENE):
            result = replace(result, self_collision=number) if key == _SELF else replace(result, scene=number)
            continue
        result = replace(result, pairs=(*result.pairs, (_pair(f"{caller}: margin", key), number)))
    return result


def read_pairs(pairs: Any) -> Any:
    """Return pairs as a tuple, which can be iterated twice; invalid values are returned unchanged."""
    return tuple(pairs) if isinstance(pairs, Iterable) and not isinstance(pairs, (str, bytes, Mapping)) else pairs


def touching_margins(
    robot: Any,
    scene: Any,
    pairs: Any,
    margins: Margins,
    touching: Any,
    ends: Sequence[np.ndarray],
    caller: str = "plan",
) -> Margins:
    """Return ``margins`` with an additional margin for each pair that may touch.

    This margin is minus the pair's penetration depth at the configurations ``ends`` (n, nq), minus 0.1 mm.

    Raises ValueError and TypeError for invalid pairs and for pairs that are not selected, UnknownNameError.
    """
    if isinstance(touching, (str, bytes)) or not isinstance(touching, Iterable):
        raise ValueError(f"{caller}: touching: expected pairs of names of links and obstacles, got {touching!r}")
    selection = [(_pair(f"{caller}: touching", pair), 0.0) for pair in touching]
    if not selection:
        return margins
    selected_pairs: PairSelection = robot._pair_selection(caller, scene, pairs)
    result = robot.distances(np.stack(ends), scene, pairs=pairs).distance.min(axis=0)
    allowed = list(margins.pairs)
    for names, _ in selection:
        matches = Margins(pairs=((names, 1.0),)).of(robot, selected_pairs, argument=f"{caller}: touching") == 1.0
        allowed.append((names, min(0.0, float(result[matches].min())) - _EXTRA_DEPTH))
    return replace(margins, pairs=tuple(allowed))


def _pair(argument: str, key: Any) -> frozenset[str]:
    if isinstance(key, str) or not isinstance(key, (tuple, list)) or len(key) != 2:
        expected = "'self', 'scene' or a pair of names" if argument.endswith(": margin") else "pairs of names"
        raise ValueError(f"{argument}: expected {expected} of links and obstacles, got {key!r}")
    for name in key:
        if not isinstance(name, str):
            raise TypeError(f"{argument}: expected names in a pair, got {name!r}")
    if key[0] == key[1]:
        raise ValueError(f"{argument}: expected two names, got {key[0]!r} twice")
    return frozenset(key)


def _number(argument: str, x: Any) -> float:
    caller, _, name = argument.partition(": ")
    return float(finite_number(caller, name, x, symbols=False, unit="m"))
