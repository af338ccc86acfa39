"""Points and directions of a frame B, as they move relative to a frame A."""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.constraints.constraint import Between, Kinematics, Rates
from linkwork.constraints.jacobian_rows import VelocityLine, along
from linkwork.expr.scalar.functions import copysign
from linkwork.spatial import Vec3

__all__ = ["AXES", "SeenPoint", "across", "seen_point"]

AXES = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


@dataclass(frozen=True)
class SeenPoint:
    """A point that is fixed to B, seen from A."""

    between: Between
    position: Vec3  # r, in B

    @property
    def place(self) -> Vec3:
        """R r + p, in A."""
        return self.between.pose.point(self.position)

    @property
    def own_velocity(self) -> Vec3:
        """v + ω × r: its velocity relative to A, in B's axes."""
        V = self.between.twist
        velocity: Vec3 = V.linear + V.angular.cross(self.position)
        return velocity

    @property
    def velocity(self) -> Vec3:
        """The same in A's axes: the rate of its place."""
        found: Vec3 = self.between.pose.rotation @ self.own_velocity
        return found

    def line(self, direction: Vec3) -> VelocityLine:
        """Through it along a direction that is fixed in A, which so turns in B."""
        e = self.between.pose.rotation.inv_act(direction)
        return VelocityLine(e, e.cross(self.between.twist.angular), self.position, Vec3.zero())

    def rates(self, *directions: Vec3) -> Rates:
        """What its velocity is along directions that are fixed in A, a row each, and its acceleration while v̇ = 0."""
        return along(self.between, [self.line(direction) for direction in directions])


def seen_point(k: Kinematics, point: str, relative_to: str) -> SeenPoint:
    """A point, or a frame's origin, seen from a frame."""
    frame, position = k.place_of(point)
    return SeenPoint(k.between(frame, relative_to), position)


def across(n: Vec3) -> tuple[Vec3, Vec3]:
    """Two unit vectors at right angles to a unit vector and to each other: coordinate axes where it is one.

    Source: Duff and others, Building an orthonormal basis, revisited, J. Computer Graphics Techniques 6, 2017.
    """
    sign = copysign(1.0, n.z)
    a = -1.0 / (sign + n.z)
    b = n.x * n.y * a
    return (
        Vec3(1.0 + sign * n.x * n.x * a, sign * b, -(sign * n.x)),
        Vec3(b, sign + n.y * n.y * a, -n.y),
    )
