"""Scene document: surfaces, robots with poses by time, obstacles, lines, arrows and plots, as plain arrays.

Builders make a document from a robot or a result; the live page, the HTML page, glTF files and pictures show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Unpack

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.pictures import Output, show_document

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
]

PATH_AXIS = "path length [rad, m]"
Color = tuple[float, float, float, float]  # red, green, blue and alpha in [0, 1], sRGB

PART_LAYERS = ("visual", "collision", "frames", "joint axes", "center of mass", "inertia", "constraints")
HIDDEN_LAYERS = frozenset(PART_LAYERS) - {"visual"}


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """Triangles in the frame of a shape."""

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
    """A surface on a body of a robot."""

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
    """A robot, or several of the same kind, in all frames of time."""

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
    """An obstacle, or another surface that belongs to no robot."""

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
    """A line through points, or separate segments."""

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
    """Arrows by time, such as contact forces."""

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
    """All that a picture shows.

    T is the number of frames of time; a document of one frame is a still picture, whose robots have sliders.

    ``title`` is that of the page, and ``times`` (T,) increase [s].  ``surfaces``, ``actors``, ``props``, ``lines``,
    ``points``, ``arrows``, ``frames``, ``texts`` and ``plots`` are what it shows. ``hidden`` are layers that are hidden
    at first, and ``notes`` say what could not be drawn.  ``is_timed`` is False if ``times`` are not times but values of
    ``axis``, such as path lengths, of which ``pace`` pass a second.
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
        """Times (T,) [s] at which the frames are shown."""
        return np.asarray(self.times, dtype=float) / self.pace

    def __repr__(self) -> str:
        robots, frames = sum(actor.q.shape[1] for actor in self.actors), len(self.times)
        counts = f"{robots} robot{'' if robots == 1 else 's'}, {frames} frame{'' if frames == 1 else 's'}"
        return f"<SceneDocument {self.title!r}: {counts}>"

    def show(self, **output: Unpack[Output]) -> Any:
        """Show the document in the browser, or write a file; return the `View` or the path.

        The arguments and errors are those of the output of `Robot.show`.
        """
        return show_document(self, **output)

    def _repr_html_(self) -> str:
        notebook = import_module("linkwork.viewer.notebook")  # which imports this module
        return str(notebook.inline_picture(self.title, lambda: self))
