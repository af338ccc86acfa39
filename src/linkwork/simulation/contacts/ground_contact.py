"""Contacts of a robot with the ground: points and spheres on its frames, and a half-space."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import finite_number, floats, optional
from linkwork.simulation.contacts.contact_candidates import ContactCandidate, frame_pose
from linkwork.simulation.contacts.contact_materials import (
    ContactMaterial,
    check_surface,
    from_zero,
    restitution,
)
from linkwork.spatial import Vec3

__all__ = ["GROUND", "ContactGround", "ContactPoint"]

GROUND = "ground"  # name of the half-space in parameters


@public_constructor
@dataclass(frozen=True)
class ContactPoint:
    """Contact point at ``offset`` (3,) [m] in a frame of the robot, a sphere if ``radius`` [m] is not 0.

    ``friction`` and ``restitution`` replace the ground's values.
    """

    frame: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    friction: float | None = None
    restitution: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.frame, str):
            raise TypeError(f"ContactPoint: frame: expected a frame's name, got {self.frame!r}")
        object.__setattr__(self, "offset", _three("ContactPoint: offset", self.offset))
        for name, check in (
            ("radius", partial(from_zero, unit="m")),
            ("friction", optional(from_zero)),
            ("restitution", optional(restitution)),
        ):
            object.__setattr__(self, name, check("ContactPoint", name, getattr(self, name)))

    def checked(self, caller: str, robot: Any) -> None:
        """Raise UnknownNameError for a frame that ``robot`` lacks, ValueError for one that does not move.

        Messages begin with ``caller``.
        """
        if self.frame not in robot.frames:
            raise robot.tree.unknown_frame(self.frame)
        if not np.any(robot.jacobian(robot.random_configuration(seed=0), self.frame)):
            raise ValueError(f"{caller}: {self.frame!r} is fixed to the world; name a frame that a joint moves")

    def of(self, material: ContactMaterial) -> ContactMaterial:
        """Return the material with the point's friction and restitution, if the point has its own."""
        stated = {"friction": self.friction, "restitution": self.restitution}
        return replace(material, **{name: x for name, x in stated.items() if x is not None})


@public_constructor
@dataclass(frozen=True)
class ContactGround:
    """Ground: the half-space below a plane, and the points of the robot that touch it.

    ``points`` are `ContactPoint`, or names of frames for their origins.  ``friction`` is Coulomb's coefficient.
    ``normal`` (3,) points out of the ground, and points x of its surface have normal · x = ``height`` [m] in the world.
    Contacts are as rigid as the step resolves, or have a ``stiffness`` [N/m].  A body leaves the ground with
    ``restitution`` (0 to 1) of its impact speed, by Newton's law.  ``dissipation`` [s/m] is for compliant contacts, as
    in `linkwork.simulation.ContactMaterial`.
    """

    points: tuple[ContactPoint, ...]
    friction: float = 0.8
    stiffness: float | None = None
    normal: tuple[float, float, float] = field(default=(0.0, 0.0, 1.0))
    height: float = 0.0
    restitution: float = 0.0
    dissipation: float = 0.0

    def __post_init__(self) -> None:
        value = (self.points,) if isinstance(self.points, (str, ContactPoint)) else self.points
        if isinstance(value, (bytes, Mapping)) or not isinstance(value, Iterable):
            raise TypeError(f"ContactGround: points: expected contact points or names of frames, got {value!r}")
        points = tuple(ContactPoint(p) if isinstance(p, str) else p for p in value)
        for p in points:
            if not isinstance(p, ContactPoint):
                raise TypeError(f"ContactGround: points: expected contact points or names of frames, got {p!r}")
        if not points:
            raise ValueError("ContactGround: points: expected at least one, got none")
        object.__setattr__(self, "points", points)
        check_surface("ContactGround", self)
        n = np.array(_three("ContactGround: normal", self.normal))
        length = float(np.linalg.norm(n))
        if not length > 0.0:
            raise ValueError(f"ContactGround: normal: expected a non-zero vector (3,), got {self.normal}")
        object.__setattr__(self, "normal", tuple((n / length).tolist()))
        height = finite_number("ContactGround", "height", self.height, symbols=False, unit="m")
        object.__setattr__(self, "height", height)

    def checked(self, robot: Any) -> None:
        """Raise UnknownNameError for frames that ``robot`` lacks."""
        for p in self.points:
            p.checked("ContactGround: points", robot)

    def names(self, robot: Any) -> tuple[str, ...]:
        """Return the names of the contact points on ``robot``."""
        return tuple(f"{p.frame!r} and the ground" for p in self.points)

    def candidates(self, robot: Any, q: Any, plane: tuple[Any, Any] | None = None) -> list[ContactCandidate]:
        """Return the contact candidate of each point at a configuration q: symbols (nq), or an array (..., nq).

        The points are on ``robot``.  ``plane`` are axes (3, 3) and height [m] of the ground plane, by default the
        ground's own.
        """
        axes, height = (self.axes(), self.height) if plane is None else plane
        n = Vec3(*self.normal) if plane is None else Vec3(*axes[2])
        result = []
        for p, name in zip(self.points, self.names(robot), strict=True):
            X = frame_pose(robot, q, p.frame)
            arm = X.rotation @ Vec3(*p.offset)
            gap = n.dot(X.translation + arm) - p.radius - height
            arms, names = (None, arm - n * p.radius), (p.frame, GROUND)
            result.append(ContactCandidate(name, None, p.frame, arms, axes, gap, self._material(p), names))
        return result

    def _material(self, p: ContactPoint) -> ContactMaterial:
        return p.of(ContactMaterial(self.friction, self.restitution, self.stiffness, self.dissipation))

    def axes(self) -> list[list[float]]:
        """Return two tangents and the normal, coordinate axes if the normal is one."""
        n = np.array(self.normal)
        axis = np.eye(3)[int(np.argmin(np.abs(n)))]
        first = axis - n * (n @ axis)
        first /= np.linalg.norm(first)
        return [(x + 0.0).tolist() for x in (first, np.cross(n, first), n)]


def _three(caller: str, value: Any) -> tuple[float, float, float]:
    try:
        result = floats(value)
    except (TypeError, ValueError):
        result = np.array(math.nan)
    if result.shape != (3,) or not np.isfinite(result).all():
        raise ValueError(f"{caller}: expected three finite numbers, got {value!r}")
    return tuple(result.tolist())
