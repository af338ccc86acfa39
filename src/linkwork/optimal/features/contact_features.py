"""Contacts: contact forces as decision variables, friction cones, and conditions of sticking contact.

A *point* contact has a force (3) in the world's axes.  A *surface* contact has a wrench (moment; force) (6) at the
origin of a frame, in the axes of this frame, with the surface normal along z.  A force f_t acts on the robot in step
t, in `Window.torque`; the contact sticks from q_{t−1} to q_t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.constraint import Constraint, References
from linkwork.expr.scalar.functions import sqrt
from linkwork.optimal.features.arguments import one_of, switch, text
from linkwork.optimal.features.feature import Feature, FeatureJacobian, Scalars, Window, with_fields
from linkwork.spatial import Quaternion, Vec3

__all__ = ["ContactForce", "ContactHeight", "FrictionCone", "PathContact", "StickingContact", "SurfaceCone"]

_DUAL = {"rad": "N·m", "m": "N"}
_XYZ = ("x", "y", "z")
CONES = ("smooth", "pyramid")
_ROUNDING = 1e-5  # of the robot's weight: radius that rounds the tip of a smooth cone


@dataclass(frozen=True)
class PathContact:
    """A point or surface contact of a robot; its force is the decision variable with the contact's name.

    ``frame`` is the frame of the point or surface.
    """

    name: str
    frame: str
    surface: bool = False

    def __post_init__(self) -> None:
        for argument in ("name", "frame"):
            text("PathContact", argument, getattr(self, argument), empty=False)
        object.__setattr__(self, "surface", switch("PathContact", "surface", self.surface))

    @property
    def size(self) -> int:
        """Number of components: 3 of a point contact's force, 6 of a surface contact's wrench."""
        return 6 if self.surface else 3

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the components of the contact's force or wrench: N·m for moments, N for forces."""
        return ("N·m",) * (self.size - 3) + ("N",) * 3

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the components of the contact's force or wrench, such as "foot: force x", moments first."""
        moments = tuple(f"{self.name}: moment {axis}" for axis in _XYZ) if self.surface else ()
        return moments + tuple(f"{self.name}: force {axis}" for axis in _XYZ)

    def wrench(self, values: Scalars) -> tuple[str, str, Scalars]:
        """Return the frame at whose origin the contact acts, the frame of the axes, and the wrench on the robot.

        The wrench (moment; force) (6) follows from the ``values`` of the decision variable.  The axes are those of the
        frame for a surface, and the world's axes for a point.
        """
        return self.frame, self.frame if self.surface else "world", [*[0.0] * (6 - self.size), *values]


@dataclass(frozen=True)
class ConstraintForce:
    """Force λ of a constraint of the robot: the decision variable with the constraint's name.

    The force has a component for each component of the constraint, and exerts Gᵀ λ [N·m, N] on the joints, with the
    constraint Jacobian G. λ is in N for lengths, in N·m for angles.
    """

    name: str
    constraint: Constraint

    @property
    def size(self) -> int:
        """Number of components of the constraint force."""
        return len(self.constraint.component_names)

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the components: N·m for angles, N for lengths, or "1"."""
        return tuple(_DUAL.get(unit, "1") for unit in self.constraint.row_units)


@dataclass(frozen=True)
class _OfContact(Feature):
    """Base class of features of a contact."""

    contact: PathContact
    _: KW_ONLY
    name: str = ""

    depth = 0

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if not isinstance(self.contact, PathContact):
            raise TypeError(f"{kind}: expected a linkwork.optimal.PathContact, got {self.contact!r}")
        object.__setattr__(self, "name", text(kind, "name", self.name) or f"{self.contact.name}: {self._label}")

    _label = ""

    @property
    def references(self) -> References:
        return References(frames=(self.contact.frame,))


def robot_weight(tree: Any) -> float:
    """Return the robot's weight m |g| [N], or 1 if it has no mass or there is no gravity."""
    weight = float(tree.mass * math.hypot(*tree.gravity))
    return weight if weight > 0.0 else 1.0


def _checked_friction(caller: str, value: Any) -> None:
    try:
        is_valid = not isinstance(value, (bool, str)) and 0.0 <= float(value) < math.inf
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid:
        raise ValueError(f"{caller}: friction: expected a finite number >= 0, got {value!r}")


