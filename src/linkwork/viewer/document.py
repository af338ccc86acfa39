"""Scene document: surfaces, robots with poses by time, obstacles, lines, arrows and plots, as plain arrays.

Builders make a document from a robot or a result; the live page, the HTML page, glTF files and pictures show it.
`check_document` refuses arrays of wrong shapes, values that are not finite, and indices that name no surface or body.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Unpack

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.pictures import Output, show_document
from linkwork._util.validation import instance

__all__ = [
    "Actor",
    "Arrows",
    "FrameAxes",
    "Lines",
    "Part",
    "Plot",
    "Points",
    "Prop",
    "SceneDocument",
    "Surface",
    "Text",
    "check_document",
]

PATH_AXIS = "path length [rad, m]"
Color = tuple[float, float, float, float]  # red, green, blue and alpha in [0, 1], sRGB

PART_LAYERS = ("visual", "collision", "frames", "joint axes", "center of mass", "inertia", "constraints")
HIDDEN_LAYERS = frozenset(PART_LAYERS) - {"visual"}


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Triangle mesh in the frame of a shape."""

    vertices: np.ndarray
    """(n, 3) float32 [m]."""
    triangles: np.ndarray
    """(m, 3) uint32, counter-clockwise seen from outside."""
    normals: np.ndarray | None = None
    """(n, 3) float32, of unit length; None stands for flat triangles."""
    colors: np.ndarray | None = None
    """(n, 4) uint8 colours of vertices, which replace the colour of a part."""
    uv: np.ndarray | None = None
    """(n, 2) float32 texture coordinates, (0, 0) at the lower left corner."""
    texture: bytes | None = None
    """PNG or JPEG file of the texture."""


@dataclass(frozen=True, slots=True)
class Part:
    """Surface that is fixed to a body of a robot, or stretched between two bodies."""

    surface: int
    """Index in `SceneDocument.surfaces`."""
    body: int
    """Index of the body, or -1 for the world."""
    placement: np.ndarray
    """(4, 4) pose of the surface in the body's frame [m]."""
    color: Color
    layer: str
    """One of `PART_LAYERS`; all parts move with their body."""
    link: str
    """Name of the link."""
    end: tuple[int, np.ndarray] | None = None
    """Body, or -1 for the world, and point (3,) on it [m] at which a rod ends; None for a part of one body.

    The surface of a rod has length 1 along z.  It is stretched from the origin of ``placement`` to this point.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Actor:
    """A robot, or several instances of it, in all frames of time."""

    name: str
    robot: Any
    """The `Robot`, whose joints have sliders; None if it is drawn only."""
    q: np.ndarray
    """(T, n, nq) configurations by time and instance."""
    poses: np.ndarray
    """(T, n, nbodies, 4, 4) poses of the bodies in the world [m]."""
    parts: tuple[Part, ...]
    opacity: float = 1.0
    """Below 1 for ghosts."""
    offsets: np.ndarray | None = None
    """(n, 4, 4) poses that move each instance, or None: ``poses`` are the offset times the pose for q [m]."""
    obstacles: Any = None
    """The `Scene` of the robot's obstacles, to which a live page shows distances; None without one."""


