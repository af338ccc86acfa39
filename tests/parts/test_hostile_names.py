"""Names with markup, mathematics, Unicode and leading underscores: shown literally in plots, tables and pages."""

from __future__ import annotations

import pytest

import linkwork as lw

mpl = pytest.importorskip("matplotlib")
mpl.use("agg")

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
)


@pytest.fixture(autouse=True)
def closed():
    yield
    mpl.pyplot.close("all")


@pytest.fixture(scope="module")
def robot():
    links = [lw.Link("base"), *(lw.Link(f"{name}.link", mass=1.0) for name in NAMES)]
    joints = [
        lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name=name, parent=before.name, child=link.name)
        for name, before, link in zip(NAMES, links, links[1:], strict=False)
    ]
    return lw.Robot.build("<b>$robot$</b>", *links, *joints)


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
    assert set(NAMES) <= _drawn(trajectory.plot(num_samples=5)[0])
    assert set(NAMES) <= _drawn(robot.plot_tree())
    frames = [f"{name}.link" for name in NAMES]
    assert set(frames) <= _drawn(robot.plot(frames=frames))


def test_tables_escape_names(robot):
    html = robot._repr_html_()
    assert "<script>alert" not in html and "<img" not in html and "<b>$robot$</b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html and "a&amp;amp;b" in html
