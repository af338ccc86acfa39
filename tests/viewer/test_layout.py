"""Documents side by side: positions, one clock, equal names, and wrong arguments."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.viewer import SceneDocument, scene_document, side_by_side
from linkwork.viewer.bounds import document_bounds, extent
from linkwork.viewer.document import Arrows, FrameAxes, Lines, Plot, Points, Text


def test_scene_layout_arranges_robots_in_a_grid():
    robot = lw.load("arm6")
    document = side_by_side([robot, robot, robot], spacing=2.0, columns=2, titles=["a", "b", "c"])
    shifts = np.array([actor.offsets[0, :3, 3] for actor in document.actors])
    assert shifts.tolist() == [[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    poses = robot.forward_kinematics(robot.neutral())
    for actor, shift in zip(document.actors, shifts, strict=True):
        assert actor.poses[0, 0, :, :3, 3] == pytest.approx(poses[:, :3, 3] + shift)
    assert [actor.name for actor in document.actors] == ["arm6", "b: arm6", "c: arm6"]
    assert [text.text for text in document.texts] == ["a", "b", "c"]
    assert document.title == "a, b, c" and repr(document) == "<SceneDocument 'a, b, c': 3 robots, 1 frame>"
    assert len(document.surfaces) == len(scene_document(robot).surfaces), "shared"

    low, high = document_bounds(scene_document(robot))
    apart = side_by_side([robot, robot]).actors
    assert apart[1].offsets[0, 1, 3] - apart[0].offsets[0, 1, 3] > (high - low)[:2].max() > 0.1


def moving(times, x):
    """Return a document whose contents of all kinds are at the positions x (T,) along the x axis."""
    T = len(times)
    points = np.zeros((T, 2, 3))
    points[:, :, 0] = x[:, None]
    poses = np.tile(np.eye(4), (T, 1, 1))
    poses[:, 0, 3] = x
    return SceneDocument(
        "moving",
        times,
        lines=(Lines("l", points, (0, 0, 0, 1)),),
        points=(Points("p", points, np.zeros((1, 4), np.uint8)),),
        arrows=(Arrows("a", points, points, np.ones((T, 2), bool), (0, 0, 0, 1)),),
        frames=(FrameAxes("f", poses),),
        texts=(Text("t", points[:, 0]),),
        plots=(Plot("x", "m", ("x",), x[:, None]),),
    )


def test_scene_documents_side_by_side_share_one_clock():
    first = moving(np.array([0.0, 1.0, 2.0]), np.array([0.0, 10.0, 20.0]))
    second = moving(np.array([0.0, 0.5]), np.array([5.0, 6.0]))
    robot = lw.load("double_pendulum")
    document = side_by_side([first, second, robot], spacing=4.0)
    assert document.times.tolist() == [0.0, 0.5, 1.0, 2.0]
    assert [line.points[:, 0, 0].tolist() for line in document.lines] == [[0, 0, 10, 20], [5, 6, 6, 6]]
    assert [line.points[0, 0, 1] for line in document.lines] == [-4.0, 0.0]
    assert [p.points[:, 0, 0].tolist() for p in document.points] == [[0, 0, 10, 20], [5, 6, 6, 6]]
    assert [a.vectors[:, 0, 0].tolist() for a in document.arrows] == [[0, 0, 10, 20], [5, 6, 6, 6]]
    assert [f.poses[:, 0, 3].tolist() for f in document.frames] == [[0, 0, 10, 20], [5, 6, 6, 6]]
    assert [t.position.tolist()[3][0] for t in document.texts if t.text == "t"] == [20.0, 6.0]
    assert [p.title for p in document.plots] == ["moving: x", "moving: x"]
    (actor,) = document.actors
    assert actor.q.shape[0] == 4 and actor.poses.strides[0] == 0 and actor.offsets[0, 1, 3] == 4.0


def test_wrong_arguments_of_scene_layouts_are_refused():
    robot = lw.load("double_pendulum")
    cases = [
        (lambda: side_by_side(robot), TypeError, "expected a list of objects"),
        (lambda: side_by_side([]), ValueError, "1 to 100 objects"),
        (
            lambda: side_by_side([robot, 3]),
            TypeError,
            r"side_by_side: contents\[1\]: expected an object with a method show",
        ),
        (
            lambda: scene_document(robot, frame="x"),
            TypeError,
            "scene_document: no option 'frame'; did you mean 'frames'",
        ),
        (lambda: scene_document(robot, html="x.html"), TypeError, "html: expected no argument of the output"),
        (lambda: side_by_side([robot], titles=["a", "b"]), ValueError, "expected 1 titles"),
        (lambda: side_by_side([robot], spacing=-1.0), ValueError, "spacing"),
        (lambda: side_by_side([robot], columns=0), ValueError, "columns"),
        (lambda: scene_document(lw.Robot), TypeError, "expected an object with a method show"),
        (lambda: scene_document(scene_document(robot), frames="x"), TypeError, "no options with a document"),
    ]
    for call, error, text in cases:
        with pytest.raises(error, match=text):
            call()


def test_initial_camera_of_a_scene_shows_all_robots():
    """Obstacles count if there is no robot; hidden layers do not count."""
    box = lw.Scene().with_box("table", (1.0, 2.0, 0.5), [3.0, 0.0, 0.0])
    center, radius = extent(scene_document(box))
    assert center == pytest.approx([3.0, 0.0, 0.0]) and radius == pytest.approx(0.5 * np.sqrt(1.0 + 4.0 + 0.25))
    robot = lw.load("arm6")
    alone = extent(scene_document(robot))
    assert extent(scene_document(robot, scene=box))[1] == alone[1]
    low, high = document_bounds(scene_document(robot, scene=box))
    assert high[0] == pytest.approx(3.5) and low[1] == pytest.approx(-1.0)
    ground = lw.Scene().with_half_space("ground")
    assert document_bounds(scene_document(robot, scene=ground))[1] == pytest.approx(
        document_bounds(scene_document(robot))[1]
    )
    assert extent(scene_document(ground))[1] == 1.0, "a half-space has no size"
    line = Lines("l", np.array([[0.0, 0, 0], [0, 0, 4.0]]), (0, 0, 0, 1))
    assert extent(SceneDocument("line", np.zeros(1), lines=(line,)))[1] == pytest.approx(2.0)
    assert extent(SceneDocument("nothing", np.zeros(1))) == (pytest.approx(np.zeros(3)), 1.0)
