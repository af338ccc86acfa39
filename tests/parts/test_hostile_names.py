"""Names with markup, mathematics, Unicode and leading underscores: shown literally in plots, tables and pages."""

from __future__ import annotations

import pytest

import linkwork as lw
from helpers.live_pages import PageClient
from linkwork._util.messages import escaped
from linkwork.viewer.html.page import page_text
from linkwork.viewer.robot_scene import robot_document

mpl = pytest.importorskip("matplotlib")
mpl.use("agg")
pyplot = pytest.importorskip("matplotlib.pyplot")

NAMES = (
    r"$\frac{$",
    "$x$",
    r"a\$b$c",
    "_underscore",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "Gelenk_äöü_Ж_Ω",
    "a&amp;b",
    "{0}%s",
    "\x1b[31mred\nlines",
    "\x9b31m\u202eback\u2028\x00",
    "lone\ud800",
)
SHOWN = tuple(map(escaped, NAMES))


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def robot():
    links = [lw.Link("base"), *(lw.Link(f"{name}.link", mass=1.0) for name in NAMES)]
    joints = [
        lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name=name, parent=before.name, child=link.name)
        for name, before, link in zip(NAMES, links, links[1:], strict=False)
    ]
    robot = lw.Robot.build("<b>$robot$</b>\x1b[2J\n", *links, *joints)
    return robot.with_named_configuration("\x1b[31mhome", [0.1] * robot.nq)


def _drawn(axes):
    """Return the texts of a figure as matplotlib shows them, after it has drawn them."""
    figure = axes.figure
    figure.canvas.draw()
    texts = figure.findobj(mpl.text.Text)
    assert not any(text._preprocess_math(text.get_text())[1] for text in texts)  # none is mathematics
    return {line for text in texts for line in text._preprocess_math(text.get_text())[0].split("\n")}


@pytest.mark.slow(every=3)
def test_plots_show_names_literally(robot):
    q = [[0.1 * k for k in range(robot.nq)], [0.5] * robot.nq]
    trajectory = robot.spline([0.0, 1.0], q)
    assert set(SHOWN) <= _drawn(trajectory.plot(num_samples=5)[0])
    assert set(SHOWN) <= _drawn(robot.plot_tree())
    frames = [f"{name}.link" for name in NAMES]
    assert set(map(escaped, frames)) <= _drawn(robot.plot(frames=frames))


def test_tables_escape_names(robot):
    html = robot._repr_html_()
    assert "<script>alert" not in html and "<img" not in html and "<b>$robot$</b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html and "a&amp;amp;b" in html


def _texts(value):
    """Yield all texts of a message."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for text in _texts([*pair]))
    elif isinstance(value, list | tuple):
        yield from (text for one in value for text in _texts(one))


def test_pages_show_names_literally(robot):
    text = page_text(robot_document(robot, frames=[f"{NAMES[0]}.link"]))
    assert {c for c in text if not c.isprintable()} == {"\n"}
    assert r"<title>&lt;b&gt;$robot$&lt;/b&gt;\x1b[2J\n</title>" in text
    pytest.importorskip("viser")
    with robot.show(open_browser=False) as view:
        client, shown = PageClient(view), set()
        for message in client.messages():
            shown |= {*_texts(message)}
            if "Recording" in shown:  # the last folder
                break
        client.change(view._page.handles[robot.name].frame, SHOWN[-1] + ".link")
        assert view._page.handles[robot.name].control.visible and view._page.status.value == ""
        client.close()
    assert all(text.isprintable() for text in shown)
    assert {f"{name} [rad]" for name in SHOWN} | {escaped("\x1b[31mhome"), escaped(robot.name)} <= shown


def test_texts_have_one_line_for_each_name(robot):
    for text in (str(robot), str(robot.mobility()), str(robot.check_model()), repr(robot.joints[0])):
        assert all(line.isprintable() for line in text.split("\n")), text
    assert str(robot.mobility()).count("\n") == str(lw.load("arm7").mobility()).count("\n")
