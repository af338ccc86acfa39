"""Conversion of a scene document to data for the HTML page: JSON, and one block of bytes with all arrays.

A robot has bodies, frames, joints with sliders, and JavaScript of the equations of its joints.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from linkwork.errors import JointMethodError
from linkwork.model import Body, Tree
from linkwork.viewer.document import Actor, FrameAxes, Plot, SceneDocument, Surface
from linkwork.viewer.html.javascript import UntranslatedError, javascript_function
from linkwork.viewer.joint_sliders import Slider, actuated_joints, is_plain, joint_sliders, slider_origin
from linkwork.viewer.view_direction import clear_document, front_view

__all__ = ["Arrays", "Functions", "robot_data", "scene_data"]

_EXACT = 500_000  # coordinates of recordings that are stored in float64; longer recordings are stored in float32
_LARGE = 100.0  # [rad, m] coordinates beyond are always stored in float64


_CODES = {"f4": "<f4", "f8": "<f8", "u1": "u1", "i1": "i1", "u2": "<u2", "u4": "<u4"}


class Arrays:
    """Arrays in one block of bytes; equal arrays are stored once."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._locations: dict[tuple[str, bytes], list[Any]] = {}
        self._size = 0

    def add(self, code: str, array: Any) -> list[Any]:
        """Return the location [type, offset in bytes, length] of an array in the block."""
        data = np.ascontiguousarray(array, dtype=_CODES[code])
        content = data.tobytes()
        location = self._locations.get((code, content))
        if location is None:
            location = self._locations[code, content] = [code, self._size, data.size]
            self._chunks.append(content + bytes(-len(content) % 8))
            self._size += len(self._chunks[-1])
        return location

    @property
    def text(self) -> str:
        """The block, compressed by zlib, in base64."""
        return base64.b64encode(zlib.compress(b"".join(self._chunks), 6)).decode("ascii")


def scene_data(document: SceneDocument, arrays: Arrays, functions: Functions) -> dict[str, Any]:
    """Return the document as JSON data; ``arrays`` gets its arrays, and ``functions`` those of its robots' joints."""
    notes = list(document.notes)
    document, perspective = clear_document(document)
    return {
        "title": document.title,
        "frames": len(document.times),
        "times": arrays.add("f8", document.times),
        "clock": "time [s]" if document.is_timed else f"{document.axis}, not timed",
        "pace": float(document.pace),
        "surfaces": [surface_data(surface, arrays) for surface in document.surfaces],
        "actors": [_actor(actor, arrays, functions, notes) for actor in document.actors],
        "props": [
            {"name": prop.name, "surface": prop.surface, "color": _color(prop.color), "layer": prop.layer}
            | {"unbounded": prop.is_unbounded}
            | _moving(arrays, "poses", "f8", _rows(prop.pose), 2)
            for prop in document.props
        ],
        "lines": [
            {"name": line.name, "color": _color(line.color), "segments": line.segments, "layer": line.layer}
            | {"width": float(line.width), "count": int(np.shape(line.points)[-2])}
            | _moving(arrays, "points", "f4", line.points, 2)
            for line in document.lines
        ],
        "points": [
            {"name": points.name, "colors": arrays.add("u1", points.colors), "size": float(points.size)}
            | {"layer": points.layer, "count": int(np.shape(points.points)[-2])}
            | _moving(arrays, "points", "f4", points.points, 2)
            for points in document.points
        ],
        "arrows": [
            {"name": arrows.name, "count": int(np.shape(arrows.starts)[1]), "color": _color(arrows.color)}
            | {"scale": float(arrows.scale), "unit": arrows.unit, "layer": arrows.layer}
            | {name: arrays.add("f4", getattr(arrows, name)) for name in ("starts", "vectors")}
            | {"visible": arrays.add("u1", arrows.visible)}
            for arrows in document.arrows
        ],
        "axes": [_axes(axes, arrays) for axes in document.frames],
        "texts": [
            {"text": text.text, "layer": text.layer, "count": 1} | _moving(arrays, "position", "f4", text.position, 1)
            for text in document.texts
        ],
        "plots": [_plot(plot, arrays) for plot in document.plots],
        "hidden": sorted(document.hidden),
        "perspective": perspective,
        "front": front_view(document),
        "notes": notes,
    }


