"""Pixels of pictures and films of results: plans without a path, maps, linkages, joined robots, sliders and paths."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.browser import executable
from linkwork.viewer.bounds import part_poses
from linkwork.viewer.html.page import write_page
from linkwork.viewer.pictures import write_png
from linkwork.viewer.scene_builder import PATH_COLORS
from linkwork.viewer.scenes.document_of import document_of
from linkwork.viewer.scenes.robot_scenes import robot_document

pytestmark = [
    pytest.mark.skipif(executable() is None, reason="pictures need Chromium: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore::linkwork.errors.PictureWarning"),
]
RED = (0.9, 0.05, 0.05, 1.0)


def picture(document, path, **options):
    """Return the pixels (h, w, 3) of a picture."""
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("playwright")
    file = write_png(document, path / "picture.png", **{"size": (480, 360), **options})
    return np.asarray(image.open(file).convert("RGB")).astype(int)


def in_red(document, k=0):
    """Return the document with all parts of actor k in red."""
    actors = list(document.actors)
    actors[k] = replace(actors[k], parts=tuple(replace(part, color=RED) for part in actors[k].parts))
    return replace(document, actors=tuple(actors))


def is_red(pixels):
    return (pixels[..., 0] - pixels[..., 1] > 50) & (pixels[..., 0] - pixels[..., 2] > 50)


def near(pixels, color, tolerance=30):
    """Return True for the pixels that differ by at most a tolerance from a colour of channels in [0, 1]."""
    return np.abs(pixels - 255.0 * np.asarray(color)[:3]).max(axis=-1) <= tolerance


def changed(first, second):
    """Return the number of pixels that differ."""
    return (np.abs(first - second).max(axis=-1) > 20).sum()


def point_robot():
    """Return a ball that slides along x, y and z."""
    parts, parent = [], "world"
    for k, axis in enumerate(np.eye(3)):
        shapes = (lw.shapes.Sphere(0.1),) if k == 2 else ()
        slide = lw.joints.Prismatic(tuple(axis))
        parts.append(lw.Link(f"link {k}", *shapes, mass=1.0))
        parts.append(lw.Joint.of(slide, name=f"slide {k}", parent=parent, child=f"link {k}", lower=-2.0, upper=2.0))
        parent = f"link {k}"
    return lw.Robot.build("ball", *parts)


@pytest.mark.slow(every=5)
def test_picture_of_a_plan_that_ran_out_of_time_shows_start_goal_walls_and_both_trees(tmp_path):
    """The goal is in a closed box, so no path exists; the picture shows the search up to the time limit."""
    robot, scene = point_robot(), lw.Scene()
    for k in range(3):
        for side in (-1.0, 1.0):
            size, at = np.full(3, 1.0), np.array([1.2, 0.0, 0.0])
            size[k] = 0.1
            at[k] += side * 0.5
            scene = scene.with_box(f"wall {k} {side}", tuple(size), tuple(at))
    start, goal = np.array([-1.5, 0.3, 0.4]), np.array([1.2, 0.0, 0.0])
    result = robot.plan(start, goal, scene, time_limit=0.5)
    assert not result.success and result.status == "time_limit" and "show() draws" in result.message
    document = document_of(result)
    assert "time_limit" in document.title and document.title.startswith("ball")
    shown, goals = document.actors
    np.testing.assert_allclose([shown.q[0, 0], goals.q[0, 0]], [start, goal], atol=1e-6)  # a tree is float32
    trees = [lines for lines in document.lines if lines.layer == "tree"]
    ends = [np.abs(lines.points - end).max(axis=-1).min() for lines, end in zip(trees, (start, goal), strict=True)]
    assert max(ends) < 1e-5  # float32
    pixels = picture(document, tmp_path)
    no_walls = replace(document, props=())
    assert is_red(picture(in_red(document), tmp_path)).sum() > 50  # the start
    assert is_red(picture(in_red(no_walls, 1), tmp_path)).sum() > 20  # the goal
    opened = picture(no_walls, tmp_path)
    assert changed(pixels, opened) > 1000
    for k, tree in enumerate(trees):  # that of the goal is inside of the walls
        further = tuple(lines for lines in document.lines if lines is not tree)
        without = picture(replace(no_walls if k else document, lines=further), tmp_path)
        assert changed(opened if k else pixels, without) > (20 if k else 100)


def filmed_robots():
    """Yield robots of three kinds, each with two configurations."""
    arm = lw.load("arm6")
    hand = lw.Robot.build(
        "hand",
        lw.Link("palm", lw.shapes.Box((0.1, 0.2, 0.05)), mass=0.3),
        lw.Link("finger", lw.shapes.Box((0.03, 0.03, 0.2)), mass=0.1),
        lw.Joint.of(lw.joints.Prismatic((0, 1, 0)), name="slide", parent="palm", child="finger", lower=-0.1, upper=0.1),
    )
    mounted = arm.with_mounted(hand, "tool", prefix="hand_")
    joined = lw.join_robots({"left": arm, "right": arm.with_base(lw.pose((0.0, 1.0, 0.0)))}, name="both")
    for robot in (mounted, joined):
        yield robot, robot.neutral(), robot.neutral() + np.resize([0.9, -0.7, 0.8, 0.05], robot.nq)
    linkage = lw.load("fourbar")
    bare = tuple(replace(frame, visuals=(), collisions=()) for frame in linkage.tree.frames)
    linkage = lw.Robot(replace(linkage.tree, frames=bare))
    yield linkage, *(linkage.assemble(hold={"crank_hinge": angle}).q for angle in (0.2, 1.4))


@pytest.mark.slow(every=9)
@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="films need ffmpeg on PATH")
def test_frames_of_films_of_joined_and_mounted_robots_and_linkages_equal_pictures(tmp_path):
    size = (160, 120)
    for robot, first, last in filmed_robots():
        trajectory = robot.spline([0.0, 1.0], [first, last])
        film = trajectory.show(mp4=tmp_path / f"{robot.name}.mp4", fps=2.0, size=size)
        command = ["ffmpeg", "-v", "error", "-i", str(film), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
        frames = np.frombuffer(subprocess.run(command, capture_output=True, check=True).stdout, np.uint8)
        frames = frames.reshape(-1, size[1], size[0], 3).astype(int)
        assert len(frames) == 3
        document = document_of(trajectory)
        for k, time in enumerate((0.0, 0.5, 1.0)):
            errors = np.abs(frames - picture(document, tmp_path, time=time, size=size)).mean(axis=(1, 2, 3))
            assert errors[k] < 3.0, (robot.name, time)
            assert errors[k] < 0.5 * np.delete(errors, k).min(), (robot.name, time)


@pytest.mark.slow(every=5)
def test_picture_of_a_workspace_map_shows_robot_colours_and_a_bar_of_length(tmp_path):
    robot = lw.load("double_pendulum")
    document = in_red(document_of(robot.workspace_map("tip", samples=2000, voxel_size=0.2), q=[0.6, 0.8]))
    cloud, bar = document.points
    camera = ((4.0, -9.0, 3.0), (1.0, 0.0, 0.0))
    pixels = picture(document, tmp_path, camera=camera)
    alone = is_red(picture(replace(document, points=()), tmp_path, camera=camera)).sum()
    assert is_red(pixels).sum() > 0.5 * alone > 50  # the robot is seen through the map
    for content in ({"lines": ()}, {"texts": ()}, {"points": (cloud,)}, {"points": (bar,)}):
        without = picture(replace(document, **content), tmp_path, camera=camera)
        assert changed(pixels, without) > 30, content
    no_cloud = picture(replace(document, points=(bar,)), tmp_path, camera=camera)
    for color in (bar.colors[0], bar.colors[-1]):  # those of the smallest and of the largest value
        assert near(no_cloud, color / 255.0, 45).sum() > 5


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["fourbar", "klann_leg", "jansen_leg", "scissor_lift", "double_pendulum"])
def test_front_picture_of_a_linkage_shows_its_plane(name, tmp_path):
    """Width and height of the drawn robot are those along x and z."""
    robot = lw.load(name)
    document = in_red(robot_document(robot, robot.assemble().q if robot.constraints else [0.9, 0.7]))
    (actor,) = document.actors
    bodies = np.concatenate([actor.poses[0, 0], np.eye(4)[None]])
    corners = []
    for part in actor.parts:
        if part.layer == "visual":
            X = part_poses(part, bodies)
            corners.append(document.surfaces[part.surface].vertices @ X[:3, :3].T + X[:3, 3])
    width, _, height = np.ptp(np.concatenate(corners), axis=0)
    rows, columns = np.nonzero(is_red(picture(document, tmp_path, camera="front", size=(600, 600))))
    assert len(rows) > 500
    assert np.ptp(columns) / np.ptp(rows) == pytest.approx(width / height, rel=0.15)


@pytest.mark.browser
@pytest.mark.slow(every=5)
def test_page_slider_of_a_joint_without_limits_starts_near_its_middle(browser, tmp_path):
    parts, parent = [], "world"
    for k, joint in enumerate((lw.joints.Revolute((0, 0, 1)), lw.joints.Prismatic((1, 0, 0)))):
        parts += [lw.Link(f"{k}", lw.shapes.Box((0.2, 0.1, 0.1)), mass=1.0)]
        parts += [lw.Joint.of(joint, name=f"joint {k}", parent=parent, child=f"{k}")]
        parent = f"{k}"
    robot = lw.Robot.build("free", *parts)
    for q in ([0.0, 0.0], [3.0, -2.5]):
        page = write_page(robot_document(robot, q), tmp_path / "page.html")
        tab = browser.open(page)
        assert tab.evaluate("window.linkwork.ready") is True
        script = "[...document.querySelectorAll('.joint input[type=range]')].map((x) => [x.min, x.max, x.value])"
        sliders = np.array(tab.evaluate(script), dtype=float)
        assert len(sliders) == 2
        for (low, high, value), expected in zip(sliders, q, strict=True):
            assert value == pytest.approx(expected, abs=0.01 * (high - low))
            assert 0.2 <= (value - low) / (high - low) <= 0.8


@pytest.mark.slow(every=5)
def test_picture_of_a_plan_shows_the_path_of_a_frame_that_moves(tmp_path):
    """The last frame of the robot is fixed to the world."""
    robot = lw.load("arm6").with_frame("corner", "base", (1.0, 0.0, 0.0))
    goal = np.array([1.2, -0.8, 0.9, 0.3, 0.4, 0.5])
    document = document_of(robot.plan(robot.neutral(), goal))
    (path,) = [lines for lines in document.lines if lines.layer == "paths"]
    assert path.name == "tool"
    pixels = picture(document, tmp_path)
    hidden = picture(replace(document, lines=()), tmp_path)
    assert (near(pixels, PATH_COLORS[0]) & ~near(hidden, PATH_COLORS[0])).sum() > 150
