"""Scene documents of plans and roadmaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork._util.file_search import Folders
from linkwork._util.validation import boolean, integer
from linkwork.planning import PlanResult, Roadmap
from linkwork.viewer.document import Color, Points, SceneDocument, Text
from linkwork.viewer.figures.robot_figures import frames_to_draw
from linkwork.viewer.scene_builder import PATH_COLORS, SceneBuilder
from linkwork.viewer.scenes.document_of import document_of
from linkwork.viewer.scenes.robot_scenes import FRAME_RATE, frame_times, moving_scene, path_times, segments_between

__all__ = ["plan_document", "plan_ends", "roadmap_document"]

_TREE_COLORS: tuple[Color, ...] = ((0.34, 0.71, 0.91, 0.8), (0.90, 0.62, 0.00, 0.8))  # from the starts, from the goals
_EDGE_COLOR: Color = (0.5, 0.5, 0.5, 0.6)
_MAX_EDGES = 20_000
_GHOST_OPACITY = 0.25
_GOAL_OPACITY = 0.45
_MAX_GOALS = 3  # goals drawn for a plan without a path
_COLLIDING: Color = (0.85, 0.12, 0.12, 1.0)


@document_of.register(PlanResult)
def plan_document(
    result: Any,
    *,
    frames: str | Sequence[str] | None = None,
    ghosts: int = 6,
    tree: bool = False,
    smooth: bool = False,
    rate: float = FRAME_RATE,
    meshes: Folders | None = None,
    title: str | None = None,
) -> SceneDocument:
    """Return the scene document of a plan; see `PlanResult.show`."""
    robot, names = result.robot, frames_to_draw(result.robot, frames)
    show_tree, smooth = boolean("show", "tree", tree), boolean("show", "smooth", smooth)
    if result.success:
        trajectory = result.trajectory(smooth=smooth)
        times = frame_times(trajectory.start_time, trajectory.end_time, rate)
        q, path = (np.asarray(trajectory(t).q) for t in (times, path_times(times)))
    else:
        starts, goals = plan_ends(result)
        times, q, path, ghosts = np.zeros(1), starts[:1], None, 0
        title = f"{robot.name}: {result.status}" if title is None else title
    builder = moving_scene(
        robot, times, q, title=title, frames=names, scene=result.scene, ghosts=ghosts, meshes=meshes, path=path
    )
    builder.is_timed = not result.success
    if not result.success:
        builder.add_ghosts(robot, goals[:_MAX_GOALS], name="goals", opacity=_GOAL_OPACITY)
        _mark_collisions(builder, result, [q[0], *goals[:_MAX_GOALS]])
        for name, target in result._ends[2][:_MAX_GOALS] if result._ends else ():
            pose = np.eye(4)
            pose[: len(target), -(4 if target.ndim == 2 else 1) :] = target if target.ndim == 2 else target[:, None]
            builder.add_frame(f"goal of {name}", pose)
    if show_tree or not result.success:
        for search_tree, color in zip(result.trees, _TREE_COLORS, strict=False):
            child = np.flatnonzero(search_tree.parent >= 0)
            _add_edges(
                builder,
                robot,
                names[0],
                search_tree.q,
                np.stack([search_tree.parent[child], child], axis=1),
                "tree",
                color,
            )
    return builder.document()


def plan_ends(result: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the start configurations (n, nq) and goal configurations (m, nq) of a plan without a path."""
    roots = [tree.q[tree.parent < 0] for tree in result.trees] or [*result._ends[:2]]
    if not roots or not len(roots[0]):
        return np.asarray(result.robot.neutral())[None], np.empty((0, result.robot.nq))
    return roots[0], roots[1] if len(roots) > 1 else roots[0][:0]


def _mark_collisions(builder: SceneBuilder, result: Any, configurations: Sequence[np.ndarray]) -> None:
    """Draw colliding bodies in red, with the names of the pairs, at the start and at each goal.

    The start is the first actor of the document; the goals are the instances of the second.
    """
    names: list[set[str]] = [set() for _ in builder.actors]
    for k, q in enumerate(configurations):
        for pair, sentence, middle in result._collisions(q):
            names[min(k, 1)].update(pair)
            builder.texts.append(Text(sentence.replace("'", ""), middle, "collisions"))
    builder.actors = [
        replace(
            actor,
            parts=tuple(replace(part, color=_COLLIDING) if part.link in touched else part for part in actor.parts),
        )
        for actor, touched in zip(builder.actors, names, strict=True)
    ]
    touched = set().union(*names)
    builder.props = [
        replace(prop, color=(*_COLLIDING[:3], 0.5)) if prop.name in touched else prop for prop in builder.props
    ]


@document_of.register(Roadmap)
def roadmap_document(
    roadmap: Any, *, frame: str | None = None, robots: int = 1, meshes: Folders | None = None, title: str | None = None
) -> SceneDocument:
    """Return the scene document of a roadmap; see `Roadmap.show`."""
    robot = roadmap.robot
    (frame,) = frames_to_draw(robot, frame)
    count = integer("show", "robots", robots, least=0, most=200)
    nodes = roadmap.nodes
    heading = f"{robot.name}: roadmap of {len(nodes)} nodes" if title is None else title
    shown = nodes[np.unique(np.round(np.linspace(0, len(nodes) - 1, max(count, 1))).astype(int))]
    opacity = 1.0 if count == 1 else _GHOST_OPACITY
    builder = moving_scene(
        robot, np.zeros(1), shown[None], title=heading, scene=roadmap.scene, meshes=meshes, opacity=opacity
    )
    if count == 0:
        builder.actors.clear()
    positions = np.asarray(robot.pose(nodes, frame))[..., :3, 3]
    _, component = np.unique(roadmap.components, return_inverse=True)
    colors = np.round(255.0 * np.array(PATH_COLORS)[component.reshape(-1) % len(PATH_COLORS)]).astype(np.uint8)
    builder.points.append(Points("nodes", positions, colors, 0.012 * builder.size))
    _add_edges(builder, robot, frame, nodes, roadmap.edges, "edges", _EDGE_COLOR)
    return builder.document()


def _add_edges(
    builder: SceneBuilder, robot: Any, frame: str, q: np.ndarray, edges: np.ndarray, layer: str, color: Color
) -> None:
    """Add line segments for the edges (m, 2) of a roadmap, between positions of a frame at both configurations in q.

    Of very many edges only the first are drawn.
    """
    if not len(edges):
        return
    if len(edges) > _MAX_EDGES:
        builder.surfaces.notes.append(f"{layer}: {_MAX_EDGES} of {len(edges)} edges are drawn")
    edges = edges[:_MAX_EDGES]
    positions = np.asarray(robot.pose(q, frame))[..., :3, 3]
    builder.lines.append(segments_between(layer, positions[edges[:, 0]], positions[edges[:, 1]], color, layer))
