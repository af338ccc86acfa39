"""View of a robot's link: pose, inertia, shapes and parent joint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from linkwork._util.lazy_imports import published_in
from linkwork.errors import UnknownNameError
from linkwork.joints import Fixed
from linkwork.model.body import WORLD, Frame
from linkwork.model.inertia_check import mass_properties
from linkwork.model.tree import Tree, kind_hint
from linkwork.model.tree_drawing import link_row
from linkwork.robot.joint.joint import Joint
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Pose
from linkwork.spatial.arguments import fixed_array

__all__ = ["PlacedLink", "fixed_joints_of", "link_frame", "links_of", "placed_link"]


@published_in("linkwork.parts")
@dataclass(frozen=True, slots=True, repr=False)
class PlacedLink:
    """Link of a robot: an immutable value, equal and hashable by content.

    The link moves with ``body``: the body of its moving joint, or the body that fixed joints weld it to.

    ``name`` is the link's name, and ``placement`` is its pose on the body. ``inertia_at_origin`` is in its axes, or
    None if it is not known. ``visuals`` and ``collisions`` are its shapes. ``joint`` connects it to its ``parent``
    link, and ``is_welded`` is True if the joint is fixed.
    """

    name: str
    body: str  # name of the body that it moves with; "world" if it is fixed
    placement: Pose  # X_body_link
    inertia_at_origin: Inertia | None  # about its origin, in its axes; None for a robot loaded without inertias
    visuals: tuple[Geometry, ...]
    collisions: tuple[Geometry, ...]
    joint: str | None  # name of the joint between it and ``parent``; None for a root that is fixed to the world
    parent: str  # name of the parent link; "world" for a root
    is_welded: bool  # True if that joint is fixed

    @property
    def pose(self) -> np.ndarray:
        """Pose X_body_link (4, 4) of the link's frame in the frame of its body: p_body = X p_link [1, m]."""
        return self.placement.matrix()

    @property
    def mass(self) -> float:
        """Mass of the link itself [kg], without other links on its body."""
        return float(self._own.mass)

    @property
    def com(self) -> np.ndarray:
        """Centre of mass (3,) relative to the link's origin, in the link's axes [m]; zero for a massless link."""
        return fixed_array([*mass_properties(self._own)[1]])

    @property
    def inertia(self) -> np.ndarray:
        """Rotational inertia (3, 3) about the link's centre of mass, in the link's axes [kg·m²]."""
        about = mass_properties(self._own)[2]
        return fixed_array([[*row] for row in (about.x, about.y, about.z)])

    @property
    def _own(self) -> Inertia:
        if self.inertia_at_origin is None:
            raise ValueError(f'link {self.name!r}: the robot was loaded without inertias, inertia="ignore"')
        return self.inertia_at_origin

    def _html_row(self) -> dict[str, str]:
        return link_row(self)

    def __repr__(self) -> str:
        if self.joint is None:
            how = "fixed to the world" if self.body == "world" else f"a frame on {self.parent!r}"
        else:
            how = f"{'welded to' if self.is_welded else 'moves on'} {self.parent!r} by {self.joint!r}"
        weight = "" if self.inertia_at_origin is None else f", {self.mass:.6g} kg"
        return f"<PlacedLink {self.name!r}: {how}{weight}>"


def placed_link(tree: Tree, name: str) -> PlacedLink:
    """Return the named link or frame.  Raises UnknownNameError."""
    return _placed(tree, link_frame(tree, tree.frames, name))


def link_frame(tree: Tree, frames: Iterable[Frame], name: str) -> Frame:
    """Return the frame called ``name`` of ``frames``. Raises UnknownNameError, also for "world" unless it is a link."""
    known = {frame.name: frame for frame in frames}
    try:
        return known[name]
    except (KeyError, TypeError):
        raise UnknownNameError("link", name, known, kind_hint("link", name, tree.carried)) from None


def links_of(tree: Tree) -> tuple[PlacedLink, ...]:
    """Return the robot's links, without frames that a user added."""
    return tuple(_placed(tree, frame) for frame in tree.links)


def fixed_joints_of(tree: Tree) -> tuple[Joint, ...]:
    """Return the fixed joints in the order of their child links.

    The placement of each is the child's pose in its parent link.  The parent "world" does not need to be a link.
    """
    poses = {"world": Pose.identity(), **{frame.name: frame.placement for frame in tree.frames}}
    result = []
    for frame in tree.frames:
        if frame.fixed_joint is not None:
            link = _placed(tree, frame)
            carrier = poses[link.parent]
            placement = frame.placement if carrier == Pose.identity() else carrier.inv() @ frame.placement
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
    content = frame.placement, inertia, frame.visuals, frame.collisions
    return PlacedLink(frame.name, carrier, *content, joint, parent, frame.fixed_joint is not None)


def _parent(tree: Tree, i: int) -> str:
    """Return the name of the parent link of the joint by which body i moves."""
    body = tree.bodies[i]
    if body.links is not None:
        return body.links[0]
    return "world" if body.parent == WORLD else tree.bodies[body.parent].name
