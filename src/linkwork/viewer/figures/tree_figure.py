"""Plot of a robot's tree as a graph: links are boxes, joints are lines, and constraints are dashed arcs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.plotting import COLORS, GREY, plot_text, pyplot
from linkwork.model import WORLD, Tree, axis_text, follows_text

__all__ = ["plot_tree"]

_MAX_LINKS = 500  # more are not legible
_LETTER = 0.075  # [in] width of a letter of a box
_LEVEL = 0.85  # [in] height of a level
_GAP = 0.25  # [in] between the texts of neighbours
_MARGIN = 0.3  # [in] around the graph
_BOX, _LABEL = 9.0, 7.0  # [points] font sizes
_CORNER = 0.35  # of the distance between two levels: where lines to several children separate


@dataclass(slots=True)
class _Node:
    """Link of the graph, with the joint to its parent."""

    name: str
    parent: int
    joint: str = ""
    kind: str = ""
    is_fixed: bool = False
    level: int = 0
    x: float = 0.0

    @property
    def width(self) -> float:
        """Width of the box, including the joint's label to the right of the line [in]."""
        lines = self.joint.split("\n")
        return max(_LETTER * len(self.name) + 0.2, 2.0 * 0.8 * _LETTER * max(map(len, lines), default=0)) + _GAP


def plot_tree(robot: Any, axes: Any) -> Any:
    """Draw the links, joints and constraints of a robot; return the axes.  Raises ValueError for too many links."""
    tree, nodes = robot.tree, _nodes(robot)
    if len(nodes) > _MAX_LINKS:
        text = f"plot_tree: robot: expected at most {_MAX_LINKS} links, got {len(nodes)}; print(robot) shows its tree"
        raise ValueError(text)
    width, levels = _arrange(nodes), 1 + max(node.level for node in nodes)
    if axes is None:
        size = (max(width, 2.5) + 2.0 * _MARGIN, _LEVEL * levels + 2.0 * _MARGIN)
        axes = pyplot().figure(figsize=size).add_axes((0.0, 0.0, 1.0, 1.0))
    kinds = [*dict.fromkeys(node.kind for node in nodes if node.kind and not node.is_fixed)]
    colors = {kind: COLORS[k % len(COLORS)] for k, kind in enumerate(kinds)}
    for node in nodes:
        if node.parent >= 0:
            _draw_joint(axes, nodes[node.parent], node, GREY if node.is_fixed else colors[node.kind])
    for name, first, second in _arcs(tree, {node.name: k for k, node in enumerate(nodes)}):
        _draw_arc(axes, name, nodes[first], nodes[second])
    for node in nodes:
        edge = GREY if node.is_fixed or not node.kind else colors[node.kind]
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": edge}
        style = {"ha": "center", "va": "center", "fontsize": _BOX, "zorder": 3}
        axes.text(node.x, -node.level, plot_text(node.name), bbox=box, **style)
    left = min(node.x - 0.5 * node.width for node in nodes)
    axes.set_xlim(left - _MARGIN, left + max(width, 2.5) + _MARGIN)
    axes.set_ylim(0.5 - levels - _MARGIN / _LEVEL, 0.5 + _MARGIN / _LEVEL)
    axes.set_axis_off()
    return axes


def _nodes(robot: Any) -> list[_Node]:
    """Return the world and all links, parents before children."""
    bodies = {body.name: body for body in robot.tree.bodies}
    links = list(robot.links)
    nodes, index = [_Node("world", -1)], {"world": 0}
    while links:
        later = []
        for link in links:
            if link.name == "world":
                continue
            if link.parent not in index:
                later.append(link)
                continue
            node = _Node(link.name, index[link.parent], level=nodes[index[link.parent]].level + 1)
            if link.is_welded or link.joint is None:
                node.joint, node.kind, node.is_fixed = plot_text(link.joint or ""), "fixed", True
            else:
                body = bodies[link.name]
                node.kind = body.joint.type_name()
                lines = [plot_text(link.joint), plot_text(f"{node.kind} {axis_text(body.joint)}".strip())]
                if body.coupling is not None:
                    lines.append(plot_text(f"= {follows_text(body.coupling)}"))
                node.joint = "\n".join(lines)
            index[link.name] = len(nodes)
            nodes.append(node)
        if len(later) == len(links):  # parents that are not links: frames of bodies without a link
            for link in later:
                index.setdefault(link.parent, 0)
        links = later
    return nodes


