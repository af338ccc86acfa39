"""Rendered frames of environments: pictures of the robot, the ground, obstacles and the goal, drawn by matplotlib."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.plotting import SHARED_ZOOM, VERMILION, pyplot, share_scale
from linkwork._util.user_frames import levels_up
from linkwork._util.validation import integer
from linkwork.errors import PictureWarning, UnknownNameError
from linkwork.model import compose
from linkwork.simulation import ContactGround, ContactScene
from linkwork.viewer.figures.robot_figures import draw_robot, draw_surroundings, view_in_plane

__all__ = ["MODES", "RENDER_SIZE", "read_rendering", "require_rendering", "robot_frames"]

MODES = ("rgb_array",)
RENDER_SIZE = (320, 320)  # [pixels] default width and height of images
_REMEDY = "there is 'rgb_array'; VectorEnvironment.show opens the environments in the browser"
_INCHES = 4.0  # length of an image's shorter side, which sets the size of lines and marks relative to it
_LEAST, _MOST = 16, 8192  # [pixels]


def read_rendering(caller: str, mode: Any, size: Any) -> tuple[int, int]:
    """Check render mode and image size, and return the size (width, height) [pixels].

    Raises UnknownNameError for an unknown mode, TypeError and ValueError for another size.
    """
    if mode is not None and mode not in MODES:
        raise UnknownNameError("mode", str(mode), MODES, _REMEDY, f"{caller}: render_mode")
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise ValueError(f"{caller}: render_size: expected (width, height) [pixels], got {size!r:.80}")
    width, height = (integer(caller, "render_size", value, least=_LEAST, most=_MOST) for value in size)
    return width, height


def require_rendering(caller: str, mode: str | None) -> None:
    """Raise RuntimeError for environments without a render mode."""
    if mode is None:
        raise RuntimeError(f'{caller}: render_mode: expected "rgb_array", got None: pass it to the constructor')


def robot_frames(
    robot: Any,
    q: np.ndarray,
    contacts: Any = None,
    marks: Sequence[np.ndarray | None] | None = None,
    size: tuple[int, int] = RENDER_SIZE,
) -> tuple[np.ndarray, ...]:
    """Return images (height, width, 3) of uint8, one of the robot at each of the configurations q (n, nq).

    ``size`` is their width and height [pixels].  They show the ground and the obstacles of contacts, and a mark at each
    position (3,) of ``marks`` (n) [m].  A PictureWarning names shapes that are not drawn.
    """
    pyplot()  # raises ImportError with the install command if matplotlib is missing
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    frames: list[np.ndarray] = []
    notes: list[str] = []
    dots, width, height = min(size) / _INCHES, size[0] + 0.5, size[1] + 0.5  # matplotlib rounds down
    parts = contacts if isinstance(contacts, (tuple, list)) else (contacts,)
    for configuration, mark in zip(q, marks or [None] * len(q), strict=True):
        figure = Figure(figsize=(width / dots, height / dots), dpi=dots)
        canvas: Any = FigureCanvasAgg(figure)
        axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d")
        view_in_plane(axes, robot)
        draw_robot(axes, robot, configuration, alpha=0.5, noted=notes)
        for part in parts:
            if isinstance(part, ContactScene):
                draw_surroundings(axes, part.scene, is_new=True)
        if mark is not None:
            axes.plot(*mark[:, None], linestyle="", marker="o", markersize=7.0, color=VERMILION, zorder=4.0)
        for part in parts:
            if isinstance(part, ContactGround):
                _draw_ground(axes, np.array(part.normal), part.height)
        axes.set_axis_off()
        centers, radii = _reached_balls(robot, configuration)
        axes.auto_scale_xyz(*np.concatenate([centers - radii, centers + radii]).T, had_data=True)
        share_scale([axes])
        _fill(axes, centers, radii)
        for artist in (*axes.lines, *axes.collections):
            artist.set_clip_on(False)  # of the square in the middle, which matplotlib leaves of a wide or tall figure
        canvas.draw()
        frames.append(np.array(canvas.buffer_rgba())[..., :3])
    if notes:
        warnings.warn("; ".join(dict.fromkeys(notes)), PictureWarning, stacklevel=levels_up())
    return tuple(frames)


_FILLED = 0.95  # share of an image that a robot in all its configurations fills


def _fill(axes: Any, centers: np.ndarray, radii: np.ndarray) -> None:
    """Scale the picture so that balls with centres (k, 3) and radii (k, 1) [m] fill the axes."""
    from mpl_toolkits.mplot3d.proj3d import proj_transform

    axes.apply_aspect()
    middle = np.array([np.mean(getattr(axes, f"get_{name}lim")()) for name in "xyz"])
    step = float(np.ptp(axes.get_xlim())) / _SAMPLES  # [m]
    points = np.concatenate([centers, middle + step * np.concatenate([np.zeros((1, 3)), np.eye(3)])])
    x, y, _ = proj_transform(*points.T, axes.get_proj())
    pixels = axes.transData.transform(np.stack([x, y], axis=-1))
    scale = np.linalg.norm(pixels[-3:] - pixels[-4]) / (np.sqrt(2.0) * step)  # [1/m] of a parallel projection
    half = 0.5 * np.array([axes.figure.bbox.width, axes.figure.bbox.height])
    share = ((np.abs(pixels[:-4] - half) + scale * radii) / half).max()
    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=SHARED_ZOOM * _FILLED / share)


_SWING = 0.5  # [rad] of the hinges of a robot with a floating base, in the box that a picture shows
_SAMPLES = 64  # configurations that give the size of a picture


def _reached_balls(robot: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return centres (k, 3) and radii (k, 1) [m] of balls around the shapes for many angles of the hinges.

    With these balls all frames of an episode have the same scale. For a robot with a floating base, angles are near
    the neutral configuration. Slides and joints with several coordinates keep their values in q.
    """
    rng, tree = np.random.default_rng(0), robot.tree
    is_free = any(body.joint.is_floating for body in tree.bodies)
    middle, reach = (np.clip(robot.neutral(), robot.lower, robot.upper), _SWING) if is_free else (q, np.pi)
    samples = np.tile(q, (1 if tree.constraints else _SAMPLES, 1))
    for body, part in zip(tree.bodies, tree.q_slices, strict=True):
        if body.joint.q_units == ("rad",) and not tree.constraints:
            low, high = np.clip([robot.lower[part], robot.upper[part]], middle[part] - reach, middle[part] + reach)
            samples[:, part] = rng.uniform(low, high, (_SAMPLES, 1))
    X = np.concatenate([robot.forward_kinematics(samples), np.tile(np.eye(4), (len(samples), 1, 1, 1))], axis=1)
    centers, radii = [], []
    for frame in tree.frames:
        balls = [g.shape.bounding_sphere for g in (*frame.visuals, *frame.collisions)]
        placements = [compose(frame.placement, g.origin) for g in (*frame.visuals, *frame.collisions)]
        known = [(P.point(ball[0]), ball[1]) for P, ball in zip(placements, balls, strict=True) if ball is not None]
        for center, radius in (*known, (frame.placement.translation, 0.0)):
            points = X[:, frame.body, :3, :3] @ np.array([*center], dtype=float) + X[:, frame.body, :3, 3]
            centers.append(points)
            radii.append(np.full((len(points), 1), radius))
    return np.concatenate(centers), np.concatenate(radii)


_GROUND_LINES = 7  # in each direction


def _draw_ground(axes: Any, normal: np.ndarray, height: float) -> None:
    """Draw a grid in the ground plane normal · x = height [m], behind all that the axes show."""
    limits = np.array([getattr(axes, f"get_{x}lim")() for x in "xyz"])
    middle, half = limits.mean(axis=1), 0.6 * float(np.ptp(limits, axis=1).max())
    center = middle - (normal @ middle - height) * normal
    x = np.cross(np.eye(3)[int(np.abs(normal).argmin())], normal)
    x /= np.linalg.norm(x)
    y = np.cross(normal, x)
    for along, across in ((x, y), (y, x)):
        for offset in np.linspace(-half, half, _GROUND_LINES):
            ends = center + offset * across + np.outer((-half, half), along)
            axes.plot(*ends.T, color="0.75", linewidth=0.8, zorder=0.1)
