"""Checks of a scene document before it is written: shapes of arrays, finite numbers, indices of surfaces and bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.validation import instance
from linkwork.viewer.document import Actor, SceneDocument, Surface

__all__ = ["check_document"]

_TEXTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # first bytes of PNG and JPEG files


class _Checks:
    def __init__(self, caller: str) -> None:
        self.caller = caller

    def fail(self, argument: str, expected: str, got: Any) -> None:
        raise ValueError(f"{self.caller}: document: {argument}: expected {expected}, got {got}")

    def array(self, argument: str, x: Any, *shape: Any, finite: bool = True) -> np.ndarray:
        """Return x as an array; a shape's entry is a length, None for any length, or a tuple of lengths."""
        result = np.asarray(x)
        fits = result.ndim == len(shape) and all(
            want is None or have == want or (isinstance(want, tuple) and have in want)
            for have, want in zip(result.shape, shape, strict=True)
        )
        if not fits or result.dtype.kind not in "fiub":
            expected = ", ".join("any" if n is None else str(n) for n in shape)
            self.fail(argument, f"numbers of shape ({expected})", f"{result.dtype} of shape {result.shape}")
        if finite and result.dtype.kind == "f" and not np.isfinite(result).all():
            self.fail(argument, "finite numbers", "NaN or infinity")
        return result

    def index(self, argument: str, value: int, low: int, count: int) -> None:
        if not low <= value < count:
            self.fail(argument, f"an index from {low} to {count - 1}", value)

    def color(self, argument: str, value: Any) -> None:
        color = self.array(argument, value, 4)
        if color.min() < 0.0 or color.max() > 1.0:
            self.fail(argument, "red, green, blue and alpha from 0 to 1", tuple(value))


def check_document(caller: str, document: Any) -> SceneDocument:
    """Return the document.

    Raises ArgumentError for another object, and ValueError, which names the array, for a wrong shape, an index out of
    range, a texture that is neither PNG nor JPEG, and NaN or infinity outside of plots.
    """
    instance(caller, "document", document, SceneDocument, description="a SceneDocument")
    check = _Checks(caller)
    times = check.array("times", document.times, None)
    if not len(times) or (np.diff(times) < 0.0).any():
        check.fail("times", "at least one time, in increasing order", times.tolist()[:5])
    if not 0.0 < document.pace < np.inf:
        check.fail("pace", "a positive number [1/s]", document.pace)
    count, moving = len(times), (len(times), 1)
    for k, surface in enumerate(document.surfaces):
        _check_surface(check, f"surfaces[{k}]", surface)
    for k, actor in enumerate(document.actors):
        _check_actor(check, f"actors[{k}] ({actor.name!r})", actor, document)
    for k, prop in enumerate(document.props):
        label = f"props[{k}] ({prop.name!r})"
        check.index(f"{label}.surface", prop.surface, 0, len(document.surfaces))
        check.array(f"{label}.pose", _by_time(prop.pose, 2), moving, 4, 4)
        check.color(f"{label}.color", prop.color)
    for k, line in enumerate(document.lines):
        check.array(f"lines[{k}] ({line.name!r}).points", _by_time(line.points, 2), moving, None, 3)
        check.color(f"lines[{k}].color", line.color)
    for k, points in enumerate(document.points):
        label = f"points[{k}] ({points.name!r})"
        size = check.array(f"{label}.points", _by_time(points.points, 2), moving, None, 3).shape[1]
        check.array(f"{label}.colors", points.colors, (size, 1), 4)
    for k, arrows in enumerate(document.arrows):
        label = f"arrows[{k}] ({arrows.name!r})"
        shape = check.array(f"{label}.starts", arrows.starts, count, None, 3).shape
        check.array(f"{label}.vectors", arrows.vectors, *shape)
        check.array(f"{label}.visible", arrows.visible, *shape[:2])
        check.color(f"{label}.color", arrows.color)
    for k, axes in enumerate(document.frames):
        check.array(f"frames[{k}] ({axes.name!r}).poses", _by_time(axes.poses, 2), moving, 4, 4)
    for k, text in enumerate(document.texts):
        check.array(f"texts[{k}].position", _by_time(text.position, 1), moving, 3)
    for k, plot in enumerate(document.plots):
        check.array(f"plots[{k}] ({plot.title!r}).values", plot.values, count, len(plot.names), finite=False)
        for name, limits in (("lower", plot.lower), ("upper", plot.upper)):
            if limits is not None:
                check.array(f"plots[{k}].{name}", limits, len(plot.names), finite=False)
    return document  # type: ignore[no-any-return]


def _by_time(x: Any, dimensions: int) -> np.ndarray:
    """Return an array that may lack the axis of time with that axis."""
    array = np.asarray(x)
    return array[None] if array.ndim == dimensions else array


def _check_surface(check: _Checks, label: str, surface: Surface) -> None:
    count = len(check.array(f"{label}.vertices", surface.vertices, None, 3))
    triangles = check.array(f"{label}.triangles", surface.triangles, None, 3)
    if triangles.size and not 0 <= int(triangles.min()) <= int(triangles.max()) < count:
        check.fail(f"{label}.triangles", f"indices of {count} vertices", f"{triangles.min()} to {triangles.max()}")
    for name, width in (("normals", 3), ("colors", 4), ("uv", 2)):
        if getattr(surface, name) is not None:
            check.array(f"{label}.{name}", getattr(surface, name), count, width)
    if surface.texture is not None and not surface.texture.startswith(_TEXTURES):
        check.fail(f"{label}.texture", "the bytes of a PNG or JPEG file", repr(bytes(surface.texture[:8])))


def _check_actor(check: _Checks, label: str, actor: Actor, document: SceneDocument) -> None:
    moving = (len(document.times), 1)
    steps, instances, bodies = check.array(f"{label}.poses", actor.poses, moving, None, None, 4, 4).shape[:3]
    if actor.robot is not None:
        check.array(f"{label}.q", actor.q, steps, instances, actor.robot.nq)
        if len(actor.robot.tree.bodies) != bodies:
            check.fail(f"{label}.poses", f"poses of {len(actor.robot.tree.bodies)} bodies", bodies)
    if actor.offsets is not None:
        check.array(f"{label}.offsets", actor.offsets, instances, 4, 4)
    for k, part in enumerate(actor.parts):
        check.index(f"{label}.parts[{k}].surface", part.surface, 0, len(document.surfaces))
        check.index(f"{label}.parts[{k}].body", part.body, -1, bodies)
        check.array(f"{label}.parts[{k}].placement", part.placement, 4, 4)
        check.color(f"{label}.parts[{k}].color", part.color)
        if part.end is not None:
            check.index(f"{label}.parts[{k}].end[0]", part.end[0], -1, bodies)
            check.array(f"{label}.parts[{k}].end[1]", part.end[1], 3)
