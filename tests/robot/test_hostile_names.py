"""Names with markup, mathematics, Unicode and leading underscores: shown literally in plots, tables and pages."""

from __future__ import annotations

import json
import warnings

import pytest

import linkwork as lw
from helpers.live_pages import PageClient
from linkwork._util.messages import escaped
from linkwork.cli.main import main
from linkwork.viewer.html.page import page_text
from linkwork.viewer.scenes.robot_scenes import robot_document

mpl = pytest.importorskip("matplotlib")

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


@pytest.mark.slow(every=5)
def test_plots_show_names_with_markup_and_control_characters_literally(robot):
    q = [[0.1 * k for k in range(robot.nq)], [0.5] * robot.nq]
    trajectory = robot.spline([0.0, 1.0], q)
    assert set(SHOWN) <= _drawn(trajectory.plot(num_samples=5)[0])
    assert set(SHOWN) <= _drawn(robot.plot_tree())
    frames = [f"{name}.link" for name in NAMES]
    assert set(map(escaped, frames)) <= _drawn(robot.plot(frames=frames))


def test_html_tables_escape_names_with_markup(robot):
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
        yield from (text for item in value for text in _texts(item))


def test_html_pages_show_names_with_markup_and_control_characters_literally(robot):
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


def test_printed_text_has_a_single_line_for_each_name_with_line_breaks(robot):
    texts = [str(robot), str(robot.mobility()), str(robot.check_model()), repr(robot.joints[0])]
    texts.append(str(robot.base_parameters()))
    for text in texts:
        assert all(line.isprintable() for line in text.split("\n")), text
    assert str(robot.mobility()).count("\n") == str(lw.load("arm7").mobility()).count("\n")


HOSTILE = "\nlinkwork: error: {}\x1b[2J\u2028\x9b\u202e"  # in the name of a kind of element
KINDS = ("robot", "base", "arm", "hinge", "shape", "mesh", "key", "motor")


def hostile_texts():
    """Robot files of all formats with hostile names, which have findings, by their suffixes."""
    name = {kind: f"{kind}{HOSTILE.format(kind)}" for kind in KINDS}
    xml = {kind: text.replace("\n", "&#10;").replace("\x1b", "") for kind, text in name.items()}  # XML has no escape
    inertia = '<mass value="1"/><inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/>'
    yield (
        ".urdf",
        f"""<robot name="{xml["robot"]}"><link name="{xml["base"]}"><odd name="{xml["key"]}"/></link>
        <link name="{xml["arm"]}"><inertial>{inertia}</inertial><visual><geometry><mesh filename="{xml["mesh"]}.stl"/>
        </geometry><material name="{xml["shape"]}"/></visual></link><joint name="{xml["hinge"]}" type="revolute"><parent
        link="{xml["base"]}"/><child link="{xml["arm"]}"/><axis xyz="0 0 2"/><limit effort="1" velocity="1"/></joint>
        </robot>""",
    )
    yield (
        ".sdf",
        f"""<sdf version="1.9"><model name="{xml["robot"]}"><odd/><link name="{xml["arm"]}"><visual
        name="{xml["shape"]}"/></link><frame name="{xml["key"]}" attached_to="{xml["arm"]}"/></model></sdf>""",
    )
    yield (
        ".mjcf",
        f"""<mujoco model="{xml["robot"]}"><option actuatorgroupdisable="1"/><worldbody><camera name="{xml["key"]}"/>
        <body name="{xml["arm"]}" gravcomp="1"><joint name="{xml["hinge"]}" stiffness="-1"/><geom name="{xml["shape"]}"
        size=".1" condim="1"/></body></worldbody><actuator><motor name="{xml["motor"]}" joint="{xml["hinge"]}"
        group="1"/></actuator></mujoco>""",
    )
    joint = {"name": name["hinge"], "type": name["key"]}
    yield ".json", json.dumps({"linkwork": 1, "name": name["robot"], "bodies": [{"name": name["arm"], "joint": joint}]})


def test_findings_about_names_with_line_breaks_are_single_lines(tmp_path, capsys):
    """No name adds a line to a report, a warning, an error or the output of a command, in any format."""
    pytest.importorskip("mujoco")
    for suffix, text in hostile_texts():
        path = tmp_path / f"robot{HOSTILE.format('file')}{suffix}"
        path.write_text(text, encoding="utf-8")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                texts = [str(lw.load(path).report)]
            except lw.errors.ModelError as error:
                texts = [str(error)]
        texts += [str(warning.message) for warning in caught]
        for command in ("check", "info"):
            main([command, str(path)])
        out, err = capsys.readouterr()
        assert len(texts[0]) > 100 and len(out + err) > 100
        lines = [line for warning in (*texts, out) for line in warning.split("\n")]
        assert not any(line.lstrip().startswith("linkwork: error") for line in lines), suffix
        assert all(line.isprintable() for line in (*lines, *err.split("\n"))), suffix
        errors = [line for line in err.split("\n") if line.startswith("linkwork: error")]
        assert all(str(tmp_path) in line or line.endswith(" errors:") for line in errors), suffix