def _arrange(nodes: Sequence[_Node]) -> float:
    """Set the horizontal positions [in] of all nodes, parents above the middle of their children; return the width.

    Subtrees are placed as far left as their nodes at each level permit.
    """
    children: list[list[int]] = [[] for _ in nodes]
    for k, node in enumerate(nodes[1:], 1):
        children[node.parent].append(k)
    contours: list[tuple[list[float], list[float]]] = [([], [])] * len(nodes)  # left and right ends by level
    shifts = np.zeros(len(nodes))  # of each node relative to its parent
    for k in reversed(range(len(nodes))):
        half = 0.5 * nodes[k].width
        left: list[float] = []
        right: list[float] = []
        offsets: list[float] = []
        for child in children[k]:
            own_left, own_right = contours[child]
            offset = max((right[i] - own_left[i] for i in range(min(len(right), len(own_left)))), default=0.0)
            offsets.append(offset)
            for i in range(len(own_left)):
                if i < len(left):
                    left[i], right[i] = min(left[i], own_left[i] + offset), own_right[i] + offset
                else:
                    left.append(own_left[i] + offset)
                    right.append(own_right[i] + offset)
        middle = 0.5 * (offsets[0] + offsets[-1]) if offsets else 0.0
        for child, offset in zip(children[k], offsets, strict=True):
            shifts[child] = offset - middle
        contours[k] = ([-half, *(x - middle for x in left)], [half, *(x - middle for x in right)])
    for k, node in enumerate(nodes[1:], 1):
        node.x = nodes[node.parent].x + float(shifts[k])
    return max(contours[0][1]) - min(contours[0][0])


def _draw_joint(axes: Any, parent: _Node, child: _Node, color: Any) -> None:
    """Draw the stepped line of a joint, and its name and type next to the line."""
    corner = -parent.level - _CORNER
    style = {"linestyle": ":" if child.is_fixed else "-", "linewidth": 1.5, "zorder": 1}
    axes.plot(
        [parent.x, parent.x, child.x, child.x], [-parent.level, corner, corner, -child.level], color=color, **style
    )
    if child.joint:
        text_style = {
            "ha": "left",
            "va": "center",
            "fontsize": _LABEL,
            "color": "0.25",
            "linespacing": 1.1,
            "zorder": 2,
        }
        axes.text(child.x + 0.06, -child.level + 0.45, child.joint, **text_style)


def _arcs(tree: Tree, index: dict[str, int]) -> list[tuple[str, int, int]]:
    """Return the constraints between two links as (name, index of the first link's node, index of the second's)."""
    result = []
    for constraint in tree.constraints:
        ends = [index.get(_link_of(tree, name), 0) for name in constraint.references.frames]
        ends = [*dict.fromkeys(ends)]
        if len(ends) == 2:
            result.append((constraint.name, ends[0], ends[1]))
    return result


def _link_of(tree: Tree, name: str) -> str:
    """Return the name of the link that a frame belongs to."""
    for frame in tree.frames:
        if frame.name == name:
            if frame.is_link:
                return name
            return frame.welded_to or ("world" if frame.body == WORLD else tree.bodies[frame.body].name)
    return "world"


def _draw_arc(axes: Any, name: str, first: _Node, second: _Node) -> None:
    """Draw a dashed arc between two links, with the name of the constraint."""
    arrow = {
        "arrowstyle": "-",
        "linestyle": "--",
        "color": "0.45",
        "connectionstyle": "arc3,rad=0.25",
        "linewidth": 1.0,
    }
    start, end = (first, second) if first.x <= second.x else (second, first)
    axes.annotate("", (end.x, -end.level), (start.x, -start.level), arrowprops=arrow, zorder=0)
    dx, dy = end.x - start.x, start.level - end.level
    middle = (0.5 * (start.x + end.x) + 0.125 * dy, 0.5 * (-start.level - end.level) - 0.125 * dx / _LEVEL)
    style: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "fontsize": _LABEL,
        "color": "0.35",
        "style": "italic",
        "zorder": 2,
    }
    style["bbox"] = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    axes.text(*middle, plot_text(name), **style)
