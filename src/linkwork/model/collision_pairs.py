"""Collision shapes of links and the pairs of links to check: data of the tree, without distances.

Pairs of links on one body never move relative to each other, and links on bodies connected by a joint touch by design.
Both kinds are skipped unless the pair is enabled.  Disabled pairs are skipped as well.

If a joint's parent link is fixed to the world, the joint connects its child to the links that are welded to the parent.
A table and the base of another robot, which are fixed to the world beside it, do not touch its first moving link by
design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from linkwork._util.messages import nearest
from linkwork.constraints import LoopJoint
from linkwork.errors import UnknownNameError
from linkwork.model.body import WORLD, Direction, DisabledPair, Frame, Point
from linkwork.model.composite_body import compose
from linkwork.model.tree import Tree
from linkwork.model.tree_attachments import check_new_name
from linkwork.shapes import Compound, Geometry, Material, Shape
from linkwork.shapes.shape import checked_color
from linkwork.spatial import Pose
from linkwork.spatial.arguments import checked_pose, checked_string

__all__ = [
    "LinkShape",
    "adjacency",
    "collision_links",
    "collision_pairs",
    "link_shapes",
    "ordered",
    "pair_filter",
    "pairs_of_links",
    "unmoving_pairs",
    "with_attached",
    "with_collisions",
    "with_disabled",
    "with_pairs",
    "without_attached",
]


@dataclass(frozen=True, slots=True)
class LinkShape:
    """A collision shape of a link, with its body and its placement on the body."""

    name: str  # the link's name, or "link/shape" if the link has several shapes
    link: str
    body: int  # or WORLD
    shape: Shape
    placement: Pose  # X_body_shape
    friction: float | None = None  # coefficient of Coulomb friction of its surface; None if it is not known


def link_shapes(tree: Tree) -> tuple[LinkShape, ...]:
    """Return all collision shapes in the order of the frames; components of compounds are "link[0]", ..."""
    result = []
    for frame in tree.frames:
        many = len(frame.collisions) > 1
        taken: set[str] = set()
        for k, geometry in enumerate(frame.collisions):
            name_in_link = geometry.name if geometry.name and geometry.name not in taken else str(k)
            taken.add(name_in_link)
            name = f"{frame.name}/{name_in_link}" if many else frame.name
            placement = compose(frame.placement, geometry.origin)
            if isinstance(geometry.shape, Compound):
                for j, part in enumerate(geometry.shape.parts):
                    at = compose(placement, part.origin)
                    friction = geometry.friction if part.friction is None else part.friction
                    result.append(LinkShape(f"{name}[{j}]", frame.name, frame.body, part.shape, at, friction))
                continue
            result.append(LinkShape(name, frame.name, frame.body, geometry.shape, placement, geometry.friction))
    return tuple(result)


def collision_links(tree: Tree) -> tuple[str, ...]:
    """Return the names of the links with collision shapes."""
    return tuple(frame.name for frame in tree.frames if frame.collisions)


def adjacency(tree: Tree) -> Callable[[Frame, Frame], bool]:
    """Return a function of two frames that tells whether they are adjacent.

    It is True for frames on one body, and on two bodies that a joint or a loop joint connects.
    """
    loops = [joint for joint in tree.constraints if isinstance(joint, LoopJoint)]
    closed = {frozenset((tree.frame(x.frame).body, tree.frame(x.relative_to).body)) for x in loops}
    carriers = {frame.name: frame.welded_to for frame in tree.frames if frame.body == WORLD}

    def root(name: str) -> str:
        """Return the first link of the chain of welds between the world and a link that is fixed to it."""
        while (carrier := carriers.get(name)) not in (None, "world"):
            name = str(carrier)
        return name

    def adjacent(a: Frame, b: Frame) -> bool:
        inner, outer = sorted((a, b), key=lambda frame: frame.body)
        if inner.body == outer.body or frozenset((a.body, b.body)) in closed:
            return True
        body = tree.bodies[outer.body]
        if body.parent != inner.body:
            return False
        return inner.body != WORLD or body.links is None or root(inner.name) == root(body.links[0])

    return adjacent


def pairs_of_links(tree: Tree) -> Iterator[tuple[Frame, Frame]]:
    """Iterate over all pairs of links with collision shapes, each in the order of the frames."""
    return combinations([tree.frame(name) for name in collision_links(tree)], 2)


def collision_pairs(tree: Tree) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links that are checked for collisions, each in the order of the frames."""
    is_checked = pair_filter(tree)
    return tuple((a.name, b.name) for a, b in pairs_of_links(tree) if is_checked(a, b))


