"""Sliders, handle, layers, limits and overlays of a live page, moved by the messages that a browser sends."""

import time
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.live_pages import PageClient, small_document
from linkwork.viewer.document import Arrows
from linkwork.viewer.html.page import page_text
from linkwork.viewer.live.live_robot import pose_error
from linkwork.viewer.rotations import pose_of, quaternions

pytest.importorskip("viser", reason='live pages need viser: pip install "linkwork[viewer]"')

from linkwork.viewer.live import open_view
from linkwork.viewer.live.recording import Recorder


@pytest.fixture
def opened():
    """Function that opens a page of a document, with a client; both are closed at the end."""
    open_ones = []

    def open_page(document, **options):
        view = open_view(document, open_browser=False, **options)
        open_ones.append(view)
        client = PageClient(view)
        open_ones.append(client)
        return view, client

    yield open_page
    for open_one in reversed(open_ones):
        open_one.close()


def drawn_poses(view):
    """Poses (nbodies, 4, 4) of the nodes of the bodies."""
    return np.array([pose_of(b.wxyz, b.position) for b in view._page.drawings[0].bodies])


def test_slider_of_the_live_page_moves_its_links(opened):
    robot = lw.load("arm7")
    view, client = opened(small_document(robot))
    sliders = view._page.sliders["arm7"].sliders
    assert [s.label for s in sliders] == [f"{name} [rad]" for name in robot.q_names]
    lower, upper = robot.position_limits
    np.testing.assert_allclose([s.min for s in sliders], lower)
    np.testing.assert_allclose([s.max for s in sliders], upper)
    assert "limits" in sliders[0].hint
    q = robot.neutral()
    for k, value in ((3, -1.25), (0, 0.5)):
        client.change(sliders[k], value)
        q[k] = value
        np.testing.assert_array_equal(view.q, q)
        np.testing.assert_allclose(drawn_poses(view), robot.forward_kinematics(q), atol=1e-12)
    degrees = view._page.sliders["arm7"].degrees
    client.change(degrees, True)
    assert sliders[3].label == "elbow [°]"
    assert sliders[3].value == pytest.approx(np.degrees(-1.25), abs=0.01)
    assert sliders[3].min == pytest.approx(np.degrees(lower[3]))
    client.change(sliders[3], -90.0)
    assert view.q[3] == pytest.approx(-np.pi / 2)


def test_sliders_of_live_pages_for_joints_on_manifolds_move_along_a_velocity(opened):
    types = lw.joints
    axis, direction = (0.36, 0.48, 0.8), (0.6, -0.64, 0.48)
    chain = types.Composite((types.Spherical(), types.Prismatic(direction)))
    parts, parent = [], "world"
    for k, kind in enumerate((types.UnboundedRevolute(axis), chain, types.Floating(), types.Spherical(True))):
        parts.append(lw.Joint.of(kind, name=f"j{k}", parent=parent, child=f"l{k}", placement=(0.1, 0.2, 0.3)))
        parts.append(lw.Link(parent := f"l{k}", mass=1.0))
    robot = lw.Robot.build("joints", *parts)
    view, client = opened(small_document(robot))
    panel = view._page.sliders[robot.name]
    assert len(panel.sliders) == robot.nv
    phi = 0.3 * np.cos(np.arange(robot.nv))
    for slider, value in zip(panel.sliders, phi, strict=True):
        client.change(slider, float(value))
        assert view._page.status.value == ""
    np.testing.assert_allclose(view.q, robot.integrate(robot.neutral(), phi), atol=1e-12)
    np.testing.assert_allclose([slider.value for slider in panel.sliders], phi, atol=1e-4)


