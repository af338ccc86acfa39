"""Trajectories: values, extremes, edits, files, messages and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.motion import Trajectory
from recorded_results.case import case
from recorded_results.robots import arm, inside, pusher


def _states(trajectory: Trajectory, count: int = 11) -> Any:
    t = np.linspace(trajectory.start_time, trajectory.end_time, count)[1:-1] + 1e-3
    state = trajectory(t)
    values = [trajectory.knots, state.q, state.v, state.a, trajectory.jerk(t)]
    return [np.where(np.abs(x) < 1e-10, 0.0, x) for x in values]  # without rounding


def _extremes(trajectory: Trajectory, orders: tuple[int, ...] = (0, 1, 2, 3)) -> Any:
    extremes = [trajectory.extremes(order) for order in orders]
    return {"text": [str(x) for x in extremes], "times": [[x.lower_times, x.upper_times] for x in extremes]}


def wave(kind: str = "cubic", **options: Any) -> Trajectory:
    """Return a spline of the arm through five configurations."""
    return arm().spline([0.3, 0.9, 1.7, 2.9, 3.4], inside(arm(), 5, 3, 0.5), kind, **options)


@case()
def splines_of_every_kind(_: Any) -> Any:
    v, a = np.random.default_rng(5).normal(size=(2, 5, 3))
    curves = {
        "natural": wave(),
        "clamped": wave(boundary="clamped", velocity=v[:2]),
        "launched": wave(boundary="launched", velocity=v[0]),
        "hermite": wave("hermite", velocity=v),
        "parabolas": wave("hermite"),
        "quintic": wave("quintic", velocity=v, acceleration=a),
        "quintic of parabolas": wave("quintic"),
        "bspline": wave("bspline", degree=4),
        "control": wave("bspline", degree=3, control=True),
        "linear": wave("linear"),
    }
    plain = lw.motion.spline([0.2, 1.0, 1.9], [[0.3, -0.2], [1.1, 0.4], [0.3, -0.2]], boundary="periodic")
    return {**{name: _states(x) for name, x in curves.items()}, "periodic": _states(plain)}


def _apart(robot: lw.Robot, distance: float) -> Any:
    q = robot.random_configuration(seed=4)
    return robot.integrate(np.stack([q] * 4), distance * np.random.default_rng(6).normal(size=(4, robot.nv)))


@case()
def splines_of_rotations_and_bodies(_: Any) -> Any:
    body = lw.Robot.build("body", lw.Link("body", mass=1.0), floating_base=True)
    ball = lw.Robot.build(
        "ball",
        lw.Link("ball", mass=1.0),
        lw.Joint.of(lw.joints.Spherical(), name="ball", parent="world", child="ball"),
    )
    planar = lw.Robot.build(
        "planar",
        lw.Link("sheet", mass=1.0),
        lw.Joint.of(lw.joints.Planar((0.6, 0.0, 0.8), (0.0, 1.0, 0.0)), name="sheet", parent="world", child="sheet"),
    )
    times = [0.1, 0.8, 1.9, 2.4]
    result: dict[str, Any] = {}
    for robot, kinds in ((body, ("screw", "cubic")), (ball, ("slerp", "squad"))):
        points = _apart(robot, 0.7)
        for kind in kinds:
            curve = robot.spline(times, points, kind)
            result[f"{robot.name} {kind}"] = [_states(curve), curve.path_length()]
            if kind in ("squad", "screw"):
                result[f"{robot.name} {kind} extremes"] = _extremes(curve, (1,))
    points = _apart(planar, 1.3)
    return {
        **result,
        "apart": _states(planar.spline(times, points, floating="decoupled")),
    }


@case()
def trajectory_edits_and_margins(_: Any) -> Any:
    curve = wave(boundary="clamped")
    limits = {"velocity": 1.3, "acceleration": (-2.5, 3.5), "jerk": {"turn": 20.0, "lift": 25.0, "bend": 31.0}}
    edited = {
        "slice": curve.slice(0.7, 2.2),
        "joined": curve.concatenate(curve.reversed().shifted(9.0)),
        "faster": curve.retimed(0.6),
        "knots": curve.retimed([0.0, 0.4, 1.9, 2.0, 3.1]),
        "steady tool": curve.at_constant_speed(0.37, frame="tool"),
        "columns": Trajectory.by_coordinate(
            [[0.0, 0.7, 1.3], [0.0, 1.3]], [[[0.1, 0.4, -0.2], [0.28, 0.12, 0.5]], [[0.3, -0.5, 0.2, 0.7]]]
        ),
    }
    return {
        **{name: _states(curve_of_edit) for name, curve_of_edit in edited.items()},
        "extremes": _extremes(curve),
        "columns extremes": _extremes(edited["columns"]),
        "margins": curve.limit_margins(**limits, lower={"lift": -1.2}, upper=1.5),
        "satisfied": [curve.satisfies_limits(velocity=v) for v in (0.4, 1.0, 2.0, 9.0)],
        "lengths": [curve.path_length(), curve.path_length(weights=[1.2, 0.3, 2.0]), curve.path_length(frame="tool")],
        "outside": [*curve(4.9, outside="hold"), *curve(-0.2, outside="hold")],
        "sampled": [*curve.sampled(0.37), *curve.sampled(num_samples=5)],
        "texts": [str(curve), repr(edited["joined"]), str(edited["steady tool"])],
    }


@case()
def trajectory_files_messages_and_tables(folder: Path) -> Any:
    curve = wave(boundary="clamped")
    result: dict[str, Any] = {}
    for name, options in {
        "a.csv": {}, "b.csv": {"samples": 7}, "c.csv": {"rate": 2.3}, "a.yaml": {}, "b.yaml": {"rate": 1.9},
        "c.yaml": {"ros_version": 1}, "a.json": {"message": "RobotTrajectory", "samples": 4}, "a.npz": {},
    }.items():  # fmt: skip
        curve.save(folder / name, **options)
        if not name.endswith("npz"):
            result[name] = (folder / name).read_text()
        result[f"{name} read"] = _states(Trajectory.load(folder / name, robot=arm()))
    linear = wave("linear")
    linear.save(folder / "linear.yaml")
    curve.to_csv(folder / "table.csv", [0.4, 1.1, 2.7])
    (folder / "log.csv").write_text(
        "stamp [ms];/joint_states/turn/position [deg];q:lift;bend_position\n"
        "30;10,5;0,2;-0,1\n50;12,5;0,25;-0,12\n80;11;0,33;-0,2\n95;9,25;0,31;-0,24\n"
    )
    log = Trajectory.load(folder / "log.csv", robot=arm(), degrees=True)
    return {
        **result,
        "linear": (folder / "linear.yaml").read_text(),
        "linear read": _states(Trajectory.load(folder / "linear.yaml", robot=arm())),
        "message": curve.to_ros([0.4, 1.9], joints=["bend", "turn"]),
        "table": (folder / "table.csv").read_text(),
        "log": _states(log, 6),
    }


@case()
def sequence_of_motions(_: Any) -> Any:
    robot = pusher()
    a, b, c = inside(robot, 3, 8, 0.4)
    first = robot.profile(a, b, velocity=0.9)
    second = robot.profile(b, c, kind="trapezoid")
    cycle = lw.motion.sequence({"reach": first, "wait": 0.35, "push": second, "back": second.reversed()})
    return {
        "table": str(cycle), "names": list(cycle.names), "starts": cycle.starts, "durations": cycle.durations,
        "states": _states(cycle.trajectory),
    }  # fmt: skip


@case(1e-6)
def clearance_of_a_motion(_: Any) -> Any:
    scene = lw.Scene().with_sphere("ball", 0.21, (0.9, 0.45, 0.3)).with_box("box", (0.3, 0.2, 0.4), (-0.9, 0.5, 0.35))
    curve = wave(boundary="clamped")
    near = curve.clearance(scene, tolerance=0.004)
    return {
        "distance": near.distance, "pair": list(map(str, near.pair)), "time": near.time, "q": near.q,
        "bound": near.lower_bound < near.distance, "text": str(near).split()[0],
    }  # fmt: skip


@case(1e-6)
def figures_of_trajectories(_: Any) -> Any:
    curve = wave(boundary="clamped")
    axes = np.ravel(curve.plot(num_samples=40, limits={"velocity": 1.1, "acceleration": 3.0}, columns=2))
    path = curve.plot_path("tool", num_samples=30)
    animation = curve.animation(frames=["tool"], speed=2.0, rate=7.0)
    result = {
        "lines": [[line.get_xydata() for line in axis.get_lines()] for axis in axes],
        "labels": [[axis.get_xlabel(), axis.get_ylabel(), axis.get_title()] for axis in axes],
        "legends": [[x.get_text() for x in axis.get_legend().get_texts()] for axis in axes if axis.get_legend()],
        "path": [np.array(line.get_data_3d()) for line in path.get_lines()],
        "frames": animation._save_count,
    }
    animation._draw_was_started = True
    return result