def _checked_values(caller: str, argument: str, values: Any, size: int) -> None:
    try:
        is_valid = len(values) == size and all(math.isfinite(x) for x in values)
    except TypeError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"{caller}: {argument}: expected finite numbers ({size},), got {values!r}")


def _checked_normal(caller: str, normal: Any) -> None:
    _checked_values(caller, "normal", normal, 3)
    if not abs(math.hypot(*normal) - 1.0) < 1e-6:
        raise ValueError(f"{caller}: normal: expected a vector of length 1, got {normal!r}")


@public_constructor
@dataclass(frozen=True)
class ContactForce(_OfContact):
    """Force or wrench of a contact, for a constraint to zero or a least-squares penalty.

    ``name`` is the name of the values in results.
    """

    _label = "force"

    @property
    def component_names(self) -> tuple[str, ...]:
        return self.contact.parts

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.contact.units

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return w.variables(self.contact.name)


@public_constructor
@dataclass(frozen=True)
class FrictionCone(_OfContact):
    """Friction cone of a point contact with coefficient μ about a normal n.

    The components, which must be at most 0 [N], are

        smooth:    √(|f_t|² + ε²) − ε − μ f_n,   −f_n             with ε = 10⁻⁵ of the robot's weight
        pyramid:   |f · t_1| − μ f_n,  |f · t_2| − μ f_n  for both signs,  −f_n

    with f_n = n · f, the tangential force f_t, and tangents t_1 and t_2; the pyramid circumscribes the cone.

    ``friction`` is μ.  ``name`` is the name of the values in results.
    """

    friction: float = 0.5
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    cone: str = "smooth"
    rounding: float = field(init=False, default=_ROUNDING, repr=False)  # ε [N]: set by `bind`

    _label = "friction"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checked_friction("FrictionCone", self.friction)
        _checked_normal("FrictionCone", self.normal)
        one_of("FrictionCone", "cone", self.cone, CONES)

    def bind(self, robot: Any, w: Window) -> Self:
        return with_fields(self, rounding=_ROUNDING * robot_weight(w.tree))

    @property
    def component_names(self) -> tuple[str, ...]:
        sides = ("slides",) if self.cone == "smooth" else ("slides +1", "slides -1", "slides +2", "slides -2")
        return tuple(f"{self.contact.name}: {row}" for row in (*sides, "pulls"))

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("N",) * len(self.component_names)

    def values(self, w: Window, target: Scalars) -> list[Any]:
        f, n = Vec3(*w.variables(self.contact.name)), Vec3(*self.normal)
        along = n.dot(f)
        if self.cone == "smooth":
            across = f - n * along
            radius = self.rounding
            slides = sqrt(across.dot(across) + radius * radius) - radius - along * self.friction
            return [slides, -along]
        first = _across(self.normal)
        sides = [t.dot(f) for t in (first, n.cross(first))]
        return [sign * x - along * self.friction for x in sides for sign in (1.0, -1.0)] + [-along]


@public_constructor
@dataclass(frozen=True)
class SurfaceCone(_OfContact):
    """Wrench cone of a rectangular surface contact: its components are at most 0 for admissible wrenches.

    Pressure and friction with the coefficient μ can exert these wrenches. ``half`` are the half sides X and Y [m]
    along the frame's axes; f = (f_x, f_y, f_z) and m = (m_x, m_y, m_z) act at its center:

        −f_z,   |f_x| − μ f_z,   |f_y| − μ f_z,   |m_x| − Y f_z,   |m_y| − X f_z,
        |Y f_x − μ m_x| + |X f_y − μ m_y| − μ (X + Y) f_z − m_z,
        |Y f_x + μ m_x| + |X f_y + μ m_y| − μ (X + Y) f_z + m_z

    with a component for each sign.

    ``name`` is the name of the values in results.

    Source: Caron, Pham and Nakamura, Stability of surface contacts for humanoid robots, ICRA 2015.
    """

    friction: float = 0.5
    half: tuple[float, float] = (0.1, 0.05)

    _label = "friction"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checked_friction("SurfaceCone", self.friction)
        _checked_values("SurfaceCone", "half", self.half, 2)
        if not min(self.half) > 0.0:
            raise ValueError(f"SurfaceCone: half: expected positive numbers [m], got {self.half!r}")

    @property
    def component_names(self) -> tuple[str, ...]:
        sides = [f"{motion} {sign}" for motion in ("slides x", "slides y", "tilts x", "tilts y") for sign in "+-"]
        twists = [f"twists {sign}{first}{second}" for sign in "+-" for first in "+-" for second in "+-"]
        return tuple(f"{self.contact.name}: {row}" for row in ("pulls", *sides, *twists))

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("N",) * 5 + ("N·m",) * 12

    def values(self, w: Window, target: Scalars) -> list[Any]:
        mx, my, mz, fx, fy, fz = w.variables(self.contact.name)
        mu, (X, Y) = self.friction, self.half
        rows = [-fz]
        for x, bound in ((fx, mu), (fy, mu), (mx, Y), (my, X)):
            rows += [x - fz * bound, -x - fz * bound]
        for sign in (1.0, -1.0):
            a, b = fx * Y - mx * (sign * mu), fy * X - my * (sign * mu)
            bound_m = fz * (mu * (X + Y)) + mz * sign
            rows += [a * first + b * second - bound_m for first in (1.0, -1.0) for second in (1.0, -1.0)]
        return rows


