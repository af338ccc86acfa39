"""Fields as rows of numbers, as those of a scene's solids: a pose, and all that the field's arrays have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.geometry.cores import FieldCore, Solid
from linkwork.geometry.fields.field_dispatch import FIELDS, field_distance
from linkwork.geometry.fields.point_cloud import Cloud, least_of_points
from linkwork.geometry.solids_rows import SolidKind, SolidRow
from linkwork.shapes import DistanceField, PointCloud, Shape
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["FieldKind", "field_row"]

_HEAD = 15  # numbers before the arrays: whether it is there, reach, radius, and the pose


@dataclass(frozen=True, slots=True)
class FieldKind(SolidKind):
    """A type of field and the shapes of its arrays, by name: what has rows of one length."""

    arrays: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def name(self) -> str:
        """A word for it, such as "heightfield_9x9_31x2_6"."""
        sizes = ("x".join(map(str, shape)) for _, shape in self.arrays)
        return "_".join([self.core.__name__.lower(), *sizes])

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return _HEAD + sum(math.prod(shape) for _, shape in self.arrays)

    @property
    def in_loops(self) -> bool:
        return False

    def solid(self, row: Sequence[Any]) -> SolidRow:
        """What a row says, over any scalar."""
        numbers = [*row]
        x, y, z, p = (Vec3.of(numbers[k : k + 3]) for k in range(3, _HEAD, 3))
        pose = Pose(Rotation(x, y, z), p)
        arrays, start = {}, _HEAD
        for name, shape in self.arrays:
            size = math.prod(shape)
            part = np.empty(size, dtype=object)
            part[:] = numbers[start : start + size]
            arrays[name], start = part.reshape(shape), start + size
        core = FieldCore(pose, lambda core: field_distance(self.core, arrays, pose, Solid(core)))
        if self.core is PointCloud:
            core = replace(core, points=lambda measure: least_of_points(Cloud(**arrays), pose, measure))
        return SolidRow(numbers[0], numbers[1], Solid(core, numbers[2]))

    def data(self, row: Sequence[Any]) -> Sequence[Any]:
        """The numbers of a row that do not change when the field is moved: of its arrays."""
        return row[_HEAD:]

    def placed(self, X: Pose, radius: Any, data: Sequence[Any]) -> Solid:
        """The field of such numbers at a pose."""
        R = X.rotation
        return self.solid([1.0, 0.0, radius, *R.x, *R.y, *R.z, *X.translation, *data]).solid


def field_row(shape: Shape, X: Pose) -> tuple[FieldKind, list[Any]]:
    """The kind of a field at a pose, and its row.

    A distance field is less by its `error`: what it says is never too much, if the numbers on its grid are right.
    """
    arrays = FIELDS[type(shape)].arrays(shape)
    kind = FieldKind(type(shape), 0, tuple((name, array.shape) for name, array in arrays.items()))
    R = X.rotation
    radius = shape.error if isinstance(shape, DistanceField) else FIELDS[type(shape)].radius(shape)
    head = [1.0, FIELDS[type(shape)].reach(shape) + radius, radius, *R.x, *R.y, *R.z, *X.translation]
    return kind, [*head, *(float(x) for array in arrays.values() for x in array.ravel())]
