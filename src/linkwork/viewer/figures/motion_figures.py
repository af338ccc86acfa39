"""Pictures of motions with matplotlib: simulations over time, plans, strips, and animations, which write GIF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from textwrap import wrap
from typing import Any

import numpy as np

from linkwork._util.messages import untimed
from linkwork._util.plotting import (
    ORANGE,
    SKY,
    VERMILION,
    Panels,
    equal_scales,
    label_time,
    line_style,
    lines_by_unit,
    mark_times,
    new_axes,
    plot_lines,
    plot_text,
    pyplot,
    share_scale,
    space_axes,
)
from linkwork._util.validation import integer, positive
from linkwork.errors import UnknownNameError
from linkwork.model import units_of
from linkwork.viewer.figures.robot_figures import (
    draw_paths,
    draw_robot,
    draw_robots_along,
    draw_surroundings,
    frames_to_draw,
    new_picture,
)
from linkwork.viewer.scenes.planning_scenes import plan_ends
from linkwork.viewer.scenes.robot_scenes import path_times

__all__ = [
    "animation",
    "frames_of",
    "moving_picture",
    "plot_plan",
    "plot_simulation",
    "strip_of",
    "trajectory_animation",
]

_NOTE_COLUMNS = 110  # characters of a line of a note in a plot


@dataclass(frozen=True)
class _Panel:
    """Curves of the quantity ``name`` over time: lines by name, their limits, and the columns of a reference motion."""

    name: str
    label: str
    lines: dict[str, np.ndarray]
    order: int | None = None  # 0: configurations, 1: velocities
    columns: Any = ()  # of q or v
    limits: tuple[Any, Any] = (None, None)
    owners: Sequence[str] = ()  # joints of the lines of q, v and tau

    def of_joints(self, joints: Sequence[str]) -> _Panel | None:
        """Return the panel with the lines of ``joints`` only; unchanged if its lines are not of joints.

        None if no line remains.
        """
        if not self.owners:
            return self
        each = enumerate(zip(self.lines, self.owners, strict=True))
        selected = [k for k, (name, owner) in each if name in joints or owner in joints]
        if not selected:
            return None
        names, (lower, upper) = list(self.lines), self.limits
        return replace(
            self,
            lines={names[k]: self.lines[names[k]] for k in selected},
            columns=[self.columns[k] for k in selected] if self.order is not None else (),
            limits=(None if lower is None else lower[selected], None if upper is None else upper[selected]),
            owners=[self.owners[k] for k in selected],
        )


def plot_simulation(
    result: Any,
    environment: tuple[int, ...],
    axes: Any,
    reference: Any = None,
    panels: str | Sequence[str] | None = None,
    joints: str | Sequence[str] | None = None,
) -> Any:
    """Plot joints, velocities, energies, contact forces and other records over time, one below the other.

    Limits of positions and velocities are shaded; vertical lines are events; dotted lines show a ``reference``.
    ``panels`` and ``joints`` are the names of what is plotted, by default all.
    """
    robot, t = result.robot_of(environment), result.t
    targets = None if reference is None else _targets(robot, t, reference)
    shown = _chosen(_panels(result, environment), robot, panels, joints)
    if not shown:
        raise ValueError("plot: expected panels with values of the joints, got none")
    axes = new_axes(len(shown), (8.0, 2.0 * len(shown))) if axes is None else axes
    axes = Panels.of([axes]) if np.ndim(axes) == 0 else axes
    times = {event.time for event in result.events if event.environment == environment}
    known = [[*panel.lines] for panel in shown if panel.order == 0]
    for axis, panel in zip(axes, shown, strict=False):
        lower, upper = panel.limits
        # velocities have the colours of the configurations above them
        is_named = panel.order == 1 and [*panel.lines] in known
        plot_lines(axis, t, panel.lines, legend=not is_named, lower=lower, upper=upper)
        if targets is not None and panel.order is not None:
            for line, column in enumerate(panel.columns):
                style = line_style(line) | {"linestyle": ":", "label": "_reference"}
                axis.plot(t, targets[panel.order][:, column], **style)
        mark_times(axis, times)
        axis.set_ylabel(panel.label)
        if panel.name == "energy" and (message := result._drift(environment)):
            text = "\n".join(wrap(message[2:], _NOTE_COLUMNS))
            style = {"fontsize": "x-small", "color": VERMILION, "transform": axis.transAxes}
            axis.text(0.01, 0.03, text, **style, bbox={"color": "white", "alpha": 0.8, "pad": 1.0})
    label_time(axes)
    return axes


def _panels(result: Any, environment: tuple[int, ...]) -> list[_Panel]:
    """Return all panels of a simulation: q, v, energy, contact_forces and the other records."""
    robot = result.robot_of(environment)
    q, v = result.q[environment], result.v[environment]
    sides = (
        ("q", robot.q_names, units_of(robot.tree, "q"), q, (robot.lower, robot.upper)),
        ("v", robot.v_names, units_of(robot.tree, "v"), v, (-robot.velocity_limits, robot.velocity_limits)),
    )
    panels, stacked = [], list(robot.tree.stacked())
    owners = {
        name: body.joint_name
        for names, slices in ((robot.q_names, robot.tree.q_slices), (robot.v_names, robot.tree.v_slices))
        for i, body in stacked
        for name in names[slices[i]]
    }
    for order, (name, names, units, values, bounds) in enumerate(sides):
        for label, lines, columns in lines_by_unit(name, names, units, values):
            lower, upper = (side[columns] for side in bounds)
            panels.append(_Panel(name, label, lines, order, columns, (lower, upper), [owners[x] for x in lines]))
    panels.append(_Panel("energy", "energy [J]", result._energies(environment, q, v)))
    if "contact_forces" in result.records:
        sizes = np.linalg.norm(result.records["contact_forces"][environment], axis=-1)
        lines = dict(zip(result.contact_names, sizes.T, strict=True))
        panels.append(_Panel("contact_forces", "contact force [N]", lines))
    for name, unit, lines in result._record_lines(environment):
        joints = [owners[x] for x in lines] if name == "tau" and {*lines} <= owners.keys() else ()
        panels.append(_Panel(name, f"{name} [{unit}]" if unit else name, lines, owners=joints))
    return panels


def _chosen(
    panels: list[_Panel], robot: Any, names: str | Sequence[str] | None, joints: str | Sequence[str] | None
) -> list[_Panel]:
    """Return the panels called ``names`` in that order, with only the lines of ``joints``.

    Raises UnknownNameError.
    """
    if names is not None:
        names = [names] if isinstance(names, str) else list(names)
        known = list(dict.fromkeys(panel.name for panel in panels))
        for name in names:
            if name not in known:
                raise UnknownNameError("panel", name, known, where="plot: panels")
        panels = [panel for name in names for panel in panels if panel.name == name]
    if joints is None:
        return panels
    joints = [joints] if isinstance(joints, str) else list(joints)
    coordinates = dict.fromkeys([*(joint.name for joint in robot.joints), *robot.q_names, *robot.v_names])
    for name in joints:
        if name not in coordinates:
            raise UnknownNameError("joint or coordinate", name, list(coordinates), where="plot: joints")
    reduced = [panel.of_joints(joints) for panel in panels]
    return [panel for panel in reduced if panel is not None]


def _targets(robot: Any, t: np.ndarray, reference: Any) -> Any:
    """Return q and v of a reference trajectory at times t; before its start and after its end it rests.

    Raises TypeError and ValueError.
    """
    from linkwork.motion import Trajectory

    if not isinstance(reference, Trajectory):
        expected = "plot: reference: expected a linkwork.motion.Trajectory, such as the target of a controller"
        raise TypeError(f"{expected}, got {reference!r}")
    if not reference.is_timed:
        raise ValueError(untimed("plot: reference", reference))
    if (reference.nq, reference.nv) != (robot.nq, robot.nv):
        expected = f"a trajectory of {robot.nq} coordinates, as robot {robot.name!r} has"
        raise ValueError(f"plot: reference: expected {expected}, got {reference!r} of {reference.nq}")
    return reference(t, outside="hold")


def strip_of(result: Any, environment: tuple[int, ...], count: int, axes: Any) -> Any:
    """Draw the robot at ``count`` times between the start and the end, side by side with equal scales."""
    count = integer("strip", "num_frames", count, least=1, description="a number of frames")
    chosen = _records(result, environment, count)
    if axes is None:
        figure = pyplot().figure(figsize=(2.2 * len(chosen), 2.6), layout="constrained")
        axes = Panels.of([figure.add_subplot(1, len(chosen), k + 1, projection="3d") for k in range(len(chosen))])
    robot = result.robot_of(environment)
    for axis, k in zip(axes, chosen, strict=False):
        draw_robot(axis, robot, result.q[environment][k], alpha=1.0)
        axis.set_title(f"{result.t[k]:.3g} s", fontsize="small")
        axis.set_axis_off()
    share_scale(axes)
    return axes


def moving_picture(result: Any, environment: tuple[int, ...], speed: float, rate: float, frames: Any, axes: Any) -> Any:
    """Return matplotlib's animation of a simulation: see `linkwork.motion.Trajectory.animation`."""
    count = frames_of(result.t[-1] - result.t[0], speed, rate)
    records = _records(result, environment, count)
    q = result.q[environment]
    path = q[: records[-1] + 1]
    return animation(result.robot_of(environment), result.t[records], q[records], rate, axes, frames, path)