def test_loops_stay_closed_while_a_slider_of_the_live_page_moves(opened):
    robot = lw.load("fourbar")
    view, client = opened(small_document(robot, robot.assemble().q))
    sliders = view._page.sliders["fourbar"].sliders
    before = view.q
    client.change(sliders[0], 0.7)
    q = view.q
    assert q[0] == pytest.approx(0.7)
    assert np.abs(q[1:] - before[1:]).min() > 1e-3
    assert np.abs(robot.constraint_error(q)).max() < 1e-9
    np.testing.assert_allclose(drawn_poses(view), robot.forward_kinematics(q), atol=1e-12)
    # The rocker cannot turn fully: it stops at its turning point, with the loop closed.
    client.change(sliders[2], sliders[2].max)
    stopped = view.q
    assert stopped[2] < sliders[2].max - 0.1
    assert np.abs(robot.constraint_error(stopped)).max() < 1e-9
    note = f"rocker_hinge stops at {stopped[2]:.4g} rad: the loops do not close beyond"
    assert view._page.status.value == note
    view.update([0.5, 0.0, 0.0])  # a program may open them
    assert view._page.worker.settle(120.0)
    gap = np.abs(robot.constraint_error([0.5, 0.0, 0.0])).max()
    assert view._page.status.value == f"the loops are open: largest constraint error {gap:.3g} m or rad"


def test_handle_dragged_on_the_live_page_ends_at_its_target(opened):
    robot = lw.load("arm7")
    start = np.array([0.2, 0.4, 0.1, -1.4, 0.1, 1.5, 0.2])
    view, client = opened(small_document(robot, start))
    handle = view._page.handles["arm7"]
    client.change(handle.frame, "hand")
    X = robot.pose(start, "hand")
    assert handle.control.visible
    np.testing.assert_allclose(pose_of(handle.control.wxyz, handle.control.position), X, atol=1e-9)
    goal = robot.pose(start + 0.25, "hand")
    client.drag(handle.control, goal)
    assert np.abs(pose_error(robot.pose(view.q, "hand"), goal)).max() < 1e-6
    np.testing.assert_allclose(drawn_poses(view), robot.forward_kinematics(view.q), atol=1e-12)
    # Out of reach the hand comes as near as the arm is long, and the handle returns to it.
    far = goal.copy()
    far[:3, 3] = 5.0, 0.0, 0.5
    client.change(handle.position_only, True)
    client.drag(handle.control, far)
    reached = robot.pose(view.q, "hand")
    np.testing.assert_allclose(np.array(handle.control.position), reached[:3, 3], atol=1e-9)
    lower, upper = robot.position_limits
    assert ((view.q >= lower) & (view.q <= upper)).all()
    samples = robot.random_configuration(size=2000, seed=1)
    distances = np.linalg.norm(robot.pose(samples, "hand")[:, :3, 3] - far[:3, 3], axis=-1)
    assert np.linalg.norm(reached[:3, 3] - far[:3, 3]) < distances.min()


def test_mechanism_dragged_on_the_live_page_keeps_its_loops_closed(opened):
    robot = lw.load("fourbar")
    start = np.asarray(robot.assemble({"crank_hinge": 0.5}).q)
    view, client = opened(small_document(robot, start))
    handle = view._page.handles["fourbar"]
    frame = robot.bodies[1]  # the origin of the coupler moves
    client.change(handle.frame, frame)
    moved = np.asarray(robot.assemble(start, hold={"crank_hinge": start[0] + 0.3}).q)
    goal = robot.pose(moved, frame)
    client.drag(handle.control, goal)
    assert np.abs(robot.constraint_error(view.q)).max() < 1e-8
    assert np.abs(pose_error(robot.pose(view.q, frame), goal)).max() < 1e-5


def test_live_page_colors_links_at_joint_limits(opened):
    robot = lw.load("arm7")
    view, client = opened(small_document(robot, [0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0]))
    page = view._page
    by_link = {
        part.link: handle
        for part, handle in zip(page.document.actors[0].parts[::2], page.drawings[0].by_layer["visual"], strict=True)
    }
    color = by_link["upper_arm_proximal"].color
    client.change(page.sliders["arm7"].sliders[1], float(robot.upper[1]))
    marked = by_link["upper_arm_proximal"].color
    assert marked != color
    assert by_link["wrist"].color == color
    assert page.status.value == "at limits: shoulder_lift (upper)"
    client.change(page.sliders["arm7"].sliders[1], 0.0)
    assert by_link["upper_arm_proximal"].color == color
    assert page.status.value == ""


