"""Rows of velocities along lines: what a body's motion may not do at a point, in a direction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.constraints.constraint import Between, Rates
from linkwork.spatial import Force, Motion, Vec3

__all__ = ["VelocityLine", "along", "sizes_of"]


@dataclass(frozen=True, slots=True)
class VelocityLine:
    """A direction e through a point c of B, both in B's coordinates, and how these coordinates change."""

    direction: Vec3  # e
    direction_rate: Vec3  # ė
    point: Vec3  # c
    point_rate: Vec3  # ċ

    @property
    def wrench(self) -> Force:
        """The wrench of a unit force along the line, F = (c × e; e): V·F is the velocity e·(v + ω × c)."""
        return Force(self.point.cross(self.direction), self.direction)

    @property
    def wrench_rate(self) -> Force:
        """Ḟ."""
        moment = self.point_rate.cross(self.direction) + self.point.cross(self.direction_rate)
        return Force(moment, self.direction_rate)


def along(between: Between, lines: Iterable[VelocityLine]) -> Rates:
    """No velocity along lines: V·F = 0, and A·F + V·Ḟ = 0."""
    rows, bias, sizes = [], [], []
    for line in lines:
        F = line.wrench
        rows.append([C.dot(F) for C in between.columns])
        bias.append(between.bias.dot(F) + between.twist.dot(line.wrench_rate))
        sizes.append(sizes_of(between.columns, F))
    return Rates(rows, bias, None, sizes)


def sizes_of(columns: Sequence[Motion], F: Force) -> list[Any]:
    """The squares of the powers of a wrench on motions, as if each had its direction."""
    moment, force = F.moment.dot(F.moment), F.force.dot(F.force)
    return [C.angular.dot(C.angular) * moment + C.linear.dot(C.linear) * force for C in columns]
