"""A live page in Chromium: no error, no request outside, names as text, sliders by keys, the handle by mouse."""

import math

import numpy as np
import pytest

import linkwork as lw
from helpers.live_pages import small_document
from linkwork.viewer.live import page_state
from linkwork.viewer.rotations import pose_of

pytest.importorskip("viser", reason='live pages need viser: pip install "linkwork[viewer]"')

from linkwork.viewer.live import open_view

MARKUP = "<img src=x onerror=alert(1)>"
NAMES = (f"{MARKUP} plain", "a/b **bold** [x](javascript:alert(2))", "肘 Ω̈ 🤖", "tip")


def named_arm():
    """An arm whose joints and links have names with markup, slashes and characters of other scripts."""
    parts, parent = [], "world"
    for k, name in enumerate(NAMES):
        link = f"link {name}"
        axis = (0, 1, 0) if k else (0, 0, 1)
        parts.append(
            lw.Joint.of(
                lw.joints.Revolute(axis), name=name, parent=parent, child=link, placement=(0, 0, 0.3), lower=-2, upper=2
            )
        )
        parts.append(lw.Link(link, mass=1.0))
        parent = link
    return lw.Robot.build(f"arm {MARKUP}", *parts)


@pytest.mark.slow(every=9)
def test_live_page_can_be_operated_in_a_browser(browser, monkeypatch):
    monkeypatch.setattr(page_state, "_GRACE", 0.0)
    robot = named_arm()
    with open_view(small_document(robot, notes=(MARKUP,)), open_browser=False) as view:
        page = view._page
        tab = browser.open(view.url)
        rows = tab.page.get_by_role("slider")
        tab.wait_until("() => document.querySelectorAll('[role=slider]').length >= 4")
        tab.wait_until("() => document.querySelector('canvas') !== null")
        # Names are text: no element of a name is in the page.
        for name in NAMES:
            assert tab.page.get_by_text(f"{name} [rad]", exact=True).count() == 1
        assert tab.evaluate("() => document.querySelectorAll('img[src=x], a[href^=javascript], #root b').length") == 0
        assert tab.page.get_by_text(MARKUP).count() >= 2
        # The slider in the row of a name moves its links.
        q = robot.neutral()
        for k, name in enumerate(NAMES[1:3], start=1):
            label = tab.page.get_by_text(f"{name} [rad]", exact=True)
            thumb = label.locator("xpath=ancestor::*[descendant::*[@role='slider']][1]").get_by_role("slider")
            assert thumb.count() == 1
            assert float(thumb.get_attribute("aria-valuemin")) == -2.0
            thumb.press("End" if k == 1 else "Home")
            q[k] = 2.0 if k == 1 else -2.0
            wait_for(tab, lambda k=k: view.q[k] == q[k])
        assert rows.count() == len(NAMES)
        assert page.worker.settle(120.0)
        np.testing.assert_array_equal(view.q, q)
        drawn = [pose_of(body.wxyz, body.position) for body in page.drawings[0].bodies]
        np.testing.assert_allclose(drawn, robot.forward_kinematics(q), atol=1e-12)
        # The robot is drawn: its blue, and the colour of links at their limits.
        wait_for(tab, lambda: saturated(tab.screenshot()) > 0.002)
        # The handle, dragged back along its red axis, moves the hand there.
        handle = page.handles[robot.name]
        frame = f"link {NAMES[-1]}"
        view.update([-1.9, -0.4, 1.8, 0.2])  # left of the panel
        assert page.worker.settle(120.0)
        tab.page.get_by_label("Handle on frame").first.click()
        tab.page.get_by_role("option", name=frame, exact=True).click()
        wait_for(tab, lambda: handle.control.visible)
        assert page.worker.settle(120.0)
        tab.page.wait_for_timeout(300)
        before = robot.pose(view.q, frame)
        begin, end = (on_screen(page, tab, X) for X in arrow_of(handle.control, axis=0))
        tab.page.mouse.move(*end)
        tab.page.wait_for_timeout(200)
        tab.page.mouse.down()
        for part in np.linspace(0.0, 1.0, 6)[1:]:
            tab.page.mouse.move(*(end - part * 0.6 * (end - begin)))
            tab.page.wait_for_timeout(50)
        tab.page.mouse.up()
        wait_for(tab, lambda: not handle._dragging)
        assert page.worker.settle(120.0)
        after = robot.pose(view.q, frame)
        moved = after[:3, 3] - before[:3, 3]
        assert np.linalg.norm(moved) > 0.005
        assert moved @ -before[:3, 0] > 0.99 * np.linalg.norm(moved)  # against the axis that was dragged
        np.testing.assert_allclose(handle.control.position, after[:3, 3], atol=1e-5)  # viser sends no smaller motion
        tab.check()
        tab.page.close()
        assert view.wait(120.0)


def saturated(image):
    """Share of pixels of a picture that are coloured, not grey, outside of the panel."""
    stage = image[:, :650].astype(int)
    return float((np.ptp(stage, axis=-1) > 60).mean())


def wait_for(tab, condition):
    for _ in range(6000):
        if condition():
            return
        tab.page.wait_for_timeout(20)
    raise AssertionError("the condition did not become true")


def arrow_of(control, axis):
    """Begin and end of an axis of a handle in the world [m]."""
    X = pose_of(control.wxyz, control.position)
    return X[:3, 3], X[:3, 3] + control.scale * X[:3, axis]


def on_screen(page, tab, point):
    """Pixel (2,) of a point in the world, by the camera of the page."""
    (client,) = page.server.get_clients().values()
    camera = client.camera
    X = pose_of(camera.wxyz, camera.position)
    x, y, z = X[:3, :3].T @ (point - X[:3, 3])  # z along the view, y down
    size = tab.page.viewport_size
    height = size["height"]
    factor = 0.5 * height / math.tan(0.5 * camera.fov)
    return np.array([0.5 * size["width"] + factor * x / z, 0.5 * height + factor * y / z])