def test_buttons_of_the_live_page_select_named_configurations(opened):
    robot = lw.load("arm7").with_named_configuration("ready", {"elbow": -1.5, "wrist_flex": 1.0})
    view, client = opened(small_document(robot, robot.neutral() + 0.01))
    panel = view._page.sliders["arm7"]
    assert panel.preset.options == ("as shown first", "neutral", "middle of the limits", "ready")
    client.change(panel.preset, "ready")
    np.testing.assert_array_equal(view.q, robot.named_configurations["ready"].q)
    client.change(panel.preset, "middle of the limits")
    np.testing.assert_allclose(view.q, 0.5 * (robot.lower + robot.upper))
    client.click(panel.random)
    lower, upper = robot.position_limits
    assert ((view.q >= lower) & (view.q <= upper)).all()
    client.click(panel.apply)
    np.testing.assert_allclose(view.q, 0.5 * (robot.lower + robot.upper))


@pytest.mark.slow(every=3)
def test_layers_and_overlays_of_the_live_page_can_be_switched(opened):
    robot = lw.load("arm7")
    scene = lw.Scene().with_sphere("ball", 0.1, (0.6, 0.0, 0.6))
    view, client = opened(small_document(robot, [0.0, 0.5, 0.0, -1.0, 0.0, 1.0, 0.0], obstacles=scene))
    page = view._page
    assert [*page.layer_boxes] == ["visual", "collision", "nearest pairs", "center of mass"]
    shapes = page.drawings[0].by_layer
    assert all(h.visible for h in shapes["visual"]) and not any(h.visible for h in shapes["collision"])
    client.change(page.layer_boxes["collision"], True)
    client.change(page.layer_boxes["visual"], False)
    assert all(h.visible for h in shapes["collision"]) and not any(h.visible for h in shapes["visual"])
    client.change(page.layer_boxes["nearest pairs"], True)
    client.change(page.layer_boxes["center of mass"], True)
    client.change(page.sliders["arm7"].sliders[3], -1.5)
    pairs, mass = page.overlays["arm7"]
    distances = robot.distances(view.q, scene)
    order = np.argsort(distances.distance)[:6]
    assert pairs.texts == [
        f"{distances.pairs[k][0]} – {distances.pairs[k][1]}: {distances.distance[k]:.4f} m" for k in order
    ]
    np.testing.assert_allclose(mass.position, robot.center_of_mass(view.q), atol=1e-12)
    client.change(page.layer_boxes["nearest pairs"], False)
    assert pairs.texts == []


def test_live_page_shows_robots_side_by_side_with_their_obstacles(opened):
    robot, q = lw.load("arm7"), [0.0, 0.5, 0.0, -1.0, 0.0, 1.0, 0.0]
    scenes = [lw.Scene().with_sphere("ball", 0.1, (0.6, 0.0, height)) for height in (0.6, 0.9)]
    document = lw.viewer.side_by_side([small_document(robot, q, obstacles=scene) for scene in scenes], spacing=3.0)
    view, client = opened(document)
    client.change(view._page.layer_boxes["nearest pairs"], True)
    texts = [pairs.texts for pairs, _ in view._page.overlays.values()]
    for shown, scene in zip(texts, scenes, strict=True):
        distances = robot.distances(q, scene)
        k = next(k for k in np.argsort(distances.distance) if "ball" in distances.pairs[k])
        assert f"{distances.pairs[k][0]} – {distances.pairs[k][1]}: {distances.distance[k]:.4f} m" in shown
    assert texts[0] != texts[1]


@pytest.mark.slow
def test_all_bundled_robots_have_a_live_page(opened, drawn):
    for name in drawn(lw.robots.names()):
        robot = lw.load(name)
        document = lw.viewer.scene_document(robot)
        view, client = opened(document)
        live = view._page.robots[0]
        assert sorted({c.joint for c in live.coordinates}) == sorted(j.name for j in robot.joints if j.coupling is None)
        k = next(k for k, c in enumerate(live.coordinates) if c.unit == "rad" and c.origin is None)
        slider = view._page.sliders[name].sliders[k]
        target = slider.value + 0.05 if slider.value + 0.05 < slider.max else slider.value - 0.05
        client.change(slider, target)
        q = view.q
        assert live.coordinates[k].value(q) == pytest.approx(target, abs=2e-3)
        assert "not" not in view._page.status.value
        if any(constraint.holonomic for constraint in robot.constraints):
            assert np.abs(robot.constraint_error(q)).max() < 1e-8
        np.testing.assert_allclose(drawn_poses(view), robot.forward_kinematics(q), atol=1e-5)  # viser sends no less
        view.close()


