"""Which pairs a question about distances is of: names looked up, before anything is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linkwork.collision.algorithms.pair_selection import meant_pairs
from linkwork.collision.kernels import AskedDistances, distance_kernel
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids_rows import SolidKind
from linkwork.kernels.compiler_api import Kernel, Space
from linkwork.model.collision_pairs import LinkShape
from linkwork.model.tree import Tree

__all__ = ["AskedPairs", "asking"]

_NONE = Scene()


@dataclass(frozen=True)
class AskedPairs:
    """What a kernel is asked, the scene, and which of its pairs are meant, with their names."""

    asked: AskedDistances
    scene: Scene
    kept: np.ndarray | slice  # places among the kernel's pairs
    names: tuple[tuple[str, str], ...]
    whole: bool = False  # whether all of the kernel's pairs are meant, in their order
    parts: tuple[AskedPairs, ...] = ()  # where not all shapes meet the same obstacles: of each part they do
    kernels: dict[str, Kernel] = field(default_factory=dict, compare=False, repr=False)
    calls: dict[str, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)  # with this scene

    @property
    def blocks(self) -> tuple[AskedPairs, ...]:
        """Pairs whose kernels look at what is meant and nothing else: its parts, or itself."""
        return self.parts or (self,)

    def place(self, found: int) -> int:
        """Which of the names a pair of the kernel has."""
        return found if isinstance(self.kept, slice) else int(np.flatnonzero(self.kept == found)[0])

    def inputs(self, rows: Mapping[SolidKind, np.ndarray]) -> list[np.ndarray]:
        """The arrays of a scene, in the order of a kernel's inputs."""
        return [rows[kind] for kind, _ in self.asked.capacities]

    def kernel(self, what: str, space: Space) -> Kernel:
        """What computes it."""
        found = self.kernels.get(what)
        if found is None:
            found = self.kernels[what] = distance_kernel(what, self.asked, space)
        return found


def asking(tree: Tree, who: str, scene: Any, pairs: Iterable[tuple[str, str]] | None, link: str | None) -> AskedPairs:
    """All pairs, some of them, or those of a link.  Raises ValueError, TypeError and UnknownNameError."""
    if scene is not None and not isinstance(scene, Scene):
        raise TypeError(f"{who}: scene: expected a linkwork.Scene, got {scene!r}")
    scene = _NONE if scene is None else scene
    shapes, own, meeting = meant_pairs(tree, who, scene, pairs, link)
    meets: dict[int, set[str]] = {}
    for k, name in meeting:
        meets.setdefault(k, set()).add(name)
    whole = _about(tree, scene, shapes, own, meeting)
    alike = list(dict.fromkeys(frozenset(names) for names in meets.values()))
    if len(alike) < 2:
        return whole
    some = [[pair for pair in meeting if meets[pair[0]] == names] for names in alike]
    parts = [_about(tree, scene, shapes, own if k == 0 else [], pairs) for k, pairs in enumerate(some)]
    return replace(whole, parts=tuple(parts))


def _about(
    tree: Tree, scene: Scene, shapes: Sequence[LinkShape], own: list[tuple[int, int]], meeting: list[tuple[int, str]]
) -> AskedPairs:
    """Own pairs, and pairs of shapes and obstacles."""
    met = {name for _, name in meeting}
    if len(met) < len(scene):
        scene = scene.only(met)
    at = dict(zip(scene.names, scene.places, strict=True))
    rows = tuple(sorted({k for k, _ in meeting}))
    asked = AskedDistances(tree, tuple(own), rows, scene.capacities if rows else ())
    kept = [*range(len(own)), *(len(own) + rows.index(k) + at[name] * len(rows) for k, name in meeting)]
    names = [(shapes[i].name, shapes[j].name) for i, j in own] + [(shapes[k].name, name) for k, name in meeting]
    in_order = kept == [*range(len(kept))]
    whole = in_order and len(kept) == asked.count
    return AskedPairs(asked, scene, slice(0, len(kept)) if in_order else np.array(kept), tuple(names), whole)
