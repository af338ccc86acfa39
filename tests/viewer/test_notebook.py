"""Pictures in notebooks: an iframe with the page of a robot, notes instead of it, and names with markup."""

from __future__ import annotations

import re
from html import escape
from importlib import import_module

import numpy as np
import pytest

import linkwork as lw
from helpers.browser import color_fraction, is_blank
from linkwork.viewer.notebook import inline_picture
from linkwork.viewer.scenes.document_of import _MODULES
from linkwork.viewer.scenes.robot_scenes import robot_document

NOTEBOOK = '<!doctype html><meta charset="utf-8"><title>notebook</title><body style="background:#fff">{}</body>'


def _frame(tab):
    """Return the frame of a page's only iframe when its picture is ready."""
    frame = tab.page.locator("iframe").element_handle().content_frame()
    frame.wait_for_function("window.linkwork && window.linkwork.ready")
    assert frame.evaluate("window.linkwork.ready") is True
    return frame


@pytest.mark.slow(every=9)
def test_notebook_shows_a_robot_as_a_picture(browser):
    robot = lw.load("arm7")
    tab = browser.open(NOTEBOOK.format(robot._repr_html_()))
    frame = _frame(tab)
    frame.get_by_role("slider", name="elbow", exact=True).fill("-1.5")
    q = np.zeros(7)
    q[robot.q_index(["elbow"])] = -1.5
    np.testing.assert_allclose(frame.evaluate("window.linkwork.pose('hand')"), robot.pose(q, "hand"), atol=1e-9)
    picture = tab.screenshot("iframe")
    assert not is_blank(picture) and color_fraction(picture, (44, 97, 168), 40) > 0.005  # blue links
    assert tab.page.get_by_text("7 moving joints").is_visible()
    table = tab.page.locator("table")
    assert not table.is_visible()  # until the list is opened
    tab.page.get_by_text("links and joints").click()
    assert table.is_visible() and table.locator("tr").count() == 8
    # the page has an origin of its own, and reaches nothing of the notebook
    assert frame.evaluate("(() => { try { return Boolean(parent.document); } catch { return false; } })()") is False


@pytest.mark.slow(every=3)
def test_notebook_shows_the_html_page_of_a_robot_in_an_iframe(browser):
    html = lw.load("double_pendulum")._repr_html_()
    tab = browser.open(NOTEBOOK.format(f"<section hidden>{html.replace('lazy', 'eager')}</section>"))
    frame = _frame(tab)
    assert frame.evaluate("innerWidth") == 0
    slider = frame.get_by_role("slider", name="elbow", exact=True)
    assert slider.count() == 0
    tab.evaluate("document.querySelector('section').hidden = false")
    slider.wait_for()
    assert slider.is_visible()


@pytest.mark.slow(every=3)
def test_names_with_markup_run_no_script_in_notebooks(browser):
    names = ("</script><script>window.top.hacked = 1</script>", '"><img src="x" onerror="window.hacked = 1">', "&amp;")
    links = [lw.Link("base"), *(lw.Link(f"{name} link", mass=1.0) for name in names)]
    joints = [
        lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name=name, parent=before.name, child=link.name)
        for name, before, link in zip(names, links, links[1:], strict=False)
    ]
    robot = lw.Robot.build('<b onclick="x">robot</b>', *links, *joints)
    tab = browser.open(NOTEBOOK.format(robot._repr_html_() + robot.links._repr_html_()))
    frame = _frame(tab)
    for name in names:
        assert frame.get_by_role("slider", name=name, exact=True).count() == 1
        assert tab.page.locator("td", has_text=f"{name} link").count() >= 1
    assert tab.page.locator("img, script").count() == 0 and frame.locator("img").count() == 0
    assert tab.evaluate("window.hacked") is None and frame.evaluate("window.hacked") is None


