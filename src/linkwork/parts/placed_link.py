"""A link of a robot: where it is, what it weighs, what it looks like, and what holds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.joints import Fixed
from linkwork.model.body import WORLD, Frame
from linkwork.model.tree import Tree, kind_hint
from linkwork.model.value_check import mass_properties
from linkwork.parts.joint.joint import Joint
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Pose
from linkwork.spatial.arguments import fixed_array, matrix_of

__all__ = ["PlacedLink", "fixed_joints_of", "link_frame", "links_of", "placed_link"]


@dataclass(frozen=True, slots=True, repr=False)
class PlacedLink:
    """A link of a robot: an immutable value, equal and hashable by content.

    It moves with ``body``, the body that it is or that fixed joints weld it to.
    """

    name: str
    body: str  # the name of the body that it moves with; "world" where it is fixed
    placement: Pose  # X_body_link
    inertia_at_origin: Inertia | None  # about its origin, in its axes; None in a robot that was loaded without
    visuals: tuple[Geometry, ...]
    collisions: tuple[Geometry, ...]
    joint: str | None  # the name of the joint between it and ``parent``; None for a root that is fixed to the world
    parent: str  # the link, by name, that its joint hangs from; "world" for a root
    is_welded: bool  # whether that joint is a fixed one

    @property
    def pose(self) -> np.ndarray:
        """X_body_link (4, 4), where its frame is in the frame of its body: p_body = X p_link [1, m]."""
        return matrix_of(self.placement)

    @property
    def mass(self) -> float:
        """Its own mass [kg]; nothing else on its body is in it."""
        return float(self._own.mass)

    @property
    def com(self) -> np.ndarray:
        """Its centre of mass from its origin, in its axes (3,) [m]; zeros where it has no mass."""
        return fixed_array([*mass_properties(self._own)[1]])

    @property
    def inertia(self) -> np.ndarray:
        """Its rotational inertia about its centre of mass, in its axes (3, 3) [kg·m²]."""
        about = mass_properties(self._own)[2]
        return fixed_array([[*row] for row in (about.x, about.y, about.z)])

    @property
    def _own(self) -> Inertia:
        if self.inertia_at_origin is None:
            raise ValueError(f'link {self.name!r}: the robot was loaded without inertias, inertia="ignore"')
        return self.inertia_at_origin

    def __repr__(self) -> str:
        if self.joint is None:
            how = "fixed to the world" if self.body == "world" else f"a frame on {self.parent!r}"
        else:
            how = f"{'welded to' if self.is_welded else 'moves on'} {self.parent!r} by {self.joint!r}"
        weight = "" if self.inertia_at_origin is None else f", {self.mass:.6g} kg"
        return f"<PlacedLink {self.name!r}: {how}{weight}>"


def placed_link(tree: Tree, name: str) -> PlacedLink:
    """The named link, or frame.  Raises UnknownNameError."""
    return _placed(tree, link_frame(tree, tree.frames, name))


def link_frame(tree: Tree, frames: Iterable[Frame], name: str) -> Frame:
    """The one of these frames with this name.  Raises UnknownNameError, for the world too unless it is a link."""
    known = {frame.name: frame for frame in frames}
    try:
        return known[name]
    except (KeyError, TypeError):
        raise UnknownNameError("link", name, known, kind_hint("link", name, tree.carried)) from None


def links_of(tree: Tree) -> tuple[PlacedLink, ...]:
    """The links: frames but for those that were only put on a link."""
    return tuple(_placed(tree, frame) for frame in tree.links)


def fixed_joints_of(tree: Tree) -> tuple[Joint, ...]:
    """The fixed joints, in the order of the links that they weld: each is at the pose of its link in the link before.

    The world is a place to hang from, and needs to be no link.
    """
    places = {"world": Pose.identity(), **{frame.name: frame.placement for frame in tree.frames}}
    result = []
    for frame in tree.frames:
        if frame.fixed_joint is not None:
            link = _placed(tree, frame)
            held = places[link.parent]
            placement = frame.placement if held == Pose.identity() else held.inv() @ frame.placement
            name, parent = frame.fixed_joint, link.parent
            result.append(Joint.of(Fixed(), name=name, parent=parent, child=frame.name, placement=placement))
    return tuple(result)


def _placed(tree: Tree, frame: Frame) -> PlacedLink:
    body = None if frame.body == WORLD else tree.bodies[frame.body]
    carrier = "world" if body is None else body.name
    joint, parent = frame.fixed_joint, frame.welded_to or carrier
    if body is not None and body.name == frame.name:
        joint, parent = body.joint_name, _parent(tree, frame.body)
    inertia = None if tree.inertias_ignored else frame.inertia
    parts = frame.placement, inertia, frame.visuals, frame.collisions
    return PlacedLink(frame.name, carrier, *parts, joint, parent, frame.fixed_joint is not None)


def _parent(tree: Tree, i: int) -> str:
    """The link that the joint of a body hangs from."""
    body = tree.bodies[i]
    if body.links is not None:
        return body.links[0]
    return "world" if body.parent == WORLD else tree.bodies[body.parent].name