def _rows(pose: Any) -> np.ndarray:
    """Return the upper three rows (..., 3, 4) of poses (..., 4, 4), as the page stores them."""
    return np.asarray(pose, dtype=float)[..., :3, :]


def _color(color: Any) -> list[float]:
    return [float(x) for x in color]


def _moving(arrays: Arrays, name: str, code: str, array: Any, dimensions: int) -> dict[str, Any]:
    """Store an array that may have a first axis for time; return its location and whether it changes with time.

    ``dimensions`` is the number of axes without time. A constant array is stored for one time.
    """
    values = np.asarray(array)
    moving = values.ndim > dimensions and len(values) > 1 and bool((values != values[:1]).any())
    if values.ndim > dimensions and not moving:
        values = values[0]
    return {name: arrays.add(code, values), "moving": moving}


def _actor(actor: Actor, arrays: Arrays, functions: Functions, notes: list[str]) -> dict[str, Any]:
    """Return a robot of the document as JSON data.

    Its configurations are stored, or poses where the page cannot compute them.

    Data that do not change with time are stored once.
    """
    instances, bodies = actor.poses.shape[1:3]
    robot = None
    if actor.robot is not None:
        try:
            robot = robot_data(actor.robot, functions, actor.q[0, 0])
        except UntranslatedError as error:
            notes.append(f"{actor.name}: the page has no sliders, as it cannot compute a transform: {error}")
    source = actor.q if robot is not None else _rows(actor.poses)
    source = np.asarray(source, dtype=float)
    if len(source) > 1 and not (source != source[:1]).any():
        source = source[:1]
    is_exact = source.size <= _EXACT or float(np.abs(source).max()) > _LARGE
    stored = arrays.add("f8" if robot is not None and is_exact else "f4", source)
    offsets = np.broadcast_to(np.eye(4), (instances, 4, 4)) if actor.offsets is None else actor.offsets
    return {
        "name": actor.name,
        "opacity": float(actor.opacity),
        "instances": int(instances),
        "bodies": int(bodies),
        "base": arrays.add("f8", _rows(offsets)),
        "moving": len(source) > 1,
        "q": stored if robot is not None else None,
        "poses": None if robot is not None else stored,
        "robot": robot,
        "parts": [
            {
                "surface": part.surface,
                "body": part.body,
                "placement": _rows(part.placement).ravel().tolist(),
                "color": _color(part.color),
                "layer": part.layer,
                "link": part.link,
                "end": None if part.end is None else [part.end[0], *np.asarray(part.end[1], dtype=float).tolist()],
            }
            for part in actor.parts
        ],
    }


def _axes(axes: FrameAxes, arrays: Arrays) -> dict[str, Any]:
    poses = np.asarray(axes.poses, dtype=float).reshape(-1, 4, 4)
    ends = np.concatenate([np.zeros((1, 3)), np.eye(3)]) * axes.length
    shown = poses[[0, -1]]
    corners = np.einsum("tij,kj->tki", shown[:, :3, :3], ends) + shown[:, None, :3, 3]
    return {
        "name": axes.name,
        "length": float(axes.length),
        "layer": axes.layer,
        "corners": corners.reshape(-1, 3).tolist(),
    } | _moving(arrays, "poses", "f8", _rows(axes.poses), 2)


def _plot(plot: Plot, arrays: Arrays) -> dict[str, Any]:
    def limits(values: Any) -> list[float | None] | None:
        return None if values is None else [float(x) if math.isfinite(x) else None for x in values]

    return {
        "title": plot.title,
        "unit": plot.unit,
        "names": list(plot.names),
        "values": arrays.add("f4", plot.values),
        "lower": limits(plot.lower),
        "upper": limits(plot.upper),
    }


# -- surfaces as the page stores them: positions in 16 bits, and normals that the page computes again from the shape


