"""Clearance task: a minimum distance of a robot's links from each other and from the obstacles of a scene."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import finite_number, names
from linkwork.geometry.fields import FIELDS
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SOLIDS, SolidKind
from linkwork.ik.tasks.task import AimedTask, Scalars, TaskKinematics, TaskRows, TaskTarget
from linkwork.shapes import Compound, Mesh

__all__ = ["ClearanceTask", "scene_array", "scene_rows"]


@public_constructor
@dataclass(frozen=True)
class ClearanceTask(AimedTask):
    """Task: links keep a distance of ``at_least`` [m] from each other and from the obstacles of a scene.

        robot.ik_problem([lw.ik.PoseTask("hand"), lw.ik.ClearanceTask(scene, 0.02)])

    The task has one error per link: the smallest distance of the link's shapes to obstacles and to earlier links, for
    the pairs of `Robot.collision_pairs`.  A hard task holds at every solution; with a weight, the missing distance
    costs ½ Σ (w e)².  The scene is the task's target.  Another scene of the same capacities can be passed with a call:
    `target_for` converts it to an array.

    ``weight``, ``level``, ``tolerance`` and ``name`` are those of every `Task`.
    """

    scene: Scene | None = field(default=None, compare=False)
    at_least: float = 0.0
    capacities: tuple[tuple[SolidKind, int], ...] = field(init=False, default=(), repr=False)
    links: tuple[str, ...] = field(default=(), repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.scene is not None and not isinstance(self.scene, Scene):
            raise TypeError(f"ClearanceTask: scene: expected a linkwork.Scene, got {self.scene!r}")
        put = object.__setattr__
        put(self, "at_least", finite_number("ClearanceTask", "at_least", self.at_least, unit="m"))
        if self.scene is not None:
            put(self, "capacities", self.scene.capacities)
            if self.capacities and self.target is None:
                put(self, "target", self.target_for(self.scene))
        put(self, "links", names("ClearanceTask", "links", self.links))
        self.settle("clearance")

    def target_for(self, scene: Scene) -> np.ndarray:
        """Return a scene as the array that this task takes as its target.

        Raises ValueError if the scene's capacities (largest number of obstacles of each kind) differ from those of the
        task's own scene.
        """
        return scene_array(f"task {self.name!r}", scene, self.capacities)

    @property
    def target_of(self) -> TaskTarget | None:
        size = sum(capacity * kind.size for kind, capacity in self.capacities)
        return TaskTarget((size,), "numbers", "scene array, from target_for") if size else None

    @property
    def known(self) -> bool:
        return bool(self.links)

    @property
    def rates_follow_jacobian(self) -> bool:
        return False  # rates of distances do not determine how obstacles move

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {link}" for link in self.links)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * len(self.links)

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        return ((self.at_least, math.inf),) * len(self.links)

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        result = state.clearances(scene_rows(target, self.capacities))
        return TaskRows([result[link].errors[0] for link in self.links], [result[link].rows[0] for link in self.links])

    def checked(self, robot: Any) -> Iterable[str]:
        shapes = [(frame.name, geometry.shape) for frame in robot.frames for geometry in frame.collisions]
        if not shapes:
            yield f"robot {robot.name!r} has no collision shapes; add them by with_collisions"
        for name, shape in shapes:
            for component in [part.shape for part in shape.parts] if isinstance(shape, Compound) else [shape]:
                if type(component) not in SOLIDS and type(component) not in FIELDS:
                    remedy = "; robot.with_collision_hulls() replaces meshes by convex hulls"
                    remedy = remedy if isinstance(component, Mesh) else ""
                    yield f"the collision shape of {name!r} is {component!r}, which has no distance function{remedy}"

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        links = state.clearance_links(bool(self.capacities))
        if not links:
            raise ValueError(
                f"task {self.name!r}: scene: expected a scene, or a robot with collision pairs, got neither"
            )
        return replace(self, links=links)


def scene_array(caller: str, scene: Scene, capacities: tuple[tuple[SolidKind, int], ...]) -> np.ndarray:
    """Return a scene as a flat array.

    Raises ValueError unless the scene has the given ``capacities``: the maximum numbers of obstacles by kind.
    """
    if scene.capacities != capacities:
        raise ValueError(
            f"{caller}: expected a scene of capacities {_describe(capacities)}, got "
            f"{_describe(scene.capacities)}; create a new {caller.split()[0]} with this scene"
        )
    return np.concatenate([rows.ravel() for rows in scene.rows.values()]) if capacities else np.zeros(0)


def scene_rows(values: Scalars, capacities: tuple[tuple[SolidKind, int], ...]) -> Mapping[SolidKind, Any]:
    """Return the entries of a scene by kind from its flat array, over any scalar."""
    result, start = {}, 0
    for kind, capacity in capacities:
        end = start + capacity * kind.size
        result[kind] = np.array(values[start:end], dtype=object).reshape(capacity, kind.size)
        start = end
    return result


def _describe(capacities: tuple[tuple[SolidKind, int], ...]) -> str:
    return ", ".join(f"{capacity} {kind.name}" for kind, capacity in capacities) or "none"
