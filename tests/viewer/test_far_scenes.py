"""Pictures of scenes at coordinates of maps equal those at the world's origin; axes and points have their colours."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.browser import executable
from helpers.documents import robot_document
from helpers.live_pages import PageClient
from linkwork.spatial import Rotation
from linkwork.viewer import write_glb, write_mp4, write_png
from linkwork.viewer.bounds import near_origin
from linkwork.viewer.document import Arrows, FrameAxes, Lines, Points, Prop, SceneDocument, Text
from linkwork.viewer.html import scene_data
from linkwork.viewer.html.page import write_page
from linkwork.viewer.rotations import pose_of

MAP = np.array([4.5e5, 4.5e6, 0.0])  # [m] easting and northing
SHIFTS = (np.zeros(3), MAP)
CAMERA = np.array([[3.0, -2.0, 1.5], [0.3, 0.2, 0.4]])  # [m] position and target
HALF_ANGLE = 0.29  # [rad] half of the vertical field of view of the page in one file
SIZE = (480, 360)  # [pixels]
CORNER, POINT, DIAMETER = np.array([-0.4, -0.3, 0.1]), np.array([0.6, -0.3, 0.5]), 0.12  # [m] frame and point
ORANGE = (255, 128, 0)
GRAY = (0.6, 0.6, 0.6, 1.0)
needs_browser = pytest.mark.skipif(executable() is None, reason="pictures need Chromium: apt-get install chromium")


def robot_at(shift: np.ndarray) -> tuple[lw.Robot, np.ndarray]:
    """Return a robot on a floating base, and its motion (T, 1, nq) beside a point."""
    robot = lw.load("double_pendulum", floating_base=True)
    q = np.tile(robot.neutral(), (3, 1, 1))
    q[:, 0, 4:7] = shift + np.array([0.2, 0.1, 0.9])
    q[:, 0, 7:] = [[0.3, 0.5], [0.6, 0.2], [0.9, -0.4]]
    return robot, q


def scene_at(shift: np.ndarray, times: int = 1) -> SceneDocument:
    """Return a document with one of each kind of content, around a point."""
    robot, q = robot_at(shift)
    document = robot_document(robot, q[:times])
    [actor] = document.actors
    pose = np.eye(4)
    pose[:3, 3] = shift + CORNER
    force = np.tile(shift + np.array([0.5, 0.5, 0.0]), (times, 1, 1)), np.full((times, 1, 3), [0.0, 0.0, 0.5])
    return replace(
        document,
        actors=(replace(actor, parts=tuple(replace(part, color=GRAY) for part in actor.parts)),),
        props=(Prop("crate", 0, pose, GRAY),),
        lines=(Lines("line", shift + np.array([[0.0, 0.4, 0.0], [0.1, 0.6, 0.8]]), (0.5, 0.1, 0.5, 1.0)),),
        points=(Points("point", shift + POINT[None], np.array([[*ORANGE, 255]], "u1"), DIAMETER),),
        arrows=(Arrows("force", *force, np.ones((times, 1), bool), (0.1, 0.6, 0.6, 1.0)),),
        frames=(FrameAxes("frame", pose, 0.5, "axes"),),
        texts=(Text("label", shift + np.array([0.5, 0.5, 0.6])),),
    )


def colored(picture: np.ndarray, color: tuple[int, int, int]) -> np.ndarray:
    """Return the pixels (k, 2), x and y, whose hue is that of a colour."""
    chroma = picture - picture.mean(axis=-1, keepdims=True)
    hue = np.array(color) - np.mean(color)
    lengths = np.linalg.norm(chroma, axis=-1)
    is_colored = (lengths > 60.0) & (chroma @ hue > 0.92 * lengths * np.linalg.norm(hue))
    return np.argwhere(is_colored)[:, ::-1]


def check_colors(picture: np.ndarray, pixel: Callable[[np.ndarray], np.ndarray]) -> None:
    """Assert that the axes x, y, z are red, green and blue, and that the point has its position, colour and size."""
    for axis, color in enumerate([(255, 0, 0), (0, 255, 0), (0, 0, 255)]):
        begin, end = pixel(CORNER), pixel(CORNER + 0.5 * np.eye(3)[axis])
        along = (colored(picture, color) - begin) @ (end - begin) / ((end - begin) @ (end - begin))
        assert 0.85 < along.max() < 1.1 and 0.0 < along.min() < 0.4, axis
    pixels = colored(picture, ORANGE)
    np.testing.assert_allclose(pixels.mean(axis=0), pixel(POINT), atol=4.0)
    widths = np.stack([pixel(POINT + DIAMETER * axis) - pixel(POINT) for axis in np.eye(3)])
    diameter = np.sqrt(4.0 / np.pi * len(pixels))  # of a circle with this area
    assert diameter == pytest.approx(np.linalg.norm(widths, 2), rel=0.2)


def check_equal(pictures: Any, expected: Any) -> None:
    """Assert that pictures are equal up to rounding: positions differ by 1e-9 m."""
    assert (np.abs(np.array(pictures, float) - np.array(expected, float)) > 4.0).mean() < 1e-4


def pixel_of(X: np.ndarray, half_angle: float, size: tuple[int, int]) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from points to pixels of a camera at X (4, 4): x to the right, y down, z along the view."""

    def pixel(point: np.ndarray) -> np.ndarray:
        local = X[:3, :3].T @ (point - X[:3, 3])
        return 0.5 * np.array(size) + 0.5 * size[1] / np.tan(half_angle) * local[:2] / local[2]

    return pixel