_LEVELS = 65535  # of a coordinate within the surface's bounds
_COARSE = 1e-3  # [m] surfaces whose levels are further apart are stored in float32
_MANY_VERTICES = 500  # vertices of surfaces whose normals are computed in the page


def surface_data(surface: Surface, arrays: Arrays) -> dict[str, Any]:
    """Return a surface as data for JSON, with its arrays added to ``arrays``.

    Coordinates are rounded to 1/65535 of the surface's extent.  For a large surface, points at one position are stored
    once, and the page computes normals that are smooth up to edges of 35°, as builders of documents do.
    """
    texture = None
    if surface.texture is not None and surface.uv is not None:
        kind = "png" if surface.texture.startswith(b"\x89PNG") else "jpeg"
        texture = f"data:image/{kind};base64,{base64.b64encode(surface.texture).decode('ascii')}"
    vertices = np.asarray(surface.vertices, dtype=float)
    triangles = np.asarray(surface.triangles, dtype=np.uint32)
    low = vertices.min(axis=0, initial=np.inf) if len(vertices) else np.zeros(3)
    step = np.ptp(vertices, axis=0) / _LEVELS if len(vertices) else np.zeros(3)
    colors = None if surface.colors is None else np.asarray(surface.colors, dtype=np.uint8)
    creased = (
        surface.uv is None
        and surface.normals is not None
        and len(vertices) > _MANY_VERTICES
        and bool(step.max() <= _COARSE)
    )
    result: dict[str, Any] = {"texture": texture, "normals": None, "creased": creased, "low": None, "step": None}
    if not len(vertices) or step.max() > _COARSE:
        result["vertices"] = arrays.add("f4", vertices)
    else:
        levels = np.round((vertices - low) / np.where(step > 0.0, step, 1.0)).astype(np.uint16)
        if creased:
            points, triangles = _merged(levels if colors is None else np.hstack([levels, colors]), triangles)
            levels, colors = points[:, :3], None if colors is None else points[:, 3:]
        result["vertices"] = arrays.add("u2", _differences(levels))
        result |= {"low": low.tolist(), "step": step.tolist()}
    if surface.normals is not None and not creased:
        result["normals"] = arrays.add("i1", np.round(np.asarray(surface.normals, dtype=float) * 127.0))
    code = "u2" if len(vertices) <= _LEVELS else "u4"
    indices = np.ravel(triangles).astype(np.uint16 if code == "u2" else np.uint32)
    result["triangles"] = arrays.add(code, _differences(indices))
    for name, code, array in (("colors", "u1", colors), ("uv", "f4", surface.uv)):
        result[name] = None if array is None else arrays.add(code, array)
    return result


def _differences(values: np.ndarray) -> np.ndarray:
    """Return differences of unsigned integers along the first axis, modulo their range, which compress better."""
    return np.diff(values, axis=0, prepend=np.zeros_like(values[:1]))


