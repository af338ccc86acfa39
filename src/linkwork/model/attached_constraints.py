"""Frames, points, directions, constraints and force elements of a file put on a tree, with positions in errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork._util.messages import quoted
from linkwork.errors import Findings, Issue, Location, UnknownNameError
from linkwork.model.description import Attachments
from linkwork.model.tree import Tree
from linkwork.model.tree_attachments import ConstraintBuilder, ForceElementBuilder, MarkBuilder

__all__ = ["attached"]


def attached(tree: Tree, attachments: Attachments) -> Tree:
    """The tree with all of them, in their order.  Raises ModelError with all that is wrong.

    Errors: DUPLICATE_NAME, UNKNOWN_FRAME, UNKNOWN_JOINT, UNKNOWN_POINT, UNKNOWN_DIRECTION, MARK_INVALID, CONSTRAINT,
    FORCE_ELEMENT.
    """
    findings, marks = Findings(), MarkBuilder(tree)
    for frame in attachments.frames:
        _try(findings, frame.where, "MARK_INVALID", marks.add_frame, frame.name, frame.link, frame.placement)
    for point in attachments.points:
        _try(findings, point.where, "MARK_INVALID", marks.add_point, point.name, point.on, point.vector)
    for mark in attachments.directions:
        _try(findings, mark.where, "MARK_INVALID", marks.add_direction, mark.name, mark.on, mark.vector)
    findings.raise_errors()  # what follows from a frame that is not there would only confuse
    tree = marks.tree()
    constraints = ConstraintBuilder(tree)
    joints, said = {*tree.carried}, dict[str, Location]()
    for item in attachments.constraints:
        name = item.constraint.name
        taken = "constraint" if name in said else "joint" if name in joints else ""
        if taken:
            message = f"{quoted(name)} is the name of a {taken} already{_line(said.get(name))}"
            findings.error(
                Issue("DUPLICATE_NAME", message, item.where, "constraints and joints have names of their own")
            )
            continue
        said[name] = item.where
        _try(findings, item.where, "CONSTRAINT", constraints.add, [item.constraint])
    elements = ForceElementBuilder(constraints.tree())
    for one in attachments.force_elements:
        _try(findings, one.where, "FORCE_ELEMENT", elements.add, one.element)
    findings.raise_errors()
    return elements.tree()


def _line(where: Location | None) -> str:
    return "" if where is None or where.line is None else f", on line {where.line}"


def _try(findings: Findings, where: Location, code: str, add: Callable[..., None], *arguments: Any) -> None:
    """Add something, or note what is wrong with it."""
    try:
        add(*arguments)
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