def page_pixel() -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from points to pixels of pictures with `CAMERA`."""
    position, target = CAMERA
    X = np.eye(4)
    z = (target - position) / np.linalg.norm(target - position)
    x = np.cross(z, [0.0, 0.0, 1.0]) / np.linalg.norm(z[:2])
    X[:3, :3], X[:3, 3] = np.stack([x, np.cross(z, x), z], axis=1), position
    return pixel_of(X, HALF_ANGLE, SIZE)


def test_documents_of_scenes_far_from_the_origin_are_relative_to_a_point_nearby():
    document, origin = near_origin(scene_at(MAP))
    np.testing.assert_array_equal(origin, MAP)
    near = scene_at(np.zeros(3))
    np.testing.assert_allclose(document.actors[0].poses, near.actors[0].poses, atol=2e-9)
    np.testing.assert_allclose(document.points[0].points, near.points[0].points, atol=2e-9)
    same, origin = near_origin(near)
    assert same is near and not origin.any()


def test_reference_point_of_a_far_scene_is_in_the_middle_of_its_motion():
    robot, q = robot_at(MAP)
    q[2, 0, 4] += 2e5
    _, origin = near_origin(robot_document(robot, q))
    np.testing.assert_allclose(origin, MAP + np.array([1e5, 0.0, 0.0]), atol=100.0)


@pytest.mark.slow(every=9)
def test_html_pages_of_far_scenes_look_as_at_the_origin(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(scene_data, "_EXACT", 0)  # as of a long recording
    pictures = []
    for shift in SHIFTS:
        tab = browser.open(write_page(scene_at(shift, 3), tmp_path / "page.html"), size=SIZE)
        position, target = (CAMERA + shift).tolist()
        tab.evaluate("window.linkwork.ready")
        tab.evaluate(
            "(view) => { linkwork.bare('light'); linkwork.look(view); }", {"position": position, "target": target}
        )
        pictures.append(tab.screenshot("#view"))
        robot, q = robot_at(shift)
        for frame in (0, 2):
            tab.evaluate("(k) => linkwork.showFrame(k)", frame)
            np.testing.assert_allclose(
                tab.evaluate("linkwork.pose('lower_rod')"), robot.pose(q[frame, 0], "lower_rod"), atol=1e-7
            )
        np.testing.assert_allclose(tab.evaluate("linkwork.camera.position"), position, atol=3e-9)
        pictures.append(tab.screenshot("#view"))
    check_colors(pictures[0], page_pixel())
    assert (pictures[0] != pictures[1]).any()
    check_equal(pictures[:2], pictures[2:])


def test_robot_on_a_far_base_is_drawn_with_the_surfaces_of_one_at_the_origin():
    documents = []
    for shift in SHIFTS:
        joints = (lw.joints.Revolute((0.36, 0.48, 0.8)), lw.joints.Prismatic((0.6, 0.0, 0.8)))
        placements = shift, (0.1, 0.2, 0.4)
        names = ("world", "upper", "lower")
        parts = [
            lw.Joint.of(joint, name=f"j{k}", parent=names[k], child=names[k + 1], placement=placements[k])
            for k, joint in enumerate(joints)
        ]
        robot = lw.Robot.build("bare", *parts, lw.Link("upper", mass=1.0), lw.Link("lower", mass=1.0))
        documents.append(near_origin(lw.viewer.scene_document(robot, frames="lower"))[0])
    near, far = documents
    assert [part.link for part in near.actors[0].parts] == [part.link for part in far.actors[0].parts]
    for surface, expected in zip(far.surfaces, near.surfaces, strict=True):
        np.testing.assert_array_equal(surface.vertices, expected.vertices)
    np.testing.assert_allclose(far.actors[0].poses, near.actors[0].poses, atol=2e-9)


@pytest.mark.slow(every=9)
@needs_browser
def test_pictures_and_films_of_far_scenes_look_as_at_the_origin(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("playwright")
    encoder = tmp_path / "ffmpeg"  # copies the pictures that it is fed
    encoder.write_text('#!/bin/sh\nfor path; do :; done\ncat > "$path"\n', encoding="utf-8")
    encoder.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    pictures, films = [], []
    for shift in SHIFTS:
        options = {"camera": tuple((CAMERA + shift).tolist()), "size": SIZE}
        document = scene_at(shift, 3)
        pictures.append(np.asarray(image.open(write_png(document, tmp_path / "x.png", **options)).convert("RGB")))
        films.append(write_mp4(document, tmp_path / "x.mp4", fps=1.0, **options).read_bytes())
    check_colors(pictures[1], page_pixel())
    check_equal(*pictures)
    assert [film.count(b"\xff\xd8\xff") for film in films] == [3, 3]
    for frames in zip(*(film.split(b"\xff\xd8\xff")[1:] for film in films), strict=True):
        check_equal(*(image.open(io.BytesIO(b"\xff\xd8\xff" + frame)) for frame in frames))


def test_root_node_of_a_gltf_file_has_the_reference_point_of_a_far_scene(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    vertices = []
    for shift in SHIFTS:
        scene = trimesh.load(write_glb(scene_at(shift), tmp_path / "scene.glb"))
        meshes = [mesh for mesh in scene.dump() if isinstance(mesh, trimesh.Trimesh)]
        x, y, z = shift
        vertices.append(np.concatenate([mesh.vertices for mesh in meshes]) - [x, z, -y])
    np.testing.assert_allclose(*vertices, atol=1e-6)
    assert len(vertices[0]) > 50


def test_poses_in_a_gltf_file_are_computed_in_double_precision(tmp_path):
    robot, q = robot_at(MAP)
    content = write_glb(robot_document(robot, q[:1]), tmp_path / "scene.glb").read_bytes()
    nodes = json.loads(content[20 : 20 + int.from_bytes(content[12:16], "little")])["nodes"]
    poses = {}

    def add_poses(k, parent):
        X = np.eye(4)
        X[:3, 3], (x, y, z, w) = nodes[k].get("translation", np.zeros(3)), nodes[k].get("rotation", (0, 0, 0, 1))
        X[:3, :3] = Rotation.from_quaternion(w, x, y, z).rows()
        poses[nodes[k]["name"]] = parent @ X
        for child in nodes[k].get("children", ()):
            add_poses(child, parent @ X)

    up = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    add_poses(0, up)  # glTF's y axis points up
    for name in ("base", "upper_rod", "lower_rod"):
        np.testing.assert_allclose(poses[name], robot.pose(q[0, 0], name), atol=2e-9)


def test_matplotlib_figures_of_far_scenes_look_as_at_the_origin():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pictures = []
    for shift in SHIFTS:
        robot, q = robot_at(shift)
        axes = robot.plot(q[0, 0], frames="lower_rod", scene=lw.Scene().with_sphere("ball", 0.1, shift + POINT))
        axes.set(xticks=[], yticks=[], zticks=[])
        axes.figure.canvas.draw()
        pictures.append(np.array(axes.figure.canvas.buffer_rgba()))
        pyplot.close(axes.figure)
    check_equal(*pictures)
    assert np.ptp(pictures[0]) > 100


def test_live_page_of_a_far_scene_uses_world_coordinates_in_programs_and_handles():
    pytest.importorskip("viser", reason='live pages need viser: pip install "linkwork[viewer]"')
    from linkwork.viewer.live import open_view

    arm = lw.load("arm7")
    offset = np.eye(4)[None].copy()
    offset[0, :3, 3] = MAP
    q = np.array([0.2, 0.4, 0.1, -1.4, 0.1, 1.5, 0.2])
    with open_view(robot_document(arm, q[None, None], offsets=offset), open_browser=False) as view:
        page, client = view._page, PageClient(view)
        view.start_recording()
        view.show_forces([MAP + np.array([0.1, 0.2, 0.3])], [[10.0, 0.0, 0.0]], scale=0.01)
        view.update(q + 0.1, time=0.0)
        client.settle()
        np.testing.assert_allclose(page.arrows["forces"].segments, [[[0.1, 0.2, 0.3], [0.2, 0.2, 0.3]]], atol=1e-7)
        drawn = [pose_of(body.wxyz, body.position) for body in page.drawings[0].bodies]
        np.testing.assert_allclose(drawn, arm.forward_kinematics(q + 0.1), atol=1e-9)
        recorded = view.stop_recording()
        np.testing.assert_allclose(recorded.arrows[0].starts[0], [MAP + np.array([0.1, 0.2, 0.3])], atol=1e-9)
        np.testing.assert_allclose(recorded.actors[0].poses[0, 0], offset @ arm.forward_kinematics(q + 0.1), atol=2e-9)
        handle = page.handles["arm7"]
        client.change(handle.frame, "hand")
        goal = arm.pose(q + 0.2, "hand")
        client.drag(handle.control, goal)  # in the scene of the browser, which is near its origin
        np.testing.assert_allclose(arm.pose(view.q, "hand"), goal, atol=1e-6)
        client.close()


@pytest.mark.slow(every=9)
def test_live_pages_of_far_scenes_look_as_at_the_origin(browser):
    pytest.importorskip("viser", reason='live pages need viser: pip install "linkwork[viewer]"')
    from linkwork.viewer.live import open_view

    pictures = []
    for shift in SHIFTS:
        with open_view(scene_at(shift), open_browser=False) as view:
            tab = browser.open(view.url, size=(1400, 500))
            tab.wait_until("() => document.querySelector('canvas') !== null")
            picture, before = tab.screenshot(), None
            while len(colored(picture, ORANGE)) < 100 or not np.array_equal(picture, before):
                tab.page.wait_for_timeout(500)
                picture, before = tab.screenshot(), picture
            pictures.append(picture[:, 330:950])  # between a message and the panel
            [client] = view._page.server.get_clients().values()
            camera = pose_of(client.camera.wxyz, client.camera.position), 0.5 * client.camera.fov, (1400, 500)
            tab.check()
            tab.page.close()
    check_colors(pictures[1], lambda point: pixel_of(*camera)(point) - [330, 0])
    check_equal(*pictures)
