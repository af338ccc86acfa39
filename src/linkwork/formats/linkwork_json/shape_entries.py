"""Shapes on links as entries of a file: reading and writing.

A shape's entry has a ``type``, the name of its class in lower case with underscores, and the arguments of the class.
The entry of a shape on a link has the ``shape``, its ``origin`` in the link, a ``name`` and a ``material``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork._util.messages import did_you_mean, quoted
from linkwork.formats.constructor_reader import PlainReader, plain_value
from linkwork.formats.constructor_schema import constructor_arguments, in_words, is_exactly, plain
from linkwork.formats.data_values import Value
from linkwork.shapes import (
    Box,
    Capsule,
    Compound,
    Cone,
    Cylinder,
    DistanceField,
    Ellipsoid,
    Geometry,
    HalfSpace,
    HeightField,
    Material,
    Mesh,
    PointCloud,
    Polytope,
    Rounded,
    Shape,
    Sphere,
)
from linkwork.spatial import Pose

__all__ = ["SHAPES", "geometry_entry", "read_geometry", "read_shape"]

_KINDS: tuple[type[Shape], ...] = (
    *(Box, Capsule, Compound, Cone, Cylinder, DistanceField, Ellipsoid, HalfSpace, HeightField, Mesh, PointCloud),
    *(Polytope, Rounded, Sphere),
)
SHAPES: dict[str, type[Shape]] = {in_words(kind): kind for kind in _KINDS}
_ARRAYS = ("heights", "points", "spacing", "values", "vertices")  # arguments that the constructors check themselves


def geometry_entry(geometry: Geometry, owner: str) -> dict[str, Any]:
    """Return the data of the entry of a shape on a link.  Raises TypeError, with ``owner``, for a user's shape."""
    result = constructor_arguments(geometry, Geometry, owner, _plain)
    if is_exactly(geometry.origin, Pose.identity()):
        del result["origin"]
    return result


def _plain(value: Any, owner: str) -> Any:
    match value:
        case Shape():
            kind = type(value)
            if SHAPES.get(in_words(kind)) is not kind:
                raise TypeError(
                    f"{owner}: its shape {kind.__name__} is not one of linkwork.shapes, so it cannot be written to a "
                    f"file"
                )
            return {"type": in_words(kind), **constructor_arguments(value, kind, owner, _plain)}
        case Geometry():
            return geometry_entry(value, owner)
        case Material():
            return constructor_arguments(value, Material, owner)
        case np.ndarray():
            return value.tolist()
        case tuple() if value and isinstance(value[0], Geometry):
            return [geometry_entry(part, owner) for part in value]
    return plain(value, owner)


def read_geometry(reader: PlainReader, value: Value) -> Geometry | None:
    """Return the shape on a link that an entry describes; None after an error.

    The errors are SHAPE_TYPE, SHAPE (a value that the shape or its material refuses) and those of the entry's values.
    """
    if not reader.is_object(value, str(value.step)):
        return None
    errors = len(reader.findings.errors)
    arguments = reader.arguments(
        value,
        Geometry,
        more=("origin",),
        readers={
            "shape": lambda item: read_shape(reader, item),
            "material": lambda item: _read_material(reader, item),
        },
    )
    if len(reader.findings.errors) > errors:
        return None
    result: Geometry | None = _constructed(reader, value, Geometry, {"origin": Pose.identity()} | arguments)
    return result


def read_shape(reader: PlainReader, value: Value) -> Shape | None:
    """Return the shape that an entry describes; None after an error (SHAPE_TYPE, SHAPE, and those of its values)."""
    if not reader.is_object(value, str(value.step)):
        return None
    errors = len(reader.findings.errors)
    word = reader.text(value, "type")
    kind = SHAPES.get(word)
    if kind is None:
        if word:
            message = f"unknown type of shape {quoted(word)}: expected one of {', '.join(SHAPES)}"
            reader.error(value.content["type"], "SHAPE_TYPE", message, did_you_mean(word, SHAPES) or None)
        return None
    arguments = reader.arguments(
        value,
        kind,
        more=("type",),
        readers={
            **dict.fromkeys(_ARRAYS, plain_value),
            "shape": lambda item: read_shape(reader, item),
            "parts": lambda item: _read_parts(reader, item),
        },
    )
    return _constructed(reader, value, kind, arguments) if len(reader.findings.errors) == errors else None


def _read_parts(reader: PlainReader, value: Value) -> list[Geometry]:
    if not isinstance(value.content, list):
        reader.error(value, "DATA_TYPE", f"parts: expected a list, got {value.kind}")
        return []
    parts = [read_geometry(reader, item) for item in value.items]
    return [part for part in parts if part is not None]


def _read_material(reader: PlainReader, value: Value) -> Material | None:
    if value.content is None or not reader.is_object(value, "material"):
        return None
    errors = len(reader.findings.errors)
    arguments = reader.arguments(value, Material)
    return _constructed(reader, value, Material, arguments) if len(reader.findings.errors) == errors else None


def _constructed(reader: PlainReader, value: Value, kind: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    try:
        return kind(**arguments)
    except (TypeError, ValueError) as error:
        reader.error(value, "SHAPE", str(error))
        return None
