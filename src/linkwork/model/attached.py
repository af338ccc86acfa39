"""Frames, points, directions and constraints that a file puts on a tree, with all that is wrong told by its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._text import quoted
from ..errors import Findings, Issue, Location, UnknownNameError
from .constrained import with_constraints
from .description import Attachments
from .marks import with_direction, with_frame, with_point
from .sprung import with_force_elements
from .tree import Tree

__all__ = ["attached"]


def attached(tree: Tree, attachments: Attachments) -> Tree:
    """The tree with all of them, in their order.  Raises ModelError with all that is wrong.

    Errors: DUPLICATE_NAME, UNKNOWN_FRAME, UNKNOWN_JOINT, UNKNOWN_POINT, UNKNOWN_DIRECTION, MARK_INVALID, CONSTRAINT,
    FORCE_ELEMENT.
    """
    findings = Findings()
    for frame in attachments.frames:
        tree = _tried(findings, frame.where, "MARK_INVALID", with_frame, tree, frame.name, frame.link, frame.placement)
    for point in attachments.points:
        tree = _tried(findings, point.where, "MARK_INVALID", with_point, tree, point.name, point.on, point.vector)
    for mark in attachments.directions:
        tree = _tried(findings, mark.where, "MARK_INVALID", with_direction, tree, mark.name, mark.on, mark.vector)
    findings.raise_errors()  # what follows from a frame that is not there would only confuse
    said: dict[str, Location] = {}
    for item in attachments.constraints:
        name = item.constraint.name
        taken = "constraint" if name in said else "joint" if name in tree.carried else ""
        if taken:
            message = f"{quoted(name)} is the name of a {taken} already{_line(said.get(name))}"
            findings.error(
                Issue("DUPLICATE_NAME", message, item.where, "constraints and joints have names of their own")
            )
            continue
        said[name] = item.where
        tree = _tried(findings, item.where, "CONSTRAINT", with_constraints, tree, [item.constraint])
    for one in attachments.force_elements:
        tree = _tried(findings, one.where, "FORCE_ELEMENT", with_force_elements, tree, [one.element])
    findings.raise_errors()
    return tree


def _line(where: Location | None) -> str:
    return "" if where is None or where.line is None else f", on line {where.line}"


def _tried(
    findings: Findings, where: Location, code: str, function: Callable[..., Tree], tree: Tree, *arguments: Any
) -> Tree:
    """The tree that a function gives, or the one before where something is wrong."""
    try:
        return function(tree, *arguments)
    except UnknownNameError as error:
        message, _, hint = str(error).partition("; ")
        findings.error(
            Issue(
                {"frame": "UNKNOWN_FRAME", "joint": "UNKNOWN_JOINT", "point": "UNKNOWN_POINT"}.get(
                    error.kind, "UNKNOWN_DIRECTION"
                ),
                message,
                where,
                hint or None,
            )
        )
    except (TypeError, ValueError) as error:
        findings.error(Issue(code, str(error), where))
    return tree
