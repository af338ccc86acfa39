"""HTML tables of joints and links in notebooks: texts, units, and limits on rows."""

from __future__ import annotations

from xml.etree import ElementTree

import linkwork as lw
from linkwork._util.html_tables import html_table, rows_table, tag


def _cells(html: str) -> list[list[str]]:
    table = ElementTree.fromstring(f"<div>{html}</div>").find(".//table")
    assert table is not None
    return [[cell.text or "" for cell in row] for row in table]


def test_joints_and_links_are_shown_as_html_tables_in_notebooks():
    robot = lw.load("arm7_gripper")
    header, *rows = _cells(robot.joints._repr_html_())
    assert header == ["joint", "type", "axis", "q", "v", "lower", "upper", "velocity", "effort"]
    assert [row[0] for row in rows] == [joint.name for joint in robot.joints]
    elbow, finger = (dict(zip(header, rows[k], strict=True)) for k in (3, -1))
    assert elbow["lower"] == f"{robot.lower[3]:.6g} rad" and elbow["effort"] == f"{robot.effort_limits[3]:.6g} N·m"
    assert finger["upper"].endswith(" m") and finger["velocity"].endswith(" m/s") and finger["effort"].endswith(" N")
    header, *rows = _cells(robot.links._repr_html_())
    hand = dict(zip(header, next(row for row in rows if row[0] == "hand"), strict=True))
    assert hand["mass"] == f"{robot.link('hand').mass:.6g} kg" and hand["joint"] == "hand_mount (fixed)"
    assert robot.bodies._repr_html_() is None  # names are shown as text
    floating = lw.load("quadruped", floating_base=True)
    base = dict(zip(*_cells(floating.joints._repr_html_())[:2], strict=True))
    assert base["q"] == "0:7" and base["v"] == "0:6" and base["lower"] == "-"


def test_html_tables_escape_text_and_limit_the_count_of_rows():
    assert html_table(["<a>"], [["&"]], "rows") == "<table><tr><th>&lt;a&gt;</th></tr><tr><td>&amp;</td></tr></table>"
    long = html_table(["k"], [[str(k)] for k in range(201)], "rows")
    assert long.count("<tr>") == 201 and "201 rows in all" in long
    assert _cells(rows_table([{"a": "1", "b": ""}, {"c": "2"}], "rows")) == [["a", "c"], ["1", ""], ["", "2"]]
    assert tag("p", "<b>x</b>", class_='"&') == '<p class="&quot;&amp;"><b>x</b></p>'
