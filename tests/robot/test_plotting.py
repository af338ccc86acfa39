"""Plots of robots: shapes, meshes, and lines for links without shapes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork._util.plotting import new_axes, plot_lines
from linkwork.viewer.figures.robot_figures import _spread
from linkwork.viewer.scenes.robot_scenes import robot_document

pytest.importorskip("matplotlib")

MESHES = """<robot name="r"><link name="base"/><link name="arm"><collision><geometry>
<mesh filename="package://arm/box.stl" scale="0.1 0.1 0.1"/></geometry></collision></link><link name="tip"/>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/><origin xyz="1 0 0"/>
<limit lower="-3" upper="3" effort="1" velocity="2"/></joint>
<joint name="f" type="fixed"><parent link="arm"/><child link="tip"/><origin xyz="0 2 0"/></joint></robot>"""


def lines(axes) -> list[np.ndarray]:
    return [np.stack(line.get_data_3d(), axis=1) for line in axes.lines]


def test_robots_are_plotted_with_shapes_frames_scenes_and_several_configurations():
    arm = lw.load("arm7")
    axes = arm.plot()
    (surfaces,) = axes.collections
    count = len(surfaces.corners)
    assert count >= 7 * 12 and not axes.lines
    q = arm.random_configuration(seed=0, size=3)
    scene = lw.Scene().with_sphere("ball", 0.1, (1.0, 0.0, 0.0))
    several = arm.plot(q, frames=["hand"], scene=scene)
    (drawn,) = several.collections
    assert len(drawn.corners) > 3 * count and len(several.lines) == 3 * 3 and len(several.texts) == 3
    vertices = np.unique(drawn.corners.reshape(-1, 3).round(9), axis=0)
    assert np.isclose(np.linalg.norm(vertices - (1.0, 0.0, 0.0), axis=1), 0.1).sum() > 50  # the ball
    assert np.allclose(lines(several)[0][0], arm.pose(q[0], "hand")[:3, 3])
    assert arm.plot({"elbow": -1.2}, axes=axes) is axes and len(surfaces.corners) == 2 * count
    for name, error, said in (("hnd", lw.errors.UnknownNameError, "did you mean 'hand'"),):
        with pytest.raises(error, match=said):
            arm.plot(frames=name)
    with pytest.raises(TypeError, match=r"plot: frames: .* got True; frames=robot\.frames shows all"):
        arm.plot(frames=True)
    with pytest.raises(ValueError, match="plot: q"):
        arm.plot(np.zeros(3))


@pytest.mark.slow(every=3)
def test_robots_that_move_in_a_plane_are_plotted_in_that_plane():
    fourbar = lw.load("fourbar")
    flat = fourbar.plot()
    assert (flat.azim, flat.elev) == (-90.0, 0.0) and flat.get_zlabel() == "z [m]"
    assert not flat.get_yticks().size and not flat.get_ylabel()
    flat.figure.draw_without_rendering()
    across = flat.get_proj() @ np.array([[0.0, y, 0.0, 1.0] for y in (0.0, 0.3)]).T
    assert np.allclose(across[:2, 0] / across[3, 0], across[:2, 1] / across[3, 1]), "without perspective"
    assert lw.load("arm7").plot().elev == 30.0 and fourbar.plot(scene=lw.Scene()).elev == 30.0
    hinge = lw.Joint.of(lw.joints.Revolute("y"), name="hinge", parent="world", child="rod")
    pendulum = lw.Robot.build("pendulum", lw.Link("rod", mass=1.0, com=(0.0, 0.0, -0.5)), hinge).plot([0.5])
    assert (pendulum.azim, pendulum.elev) == (-90.0, 0.0), "one hinge moves in a plane, too"
    assert min(pendulum.get_xlim()) < -0.5 * np.sin(0.5) and min(pendulum.get_zlim()) < -0.5 * np.cos(0.5)
    turned = fourbar.with_base(lw.pose(axis="x", angle=-np.pi / 2))
    assert turned.plot().elev == pytest.approx(90.0)
    motion = fourbar.drive_mechanism({"crank_hinge": [0.0, 0.5, 1.0]}).trajectory(times=[0.0, 1.0, 2.0])
    assert motion.plot_path("coupler").elev == 0.0


def test_frames_in_plots_have_axes_of_the_size_of_the_robot_and_common_labels():
    pin = lw.load("fourbar").plot(frames=["crank", "coupler"])
    lengths = [np.linalg.norm(line[1] - line[0]) for line in lines(pin)]
    assert np.ptp(lengths) < 1e-9 and 0.03 < lengths[0] <= 0.1
    arm = lw.load("arm7").with_frame("same", "hand", lw.pose(rpy=(0.1, 0.2, 0.3)))
    assert [text.get_text() for text in arm.plot(frames=["hand", "same"]).texts] == ["hand\nsame"]


def test_poses_can_be_plotted_without_a_robot():
    A = lw.pose((0.1, 0.0, 0.4), rpy=(0.1, 0.2, 0.3))
    axes = lw.viewer.plot_poses({"world": lw.pose(), "A": A, "here": A}, length=0.2)
    drawn = lines(axes)
    assert [text.get_text() for text in axes.texts] == ["world", "A\nhere"] and len(drawn) == 9
    for k in range(3):
        assert np.allclose(drawn[3 + k][1] - drawn[3 + k][0], 0.2 * A[:3, k])
    small = lines(lw.viewer.plot_poses({"a": lw.pose(), "b": A}))
    assert np.linalg.norm(small[0][1] - small[0][0]) == pytest.approx(0.1)
    for poses, said in (({}, "expected a dict by name"), ({"a": 2.0 * A}, r"poses\['a'\]: expected a pose")):
        with pytest.raises(ValueError, match=said):
            lw.viewer.plot_poses(poses)


def test_plot_draws_a_skeleton_for_missing_meshes(tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text(MESHES, encoding="utf-8")
    robot = lw.load(file)
    axes = robot.plot([0.0])
    corners = axes.collections[0].corners.reshape(-1, 3)  # of the ground, the pin, and the bar from there to the tip
    assert corners[:, 1].max() == pytest.approx(2.0) and corners[:, :2].mean(axis=0)[0] == pytest.approx(1.0, abs=0.01)
    note = " ".join(axes.texts[0].get_text().split())
    assert "'box.stl'" in note and "'arm' was not found" in note and "meshes=" in note
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "arm").mkdir()
    trimesh.creation.box((1.0, 1.0, 1.0)).export(tmp_path / "arm" / "box.stl")
    axes = robot.plot([0.0], meshes=tmp_path)
    assert len(axes.collections) == 1 and not axes.lines and not axes.texts
    assert len(axes.collections[0].corners) == 12  # closed: seen from outside
    low, high = axes.collections[0].corners.min(axis=(0, 1)), axes.collections[0].corners.max(axis=(0, 1))
    assert np.allclose(high - low, 0.1) and np.allclose(0.5 * (low + high), (1.0, 0.0, 0.0))
    assert not lw.load(tmp_path / "r.urdf").plot([0.0]).lines  # found beside the robot's file
    with pytest.raises(ValueError, match="is not a folder"):
        robot.plot(meshes=tmp_path / "none")


def test_skeleton_of_a_plotted_robot_shows_its_loops_closed():
    robot = lw.load("fourbar")
    bare = lw.Robot(replace(robot.tree, frames=tuple(replace(f, visuals=(), collisions=()) for f in robot.tree.frames)))
    q = bare.assemble(bare.neutral()).q
    corners = bare.plot(q).collections[0].corners.reshape(-1, 3)
    tip = bare.pose(q, "coupler_tip")[:3, 3]
    assert np.linalg.norm(corners - tip, axis=1).min() < 0.05
    assert len(robot.plot(q).collections[0].corners.reshape(-1, 3)) != len(corners)


def test_plots_of_robots_omit_hidden_faces_and_divide_long_faces():
    box = lw.Robot.build("box", lw.Link("box", mass=1.0)).with_collisions("box", lw.shapes.Box((1.0, 2.0, 3.0)))
    axes = box.plot()
    (surfaces,) = axes.collections
    assert len(surfaces.corners) == 12
    low, high = surfaces.corners.min(axis=(0, 1)), surfaces.corners.max(axis=(0, 1))
    assert np.allclose(high - low, (1.0, 2.0, 3.0)) and np.allclose(high, -low)
    axes.view_init(elev=0.0, azim=0.0)  # seen from x
    axes.figure.canvas.draw()
    fine = np.array([path.vertices[:3] for path in surfaces.get_paths()])
    assert len(fine) > 100 and surfaces.get_facecolor().shape == (len(fine), 4)
    assert len(np.unique(surfaces.get_facecolor(), axis=0)) == 5  # not the face at the back


def test_large_meshes_are_simplified_in_plots(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "arm").mkdir()
    ball = trimesh.creation.icosphere(subdivisions=5, radius=1.0)
    assert len(ball.faces) > 20_000
    ball.export(tmp_path / "arm" / "box.stl")
    (tmp_path / "r.urdf").write_text(MESHES, encoding="utf-8")
    (surfaces,) = lw.load(tmp_path / "r.urdf").plot([0.0]).collections
    assert 1000 < len(surfaces.corners) <= 24_000
    radii = np.linalg.norm(surfaces.corners.reshape(-1, 3) - (1.0, 0.0, 0.0), axis=1)
    assert radii.min() > 0.095 and radii.max() < 0.1005


def test_plots_of_robots_note_content_of_the_file_that_is_not_drawn():
    tree = lw.load("arm7").with_attached("cup", "hand", lw.shapes.Sphere(0.03)).tree
    issue = lw.errors.Issue("NOT_DRAWN", "skins are not drawn: 'fur$'")
    robot = lw.Robot(replace(tree, report=replace(tree.report, warnings=(issue,))))
    document = robot_document(robot)
    assert document.notes == ("skins are not drawn: 'fur$'",)
    assert [part.link for part in document.actors[0].parts if part.layer == "visual"][-1] == "cup"
    axes = robot.plot()
    assert axes.texts[0].get_text() == r"skins are not drawn: 'fur\$'"
    robot.plot(axes=axes)
    assert len(axes.texts) == 1 and axes.texts[0].get_text().count("skins") == 1
    ball = np.linalg.norm(
        axes.collections[0].corners.reshape(-1, 3) - robot.pose(robot.neutral(), "cup")[:3, 3], axis=1
    )
    assert np.isclose(ball, 0.03, atol=1e-6).sum() > 100  # the attached object


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["arm7", "fourbar", "planetary_gear", "quadruped"])
def test_names_of_ticks_in_plots_in_space_do_not_overlap(name):
    axes = lw.load(name).plot()
    axes.figure.canvas.draw()
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        shown = [tick for tick in axis.get_major_ticks() if tick.label1.get_text()]
        low, high = sorted(axis.get_view_interval())
        boxes = [tick.label1.get_window_extent() for tick in shown if low <= tick.get_loc() <= high]
        pairs = [(a, b) for k, a in enumerate(boxes) for b in boxes[:k]]
        assert not any(a.overlaps(b) for a, b in pairs), (name, axis.axis_name)
        assert boxes or not len(axis.get_ticklocs())


@pytest.mark.costly
@pytest.mark.parametrize("length", [3, 16, 28, 45, 60])
def test_legends_with_long_names_fit_their_figure(length):
    axes = new_axes(2, (8.0, 4.0))
    t = np.linspace(0.0, 1.0, 5)
    text = "front left foot and the ground of the long corridor behind the house"
    plot_lines(axes[0], t, {f"{k}" + text[: length - 1]: t for k in range(4)})
    axes[0].figure.canvas.draw()
    box, legend = axes.figure.bbox, axes[0].get_legend()
    assert axes[0].get_window_extent().width > 0.85 * box.width and legend.get_window_extent().x1 <= box.x1
    assert legend._ncols == {3: 4, 16: 4, 28: 3}.get(length, legend._ncols)


def hues(colors):
    """Return the number of different hues among shades (n, 3) of saturated colours."""
    spread = np.ptp(colors, axis=1)
    saturated = colors[spread > 0.05]
    signs = np.sign(saturated - saturated.mean(axis=1, keepdims=True))
    return len(np.unique(np.concatenate([signs, saturated.argsort(axis=1)], axis=1), axis=0))


def test_robot_at_the_end_of_a_path_is_drawn_before_paler_ones():
    robot = lw.load("fourbar")
    motion = robot.drive_mechanism({"crank_hinge": np.linspace(0.0, 2.0, 5)}, velocity={"crank_hinge": 1.0})
    axes = motion.trajectory().plot_path("coupler", shapes=3)
    (surfaces,) = axes.collections
    corners = np.unique(surfaces.corners.round(9), axis=0)
    assert len(corners) == len(surfaces.corners)  # the base is drawn once
    saturation = [np.ptp(part, axis=1).mean() for part in np.array_split(surfaces.colors, 3)]
    assert saturation[0] > 1.5 * saturation[1] > 1.6 * saturation[2] > 0.0
    moved = []
    surfaces.set_verts = lambda corners: moved.append(np.array(corners))
    surfaces.do_3d_projection()
    fine = surfaces._fine[0]
    ghosts = fine[surfaces._fine[3] > 0.0]
    visible = surfaces._fine[2] @ (0.0, -1.0, 0.0) > -0.12  # the view is from −y
    backwards = (moved[0] - fine[visible])[:, 0]
    extent = np.ptp(fine, axis=(0, 1)).max()
    assert backwards[:, [0, 2]] == pytest.approx(0.0) and 0.0 < len(ghosts) < len(fine)
    assert {*np.round(backwards[:, 1] / extent, 4)} == {0.0, 0.014, 0.0184}  # 2 % times 1 − alpha
    (line,) = axes.lines
    assert line.get_markevery() == [-1] and line.get_marker() == "o"
    end = np.array(line.get_data_3d())[:, -1]
    assert end == pytest.approx(robot.pose(motion.q[-1], "coupler")[:3, 3])


def test_closed_paths_are_divided_evenly_by_the_drawn_robots():
    robot = lw.load("fourbar")
    for end, expected in ((2.0 * np.pi, [4, 8, 12]), (np.pi, [0, 6, 12])):
        q = robot.drive_mechanism({"crank_hinge": np.linspace(0.0, end, 13)}).q
        assert np.array_equal(_spread(robot, q, 3), q[expected])
    assert np.array_equal(_spread(robot, q, 1), q[-1:]) and len(_spread(robot, q, 0)) == 0


def test_plot_colors_each_link_of_planar_robots_differently_and_arms_in_one_color():
    for name, expected in (("fourbar", 3), ("double_pendulum", 2), ("arm7", 1)):
        (surfaces,) = lw.load(name).plot().collections
        assert hues(surfaces.colors) >= expected if expected > 1 else hues(surfaces.colors) == 1, name
        (red,) = lw.load(name).plot(color=np.array([1.0, 0.0, 0.0])).collections
        assert hues(red.colors) == 1
    bare = lw.load("fourbar")
    frames = tuple(replace(frame, visuals=(), collisions=()) for frame in bare.tree.frames)
    (skeleton,) = lw.Robot(replace(bare.tree, frames=frames)).plot().collections
    assert hues(skeleton.colors) >= 3


def test_table_does_not_cover_the_boxes_that_stand_on_it_in_plots():
    arm = lw.load("arm7")
    counts = []
    for size in (1.0, 1e-3):  # the table, and a crumb of it
        scene = lw.Scene().with_box("table", (0.9 * size, 1.2 * size, 0.05 * size), lw.pose((0.65, 0.0, 0.1)))
        for k, (x, y) in enumerate(((0.3, 0.3), (0.5, -0.2), (0.8, 0.2), (0.95, -0.45))):
            scene = scene.with_box(f"box{k}", (0.12, 0.12, 0.1), lw.pose((x, y, 0.175)))
            scene = scene.with_color(f"box{k}", (1.0, 0.0, 0.0, 1.0))
        axes = arm.plot(scene=scene)
        axes.set(xlim=(-0.2, 1.2), ylim=(-0.7, 0.7), zlim=(0.0, 1.4))
        axes.set_box_aspect((1.0, 1.0, 1.0))
        axes.figure.set_dpi(50)
        axes.figure.canvas.draw()
        pixels = np.asarray(axes.figure.canvas.buffer_rgba()).astype(int)
        counts.append((pixels[..., 0] - pixels[..., 1] > 60).sum())
    assert counts[1] > 1000 and counts[0] == pytest.approx(counts[1], rel=0.01)
