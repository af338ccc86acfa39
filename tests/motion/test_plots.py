"""Plots of motions, drawn without a display: their content equals the computed values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import linkwork as lw
from helpers.arms import chain_text
from linkwork.motion.timing.limits import PathConstraints, PathSamples
from linkwork.motion.timing.timed_path import _share, fastest_speeds

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def arm():
    joints = [("revolute", "0 0 1", "0 0 0.3", -3, 3), ("revolute", "0 1 0", "0.3 0 0", -2, 0.6)]
    return chain_text(joints, "0.4 0 0").with_collisions("l3", lw.shapes.Box((0.1, 0.2, 0.3)))


def _shaded(axis):
    return [x for x in axis.collections if isinstance(x, matplotlib.collections.PolyCollection)]


def test_trajectory_plots_shade_limits_and_name_joints(arm):
    motion = arm.spline([0.0, 1.0, 2.0], [[0.0, 0.0], [1.0, 0.55], [0.5, 0.0]])
    axes = motion.plot(limits={"acceleration": (-1.0, 2.0)}, columns=2, num_samples=50)
    assert axes.shape == (4, 2)
    assert [t.get_text() for t in axes[0, 1].get_legend().get_texts()] == [arm.q_names[1]]
    assert np.allclose(axes[0, 1].lines[0].get_ydata(), motion.sampled(num_samples=50)[1].q[:, 1])
    shaded = [line.get_ydata()[0] for line in axes[0, 1].lines if line.get_linestyle() == "--"]
    assert shaded == [0.6]  # the robot's own upper limit; the lower is far away
    by_joint = motion.plot(limits={"velocity": {arm.v_names[0]: 0.5}}, num_samples=50)[1]
    levels = {abs(line.get_ydata()[0]) for line in by_joint.lines if line.get_linestyle() == "--"}
    assert levels == {0.5, float(arm.velocity_limits[1])}
    ranges = motion.plot(limits={"position": {arm.q_names[1]: (-0.1, 0.5)}}, num_samples=50)[0]
    assert {-0.1, 0.5} <= {line.get_ydata()[0] for line in ranges.lines if line.get_linestyle() == "--"}
    for axis in axes[2]:
        bounds = {line.get_ydata()[0] for line in axis.lines if line.get_linestyle() == "--"}
        assert bounds <= {-1.0, 2.0} and len(_shaded(axis)) == len(bounds) > 0
    assert not _shaded(motion.plot(num_samples=10, limits=False)[0]) and _shaded(motion.plot(num_samples=10)[0])
    for options, text in (
        ({"limits": {"speed": 1.0}}, "position, velocity"),
        ({"limits": {"velocity": np.nan}}, "velocity of j0: expected a limit >= 0, which permits"),
        ({"limits": {"velocity": (0.5, 1.0)}}, "velocity of .*: expected a lower limit <= 0, which permits rest"),
        ({"limits": {"position": (1.0, -1.0)}}, "position: expected lower limits below upper ones"),
        ({"limits": {"position": "far"}}, "position: expected a number or an array"),
        ({"limits": 3.0}, "expected True"),
        ({"columns": 0}, "columns: expected an integer"),
    ):
        with pytest.raises(ValueError, match=text):
            motion.plot(**options)


def test_plots_of_trajectories_have_separate_axes_for_angles_and_lengths():
    robot = lw.load("scissor_lift").without_constraints()
    q = np.linspace(0.0, 0.3, 3)[:, None] * np.arange(1.0, robot.nq + 1.0)
    motion = robot.spline([0.0, 1.0, 2.0], q)
    axes = motion.plot(num_samples=20)
    assert [axis.get_ylabel() for axis in axes][:4] == ["q [m]", "q [rad]", "v [m/s]", "v [rad/s]"]
    state, slide = motion.sampled(num_samples=20)[1], robot.joint("slide").v_slice.start
    for axis, x in ((axes[0], state.q), (axes[2], state.v)):
        (line,) = [line for line in axis.lines if line.get_label() == "slide"]
        assert np.array_equal(line.get_ydata(), x[:, slide])
    figure = matplotlib.pyplot.figure()
    together = motion.plot(figure.subplots(4), num_samples=20)
    assert [axis.get_ylabel() for axis in together][:2] == ["q [m, rad]", "v [m/s, rad/s]"]


@pytest.mark.slow(every=5)
def test_phase_plane_plot_names_the_active_limit():
    path = lw.motion.Trajectory.polynomial([0.0, 1.0], [[[0.0, 2.0, 1.0], [0.0, 0.5, 0.0]]])
    limits = {"velocity": 1.0, "acceleration": (-2.0, 2.0)}
    timed = lw.motion.time_optimal(path, **limits)
    assert len(timed.plot().lines) == 1
    (most,) = (line for line in timed.plot(velocity=1.0).lines if line.get_label() == "speed limit")
    assert np.allclose(most.get_ydata(), 1.0 / (2.0 + 2.0 * most.get_xdata()), rtol=1e-6)
    axis = timed.plot(**limits)
    drawn = {line.get_label(): line for line in axis.lines if not line.get_label().startswith("_")}
    s, most = (np.asarray(x) for x in drawn["speed limit"].get_data())
    inside = (s > 0.1) & (s < 0.9)
    assert np.allclose(most[inside], 1.0 / (2.0 + 2.0 * s[inside]), rtol=1e-6)  # the first coordinate's velocity
    assert np.interp(s, timed.s, timed.speed).max() <= most.max() * (1 + 1e-9)
    assert {"velocity of 0", "acceleration of 0"} <= {*drawn}
    limited = np.isfinite(drawn["velocity of 0"].get_ydata())
    v = timed.trajectory(np.interp(s[limited], timed.s, timed.t)).v[:, 0]
    assert limited.any() and v.min() > 0.97


def test_plots_of_trajectories_without_a_robot_label_coordinates_by_their_indices() -> None:
    motion = lw.motion.spline([0.0, 1.0, 2.0], [[0.0, 1.0], [1.0, 0.0], [0.0, 2.0]])
    q, v, *_ = motion.plot(num_samples=9)
    for axis, k in ((q, 0), (v, 1)):
        lines = {line.get_label(): line.get_ydata() for line in axis.lines if line.get_label() in ("0", "1")}
        for name in ("0", "1"):
            np.testing.assert_array_equal(lines[name], motion(np.linspace(0.0, 2.0, 9))[k][:, int(name)])


@pytest.mark.light
def test_shares_of_limits_are_0_in_directions_with_a_limit_of_0() -> None:
    x = np.array([[0.5, -0.5, 0.0, 2.0, -3.0, 0.0]])
    low, high = np.array([0.0, -2.0, 0.0, -1.0, -4.0, -1.0]), np.array([1.0, 0.0, 0.0, 2.0, 5.0, 0.0])
    assert _share(x, low, high).tolist() == [[0.5, 0.25, 0.0, 1.0, 0.75, 0.0]]


def test_maximum_velocity_curve_bounds_all_feasible_speeds():
    """Compared with a search over many s̈ and ṡ."""
    rng = np.random.default_rng(0)
    A, B, C = rng.normal(size=(3, 30, 1, 3))
    C *= 0.3
    A[:5, :, 0] = 0.0
    rows = PathConstraints(A, B, C, np.full(3, -1.5), np.full(3, 2.0), None, None)
    once = np.zeros((30, 1, 2))
    result = fastest_speeds(PathSamples(once, once, once), rows, (np.full(2, -1.0), np.full(2, 1.0)))
    u = np.linspace(-60.0, 60.0, 6001)
    for k in range(30):
        for factor, fine in ((0.98, True), (1.02, False)):
            if np.isfinite(result[k]) and result[k] < 4.0:
                value = A[k, 0] * u[:, None] + B[k, 0] * (factor * result[k]) ** 2 + C[k, 0]
                room = np.minimum(value + 1.5, 2.0 - value).min(axis=1).max()
                assert (room > -2e-2) if fine else (room < 2e-2), (k, factor, room)
    assert np.isfinite(result).sum() > 20


@pytest.mark.slow(every=3)
def test_animations_of_trajectories_show_their_configurations(arm, tmp_path):
    motion = arm.spline([1.0, 2.0], [[0.0, 0.0], [1.0, 0.5]])
    moving = motion.animation(frames="l3", speed=2.0, rate=8.0)
    axes = moving._fig.axes[0]
    layout = moving._fig.get_layout_engine()
    draws = []
    moving._fig.canvas.mpl_connect("draw_event", lambda _: draws.append(axes.get_title()))
    moving.save(tmp_path / "motion.gif", writer="pillow", dpi=20)
    assert draws == [f"{t:.2f} s" for t in (1.0, 1.0, 1.25, 1.5, 1.75, 2.0)], "once for the layout, once each"
    assert moving._fig.get_layout_engine() is layout
    (path,) = axes.lines
    drawn, along = np.array(path.get_data_3d()).T, arm.pose(motion(np.linspace(1.0, 2.0, 5)).q, "l3")[:, :3, 3]
    assert np.linalg.norm(drawn[:, None] - along, axis=-1).min(axis=0).max() < 1e-9
    turns = np.diff(drawn, axis=0) / np.linalg.norm(np.diff(drawn, axis=0), axis=1)[:, None]
    assert np.einsum("ni,ni->n", turns[1:], turns[:-1]).min() > 0.999  # smooth, though there are five frames
    image = pytest.importorskip("PIL.Image")
    with image.open(tmp_path / "motion.gif") as film:
        assert film.n_frames == 5
    for options, said in (({"rate": 0.0}, "rate"), ({"speed": -1.0}, "speed")):
        with pytest.raises(ValueError, match=f"animation: {said}: expected a finite number > 0"):
            motion.animation(**options)
    with pytest.raises(ValueError, match="plain coordinates have no shapes"):
        lw.motion.spline([0.0, 1.0], [[0.0], [1.0]]).animation()


@pytest.mark.slow(every=3)
def test_plots_of_cartesian_paths_show_shapes_and_obstacles(arm):
    motion = arm.spline([0.0, 1.0], [[0.0, 0.0], [1.0, 0.5]])
    scene = (
        lw.Scene()
        .with_box("box", (0.2, 0.3, 0.1), (1.0, 0.0, 0.0))
        .with_cylinder("can", 0.1, 0.3, (0.0, 1.0, 0.0))
        .with_shape("floor", lw.shapes.HalfSpace(), lw.pose((0, 0, -1.0)))
        .with_shape("cloud", lw.shapes.PointCloud(np.random.default_rng(0).normal(size=(50, 3)), 0.01), lw.pose())
    )
    axes = motion.plot_path("l3", scene=scene, shapes=3, num_samples=20)
    (line,) = axes.lines
    assert line.zorder > max(artist.zorder for artist in axes.collections), "robots do not cover the path"
    t = np.linspace(0.0, 1.0, 20)
    assert np.allclose(np.array(line.get_data_3d()).T, arm.pose(motion(t).q, "l3")[:, :3, 3])
    cloud, surfaces = sorted(axes.collections, key=lambda x: hasattr(x, "corners"))
    assert len(axes.collections) == 2 and len(cloud.get_offsets()) == 50
    x, y, z = np.moveaxis(surfaces.corners, -1, 0)
    assert (np.isclose(z, -1.0).all(axis=1)).sum() == 4  # the floor, from both sides
    assert (np.isclose(np.hypot(x, y - 1.0), 0.1) & np.isclose(abs(z), 0.15)).sum() > 50  # the can
    link = arm.pose(motion(t[-1]).q, "l3")
    assert np.isclose(surfaces.corners.reshape(-1, 3), (link @ (0.05, 0.1, 0.15, 1.0))[:3]).all(axis=1).any()
    for corner in itertools.product((0.9, 1.1), (-0.15, 0.15), (-0.05, 0.05)):  # of the box
        assert np.isclose(surfaces.corners.reshape(-1, 3), corner).all(axis=1).any()
    assert len(motion.plot_path(["l2", "l3"], num_samples=5).lines) == 2
    with pytest.raises(lw.errors.UnknownNameError, match="l3"):
        motion.plot_path("l9")
    with pytest.raises(ValueError, match="plain coordinates have no frames"):
        lw.motion.spline([0.0, 1.0], [[0.0], [1.0]]).plot_path()
    with pytest.raises(ValueError, match="shapes"):
        motion.plot_path("l3", shapes=-1)
    # of a path that is not followed to its end the rest is drawn, too
    X = arm.pose([0.0, 0.2], "l3")
    path = lw.motion.arc(X, center=(0, 0, X[2, 3]), axis=(0, 0, 1), angle=4.0)
    tracked = arm.track_cartesian_path(path, "l3", q_init=[0.0, 0.2], orientation="free")
    assert tracked.status == "at_limits" and tracked.fraction == pytest.approx(3.0 / 4.0, abs=1e-2)
    followed, path_line = tracked.plot(shapes=0).lines
    assert path_line.get_label() == "not followed"
    assert np.allclose(np.array(path_line.get_data_3d())[:, -1], path(path.length)[:3, 3])
    assert np.linalg.norm(np.array(path_line.get_data_3d())[:, 0] - np.array(followed.get_data_3d())[:, -1]) < 0.01


def test_vector_graphics_embed_the_shaded_triangles_as_a_picture(arm, tmp_path):
    motion = arm.spline([0.0, 1.0], [[0.0, 0.0], [1.0, 0.55]])
    axes = motion.plot_path("l3", num_samples=20)
    (surfaces,) = (x for x in axes.collections if hasattr(x, "corners"))
    assert len(surfaces.corners) > 20
    axes.figure.savefig(tmp_path / "path.svg")
    text = (tmp_path / "path.svg").read_text(encoding="utf-8")
    assert text.count("<image") == 1 and text.count("<path") < 200  # lines and names are vector graphics


def test_plain_axes_for_a_picture_in_space_are_refused_with_a_remedy(arm):
    axes = pytest.importorskip("matplotlib.figure").Figure().subplots()
    motion = arm.spline([0.0, 1.0], [[0.0, 0.0], [1.0, 0.55]])
    for plot in (motion.plot_path, lambda axes: arm.plot([0.0, 0.0], axes=axes)):
        with pytest.raises(
            lw.errors.ArgumentError, match=r"got <Axes: >; .*subplot_kw=\{'projection': '3d'\}\) returns such axes"
        ):
            plot(axes=axes)
    with pytest.raises(TypeError, match=r"no option named 'joints'; motion.to_pandas\(\).filter"):
        motion.plot(joints=["j1"])
    assert any("elbow" in name for name in lw.load("arm6").spline([0, 1], [[0.0] * 6, [1.0] * 6]).to_pandas().columns)
