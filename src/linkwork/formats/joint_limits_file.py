"""Reader of joint_limits.yaml: limits of joints as MoveIt and ros_control state them beside a URDF.

Source: MoveIt's RobotModelLoader and ros_control's joint_limits_interface.  ``max_velocity`` sets a limit unless
``has_velocity_limits`` is false, which removes the limit; other quantities have keys of the same form.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from linkwork._util.file_access import LOOPS, Budget
from linkwork._util.messages import nearest, quoted
from linkwork.errors import Findings, Issue
from linkwork.formats.constructor_reader import PlainReader
from linkwork.formats.data_documents import read_document
from linkwork.formats.data_values import Value
from linkwork.formats.json_and_yaml import parse_json, parse_yaml
from linkwork.model.body import Body, Limits
from linkwork.model.tree import Report, Tree

__all__ = ["with_joint_limits"]

_RATES = ("velocity", "acceleration", "jerk", "effort")
_KEYS = (
    *("has_position_limits", "min_position", "max_position"),
    *(key for rate in _RATES for key in (f"has_{rate}_limits", f"max_{rate}")),
)
_WITHOUT_EFFECT = (  # of a joint: keys of ros_control that no limit of linkwork corresponds to
    *("angle_wraparound", "has_deceleration_limits", "max_deceleration", "has_soft_limits", "soft_lower_limit"),
    *("soft_upper_limit", "k_position", "k_velocity", "min_velocity", "has_torque_limits"),
)
_AROUND = ("/**", "move_group", "/move_group", "ros__parameters", "robot_description_planning")  # names of parameters
_BESIDE = ("default_velocity_scaling_factor", "default_acceleration_scaling_factor", "cartesian_limits")
_ENDINGS = (".yaml", ".yml", ".json")


def with_joint_limits(tree: Tree, document: str | bytes | os.PathLike[str], *, strict: bool = False) -> Tree:
    """Return the tree with the joint limits of a document: its text in YAML or JSON, or the path of its file.

    A string is a path if it is a single line without a brace that ends like the name of such a file. Content without
    effect is in the report: notes IGNORED, and warnings UNKNOWN_JOINT, UNKNOWN_KEY and UNSUPPORTED, which are errors
    if ``strict``. Raises ModelError with all errors: WRONG_FORMAT, DATA_TYPE, NUMBER, MAGNITUDE, NEGATIVE,
    LIMIT_ORDER, and those of YAML; ImportError for YAML without PyYAML; the system's errors for a path.
    """
    findings, budget = Findings(strict=strict), LOOPS
    root, file = _root(document, findings, budget)
    reader = _Reader(file, findings, tree)
    limits = reader.read(root)
    findings.raise_errors()
    bodies = tuple(replace(body, limits=limits.get(k, body.limits)) for k, body in enumerate(tree.bodies))
    warnings = tuple(dict.fromkeys((*tree.report.warnings, *findings.warnings)))
    return replace(tree, bodies=bodies, report=Report(warnings))


def _root(document: Any, findings: Findings, budget: Budget) -> tuple[Value, str | None]:
    """Return the content of a document, and the path of its file."""
    if isinstance(document, os.PathLike):
        path = os.path.expanduser(document)
        return read_document(path, findings, budget), os.fspath(path)
    if not isinstance(document, (str, bytes)):
        raise TypeError(f"joint limits: expected a text, or the path of a file, got {document!r}")
    if isinstance(document, str):
        line = document.strip()
        if "{" not in line and "\n" not in line and line.lower().endswith(_ENDINGS):
            path = os.path.expanduser(document)
            return read_document(path, findings, budget), path
    start = document.lstrip()[:1]
    return (parse_json if start in ("{", b"{") else parse_yaml)(document, None, findings, budget), None


class _Reader(PlainReader):
    """Reader of the limits of a document for a tree."""

    def __init__(self, file: str | None, findings: Findings, tree: Tree) -> None:
        super().__init__(file, findings)
        self.tree = tree
        self.indices = {body.joint_name: k for k, body in enumerate(tree.bodies) if body.joint.nv}

    def read(self, root: Value) -> dict[int, Limits]:
        """Return the new limits of joints. Keys are indices of bodies in the tree; the joint moves that body."""
        result: dict[int, Limits] = {}
        while isinstance(root.content, dict) and "joint_limits" not in root.content:
            key = next((key for key in _AROUND if key in root.content), None)
            if key is None:
                break
            root = root.content[key]
        if not isinstance(root.content, dict) or "joint_limits" not in root.content:
            got = ", ".join(map(quoted, [*root.content][:5])) if isinstance(root.content, dict) else root.kind
            self.error(root, "WRONG_FORMAT", f"expected joint limits, with the key 'joint_limits', got {got}")
            return result
        for key, value in root.content.items():
            if key in _BESIDE:
                self._note(value, f"{quoted(key)} has no effect on the limits")
            elif key != "joint_limits":
                self._warn(value, "UNKNOWN_KEY", f"unknown key {quoted(key)}", nearest(key, ["joint_limits", *_BESIDE]))
        joints = root.content["joint_limits"]
        if joints.content is None or not self.is_object(joints, "joint_limits"):
            return result
        for name, value in joints.content.items():
            if not self.is_object(value, name):
                continue
            k = self.indices.get(name)
            if k is None and name in self.tree.fixed_joints:
                self._note(value, f"limits of the fixed joint {quoted(name)} have no effect")
            elif k is None:
                hint = nearest(name, [*self.indices])
                self._warn(value, "UNKNOWN_JOINT", f"the robot has no joint {quoted(name)}: ignored", hint)
            elif self.tree.bodies[k].joint.nv != 1:
                message = f"limits of joint {quoted(name)}, which has several coordinates, are ignored"
                self._warn(value, "UNSUPPORTED", message)
            else:
                result[k] = self._limits(value, self.tree.bodies[k])
        return result

    def _limits(self, value: Value, body: Body) -> Limits:
        """Return the limits of a joint of the tree, with the values that the file states in place of the tree's."""
        for key, item in value.content.items():
            if key in _WITHOUT_EFFECT:
                self._note(item, f"{quoted(key)} has no effect")
            elif key not in _KEYS:
                self._warn(item, "UNKNOWN_KEY", f"unknown key {quoted(key)}: ignored", nearest(key, _KEYS))
        limits = body.limits
        for rate in _RATES:
            bound = self._bound(value.content, rate, f"max_{rate}", math.inf)
            if bound is not None and bound < 0.0:
                self.error(value.content[f"max_{rate}"], "NEGATIVE", f"max_{rate} must not be negative, got {bound!r}")
            elif bound is not None:
                unlimited = rate in ("acceleration", "jerk") and bound == math.inf
                change: dict[str, Any] = {rate: () if unlimited else (bound,)}
                limits = replace(limits, **change)
        low = self._bound(value.content, "position", "min_position", -math.inf)
        high = self._bound(value.content, "position", "max_position", math.inf)
        if low is None and high is None:
            return limits
        if body.joint.nq != 1:
            self._note(value, f"position limits of {quoted(body.joint_name)}, an unbounded joint, have no effect")
            return limits
        lower, upper = (limits.lower[0] if low is None else low), (limits.upper[0] if high is None else high)
        if lower > upper:
            self.error(value, "LIMIT_ORDER", f"lower limit {lower!r} is above upper limit {upper!r}")
        return replace(limits, lower=(lower,), upper=(upper,))

    def _bound(self, entry: Mapping[str, Value], quantity: str, key: str, no_bound: float) -> float | None:
        """Return the bound under ``key`` of a joint's entry; None if the entry does not state it.

        The result is ``no_bound`` if the entry says that the ``quantity`` has no limit.
        """
        has = entry.get(f"has_{quantity}_limits")
        if has is not None and self.converted(has, bool) is False:
            return no_bound
        return self.number(entry[key]) if key in entry else None

    def _note(self, value: Value, message: str) -> None:
        self.findings.note(Issue("IGNORED", message, self.where(value)))

    def _warn(self, value: Value, code: str, message: str, hint: str | None = None) -> None:
        self.findings.warn(Issue(code, message, self.where(value), hint))