@public_constructor
@dataclass(frozen=True)
class StickingContact(_OfContact):
    """Motion of a contact since the previous step: displacement [m], for a surface also rotation [rad].

    The motion is zero if the contact sticks.

    ``name`` is the name of the values in results.
    """

    _label = "stays"
    depth = 1

    @property
    def component_names(self) -> tuple[str, ...]:
        rotations = tuple(f"{self.contact.name}: rotation {axis}" for axis in _XYZ) if self.contact.surface else ()
        return rotations + tuple(f"{self.contact.name}: displacement {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",) * (self.contact.size - 3) + ("m",) * 3

    def values(self, w: Window, target: Scalars) -> list[Any]:
        now, before = (w.state(back).pose(self.contact.frame) for back in (0, 1))
        displacement = [*(now.translation - before.translation)]
        if not self.contact.surface:
            return displacement
        return [*Quaternion.of(before.rotation.T @ now.rotation).log(), *displacement]

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        """Return values and Jacobian in the window w of path steps; for a surface contact by differentiation.

        ``target`` is not used.
        """
        if self.contact.surface:
            return super().jacobian(w, target)
        return point_rows(w, self.contact.frame, 1, self.values(w, target))


@public_constructor
@dataclass(frozen=True)
class ContactHeight(_OfContact):
    """Height n · p − h of a contact point p above the plane with normal n at height h [m].

    ``name`` is the name of the values in results.
    """

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    height: float = 0.0

    _label = "height"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checked_normal("ContactHeight", self.normal)
        if isinstance(self.height, (bool, str)):
            raise ValueError(f"ContactHeight: height: expected a finite number [m], got {self.height!r}")
        _checked_values("ContactHeight", "height", (self.height,), 1)

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",)

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return [Vec3(*self.normal).dot(w.state().pose(self.contact.frame).translation) - self.height]

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        point = point_rows(w, self.contact.frame, 0, [])
        (rows,) = point.rows
        row = [Vec3(*self.normal).dot(Vec3(*column)) for column in zip(*rows, strict=True)]
        return FeatureJacobian(self.values(w, target), [[row]], [[0.0] * w.parameter_count])


def point_rows(w: Window, frame: str, depth: int, values: list[Any]) -> FeatureJacobian:
    """Return ``values`` with the Jacobian of a frame's position p_t in the world, (3, ...).

    With ``depth`` 1, the Jacobian is that of p_t − p_{t−1}.
    """
    rows = []
    for back, sign in zip(range(depth + 1), (1.0, -1.0), strict=False):
        between = w.state(back).between(frame)
        R = between.pose.rotation
        columns = [[*(R @ C.linear * sign)] for C in between.columns]
        more = [0.0] * (w.width - w.nv)
        rows.append([[*(column[axis] for column in columns), *more] for axis in range(3)])
    return FeatureJacobian(values, rows, [[0.0] * w.parameter_count for _ in range(3)])


def _across(normal: Sequence[float]) -> Vec3:
    """Return a unit vector orthogonal to ``normal``, near the axis of its smallest component."""
    axis = min(range(3), key=lambda k: abs(normal[k]))
    along = Vec3(*(1.0 if k == axis else 0.0 for k in range(3)))
    n = Vec3(*normal)
    across: Vec3 = along - n * n.dot(along)
    unit: Vec3 = across * (1.0 / math.sqrt(across.dot(across)))
    return unit