def _records(result: Any, environment: tuple[int, ...], count: int) -> np.ndarray:
    """Return the indices of ``count`` records at nearly equal time intervals, until the environment stops."""
    stopped = float(result.stopped_at[environment])
    end = result.t[-1] if np.isnan(stopped) else stopped
    times = np.linspace(result.t[0], end, max(int(count), 1))
    last = len(result.t) - 1
    after = np.clip(np.searchsorted(result.t, times), 1, max(last, 1))
    near = np.where(times - result.t[after - 1] < result.t[np.minimum(after, last)] - times, after - 1, after)
    return np.minimum(near, last)


_SCALING_FRAMES = 8  # configurations that set the scale
_PATH_COLOR = "0.4"


def frames_of(duration: float, speed: Any, rate: Any) -> int:
    """Return the number of frames of a motion of ``duration`` [s].  Raises ValueError for speeds and rates <= 0."""
    pace, per_second = positive("animation", "speed", speed), positive("animation", "rate", rate, unit="1/s")
    return max(int(np.ceil(duration / pace * per_second)), 1) + 1


def trajectory_animation(trajectory: Any, speed: float, rate: float, frames: Any, axes: Any) -> Any:
    """Return matplotlib's animation of a trajectory: see `linkwork.motion.Trajectory.animation`."""
    if trajectory.robot is None:
        raise ValueError("animation: expected a trajectory of a robot; plain coordinates have no shapes")
    count = frames_of(trajectory.duration, speed, rate)
    times = np.linspace(trajectory.start_time, trajectory.end_time, count)
    path = None if frames is None else np.asarray(trajectory(path_times(times)).q)
    return animation(trajectory.robot, times, np.asarray(trajectory(times).q), rate, axes, frames, path)


