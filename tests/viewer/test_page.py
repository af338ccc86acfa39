"""The self-contained page in a browser: poses equal NumPy's, sliders, time, pictures, and hostile names."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.browser import color_fraction, is_blank
from helpers.documents import everything, robot_document, wave
from linkwork._util.messages import escaped
from linkwork.joints import ALL, Floating
from linkwork.model.random_tree import random_tree
from linkwork.viewer.document import Prop, SceneDocument, Surface
from linkwork.viewer.html.page import write_page
from linkwork.viewer.live.live_robot import joint_coordinates, slid


def opened(browser, document, path, **options):
    tab = browser.open(write_page(document, path / "page.html"), **options)
    assert tab.evaluate("window.linkwork.ready") is True
    return tab


SET_NUMBER = """([k, value]) => {
    const input = document.querySelectorAll(".joint input[type=number]")[k];
    input.value = value;
    input.dispatchEvent(new Event("change"));
}"""


def link_poses(tab, robot, instance=0):
    names = [frame.name for frame in robot.tree.frames]
    return np.array(tab.evaluate("([n, k]) => n.map((name) => window.linkwork.pose(name, 0, k))", [names, instance]))


def expected_poses(robot, q, offset=None):
    bodies = [*robot.forward_kinematics(q), np.eye(4)]  # the world has index -1
    frames = robot.tree.frames
    poses = np.array([bodies[frame.body] @ np.reshape(frame.placement.elements(), (4, 4)) for frame in frames])
    return poses if offset is None else offset @ poses


@pytest.mark.slow(every=5)
def test_poses_computed_by_the_html_page_for_every_joint_type_equal_numpys(browser, tmp_path):
    robot = lw.Robot(random_tree(np.random.default_rng(5), 2 * len(ALL)))
    q = wave(robot, 3, 2)
    offsets = np.tile(np.eye(4), (2, 1, 1))
    offsets[1, :3, 3] = 1.0, -2.0, 0.5
    tab = opened(browser, robot_document(robot, q, offsets=offsets), tmp_path)
    for frame, instance in ((0, 0), (2, 1)):
        tab.evaluate("(k) => window.linkwork.showFrame(k)", frame)
        expected = expected_poses(robot, q[frame, instance], offsets[instance])
        np.testing.assert_allclose(link_poses(tab, robot, instance), expected, atol=1e-9)


@pytest.mark.slow(every=3)
def test_slider_of_the_html_page_moves_its_links(browser, tmp_path):
    robot = lw.load("arm7_gripper")
    q = np.asarray(robot.random_configuration(np.random.default_rng(1)))
    tab = opened(browser, robot_document(robot, q[None, None]), tmp_path)
    before = link_poses(tab, robot)
    np.testing.assert_allclose(before, expected_poses(robot, q), atol=1e-9)
    for joint in robot.joints:
        slider = tab.page.get_by_role("slider", name=joint.name, exact=True)
        if joint.coupling is not None:
            assert slider.count() == 0
            continue
        lower, upper = float(slider.get_attribute("min")), float(slider.get_attribute("max"))
        np.testing.assert_allclose((lower, upper), (joint.lower[0], joint.upper[0]))
        value = 0.7 * lower + 0.3 * upper
        slider.fill(str(value))
        q[joint.q_slice] = float(slider.input_value())
        assert abs(q[joint.q_slice][0] - value) < 1e-9
        np.testing.assert_allclose(link_poses(tab, robot), expected_poses(robot, q), atol=1e-9)


@pytest.mark.slow(every=5)
def test_sliders_of_the_html_page_for_quaternions_move_along_a_velocity(browser, tmp_path):
    robot = lw.Robot(random_tree(np.random.default_rng(2), 1, types=[Floating]))
    q = wave(robot, 1)
    tab = opened(browser, robot_document(robot, q), tmp_path)
    phi = np.array([0.3, -0.2, 0.4, 0.1, 0.0, -0.5])
    for name, value in zip(("rotation x", "rotation y", "rotation z", "x", "y", "z"), phi, strict=True):
        tab.page.get_by_role("slider", name=f"joint0 {name}", exact=True).fill(str(value))
    origin = robot.neutral()
    origin[4:] = q[0, 0, 4:]
    expected = robot.integrate(origin, phi)
    np.testing.assert_allclose(tab.evaluate("window.linkwork.q()"), expected, atol=1e-12)
    np.testing.assert_allclose(link_poses(tab, robot), expected_poses(robot, expected), atol=1e-9)
    tab.page.get_by_role("button", name="Reset joints").click()
    np.testing.assert_allclose(tab.evaluate("window.linkwork.q()"), q[0, 0])


@pytest.mark.slow(every=5)
def test_sliders_of_html_page_and_live_page_are_equal(browser, tmp_path):
    robot = lw.Robot(random_tree(np.random.default_rng(7), 2 * len(ALL)))
    q = wave(robot, 1)
    for joint in robot.joints:
        if joint.coupling is None:  # lengths far from zero are in the ranges of their sliders
            q[0, 0, joint.q_slice] += np.where(np.array(joint.type.q_units) == "m", 50.0, 0.0)
    tab = opened(browser, robot_document(robot, q), tmp_path)
    q = q[0, 0]
    coordinates = joint_coordinates(robot, q)
    rows = tab.page.locator(".joint")
    assert rows.locator("label").all_text_contents() == [coordinate.name for coordinate in coordinates]
    shown = tab.evaluate(
        "() => [...document.querySelectorAll('.joint input[type=number]')].map((x) => Number(x.value))"
    )
    expected = [coordinate.value(q) for coordinate in coordinates]
    assert all(coordinate.lower <= x <= coordinate.upper for x, coordinate in zip(expected, coordinates, strict=True))
    ranges = tab.evaluate("() => [...document.querySelectorAll('.joint input[type=range]')].map((x) => [x.min, x.max])")
    np.testing.assert_allclose(np.array(ranges, float), [[x.lower, x.upper] for x in coordinates])
    np.testing.assert_allclose(shown, expected, atol=1e-4)
    for k, coordinate in enumerate(coordinates):
        value = expected[k] + 0.1 if expected[k] < 0.5 * (coordinate.lower + coordinate.upper) else expected[k] - 0.1
        tab.evaluate(SET_NUMBER, [k, value])
        q = coordinate.changed(q, value)
    np.testing.assert_allclose(tab.evaluate("window.linkwork.q()"), q, atol=1e-9)


@pytest.mark.slow
def test_sliders_of_the_html_page_move_all_links_of_a_closed_mechanism(browser, tmp_path, drawn):
    for name, joint in drawn(
        [("fourbar", "crank_hinge"), ("stewart", "leg_2"), ("delta", "shoulder_1"), ("leg", "knee")]
    ):
        robot = lw.load(name)
        start = np.asarray(robot.neutral())
        tab = opened(browser, robot_document(robot, start[None, None]), tmp_path)
        slider = tab.page.get_by_role("slider", name=joint, exact=True)
        value = start[robot.joint(joint).q_slice][0] + 0.06
        slider.fill(str(value))
        q = np.array(tab.evaluate("window.linkwork.q()"))
        assert q[robot.joint(joint).q_slice][0] == pytest.approx(value, abs=1e-9), name
        assert np.abs(robot.constraint_error(q)).max() < 1e-7, name
        assert np.abs(robot.difference(start, q)).max() < 1.5, name
        np.testing.assert_allclose(link_poses(tab, robot), expected_poses(robot, q), atol=1e-9)
        tab.page.close()


@pytest.mark.slow(every=3)
def test_motors_move_less_than_other_joints_when_the_html_page_closes_loops(browser, tmp_path):
    legs = [f"leg_{k}" for k in range(1, 7)]
    robot = lw.load("stewart").with_actuators(*[lw.Actuator.motor(leg, leg) for leg in legs])
    start = np.asarray(robot.neutral())
    tab = opened(browser, robot_document(robot, start[None, None]), tmp_path)
    slider = next(x for x in joint_coordinates(robot, start) if x.name == "leg_2")
    value = slider.value(start) + 0.06
    tab.page.get_by_role("slider", name="leg_2", exact=True).fill(str(value))
    for q in (tab.evaluate("window.linkwork.q()"), slid(robot, start, slider, value)):
        moved = np.abs(robot.difference(start, q))
        passive = moved[[robot.joint(leg).v_slice.start for leg in legs if leg != "leg_2"]]
        assert passive.max() < 0.005 < 0.01 < moved.max()
        assert np.abs(robot.constraint_error(q)).max() < 1e-7


@pytest.mark.slow(every=3)
def test_html_page_offers_named_configurations(browser, tmp_path):
    robot = lw.load("double_pendulum").with_named_configuration("<b>up</b>", [3.0, 0.25])
    tab = opened(browser, robot_document(robot, np.zeros((1, 1, 2))), tmp_path)
    tab.page.get_by_role("combobox", name="Named configuration").select_option("<b>up</b>")
    assert tab.evaluate("window.linkwork.q()") == [3.0, 0.25]
    tab.page.get_by_role("spinbutton", name=f"{robot.joints[1].name} value").fill("-0.5")
    tab.page.keyboard.press("Enter")
    assert tab.evaluate("window.linkwork.q()") == [3.0, -0.5]


@pytest.mark.slow(every=3)
def test_html_page_draws_textures_upright(browser, tmp_path):
    image = pytest.importorskip("PIL.Image")
    colors = np.array([[[255, 0, 0], [0, 160, 0]], [[0, 0, 255], [250, 250, 0]]], dtype="u1")
    stream = io.BytesIO()
    image.fromarray(np.kron(colors, np.ones((32, 32, 1), "u1"))).save(stream, "PNG")
    corners = np.array([[0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1]], dtype="f4")  # seen from the front, along -x
    uv = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype="f4")
    quad = Surface(corners, np.array([[0, 1, 2], [0, 2, 3]], dtype="u4"), uv=uv, texture=stream.getvalue())
    prop = Prop("picture", 0, np.eye(4), (1.0, 1.0, 1.0, 1.0))
    tab = opened(browser, SceneDocument("texture", np.zeros(1), (quad,), props=(prop,)), tmp_path, size=(400, 400))
    tab.evaluate("() => { linkwork.bare('light'); linkwork.look('Front'); linkwork.draw(); }")
    picture = tab.screenshot("#view").astype(int)
    quarters = [picture[y, x] for y in (120, 280) for x in (120, 280)]
    dominant = [[channel > 0.6 * color.max() for channel in color] for color in quarters]
    assert dominant == [[True, False, False], [False, True, False], [False, False, True], [True, True, False]]


@pytest.mark.slow(every=5)
def test_slider_of_the_html_page_stops_where_the_loop_cannot_close(browser, tmp_path):
    robot = lw.load("fourbar")
    start = np.asarray(robot.neutral())
    tab = opened(browser, robot_document(robot, start[None, None]), tmp_path)
    tab.page.get_by_role("slider", name="rocker_hinge", exact=True).fill("3.0")
    q = np.array(tab.evaluate("window.linkwork.q()"))
    assert np.abs(robot.constraint_error(q)).max() < 1e-7
    assert float(tab.page.get_by_role("slider", name="rocker_hinge", exact=True).input_value()) == pytest.approx(q[2])
    assert start[2] < q[2] < 2.9


@pytest.mark.slow
def test_html_pages_of_bundled_robots_are_drawn(browser, tmp_path, drawn):
    for name in drawn(lw.robots.names()):
        robot = lw.load(name)
        q = wave(robot, 2)
        tab = opened(browser, robot_document(robot, q), tmp_path, size=(700, 500))
        np.testing.assert_allclose(link_poses(tab, robot), expected_poses(robot, q[0, 0]), atol=1e-9)
        picture = tab.screenshot("#view")
        blue = (picture[..., 2].astype(int) - picture[..., 0]) > 60
        rows, columns = np.nonzero(blue)
        assert 0.002 < blue.mean() < 0.6, name
        middle = np.array([rows.min() + rows.max(), columns.min() + columns.max()]) / 2.0
        assert (np.abs(middle / picture.shape[:2] - 0.5) < 0.25).all(), name
        tab.page.close()


@pytest.mark.slow(every=3)
def test_time_bar_of_the_html_page_plays_and_pauses(browser, tmp_path):
    robot = lw.load("double_pendulum")
    q = wave(robot, 21)
    tab = opened(browser, robot_document(robot, q), tmp_path)
    page, state = tab.page, lambda: tab.evaluate("[window.linkwork.frame, window.linkwork.time]")
    time = page.get_by_role("slider", name="Time")
    time.fill("1.05")
    assert state() == [10, pytest.approx(1.05)]
    np.testing.assert_array_equal(tab.evaluate("window.linkwork.q()"), q[10, 0])
    page.get_by_role("button", name="Step forward").click()
    assert state() == [11, pytest.approx(1.1)]
    page.get_by_role("button", name="Step back").click()
    assert state()[0] == 10
    joint = robot.joints[0].name
    page.get_by_role("slider", name=joint, exact=True).fill("0.25")
    assert tab.evaluate("window.linkwork.q()")[0] == 0.25
    page.locator("#view").focus()
    page.keyboard.press(".")
    np.testing.assert_array_equal(tab.evaluate("window.linkwork.q()"), q[11, 0])
    page.get_by_role("combobox", name="Speed").select_option("4×")
    page.get_by_role("button", name="Loop").click()
    page.locator("#view").focus()
    page.keyboard.press(" ")
    tab.evaluate("""() => new Promise((done) => {
        const look = () => (window.linkwork.playing ? requestAnimationFrame(look) : done());
        look();
    })""")
    assert state() == [20, pytest.approx(2.0)]
    page.get_by_role("button", name="Loop").click()
    page.get_by_role("button", name="Play").click()
    assert tab.evaluate("window.linkwork.playing")
    page.get_by_role("button", name="Pause").click()
    assert not tab.evaluate("window.linkwork.playing")


@pytest.mark.slow(every=5)
def test_step_buttons_of_the_html_page_pass_frames_of_equal_times(browser, tmp_path):
    robot = lw.load("double_pendulum")
    document = replace(robot_document(robot, wave(robot, 4)), times=np.array([0.0, 1.0, 1.0, 2.0]))
    tab = opened(browser, document, tmp_path)
    tab.evaluate("linkwork.showFrame(3)")
    frames = []
    for button in ["Step back"] * 4 + ["Step forward"] * 4:
        tab.page.get_by_role("button", name=button).click()
        frames.append(tab.evaluate("linkwork.frame"))
    assert frames == [2, 1, 0, 0, 1, 2, 3, 3]


@pytest.mark.slow(every=9)
def test_html_page_shows_layers_labels_plots_and_notes(browser, tmp_path):
    document = everything(lw.load("arm6"))
    tab = opened(browser, document, tmp_path, size=(1100, 800))
    page = tab.page
    crate = (243, 188, 190)  # red, half transparent, before the background

    def share(color):
        picture = tab.screenshot("#view").astype(int)
        return float((np.abs(picture - color).max(axis=-1) < 25).mean())

    before = share(crate)
    assert before > 0.005 and not is_blank(tab.screenshot("#view"))
    layers = {"visual", "obstacle", "lines", "roadmap", "points", "forces", "labels"}
    assert all(page.get_by_role("checkbox", name=name, exact=True).is_checked() for name in layers)
    page.get_by_role("checkbox", name="obstacle", exact=True).uncheck()
    assert share(crate) < 0.1 * before
    tab.settle()
    assert page.locator("#labels span:visible").all_text_contents() == ["start", "target"]
    page.get_by_role("checkbox", name="labels", exact=True).uncheck()
    tab.settle()
    assert page.locator("#labels span:visible").count() == 0
    assert page.get_by_text("mesh 'arm.stl' is missing").is_visible()
    assert page.get_by_text("contact (1 m is 10 N)").is_visible()
    plot = page.get_by_role("img", name="Plot of position")
    assert not is_blank(tab.screenshot(".plot canvas"))
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] - 3, "y": box["height"] / 2})
    assert tab.evaluate("window.linkwork.frame") == len(document.times) - 1
    picture = tab.screenshot(".plot canvas")
    page.get_by_role("button", name="b", exact=True).click()
    assert color_fraction(tab.screenshot(".plot canvas"), (213, 94, 0)) < color_fraction(picture, (213, 94, 0))
    page.get_by_role("slider", name="elbow", exact=True).fill("0.1")
    page.get_by_text("Distances and forces are hidden").wait_for()
    page.get_by_role("button", name="Angles in degrees").click()
    assert page.locator(".joint .unit").first.text_content() == "°"


@pytest.mark.slow(every=5)
def test_camera_of_the_html_page_rotates_and_clicks_select_links(browser, tmp_path):
    robot = lw.load("arm7")
    tab = opened(browser, robot_document(robot, np.zeros((1, 1, robot.nq))), tmp_path)
    page, camera = tab.page, lambda: np.array(list(tab.evaluate("window.linkwork.camera").values()))
    start = camera()
    page.get_by_role("combobox", name="View").select_option("Top")
    position, target = camera()
    assert np.abs((position - target)[:2]).max() < 1e-9 < position[2] - target[2]
    page.get_by_role("button", name="Reset view").click()
    np.testing.assert_allclose(camera(), start, atol=1e-6)
    area = page.locator("#view").bounding_box()
    middle = area["x"] + area["width"] / 2, area["y"] + area["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 60, middle[1] + 30)
    page.mouse.up()
    assert np.abs(camera()[0] - start[0]).max() > 0.05 and np.abs(camera()[1] - start[1]).max() < 1e-9
    page.mouse.wheel(0, 300)
    tab.evaluate("() => new Promise(requestAnimationFrame)")
    distance = np.linalg.norm(np.diff(camera(), axis=0))
    assert distance > 1.1 * np.linalg.norm(np.diff(start, axis=0))
    tab.evaluate("window.linkwork.look({position: [3, 0, 0.05], target: [0, 0, 0.05]})")
    assert tab.evaluate("window.linkwork.pick(0, 0)").startswith(robot.links[0].name)
    assert tab.evaluate("window.linkwork.pick(0.95, -0.95)") is None


HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script><!-- \u2028 ☃ {0} \ud800"


def test_html_page_shows_names_with_markup_as_text(browser, tmp_path):
    document = everything(lw.load("double_pendulum"))
    renamed = {
        field: tuple(replace(entry, name=HOSTILE) for entry in getattr(document, field))
        for field in ("actors", "props", "lines", "points", "arrows", "frames")
    }
    hostile = replace(
        document,
        title=HOSTILE,
        texts=tuple(replace(text, text=HOSTILE, layer=HOSTILE) for text in document.texts),
        plots=tuple(replace(plot, title=HOSTILE, names=(HOSTILE, HOSTILE)) for plot in document.plots),
        notes=(HOSTILE,),
        **renamed,
    )
    tab = opened(browser, hostile, tmp_path)
    shown = escaped(HOSTILE)
    assert tab.page.title() == shown
    assert tab.page.locator("h1").text_content() == shown
    assert tab.page.locator("img").count() == 0 and tab.page.locator("script").count() == 3
    tab.evaluate("""() => { const s = document.createElement("script"); s.textContent = "window.intruder = 1";
        window.refused = 0; document.addEventListener("securitypolicyviolation", () => { window.refused += 1; });
        document.body.append(s); }""")
    tab.evaluate("() => new Promise((done) => setTimeout(done, 50))")
    assert tab.evaluate("window.intruder") is None
    assert tab.console_errors and all("Content Security Policy" in text for text in tab.console_errors)
    tab.console_errors.clear()


@pytest.mark.slow(every=3)
def test_html_page_draws_empty_scenes_in_narrow_windows(browser, tmp_path):
    empty = SceneDocument("nothing", np.zeros(1))
    tab = opened(browser, empty, tmp_path, size=(360, 400), color_scheme="dark")
    assert not is_blank(tab.screenshot())
    assert color_fraction(tab.screenshot("#view"), (22, 25, 30), 16) > 0.3
    tab.page.get_by_role("button", name="Panel").click()
    assert tab.page.get_by_role("checkbox", name="grid").is_visible()


@pytest.mark.slow(every=5)
def test_html_page_restores_surfaces_from_their_compressed_form(browser, tmp_path):
    x, y = np.meshgrid(np.linspace(0.0, 1.0, 30), np.linspace(-2.0, 1.0, 30))
    points = np.stack([x, y, np.sin(3.0 * x) + np.abs(y)], axis=-1).reshape(-1, 3).astype("f4")
    i = (np.arange(29)[:, None] * 30 + np.arange(29)).ravel()
    triangles = np.concatenate([np.stack([i, i + 1, i + 31], 1), np.stack([i, i + 31, i + 30], 1)]).astype("u4")
    corners = points[triangles].reshape(-1, 3)
    flat = np.repeat(np.cross(corners[1::3] - corners[::3], corners[2::3] - corners[::3]), 3, axis=0)
    normals = (flat / np.linalg.norm(flat, axis=1, keepdims=True)).astype("f4")
    colors = np.random.default_rng(0).integers(0, 256, (len(corners), 4)).astype("u1")
    surfaces = (
        Surface(points, triangles),
        Surface(corners, np.arange(len(corners), dtype="u4").reshape(-1, 3), normals, colors),
        Surface(points * 1000.0, triangles),
    )
    props = tuple(Prop(str(k), k, np.eye(4), (1.0, 1.0, 1.0, 1.0)) for k in range(3))
    tab = opened(browser, SceneDocument("surfaces", np.zeros(1), surfaces, props=props), tmp_path)
    for k, surface in enumerate(surfaces):
        result = tab.evaluate("(k) => window.linkwork.surface(k)", k)
        vertices, indices = np.reshape(result["vertices"], (-1, 3)), np.reshape(result["triangles"], (-1, 3))
        extent = np.ptp(surface.vertices, axis=0)
        error = vertices[indices] - surface.vertices[surface.triangles]
        assert (np.abs(error) <= (extent / 65535.0 if k < 2 else 0.0) + 1e-7).all()
        if surface.normals is not None:
            assert result["colors"] == surface.colors[surface.triangles].ravel().tolist()
            near = (np.reshape(result["normals"], (-1, 3)) * normals).sum(axis=1)
            assert near.min() > np.cos(np.radians(36.0))


@pytest.mark.slow(every=3)
def test_html_page_draws_again_after_the_browser_lost_the_graphics_context(browser, tmp_path):
    tab = opened(browser, everything(lw.load("arm6")), tmp_path)
    tab.evaluate(
        "document.getElementById('view').getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()"
    )
    again = tab.page.get_by_role("button", name="Draw the picture again")
    again.wait_for()
    tab.page.get_by_role("slider", name="elbow", exact=True).fill("0.5")
    again.click()
    assert tab.evaluate("window.linkwork.ready") is True
    assert again.count() == 0 and not is_blank(tab.screenshot("#view"))


@pytest.mark.slow
def test_html_page_draws_a_hundred_robots_with_many_triangles(browser, tmp_path):
    robot = lw.load("quadruped")
    offsets = np.tile(np.eye(4), (100, 1, 1))
    offsets[:, 0, 3], offsets[:, 1, 3] = np.arange(100) % 10, np.arange(100) // 10
    steps = np.linspace(0.0, 1.0, 225)
    x, y = np.meshgrid(steps, steps)
    ground = np.stack([10 * x, 10 * y, 0.1 * np.sin(9 * x) - 1.0], axis=-1).reshape(-1, 3)
    i = (np.arange(224)[:, None] * 225 + np.arange(224)).ravel()
    triangles = np.concatenate([np.stack([i, i + 1, i + 225], 1), np.stack([i + 1, i + 226, i + 225], 1)])
    hills = Surface(ground.astype("f4"), triangles.astype("u4"))
    document = robot_document(
        robot, wave(robot, 2, 100), offsets=offsets, surfaces=(hills,), props=(Prop("hills", 1, np.eye(4), (0.5,) * 4),)
    )
    tab = opened(browser, document, tmp_path)
    np.testing.assert_allclose(
        link_poses(tab, robot, 99), expected_poses(robot, document.actors[0].q[0, 99], offsets[99]), atol=1e-9
    )
    assert not is_blank(tab.screenshot("#view"))