def test_notebook_replaces_slow_or_failing_pictures_by_notes(tmp_path, monkeypatch):
    robot = lw.load("double_pendulum")
    assert inline_picture("x", lambda: robot_document(robot), robot.tree).startswith("<iframe srcdoc=")

    def broken():
        raise ValueError("<no> document")

    for error in (broken, lambda: None):
        note = inline_picture("x", error)
        assert note.startswith("<div><i>no picture: ") and "<no>" not in note
    monkeypatch.setattr("linkwork.viewer.notebook._MAX_PAGE", 1000)
    assert "show(html=...) writes it to a file" in inline_picture("x", lambda: robot_document(robot))
    chain = "".join(
        f'<link name="l{k}"/><joint name="j{k}" type="continuous"><parent link="{f"l{k - 1}" if k else "root"}"/>'
        f'<child link="l{k}"/></joint>'
        for k in range(301)
    )
    long = lw.Robot.from_urdf_string(f'<robot name="long"><link name="root"/>{chain}</robot>')
    assert "no picture: the robot has 301 moving links" in long._repr_html_()
    with open(tmp_path / "large.stl", "wb") as file:
        file.truncate(26_000_000)
    geometry = '<geometry><mesh filename="large.stl"/></geometry>'
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r"><link name="l"><visual>{geometry}</visual></link></robot>', encoding="utf-8")
    assert "no picture: its mesh files have 26 MB" in lw.load(path)._repr_html_()


def test_notebook_shows_missing_meshes_as_placeholders_without_a_warning(tmp_path):
    geometry = '<geometry><mesh filename="missing.stl"/></geometry>'
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r"><link name="l"><visual>{geometry}</visual></link></robot>', encoding="utf-8")
    html = lw.load(path)._repr_html_()
    assert re.search(r"<iframe srcdoc=", html) and "missing.stl" in html


@pytest.mark.slow(every=5)
def test_notebook_shows_results(browser):
    robot = lw.load("double_pendulum")
    motion = robot.spline([0.0, 0.5, 1.0], [[0.0, 0.0], [1.0, -0.5], [0.4, 0.3]])
    tab = browser.open(NOTEBOOK.format(motion._repr_html_()))
    assert tab.page.get_by_text(str(motion)).is_visible()
    frame = _frame(tab)
    frame.evaluate("window.linkwork.seek(0.5)")
    expected = robot.pose(motion(0.5).q, robot.bodies[-1])
    np.testing.assert_allclose(frame.evaluate("(n) => window.linkwork.pose(n)", robot.bodies[-1]), expected, atol=1e-6)
    fourbar = lw.load("fourbar")
    results = (
        lw.Scene().with_sphere("ball<", 0.1, (0.0, 0.0, 1.0)),
        robot.simulate([0.1, 0.2], duration=0.05, dt=0.01),
        fourbar.drive_mechanism({"crank_hinge": np.linspace(0.0, 1.0, 5)}),
    )
    for result in results:
        html = result._repr_html_()
        assert "<iframe srcdoc=" in html and "no picture" not in html
        assert html.startswith(f'<div><pre style="line-height: 1.2">{escape(str(result))}</pre>')
    assert robot_document(robot)._repr_html_().startswith("<iframe srcdoc=")
    assert "iframe" not in lw.motion.spline([0.0, 1.0], [[0.0], [1.0]])._repr_html_()


def test_notebook_shows_every_object_with_a_method_show():
    for name, module in _MODULES.items():
        if name != "VectorEnvironment":  # which needs gymnasium
            kind = vars(import_module(module)).get(name, lw.Robot)
            assert hasattr(kind, "show") and hasattr(kind, "_repr_html_"), name
    assert {"Trajectory", "PlanResult", "Simulation", "Scene"} <= {*_MODULES}


def test_exported_notebooks_show_robots(browser, tmp_path):
    nbformat = pytest.importorskip("nbformat.v4")
    export = pytest.importorskip("nbconvert").HTMLExporter(template_name="basic")
    robot = lw.load("double_pendulum")
    data = {"text/html": robot._repr_html_(), "text/plain": repr(robot)}
    output = nbformat.new_output("execute_result", data=data, execution_count=1)
    notebook = nbformat.new_notebook(cells=[nbformat.new_code_cell("robot", outputs=[output], execution_count=1)])
    html, _ = export.from_notebook_node(notebook)
    frame = _frame(browser.open(NOTEBOOK.format(html)))
    assert frame.get_by_role("slider", name="elbow", exact=True).count() == 1
