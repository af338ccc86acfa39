"""Contacts of links' collision shapes, with obstacles in the world and with each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.errors import UnknownNameError
from linkwork.expr.scalar.functions import where
from linkwork.geometry.contacts import touching_shapes
from linkwork.geometry.fields import FIELDS, is_measured
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SOLIDS
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.body import WORLD
from linkwork.model.collision_pairs import LinkShape, collision_links, link_shapes
from linkwork.shapes import Mesh, Shape, Sphere
from linkwork.simulation.contacts.contact_candidates import ContactCandidate, axes_of, frame_pose
from linkwork.simulation.contacts.contact_materials import (
    ContactMaterial,
    Materials,
    check_names,
    checked_materials,
    material_of,
)
from linkwork.simulation.contacts.ground_contact import ContactPoint
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["ContactPair", "ContactScene"]

_POINT = 1e-12  # [characteristic lengths] radius of points
_WITHIN = 1e3  # [characteristic lengths] range of the search for contacts, and the gap where there is none


@public_constructor
@dataclass(frozen=True)
class ContactScene:
    """Contacts of the robot with obstacles of a `linkwork.Scene`.

    ``links`` are names of links, which touch by their collision shapes, and `ContactPoint`; by default all moving links
    with shapes.  ``materials`` is a `ContactMaterial` for all, or a dict by names of links and obstacles, and by pairs
    of these.  A link without a material has the friction of its shape, if the robot's file states it.

    The contact points of two shapes depend on their kinds, as in `linkwork.contact_points`: both ends of a capsule, the
    corners of a box, points of a cylinder's rims, for two boxes all corners of the overlap of faces, and for hulls
    eight of these.

    >>> import linkwork as lw
    >>> from linkwork.simulation import ContactMaterial, ContactScene
    >>> scene = lw.Scene().with_half_space("floor").with_box("step", (1.0, 1.0, 0.2), (1.0, 0.0, 0.1))
    >>> rough = {"floor": ContactMaterial(0.5), ("foot", "step"): ContactMaterial(1.0)}
    >>> contacts = ContactScene(scene, materials=rough)
    """

    scene: Scene
    links: tuple[str | ContactPoint, ...] | None = None
    materials: ContactMaterial | Mapping[str | tuple[str, str], ContactMaterial] | Materials = ()

    def __post_init__(self) -> None:
        if not isinstance(self.scene, Scene):
            raise TypeError(f"ContactScene: scene: expected a linkwork.Scene, got {self.scene!r}")
        if not len(self.scene):
            raise ValueError("ContactScene: scene: expected at least one obstacle")
        if self.links is not None:
            links = (self.links,) if isinstance(self.links, (str, ContactPoint)) else self.links
            fits = isinstance(links, (tuple, list)) and all(isinstance(x, (str, ContactPoint)) for x in links)
            if not (fits and links):
                raise TypeError(f"ContactScene: links: expected names of links, or contact points, got {self.links!r}")
            object.__setattr__(self, "links", tuple(links))
        object.__setattr__(self, "materials", checked_materials("ContactScene", self.materials))

    def checked(self, robot: Any) -> None:
        """Raise UnknownNameError for links and materials not of ``robot``, ValueError for links that do not move."""
        points = [point for point in self.links or () if isinstance(point, ContactPoint)]
        for link in self.links or ():
            if isinstance(link, str):
                _check_link("ContactScene: links", robot, link)
        for point in points:
            point.checked("ContactScene: links", robot)
        named = (*collision_links(robot.tree), *(point.frame for point in points), *self.scene.names)
        check_names(self.materials, named)  # type: ignore[arg-type]
        pairs = self._pairs(robot)
        if not pairs:
            raise ValueError(
                f"ContactScene: robot {robot.name!r}: expected a moving link with a collision shape, got none"
            )
        for _, link_shape, name in pairs:
            if link_shape.link == name:
                raise ValueError(f"ContactScene: {name!r} names a link and an obstacle; rename one of them")
            _check_measured("ContactScene", (link_shape.name, link_shape.shape), (name, self.scene[name].shape))

    def names(self, robot: Any) -> tuple[str, ...]:
        """Return the names of the contact points on ``robot``."""
        return tuple(candidate.name for candidate in self.candidates(robot, robot.neutral()))

    def candidates(self, robot: Any, q: Any) -> list[ContactCandidate]:
        """Return the contact candidates of ``robot`` at a configuration q: symbols (nq), or an array (..., nq)."""
        result: list[ContactCandidate] = []
        for point, link_shape, name in self._pairs(robot):
            obstacle = self.scene[name]
            material = material_of(self.materials, link_shape.link, name, (link_shape.friction, None))  # type: ignore[arg-type]
            if point is not None:
                material = point.of(material)
            X = _PlacedShape(robot, q, link_shape)
            names = (link_shape.link, name)
            result += _candidates(
                f"{link_shape.name!r} and {name!r}", material, names, obstacle.shape, obstacle.pose, X
            )
        return result

    def _pairs(self, robot: Any) -> list[tuple[ContactPoint | None, LinkShape, str]]:
        """Return (point or None, shape, name of the obstacle) for each pair that may touch."""
        touching: list[tuple[ContactPoint | None, LinkShape]] = []
        for link_shape in link_shapes(robot.tree):
            if link_shape.body != WORLD and (self.links is None or link_shape.link in self.links):
                touching.append((None, link_shape))
        for point in self.links or ():
            if isinstance(point, ContactPoint):
                frame = robot.tree.frame(point.frame)
                at_point = Pose(Rotation.identity(), Vec3(*point.offset))
                ball = Sphere(max(point.radius, _POINT * characteristic_length(robot.tree)))
                touching.append(
                    (point, LinkShape(frame.name, frame.name, frame.body, ball, frame.placement @ at_point))
                )
        return [(point, link_shape, name) for point, link_shape in touching for name in self.scene.names]


@public_constructor
@dataclass(frozen=True)
class ContactPair:
    """Contacts between two links of the robot, by their collision shapes, with one material or two by name.

    Without a material the shapes have the friction that the robot's file states, if any.

    Recorded forces act on the ``second`` link; the opposite forces act on the ``first``.  The pair may be two links
    that a joint connects, if their shapes do not overlap at the joint.

    ``materials`` is one `ContactMaterial`, or a dict by link.

    >>> from linkwork.simulation import ContactMaterial, ContactPair
    >>> ContactPair("upper_arm", "box", ContactMaterial(friction=0.4)).second
    'box'
    """

    first: str
    second: str
    materials: ContactMaterial | Mapping[str | tuple[str, str], ContactMaterial] | Materials = ()

    def __post_init__(self) -> None:
        if self.first == self.second:
            raise ValueError(f"ContactPair: second: expected another link than first, got {self.first!r} for both")
        object.__setattr__(self, "materials", checked_materials("ContactPair", self.materials))

    def checked(self, robot: Any) -> None:
        """Raise UnknownNameError for links and materials that ``robot`` lacks, ValueError for links of one body."""
        for link in (self.first, self.second):
            _check_link("ContactPair", robot, link, may_stand=True)
        check_names(self.materials, (self.first, self.second))  # type: ignore[arg-type]
        if robot.tree.frame(self.first).body == robot.tree.frame(self.second).body:
            raise ValueError(
                f"ContactPair: links {self.first!r} and {self.second!r} are on one body; name links of two bodies"
            )
        shapes = link_shapes(robot.tree)
        for a in (link_shape for link_shape in shapes if link_shape.link == self.first):
            for b in (link_shape for link_shape in shapes if link_shape.link == self.second):
                _check_measured("ContactPair", (a.name, a.shape), (b.name, b.shape))

    def names(self, robot: Any) -> tuple[str, ...]:
        """Return the names of the contact points on ``robot``."""
        return tuple(candidate.name for candidate in self.candidates(robot, robot.neutral()))

    def candidates(self, robot: Any, q: Any) -> list[ContactCandidate]:
        """Return the contact candidates of ``robot`` at a configuration q: symbols (nq), or an array (..., nq)."""
        shapes = link_shapes(robot.tree)
        result: list[ContactCandidate] = []
        for a in (link_shape for link_shape in shapes if link_shape.link == self.first):
            for b in (link_shape for link_shape in shapes if link_shape.link == self.second):
                A, B = _PlacedShape(robot, q, a), _PlacedShape(robot, q, b)
                known: Any = self.materials
                material = material_of(known, self.first, self.second, (a.friction, b.friction))
                for candidate in _candidates(f"{a.name!r} and {b.name!r}", material, (a.link, b.link), a.shape, A.X, B):
                    arm = candidate.arms[1]
                    result.append(replace(candidate, first=a.link, arms=(arm + B.origin - A.origin, arm)))
        return result


class _PlacedShape:
    """A link's shape with its pose in the world."""

    def __init__(self, robot: Any, q: Any, link_shape: LinkShape) -> None:
        X = frame_pose(robot, q, link_shape.link)
        self.link, self.shape, self.origin = link_shape.link, link_shape.shape, X.translation
        self.within = _WITHIN * characteristic_length(robot.tree)
        self.X = X @ (robot.tree.frame(link_shape.link).placement.inv() @ link_shape.placement)