def animation(
    robot: Any,
    times: np.ndarray,
    q: np.ndarray,
    rate: float,
    axes: Any,
    frames: Any = None,
    path: np.ndarray | None = None,
) -> Any:
    """Return matplotlib's animation of a robot in configurations q (n, nq) at times (n,) [s].

    ``rate`` is the number of pictures a second. ``frames`` are names of frames whose paths are drawn through the
    configurations ``path`` (k, nq), by default q.
    """
    pyplot()
    names = () if frames is None else frames_to_draw(robot, frames)
    axes = new_picture(robot) if axes is None else axes
    for k in np.unique(np.linspace(0, len(q) - 1, _SCALING_FRAMES).astype(int)):
        draw_robot(axes, robot, q[k])
    paths = [
        line
        for name in names
        for line in draw_paths(axes, robot, [q if path is None else path], name, color=_PATH_COLOR, linewidth=1.0)
    ]
    share_scale([axes])
    limits = axes.get_xlim(), axes.get_ylim(), axes.get_zlim()

    def draw(k: int) -> Any:
        for artist in (*axes.collections, *axes.lines):
            if artist not in paths:
                artist.remove()
        draw_robot(axes, robot, q[k], alpha=1.0)
        axes.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
        axes.set_title(f"{times[k]:.2f} s")
        return (*axes.collections, *axes.lines)

    draw(0)
    return _animation_class()(axes.figure, draw, frames=len(q), interval=1000.0 / rate, blit=False)


