"""A robot as notebooks show it: its tree, and a table of its joints.  Every name is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from linkwork._util.messages__printing import label, number, numbers
from linkwork.model.tree import Tree
from linkwork.parts.tree_drawing import axis_text, follows_text, slice_text, tree_lines

__all__ = ["robot_html"]

_MOST = 200  # lines of the tree and rows of the table that are shown


def robot_html(tree: Tree) -> str:
    """The tree in a <pre>, and below it a <table> with a row for each joint."""
    joints = f"{len(tree.bodies)} moving joint{'' if len(tree.bodies) == 1 else 's'}"
    mass = "" if tree.inertias_ignored else f", {number(tree.mass)} kg"
    head = f"<b>{escape(label(tree.name))}</b>: {joints}, nq {tree.nq}, nv {tree.nv}{mass}"
    lines = tree_lines(tree)
    drawn = escape("\n".join([*lines[:_MOST], *_more(len(lines), "links")]))
    rows = [_row(tree, i) for i in tree.order[:_MOST]]
    table = _tag("tr", *(_tag("th", escape(name)) for name in _HEADER)) + "".join(rows) if rows else ""
    rest = "".join(_tag("div", escape(text)) for text in _more(len(tree.bodies), "joints"))
    return _tag("div", _tag("div", head), f'<pre style="line-height: 1.2">{drawn}</pre>', _tag("table", table), rest)


_HEADER = ("joint", "type", "axis", "q", "v", "lower", "upper", "velocity", "effort", "follows")


def _row(tree: Tree, i: int) -> str:
    body = tree.bodies[i]
    lower, upper = body.limits.positions
    cells = (
        label(body.joint_name),
        body.joint.type_name(),
        axis_text(body.joint),
        slice_text(tree.q_slices[i]),
        slice_text(tree.v_slices[i]),
        *(numbers(x) if len(x) else "-" for x in (lower, upper, body.limits.velocity, body.limits.effort)),
        "" if body.coupling is None else follows_text(body.coupling),
    )
    return _tag("tr", *(_tag("td", escape(cell)) for cell in cells))


def _more(count: int, what: str) -> Sequence[str]:
    return [f"… and more: {count} {what} in all"] if count > _MOST else []


def _tag(name: str, *inner: str) -> str:
    return f"<{name}>{''.join(inner)}</{name}>"