def test_live_page_records_two_robots_of_equal_names(opened):
    robot = lw.load("double_pendulum")
    document = small_document(robot)
    view, client = opened(replace(document, actors=document.actors * 2))
    page = view._page
    assert view.robots == ("double_pendulum", "double_pendulum (2)")
    client.click(page.record_button)
    assert page.record_button.label == "Stop" and page.save_button.disabled
    client.change(page.sliders["double_pendulum (2)"].sliders[0], 0.5)
    time.sleep(0.02)  # [s] the next frame of a recording
    client.change(page.sliders["double_pendulum"].sliders[1], -0.25)
    client.click(page.record_button)
    assert page.record_button.label == "Record" and not page.save_button.disabled
    recorded = page._recorded
    assert [actor.q[-1, 0].tolist() for actor in recorded.actors] == [[0.0, -0.25], [0.5, 0.0]]
    assert recorded.actors[0].poses.shape == (len(recorded.times), 1, 2, 4, 4)
    client.click(page.save_button)
    assert client.downloaded() == ("recording.html", page_text(recorded).encode())


def test_recordings_repeat_the_robots_and_arrows_of_a_page_that_do_not_move():
    robot = lw.load("double_pendulum")
    starts, vectors = np.random.default_rng(0).normal(size=(2, 2, 3, 3))  # of two times: a recording has the first one
    load = Arrows("load", starts, vectors, np.array([[True, False, True], [True, True, True]]), (1.0, 0.0, 0.0, 1.0))
    document = small_document(robot, [0.2, -0.3])
    shown = replace(document, actors=document.actors * 2, arrows=(load,))
    recorder, moved = Recorder(0.01), np.array([[[0.1 * k, 0.3]] for k in range(4)])
    for k, q in enumerate(moved):
        recorder.add(5.0 + 0.02 * k, [q], {})
    recorded = recorder.document(shown, [1], {})
    resting, moving = recorded.actors
    (arrows,) = recorded.arrows
    np.testing.assert_allclose(recorded.times, 0.02 * np.arange(4), atol=1e-14)
    np.testing.assert_array_equal(moving.q, moved)
    np.testing.assert_array_equal(resting.q, np.tile(document.actors[0].q, (4, 1, 1)))
    for x, first in ((arrows.starts, starts[0]), (arrows.vectors, vectors[0]), (arrows.visible, load.visible[0])):
        np.testing.assert_array_equal(x, [first] * 4)


def test_rotation_matrices_are_converted_to_quaternions_for_the_live_page():
    rng = np.random.default_rng(0)
    q = rng.normal(size=(500, 4))
    q[:8] = np.concatenate([np.eye(4), -np.eye(4)])  # none, and half a turn about each axis
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    R = np.array([pose_of(quaternion, np.zeros(3))[:3, :3] for quaternion in q])
    np.testing.assert_allclose(np.abs((quaternions(R) * q).sum(axis=1)), 1.0, atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(R), 1.0, atol=1e-14)


def test_errors_of_poses_in_dragging_are_the_rotation_vector_and_the_translation():
    rng = np.random.default_rng(1)
    for angle in (0.0, 1e-10, 0.4, 2.0, 3.1, np.pi):
        axis = np.array([0.36, 0.48, 0.8])
        K = np.cross(np.eye(3), axis)
        turn = np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K
        X = lw.pose(rng.normal(size=3), rpy=rng.normal(size=3))
        goal = X.copy()
        goal[:3, :3], goal[:3, 3] = turn @ X[:3, :3], X[:3, 3] + [0.1, -0.2, 0.3]
        np.testing.assert_allclose(pose_error(X, goal), [*(angle * axis), 0.1, -0.2, 0.3], atol=1e-8)
