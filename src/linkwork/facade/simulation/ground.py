"""Contacts of a robot with the ground: points and spheres on its frames against a half-space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...algorithms.simulation.contact.terms import ContactAt
from ...errors import UnknownNameError
from ...expr.arrays import array
from ...expr.linalg.sums import dot

__all__ = ["ContactGround", "ContactPoint"]

Scalars = Sequence[Any]


@dataclass(frozen=True)
class ContactPoint:
    """A point, or with a radius [m] a sphere, at ``offset`` (3,) [m] in a frame of the robot.

    ``friction`` and ``restitution`` are its own, instead of the ground's.
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
        _from_zero("ContactPoint: radius", self.radius)
        if self.friction is not None:
            _from_zero("ContactPoint: friction", self.friction)
        if self.restitution is not None:
            _part("ContactPoint: restitution", self.restitution)


@dataclass(frozen=True)
class ContactGround:
    """The half-space below a plane, and what of the robot touches it: all of it fixed when code is made.

    ``points`` are `ContactPoint`, or names of frames, whose origins they are then.  ``friction`` is Coulomb's
    coefficient, ``normal`` (3,) points out of the ground, whose points x have normal · x = ``height`` [m] in the world.
    Contacts are as rigid as a step can tell, or have a ``stiffness`` [N/m].  What strikes the ground leaves it with
    ``restitution`` (0 to 1) of its speed, by Newton's law.
    """

    points: tuple[ContactPoint, ...]
    friction: float = 0.8
    stiffness: float | None = None
    normal: tuple[float, float, float] = field(default=(0.0, 0.0, 1.0))
    height: float = 0.0
    restitution: float = 0.0

    def __post_init__(self) -> None:
        given = (self.points,) if isinstance(self.points, (str, ContactPoint)) else self.points
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"ContactGround: points: expected contact points or names of frames, got {given!r}")
        points = tuple(ContactPoint(p) if isinstance(p, str) else p for p in given)
        for p in points:
            if not isinstance(p, ContactPoint):
                raise TypeError(f"ContactGround: points: expected contact points or names of frames, got {p!r}")
        if not points:
            raise ValueError("ContactGround: points: expected at least one")
        object.__setattr__(self, "points", points)
        _from_zero("ContactGround: friction", self.friction)
        _part("ContactGround: restitution", self.restitution)
        if self.stiffness is not None:
            _from_zero("ContactGround: stiffness", self.stiffness)
            if self.stiffness == 0.0:
                raise ValueError("ContactGround: stiffness: expected a number above 0 [N/m], got 0.0")
        n = np.array(_three("ContactGround: normal", self.normal))
        length = float(np.linalg.norm(n))
        if not length > 0.0:
            raise ValueError(f"ContactGround: normal: expected a direction, got {self.normal}")
        object.__setattr__(self, "normal", tuple((n / length).tolist()))
        if isinstance(self.height, bool) or not (isinstance(self.height, (int, float)) and math.isfinite(self.height)):
            raise ValueError(f"ContactGround: height: expected a finite number [m], got {self.height!r}")

    def checked(self, robot: Any) -> None:
        """Raises UnknownNameError for frames that the robot does not have."""
        for p in self.points:
            if p.frame not in robot.frames:
                raise UnknownNameError("frame", p.frame, [*robot.frames])
            if not np.any(robot.jacobian(robot.random_configuration(seed=0), p.frame)):
                raise ValueError(f"ContactGround: points: {p.frame!r} is fixed to the world: no joint moves it")

    def contacts(self, robot: Any, q: Scalars) -> list[ContactAt]:
        """Each point's gap, and the rows of its velocity, at q."""
        at = array(list(q))
        axes = self.axes()
        found = []
        for p in self.points:
            X = robot.pose(at, p.frame)
            J = robot.jacobian(at, p.frame, expressed_in="world")
            arm = [dot(list(X[i, :3]), p.offset) for i in range(3)]
            gap = dot(self.normal, [X[i, 3] + arm[i] for i in range(3)]) - p.radius - self.height
            reach = [a - p.radius * n for a, n in zip(arm, self.normal, strict=True)]
            columns = []
            for k in range(robot.nv):
                w, v = [J[i, k] for i in range(3)], [J[3 + i, k] for i in range(3)]
                moved = [
                    v[0] + w[1] * reach[2] - w[2] * reach[1],
                    v[1] + w[2] * reach[0] - w[0] * reach[2],
                    v[2] + w[0] * reach[1] - w[1] * reach[0],
                ]
                columns.append([dot(axis, moved) for axis in axes])
            rows = [list(row) for row in zip(*columns, strict=True)]
            friction = self.friction if p.friction is None else p.friction
            bounces = self.restitution if p.restitution is None else p.restitution
            found.append(ContactAt(rows, gap, friction, self.stiffness, bounces or None))
        return found

    def axes(self) -> list[list[float]]:
        """Two tangents and the normal, of coordinate axes where the normal is one."""
        n = np.array(self.normal)
        other = np.eye(3)[int(np.argmin(np.abs(n)))]
        first = other - n * (n @ other)
        first /= np.linalg.norm(first)
        return [(x + 0.0).tolist() for x in (first, np.cross(n, first), n)]


def _three(what: str, given: Any) -> tuple[float, float, float]:
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError):
        found = np.array(math.nan)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise ValueError(f"{what}: expected three finite numbers, got {given!r}")
    return tuple(found.tolist())


def _from_zero(what: str, given: Any) -> None:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0.0 <= given < math.inf:
        raise ValueError(f"{what}: expected a finite number from 0, got {given!r}")


def _part(what: str, given: Any) -> None:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0.0 <= given <= 1.0:
        raise ValueError(f"{what}: expected a number from 0 to 1, got {given!r}")
