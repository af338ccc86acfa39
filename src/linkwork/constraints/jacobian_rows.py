"""Jacobian rows and biases of constraints: velocities along lines, functions by the chain rule, relative points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.constraints.constraint import Kinematics, Rates, RelativeMotion
from linkwork.expr.autodiff.dual_numbers import Dual, SparseTangent, parts, seeded
from linkwork.expr.scalar.functions import copysign
from linkwork.spatial import Force, Motion, Vec3

__all__ = ["AXES", "RelativePoint", "VelocityLine", "across", "along", "chained", "relative_point", "sizes_of", "timed"]


@dataclass(frozen=True, slots=True)
class VelocityLine:
    """Line through a point c along a direction e, along which a velocity is constrained.

    Both are in coordinates of a frame B, and have the rates ċ and ė of these coordinates.
    """

    direction: Vec3  # e
    direction_rate: Vec3  # ė
    point: Vec3  # c
    point_rate: Vec3  # ċ

    @property
    def wrench(self) -> Force:
        """Wrench F = (c × e; e) of a unit force along the line, which passes through the point c in the direction e.

        Its power V·F on a twist V = (ω; v) is the velocity e·(v + ω × c) along the line.
        """
        return Force(self.point.cross(self.direction), self.direction)

    @property
    def wrench_rate(self) -> Force:
        """Rate Ḟ of the coordinates of the wrench of a unit force along the line."""
        moment = self.point_rate.cross(self.direction) + self.point.cross(self.direction_rate)
        return Force(moment, self.direction_rate)


def along(between: RelativeMotion, lines: Iterable[VelocityLine]) -> Rates:
    """Return the rates of the constraint that B's velocity relative to A is zero along each of the lines.

    Each line gives the rows V·F = 0 and A·F + V·Ḟ = 0, with the relative twist V, the relative acceleration A and the
    wrench F of a unit force along the line.
    """
    rows, bias, sizes = [], [], []
    for line in lines:
        F = line.wrench
        rows.append([C.dot(F) for C in between.columns])
        bias.append(between.bias.dot(F) + between.twist.dot(line.wrench_rate))
        sizes.append(sizes_of(between.columns, F))
    return Rates(rows, bias, None, sizes)


def sizes_of(columns: Sequence[Motion], F: Force) -> list[Any]:
    """Return, for each motion (ω; v), the bound |ω|²|n|² + |v|²|f|² on the squared power of a wrench F = (n; f).

    Unlike the power itself, it contains no terms that cancel, so it tells which rounding error the power may have.
    """
    moment, force = F.moment.dot(F.moment), F.force.dot(F.force)
    return [C.angular.dot(C.angular) * moment + C.linear.dot(C.linear) * force for C in columns]


Scalars = Sequence[Any]


def chained(function: Callable[[list[Any]], Scalars], values: Scalars, velocity: Scalars, rates: Rates) -> Rates:
    """Return the rates of a function f(y) from the rates of its arguments y, by the chain rule.

    With the Jacobian rows G and the bias γ of y, they are the rows ∂f/∂y G and the bias f″(ẏ, ẏ) + ∂f/∂y γ. ``values``
    are y, and ``velocity`` is ẏ. The bias is the second time derivative of f along y + ẏ t + γ t²/2.
    """
    moving = seeded(values, [SparseTangent(dict(enumerate(row))) for row in rates.rows])
    tangents = [parts(x, moving[0].level)[1] for x in function(list(moving))]
    count = len(rates.rows[0]) if rates.rows else 0
    rows = [[t.get(k) if isinstance(t, SparseTangent) else 0.0 for k in range(count)] for t in tangents]
    first = seeded(values, velocity)
    level = first[0].level
    second = seeded(first, [Dual(x, y, level) for x, y in zip(velocity, rates.bias, strict=True)])
    result = [parts(x, second[0].level)[1] for x in function(list(second))]
    return Rates(rows, [parts(x, level)[1] for x in result])


def timed(function: Callable[[Any], Scalars], time: Any) -> tuple[list[Any], list[Any]]:
    """Return the first and the second time derivatives of a list of functions of time."""
    (first,) = seeded([time], [1.0])
    (second,) = seeded([first], [1.0])
    result = [parts(x, second.level)[1] for x in function(second)]
    pairs = [parts(x, first.level) for x in result]
    return [rate for rate, _ in pairs], [acceleration for _, acceleration in pairs]


AXES = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


@dataclass(frozen=True)
class RelativePoint:
    """Motion of a point that is fixed to a frame B, relative to a frame A."""

    between: RelativeMotion
    position: Vec3  # r, in B

    @property
    def point(self) -> Vec3:
        """Position R r + p of the point in A [m]: r is its position in B, (R, p) the pose of B in A."""
        return self.between.pose.point(self.position)

    @property
    def own_velocity(self) -> Vec3:
        """Velocity v + ω × r of the point relative to A, in the axes of B [m/s].

        (ω; v) is the twist of B relative to A, and r the position of the point in B.
        """
        V = self.between.twist
        velocity: Vec3 = V.linear + V.angular.cross(self.position)
        return velocity

    @property
    def velocity(self) -> Vec3:
        """Velocity relative to A, in the axes of A: the rate of `point` [m/s]."""
        result: Vec3 = self.between.pose.rotation @ self.own_velocity
        return result

    def line(self, direction: Vec3) -> VelocityLine:
        """Return the line through the point along a direction fixed in A, in coordinates of B."""
        e = self.between.pose.rotation.inv_act(direction)
        return VelocityLine(e, e.cross(self.between.twist.angular), self.position, Vec3.zero())

    def rates(self, *directions: Vec3) -> Rates:
        """Return the Jacobian rows, drift and bias of a constraint: the point does not move along ``directions``.

        There is one row for each direction, a vector fixed in A.
        """
        return along(self.between, [self.line(direction) for direction in directions])


def relative_point(state: Kinematics, point: str, relative_to: str) -> RelativePoint:
    """Return the motion of a point, or of a frame's origin, relative to the frame ``relative_to``."""
    frame, position = state.locate(point)
    return RelativePoint(state.between(frame, relative_to), position)


def across(n: Vec3) -> tuple[Vec3, Vec3]:
    """Return two unit vectors orthogonal to a unit vector n and to each other.

    They are along coordinate axes if n is.

    Source: Duff and others, Building an orthonormal basis, revisited, J. Computer Graphics Techniques 6, 2017.
    """
    sign = copysign(1.0, n.z)
    a = -1.0 / (sign + n.z)
    b = n.x * n.y * a
    return (
        Vec3(1.0 + sign * n.x * n.x * a, sign * b, -(sign * n.x)),
        Vec3(b, sign + n.y * n.y * a, -n.y),
    )