@dataclass(frozen=True, slots=True, eq=False)
class Prop:
    """An obstacle, or another surface that does not belong to a robot."""

    name: str
    surface: int
    pose: np.ndarray
    """(4, 4), or (T, 4, 4) if it moves [m]."""
    color: Color
    layer: str = "obstacle"
    is_unbounded: bool = False
    """True for the drawn part of an infinite surface, such as the ground."""


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """A polyline through points, or separate line segments."""

    name: str
    points: np.ndarray
    """(k, 3), or (T, k, 3) if they move [m]."""
    color: Color
    segments: bool = False
    """True if each pair of points is a segment of its own."""
    width: float = 2.0
    """Pixels."""
    layer: str = "lines"


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points, such as a point cloud or a map of a workspace."""

    name: str
    points: np.ndarray
    """(k, 3), or (T, k, 3) if they move [m]."""
    colors: np.ndarray
    """(k, 4) or (1, 4) uint8."""
    size: float = 0.01
    """Diameter [m]."""
    layer: str = "points"


@dataclass(frozen=True, slots=True, eq=False)
class Arrows:
    """Arrows that change with time, such as contact forces."""

    name: str
    starts: np.ndarray
    """(T, k, 3) [m]."""
    vectors: np.ndarray
    """(T, k, 3) in ``unit``."""
    visible: np.ndarray
    """(T, k) bool; the others are not drawn."""
    color: Color
    scale: float = 1.0
    """Length of an arrow [m] for one ``unit``."""
    unit: str = "N"
    layer: str = "forces"


@dataclass(frozen=True, slots=True, eq=False)
class FrameAxes:
    """Axes of a frame: x red, y green, z blue."""

    name: str
    poses: np.ndarray
    """(4, 4), or (T, 4, 4) if it moves [m]."""
    length: float = 0.1
    """[m]."""
    layer: str = "frames"


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """A label at a point."""

    text: str
    position: np.ndarray
    """(3,), or (T, 3) if it moves [m]."""
    layer: str = "labels"


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """Curves in a panel next to the picture, with a mark at the current time."""

    title: str
    unit: str
    names: tuple[str, ...]
    values: np.ndarray
    """(T, len(names)); NaN where there is no value."""
    lower: np.ndarray | None = None
    """(len(names),) lower limits, shaded outside."""
    upper: np.ndarray | None = None


@public
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SceneDocument:
    """Content of a picture or page: robots, obstacles, lines, labels and plots, over time.

    T is the number of frames of time; a document of one frame is a still picture, whose robots have sliders.

    ``title`` is the page's title, and ``times`` (T,) increase [s]. ``surfaces``, ``actors``, ``props``, ``lines``,
    ``points``, ``arrows``, ``frames``, ``texts`` and ``plots`` are what it shows. ``hidden`` names the layers that are
    hidden at first, and ``notes`` say what could not be drawn. ``is_timed`` is False if ``times`` are not times but
    values of ``axis``, such as path lengths, which advance by ``pace`` in each second.
    """

    title: str
    times: np.ndarray
    """(T,) increasing [s]."""
    surfaces: tuple[Surface, ...] = ()
    actors: tuple[Actor, ...] = ()
    props: tuple[Prop, ...] = ()
    lines: tuple[Lines, ...] = ()
    points: tuple[Points, ...] = ()
    arrows: tuple[Arrows, ...] = ()
    frames: tuple[FrameAxes, ...] = ()
    texts: tuple[Text, ...] = ()
    plots: tuple[Plot, ...] = ()
    hidden: frozenset[str] = HIDDEN_LAYERS
    """Layers that are hidden at first."""
    notes: tuple[str, ...] = ()
    """What could not be drawn, such as missing mesh files."""
    is_timed: bool = True
    """False if ``times`` are values of ``axis``, of which ``pace`` pass a second."""
    axis: str = PATH_AXIS
    """Name of ``times`` of a document that is not timed."""
    pace: float = 1.0
    """Change of ``times`` in one second of playing; 1 for times."""

    @property
    def seconds(self) -> np.ndarray:
        """Times (T,) [s] at which the frames are shown when the document is played."""
        return np.asarray(self.times, dtype=float) / self.pace

    def __repr__(self) -> str:
        robots, frames = sum(actor.q.shape[1] for actor in self.actors), len(self.times)
        counts = f"{robots} robot{'' if robots == 1 else 's'}, {frames} frame{'' if frames == 1 else 's'}"
        return f"<SceneDocument {self.title!r}: {counts}>"

    def show(self, **output: Unpack[Output]) -> Any:
        """Show the document in the browser, or write a file; return the `View` or the path.

        Arguments and errors are as for the output of `Robot.show`.
        """
        return show_document(self, **output)

    def _repr_html_(self) -> str:
        notebook = import_module("linkwork.viewer.notebook")  # which imports this module
        return str(notebook.inline_picture(self.title, lambda: self))


_TEXTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # first bytes of PNG and JPEG files


class _Checks:
    def __init__(self, caller: str) -> None:
        self.caller = caller

    def fail(self, argument: str, expected: str, got: Any) -> None:
        raise ValueError(f"{self.caller}: document: {argument}: expected {expected}, got {got}")

    def array(self, argument: str, x: Any, *shape: Any, finite: bool = True) -> np.ndarray:
        """Return x as an array, after a check of its shape.

        An entry of ``shape`` is a length, None for any length, or a tuple of permitted lengths.
        """
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
    """Check that a value is a valid scene document, and return it.

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
    """Return an array with a first axis for time; it is added if x has only ``dimensions`` axes."""
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