def _candidates(
    name: str, material: ContactMaterial, of: tuple[str, ...], first: Shape, X: Pose, second: _PlacedShape
) -> Iterator[ContactCandidate]:
    """Yield the contact candidates of a fixed shape and a link's shape."""
    touching = touching_shapes(first, X, second.shape, second.X, second.within)
    points = [(manifold.normal, p) for manifold in touching for p in manifold.points]
    for k, (normal, p) in enumerate(points):
        arm = (p.on_a + p.on_b) * 0.5 - second.origin
        gap = where(p.exists, -p.depth, second.within)
        many = f" ({k + 1} of {len(points)})" if len(points) > 1 else ""
        yield ContactCandidate(name + many, None, second.link, (None, arm), axes_of(normal), gap, material, of)


def _check_measured(caller: str, *named: tuple[str, Shape]) -> None:
    """Raise ValueError for two shapes without a function for their contact points."""
    for name, shape in named:
        if type(shape) not in SOLIDS and type(shape) not in FIELDS:
            remedy = "with_collision_hulls opens files of meshes" if isinstance(shape, Mesh) else "give another shape"
            raise ValueError(f"{caller}: shape {name!r}: contacts are not supported for {shape!r}; {remedy}")
    (a, first), (b, second) = named
    if not is_measured(first, second):
        kinds = f"{a!r}, a {type(first).__name__}, and {b!r}, a {type(second).__name__}"
        raise ValueError(f"{caller}: expected a pair with a convex bounded shape, got {kinds}")


def _check_link(caller: str, robot: Any, link: Any, may_stand: bool = False) -> None:
    links = collision_links(robot.tree)
    if link not in links:
        raise UnknownNameError("link with a collision shape", link, links)
    if not may_stand and robot.tree.frame(link).body == WORLD:
        raise ValueError(f"{caller}: {link!r} is fixed to the world; name a link that a joint moves")