@cache
def _animation_class() -> Any:
    """Return the class of animations that draw each frame once when they are saved."""
    from matplotlib.animation import FuncAnimation

    base: Any = FuncAnimation  # whose private methods are not typed

    class Animation(base):  # type: ignore[misc]
        """Animation that arranges the figure once; matplotlib would draw each saved frame three times."""

        _is_saved = False

        def save(self, *arguments: Any, **options: Any) -> Any:
            """Write a film: see `matplotlib.animation.Animation.save`."""
            figure = self._fig
            engine = figure.get_layout_engine()
            figure.draw_without_rendering()
            figure.set_layout_engine(None)
            self._is_saved = True
            try:
                return super().save(*arguments, **options)
            finally:
                self._is_saved = False
                figure.set_layout_engine(engine)

        def _post_draw(self, *arguments: Any) -> Any:
            return None if self._is_saved else super()._post_draw(*arguments)

    return Animation


_SAMPLES = 8  # samples on an edge
_MAX_EDGES = 2000  # maximum edges of a tree in a plot


def plot_plan(result: Any, frame: str | None, axes: Any, shapes: int) -> Any:
    """Draw a plan and return the axes: thin search trees, a thick path, obstacles, and the robot.

    The robot is drawn ``shapes`` times along the path, paler before its end; without a path at the start and the first
    goal.
    """
    robot, shapes = result.robot, integer("plot", "shapes", shapes, least=0)
    (frame,) = frames_to_draw(robot, frame)
    is_new = axes is None
    axes = space_axes() if is_new else axes
    for tree, color, root in zip(result.trees, (SKY, ORANGE), ("start", "goals"), strict=False):
        child = np.flatnonzero(tree.parent >= 0)[:_MAX_EDGES]
        _, q0, q1 = result._space.straight_parts(tree.q[tree.parent[child]], tree.q[child])
        for points in _frame_positions(result, frame, q0, q1) if len(child) else ():
            axes.plot(*points.T, color=color, linewidth=0.4, alpha=0.6)
        roots = robot.pose(tree.q[tree.parent < 0], frame)[..., :3, 3]
        axes.scatter(*roots.T, color=color, s=12, label=f"search tree from the {root}")
    if result.success and len(result.path) > 1:
        for points in _frame_positions(result, frame, result.path[:-1], result.path[1:]):
            axes.plot(*points.T, color="0.2", linewidth=2.0)
    if result.trees:
        axes.legend(loc="lower left", fontsize="x-small", frameon=False)
    if result.success:
        chosen = result.path[np.round(np.linspace(len(result.path) - 1, 0, shapes)[::-1]).astype(int)]
    else:
        chosen = np.concatenate([ends[:1] for ends in plan_ends(result)])[:shapes]
    draw_robots_along(axes, robot, chosen)
    draw_surroundings(axes, result.scene, is_new=is_new)
    equal_scales(axes)
    axes.set_title(plot_text(f"{result.status}: path of {frame}"), fontsize="medium")
    return axes


def _frame_positions(plan: Any, frame: str, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """Return positions (edges, samples, 3) of a frame's origin along the straight motions from q0 to q1."""
    t = np.linspace(0.0, 1.0, _SAMPLES)[:, None]
    phi = plan._space.along(q0, q1)
    q = plan.robot.integrate(q0[:, None], t * phi[:, None])  # straight, without projection onto path constraints
    result: np.ndarray = plan.robot.pose(q, frame)[..., :3, 3]
    return result