def _merged(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of ``points`` in the order of first occurrence, and the triangles with their indices."""
    _, first, inverse = np.unique(points, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return points[np.sort(first)], rank[np.ravel(inverse)][triangles].astype(np.uint32)


_ACTUATED = 1e-4  # weight of joints with an actuator among those that close loops


class Functions:
    """The distinct JavaScript functions of a page, each with its index."""

    def __init__(self) -> None:
        self._indices: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Return the index of a JavaScript function in the page; it is added if it is new."""
        return self._indices.setdefault(text, len(self._indices))

    @property
    def source(self) -> str:
        """JavaScript that defines the array FUNCTIONS with the functions of the page, in the order of their indices."""
        return "const FUNCTIONS = [\n" + ",\n".join(self._indices) + "\n];\n"


def robot_data(robot: Any, functions: Functions, q: np.ndarray) -> dict[str, Any]:
    """Return the bodies, frames and joints of a robot as data for JSON; their functions are added to ``functions``.

    q (nq,) is the configuration that is shown first.
    Raises UntranslatedError for a joint whose transform has loops or other operations that do not run in a page.
    """
    tree: Tree = robot.tree
    return {
        "nq": tree.nq,
        "bodies": [_body(tree, i, body, functions) for i, body in enumerate(tree.bodies)],
        "frames": [
            {"name": frame.name, "body": frame.body, "placement": list(frame.placement.elements()[:12])}
            for frame in tree.frames
        ],
        "joints": [_joint(tree, i, body, functions, q) for i, body in tree.stacked() if body.joint.nq],
        "named": [{"name": state.name, "q": state.q.tolist()} for state in robot.named_configurations],
    } | _closure(robot, functions)


def _body(tree: Tree, i: int, body: Body, functions: Functions) -> dict[str, Any]:
    q = tree.q_slices[i]
    count = q.stop - q.start
    text = _of_joint(body, lambda x: body.X(x).elements()[:12], count)
    return {"parent": body.parent, "q": q.start, "nq": count, "transform": functions.add(text)}


def _of_joint(body: Body, function: Callable[[Sequence[Any]], Sequence[Any]], size: int) -> str:
    try:
        return javascript_function(function, size)
    except (UntranslatedError, JointMethodError) as error:
        raise UntranslatedError(f"joint {body.joint_name!r}: {error}") from None


def _joint(tree: Tree, i: int, body: Body, functions: Functions, shown: np.ndarray) -> dict[str, Any]:
    """Return a joint of the robot as JSON data, with its sliders.

    A joint whose sliders move it along v also has JavaScript functions for that, and the configuration to start from.
    """
    joint, q, v = body.joint, tree.q_slices[i], tree.v_slices[i]
    result = {"name": body.joint_name, "q": q.start, "nq": joint.nq, "v": v.start, "nv": joint.nv}
    result["sliders"] = [_slider(slider) for slider in joint_sliders(body, shown[q].tolist())]
    if is_plain(joint):
        return result | {"integrate": None, "difference": None, "origin": None}
    nq = joint.nq
    integrate = _of_joint(body, lambda x: body.call_joint("integrate", x[:nq], x[nq:]), nq + joint.nv)
    difference = _of_joint(body, lambda x: body.call_joint("difference", x[:nq], x[nq:]), 2 * nq)
    added = {"integrate": functions.add(integrate), "difference": functions.add(difference)}
    return result | added | {"origin": slider_origin(body)}


def _slider(slider: Slider) -> dict[str, Any]:
    return {name: None if isinstance(x, float) and math.isinf(x) else x for name, x in asdict(slider).items()}


def _closure(robot: Any, functions: Functions) -> dict[str, Any]:
    """Return data with which the page closes loops while a slider moves, and notes on joints and loops.

    The data has the errors of the holonomic constraints and the motion along v as functions, and a weight for each
    velocity: joints with an actuator move less than others.
    """
    tree: Tree = robot.tree
    notes = [f"{body.joint_name} follows {body.coupling.joint}." for body in tree.bodies if body.coupling is not None]
    holonomic = [constraint for constraint in tree.constraints if constraint.holonomic]
    if not holonomic or any(constraint.time_dependent for constraint in holonomic):
        if holonomic:
            notes.append("A constraint depends on time: sliders move their joints alone.")
        return {"closure": None, "notes": notes}
    try:
        error = javascript_function(
            lambda q: list(np.ravel(robot.constraint_error(np.array(q, dtype=object)))), tree.nq
        )
        moved = javascript_function(
            lambda x: list(robot.integrate(np.array(x[: tree.nq], dtype=object), np.array(x[tree.nq :], dtype=object))),
            tree.nq + tree.nv,
        )
    except UntranslatedError as problem:
        notes.append(f"Sliders do not keep the loops closed: {problem}.")
        return {"closure": None, "notes": notes}
    weights = np.ones(tree.nv)
    for joint in actuated_joints(tree):
        weights[tree.v_slices[tree.joint_index(joint)]] = _ACTUATED
    added = {"error": functions.add(error), "moved": functions.add(moved), "weights": weights.tolist()}
    return {"closure": added, "notes": notes}