def pair_filter(tree: Tree) -> Callable[[Frame, Frame], bool]:
    """Return a function of two links that is True if they are checked for collisions."""
    disabled = {frozenset((pair.a, pair.b)) for pair in tree.disabled_collisions}
    enabled = {frozenset(pair) for pair in tree.enabled_collisions}
    adjacent = adjacency(tree)

    def is_checked(a: Frame, b: Frame) -> bool:
        if a.body == b.body:
            return False
        pair = frozenset((a.name, b.name))
        return pair not in disabled and (pair in enabled or not adjacent(a, b))

    return is_checked


def unmoving_pairs(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield the pairs of links with collision shapes that are not checked by default.

    Their links are on one body, or on two bodies connected by a joint.
    """
    adjacent = adjacency(tree)
    yield from ((a.name, b.name) for a, b in pairs_of_links(tree) if adjacent(a, b))


def with_collisions(tree: Tree, link: str, shapes: Sequence[Shape | Geometry]) -> Tree:
    """Return the tree with the collision shapes of a link replaced.

    Raises UnknownNameError, TypeError and ValueError.
    """
    frame = tree.frame(link)
    result = []
    for shape in shapes:
        geometry = shape.at((0.0, 0.0, 0.0)) if isinstance(shape, Shape) else shape
        if not isinstance(geometry, Geometry):
            raise TypeError(f"with_collisions: {link!r}: expected shapes of linkwork.shapes, got {shape!r}")
        result.append(geometry)
    if link == "world":
        raise ValueError(
            "with_collisions: 'world' is not a link: pass a scene, or attach the shape to it with with_attached"
        )
    frames = tuple(replace(f, collisions=tuple(result)) if f is frame else f for f in tree.frames)
    return replace(tree, frames=frames)


def ordered(tree: Tree, caller: str, a: Any, b: Any) -> tuple[str, str]:
    """Return the names of two links with collision shapes, in the order of their frames in the tree.

    Raises UnknownNameError for a link without collision shapes, ValueError if both are the same link.
    """
    links = collision_links(tree)
    for name in (a, b):
        if name not in links:
            exists = isinstance(name, str) and (name == "world" or any(f.name == name for f in tree.frames))
            raise UnknownNameError(
                "link with a collision shape", name, links, f"{caller}: it has no collision shape" if exists else ""
            )
    if a == b:
        raise ValueError(f"{caller}: pairs: expected two different links, got {a!r} twice")
    return (a, b) if links.index(a) < links.index(b) else (b, a)


def with_pairs(tree: Tree, pairs: Iterable[tuple[str, str]]) -> Tree:
    """Return the tree that checks exactly these pairs of links for collisions.

    Raises UnknownNameError and ValueError.
    """
    caller = "with_collision_pairs"
    checked = {ordered(tree, caller, *pair) for pair in pairs}
    for a, b in checked:
        if tree.frame(a).body == tree.frame(b).body:
            raise ValueError(f"{caller}: links {a!r} and {b!r} are on one body: they never move relative to each other")
    known = {frozenset((pair.a, pair.b)): pair for pair in tree.disabled_collisions}
    disabled, enabled, adjacent = [], [], adjacency(tree)
    for link, second in pairs_of_links(tree):
        pair = (link.name, second.name)
        is_skipped = adjacent(link, second)
        if pair in checked:
            enabled += [pair] if is_skipped else []
        elif not is_skipped or frozenset(pair) in known:
            disabled.append(known.get(frozenset(pair), DisabledPair(*pair, "User")))
    return replace(tree, disabled_collisions=tuple(disabled), enabled_collisions=tuple(enabled))


def with_disabled(tree: Tree, pairs: Sequence[DisabledPair]) -> Tree:
    """Return the tree with further pairs of links disabled: they are not checked for collisions.

    A pair that is already disabled gets the new reason.
    """
    added = {frozenset((pair.a, pair.b)): pair for pair in pairs}
    earlier = [pair for pair in tree.disabled_collisions if frozenset((pair.a, pair.b)) not in added]
    enabled = tuple(pair for pair in tree.enabled_collisions if frozenset(pair) not in added)
    return replace(tree, disabled_collisions=(*earlier, *added.values()), enabled_collisions=enabled)


def with_attached(
    tree: Tree, name: str, frame: str, shape: Shape, pose: Any, touching: Sequence[str], color: Any = None
) -> Tree:
    """Return the tree with an object attached to a frame: a frame with a collision shape.

    Pairs of the object and the links in ``touching`` are not checked. Raises UnknownNameError, ValueError and
    TypeError.
    """
    check_new_name(tree, "with_attached", name)
    caller = f"with_attached: {checked_string(name, 'with_attached: name')!r}"
    if not isinstance(shape, Shape):
        raise TypeError(f"{caller}: expected a shape of linkwork.shapes, got {shape!r}")
    carrier = tree.frame(frame)
    X = checked_pose(pose, f"{caller}: pose")
    if isinstance(touching, str):
        raise TypeError(f'{caller}: touching: expected a list of links, as in ["{touching}"], got {touching!r}')
    links = collision_links(tree)
    for link in touching:
        if link not in links:
            raise UnknownNameError("link with a collision shape", link, links, _touching_hint(caller, link, links))
    material = None if color is None else Material(rgba=checked_color(color, f"{caller}: color"))
    added = Frame(
        name,
        carrier.body,
        compose(carrier.placement, X),
        collisions=(Geometry(shape, Pose.identity(), material=material),),
        welded_to=carrier.name,
    )
    result = replace(tree, frames=(*tree.frames, added))
    return with_disabled(result, [DisabledPair(name, link, "User") for link in touching])


def _touching_hint(caller: str, link: Any, links: Sequence[str]) -> str:
    """Return the nearest link name, and a hint on contacts with obstacles, as text for an error message."""
    return f"{nearest(str(link), links)} ({caller}: for contacts with obstacles, use plan(touching=))"


def without_attached(tree: Tree, name: str) -> Tree:
    """Return the tree without an attached object.

    Raises UnknownNameError, and ValueError if something is attached to the object.
    """
    objects = [f.name for f in tree.frames if f.collisions and f.welded_to is not None and f.fixed_joint is None]
    if name not in objects:
        raise UnknownNameError("attached object", name, objects)
    on_it = next((f.name for f in tree.frames if f.welded_to == name), None)
    if on_it is None:
        marks: list[Point | Direction] = [*tree.points, *tree.directions]
        on_it = next((mark.name for mark in marks if mark.frame == name), None)
    if on_it is None:
        on_it = next((actuator.name for actuator in tree.actuators if name in actuator.frames), None)
    if on_it is not None:
        raise ValueError(f"without_attached: {on_it!r} is attached to {name!r}: remove it first")
    return replace(
        tree,
        frames=tuple(f for f in tree.frames if f.name != name),
        disabled_collisions=tuple(pair for pair in tree.disabled_collisions if name not in (pair.a, pair.b)),
        enabled_collisions=tuple(pair for pair in tree.enabled_collisions if name not in pair),
    )
