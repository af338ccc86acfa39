"""Which pairs of shapes people mean by names."""

from __future__ import annotations

from collections.abc import Iterable

from linkwork.collision.algorithms.shape_placement import moving_shapes, shape_pairs
from linkwork.errors import UnknownNameError
from linkwork.geometry.fields import FIELDS, is_measured
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SOLIDS
from linkwork.model.collision_pairs import LinkShape, collision_pairs, link_shapes
from linkwork.model.tree import Tree
from linkwork.shapes import Mesh, Shape

__all__ = ["meant_pairs"]


def meant_pairs(
    tree: Tree, caller: str, scene: Scene, pairs: Iterable[tuple[str, str]] | None, link: str | None = None
) -> tuple[tuple[LinkShape, ...], list[tuple[int, int]], list[tuple[int, str]]]:
    """The robot's shapes, and of their places: pairs of them, and those with obstacles' names.

    All that are looked at, some by their names, or those of a link.  Raises ValueError and UnknownNameError.
    """
    shapes = _measured(tree, caller)
    own, moving = shape_pairs(tree, collision_pairs(tree)), moving_shapes(tree)
    meeting = [(k, name) for name in scene.names for k in moving]
    if pairs is not None:
        own, meeting = _chosen(tree, caller, shapes, scene, pairs)
    if link is not None:
        meant = _links(tree, shapes, link)
        own = [pair for pair in own if meant & {shapes[pair[0]].link, shapes[pair[1]].link}]
        meeting = [pair for pair in meeting if shapes[pair[0]].link in meant]
    if not own and not meeting:
        raise ValueError(
            f"{caller}: robot {tree.name!r} has no pair of links that is looked at: give a scene, or pairs by "
            f"with_collision_pairs"
        )
    for i, j in own:
        _check_fields(caller, shapes[i].name, shapes[i].shape, shapes[j].name, shapes[j].shape)
    for k in {k for k, _ in meeting}:
        for name in {name for _, name in meeting}:
            _check_fields(caller, shapes[k].name, shapes[k].shape, name, scene[name].shape)
    return shapes, own, meeting


def _links(tree: Tree, shapes: tuple[LinkShape, ...], name: str) -> set[str]:
    """The links with shapes that a name means: that link, or of a frame without shapes those that move with it."""
    links = list(dict.fromkeys(shape.link for shape in shapes))
    if name in links:
        return {name}
    frames = {frame.name: frame for frame in tree.frames}
    result = {link for link in links if name in frames and frames[link].body == frames[name].body}
    if not result:
        raise UnknownNameError("link with a collision shape", name, links)
    return result


def _measured(tree: Tree, caller: str) -> tuple[LinkShape, ...]:
    """The robot's shapes.  Raises ValueError where there are none, or some that nothing measures."""
    shapes = link_shapes(tree)
    if not shapes:
        raise ValueError(
            f"{caller}: robot {tree.name!r} has no collision shapes: its file has no <collision>: with_collisions "
            f"gives links some"
        )
    for shape in shapes:
        if type(shape.shape) not in SOLIDS and type(shape.shape) not in FIELDS:
            remedy = (
                "with_collision_hulls opens files of meshes"
                if isinstance(shape.shape, Mesh)
                else "give others in its place"
            )
            raise ValueError(
                f"{caller}: robot {tree.name!r}: shape {shape.name!r} is {shape.shape!r}, which has no "
                f"distances: {remedy}"
            )
    return shapes


def _check_fields(caller: str, a: str, shape_a: Shape, b: str, shape_b: Shape) -> None:
    """Raises ValueError for two shapes of which nothing measures the distance."""
    if not is_measured(shape_a, shape_b):
        raise ValueError(
            f"{caller}: nothing measures {a!r}, a {type(shape_a).__name__}, and {b!r}, a {type(shape_b).__name__}: one "
            f"of them must be convex and bounded, or a PointCloud; pairs= or with_collision_pairs leave it out"
        )


def _chosen(
    tree: Tree, caller: str, shapes: tuple[LinkShape, ...], scene: Scene, pairs: Iterable[tuple[str, str]]
) -> tuple[list[tuple[int, int]], list[tuple[int, str]]]:
    """Own pairs, and shapes with obstacles, of pairs of names; a link stands for all of its shapes."""
    of: dict[str, list[int]] = {}
    for k, shape in enumerate(shapes):
        for name in {shape.name, shape.link}:
            of.setdefault(name, []).append(k)
    example = [(shapes[-1].link, [*scene.names, shapes[0].link][0])]
    expected = f"{caller}: pairs: expected pairs of names, as in {example!r}"
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ValueError(f"{expected}, got {pairs!r}")
    own: dict[tuple[int, int], None] = {}
    meeting: dict[tuple[int, str], None] = {}
    for pair in pairs:
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"{expected}, got {pair!r}")
        for name in pair:
            if name not in of and name not in scene:
                raise UnknownNameError("link with a collision shape, or obstacle,", name, [*of, *scene.names])
            if name in of and name in scene:
                raise ValueError(f"{caller}: pairs: {name!r} is the name of a link and of an obstacle")
        a, b = pair
        if a in scene and b in scene:
            raise ValueError(f"{caller}: pairs: {a!r} and {b!r} are obstacles both")
        if a in scene or b in scene:
            link, name = (b, a) if a in scene else (a, b)
            meeting |= dict.fromkeys((k, name) for k in of[link])
            continue
        for i in of[a]:
            for j in of[b]:
                if shapes[i].body == shapes[j].body:
                    raise ValueError(
                        f"{caller}: pairs: {a!r} and {b!r} are on one body, and never move relative to each other"
                    )
                own[min(i, j), max(i, j)] = None
    return list(own), list(meeting)
