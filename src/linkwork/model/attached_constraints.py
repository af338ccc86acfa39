"""Builder that adds a file's frames, points, constraints, force elements and actuators to a tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from linkwork._util.messages import quoted
from linkwork.errors import Findings, Issue, Location, UnknownNameError
from linkwork.model.description import ActuatorDescription, Attachments, NamedStateDescription
from linkwork.model.tree import Report, Tree
from linkwork.model.tree_actuators import ActuatorBuilder, NamedStateBuilder
from linkwork.model.tree_attachments import ConstraintBuilder, ForceElementBuilder, FrameBuilder

__all__ = ["attached"]

T = TypeVar("T", ActuatorDescription, NamedStateDescription)
_ROUNDED = 1e-4  # [rad, m] by which a named configuration may exceed a limit: files state few digits


def attached(tree: Tree, attachments: Attachments, *, with_implied: bool = True, strict: bool = False) -> Tree:
    """Return the tree with all attachments of a file added in order.

    Constraints are added with those that they imply, unless ``with_implied`` is False.  Named configurations outside
    of the limits of joints are reported (Q_OUT_OF_LIMITS).  Raises ModelError with all errors, and with ``strict`` all
    warnings.

    Errors: DUPLICATE_NAME, UNKNOWN_FRAME, UNKNOWN_JOINT, UNKNOWN_POINT, UNKNOWN_DIRECTION, UNKNOWN_ACTUATOR,
    MARK_INVALID, CONSTRAINT, FORCE_ELEMENT, ACTUATOR, CONFIGURATION.
    """
    findings, marks = Findings(strict=strict), FrameBuilder(tree)
    attachments = _without_erroneous(attachments)
    for frame in attachments.frames:
        _try(findings, frame.where, "MARK_INVALID", marks.add_frame, frame.name, frame.link, frame.placement)
    for point in attachments.points:
        _try(findings, point.where, "MARK_INVALID", marks.add_point, point.name, point.on, point.vector)
    for mark in attachments.directions:
        _try(findings, mark.where, "MARK_INVALID", marks.add_direction, mark.name, mark.on, mark.vector)
    follow = bool(findings.errors) or any(_OF_MARKS.match(x.where.element or "") for x in attachments.errors)
    for issue in attachments.errors:
        findings.error(issue)
    if follow:
        findings.raise_errors()  # errors that follow from a missing frame would only confuse
    tree = marks.tree()
    constraints = ConstraintBuilder(tree)
    joints, first = {*tree.carried}, dict[str, Location]()
    for item in attachments.constraints:
        name = item.constraint.name
        taken = "constraint" if name in first else "joint" if name in joints else ""
        if taken:
            message = f"{quoted(name)} is already the name of a {taken}{_line(first.get(name))}"
            findings.error(Issue("DUPLICATE_NAME", message, item.where, "constraints and joints need distinct names"))
            continue
        first[name] = item.where
        _try(findings, item.where, "CONSTRAINT", constraints.add, [item.constraint], with_implied)
    elements = ForceElementBuilder(constraints.tree())
    for attachment in attachments.force_elements:
        _try(findings, attachment.where, "FORCE_ELEMENT", elements.add, attachment.element)
    actuators = ActuatorBuilder(elements.tree())
    for motor in _named_once(findings, "actuator", attachments.actuators, lambda x: x.actuator.name):
        _try(findings, motor.where, "ACTUATOR", actuators.add, motor.actuator)
    findings.raise_errors()
    states = NamedStateBuilder(actuators.tree())
    for described in _named_once(findings, "configuration", attachments.named_configurations, lambda x: x.state.name):
        _try(findings, described.where, "CONFIGURATION", states.add, described.state)
    findings.raise_errors()
    tree = states.tree()
    for described in attachments.named_configurations:
        _report_outside(findings, tree, described)
    findings.raise_errors()
    if not findings.warnings:
        return tree
    return replace(tree, report=Report((*tree.report.warnings, *findings.warnings)))


_OF_MARKS = re.compile(r"(frames|points|directions)\b")  # elements of a file that other elements refer to


def _without_erroneous(attachments: Attachments) -> Attachments:
    """Return the attachments without those that already have an error of the reader."""
    if not attachments.errors:
        return attachments
    elements = [f"{issue.where.element}/" for issue in attachments.errors]

    def correct(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(x for x in items if not any(element.startswith(f"{x.where.element}/") for element in elements))

    kinds = [field.name for field in fields(attachments) if field.name != "errors"]
    return replace(attachments, **{kind: correct(getattr(attachments, kind)) for kind in kinds})


def _report_outside(findings: Findings, tree: Tree, described: NamedStateDescription) -> None:
    """Report joints that a named configuration places outside of their limits, except for joints at zero."""
    reports = []
    for name, q in described.state.q:
        body = tree.bodies[tree.joint_index(name)]
        if [*q] != [*body.joint.zero()]:
            reports += [
                f"joint {quoted(name)} is at {value:.6g}, and its limits are {low:.6g} and {high:.6g}"
                for value, low, high in body.limits.outside(q, _ROUNDED)
            ]
    if reports:
        more = f", and {len(reports) - 1} more" if len(reports) > 1 else ""
        message = f"the configuration {quoted(described.state.name)} is outside of limits: {reports[0]}{more}"
        findings.warn(Issue("Q_OUT_OF_LIMITS", message, described.where))


def _named_once(findings: Findings, kind: str, items: Iterable[T], name_of: Callable[[T], str]) -> Iterator[T]:
    """Yield the items whose names are new, and record an error for each repeated name."""
    first: dict[str, Location] = {}
    for item in items:
        name, where = name_of(item), item.where
        if name in first:
            message = f"another {kind} is named {quoted(name)}{_line(first[name])}"
            findings.error(Issue("DUPLICATE_NAME", message, where))
            continue
        first[name] = where
        yield item


def _line(where: Location | None) -> str:
    return "" if where is None or where.line is None else f", on line {where.line}"


def _try(findings: Findings, where: Location, code: str, add: Callable[..., None], *arguments: Any) -> None:
    """Call ``add`` with the arguments.  If it raises, record the exception as an error at ``where``."""
    try:
        add(*arguments)
    except UnknownNameError as error:
        message, _, hint = str(error).partition("; ")
        findings.error(
            Issue(
                {
                    "frame": "UNKNOWN_FRAME",
                    "joint": "UNKNOWN_JOINT",
                    "point": "UNKNOWN_POINT",
                    "frame or point": "UNKNOWN_POINT",
                    "actuator": "UNKNOWN_ACTUATOR",
                }.get(error.kind, "UNKNOWN_DIRECTION"),
                message,
                where,
                hint or None,
            )
        )
    except (TypeError, ValueError) as error:
        findings.error(Issue(code, str(error), where))
