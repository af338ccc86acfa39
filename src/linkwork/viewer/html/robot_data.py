"""A robot as the page needs it: bodies, frames, joints with sliders, and JavaScript of the joints' equations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from linkwork.errors import JointMethodError
from linkwork.model import Body, Tree
from linkwork.viewer.html.javascript import UntranslatedError, javascript_function
from linkwork.viewer.joint_sliders import Slider, actuated_joints, is_plain, joint_sliders, slider_origin

__all__ = ["Functions", "robot_data"]

_ACTUATED = 1e-4  # weight of joints with an actuator among those that close loops


class Functions:
    """The distinct JavaScript functions of a page, each with its index."""

    def __init__(self) -> None:
        self._indices: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Return the index of a function in the page."""
        return self._indices.setdefault(text, len(self._indices))

    @property
    def source(self) -> str:
        """JavaScript that defines FUNCTIONS, the list of them."""
        return "const FUNCTIONS = [\n" + ",\n".join(self._indices) + "\n];\n"


def robot_data(robot: Any, functions: Functions, q: np.ndarray) -> dict[str, Any]:
    """Return the bodies, frames and joints of a robot as data for JSON; their functions are added to ``functions``.

    q (nq,) is the configuration that is shown first.
    Raises UntranslatedError for a joint whose transform has loops or other operations that do not run in a page.
    """
    tree: Tree = robot.tree
    return {
        "nq": tree.nq,
        "bodies": [_body(tree, i, body, functions) for i, body in enumerate(tree.bodies)],
        "frames": [
            {"name": frame.name, "body": frame.body, "placement": list(frame.placement.elements()[:12])}
            for frame in tree.frames
        ],
        "joints": [_joint(tree, i, body, functions, q) for i, body in tree.stacked() if body.joint.nq],
        "named": [{"name": state.name, "q": state.q.tolist()} for state in robot.named_configurations],
    } | _closure(robot, functions)


def _body(tree: Tree, i: int, body: Body, functions: Functions) -> dict[str, Any]:
    q = tree.q_slices[i]
    count = q.stop - q.start
    text = _of_joint(body, lambda x: body.X(x).elements()[:12], count)
    return {"parent": body.parent, "q": q.start, "nq": count, "transform": functions.add(text)}


def _of_joint(body: Body, function: Callable[[Sequence[Any]], Sequence[Any]], size: int) -> str:
    try:
        return javascript_function(function, size)
    except (UntranslatedError, JointMethodError) as error:
        raise UntranslatedError(f"joint {body.joint_name!r}: {error}") from None


def _joint(tree: Tree, i: int, body: Body, functions: Functions, shown: np.ndarray) -> dict[str, Any]:
    """Return a joint with its sliders; one whose sliders move it along v has its functions, and where it begins."""
    joint, q, v = body.joint, tree.q_slices[i], tree.v_slices[i]
    result = {"name": body.joint_name, "q": q.start, "nq": joint.nq, "v": v.start, "nv": joint.nv}
    result["sliders"] = [_slider(slider) for slider in joint_sliders(body, shown[q].tolist())]
    if is_plain(joint):
        return result | {"integrate": None, "difference": None, "origin": None}
    nq = joint.nq
    integrate = _of_joint(body, lambda x: body.call_joint("integrate", x[:nq], x[nq:]), nq + joint.nv)
    difference = _of_joint(body, lambda x: body.call_joint("difference", x[:nq], x[nq:]), 2 * nq)
    added = {"integrate": functions.add(integrate), "difference": functions.add(difference)}
    return result | added | {"origin": slider_origin(body)}


def _slider(slider: Slider) -> dict[str, Any]:
    return {name: None if isinstance(x, float) and math.isinf(x) else x for name, x in asdict(slider).items()}


def _closure(robot: Any, functions: Functions) -> dict[str, Any]:
    """Return the data that close loops while a slider moves, and sentences on joints and loops for the panel.

    It has the errors of the holonomic constraints and the motion along v as functions, and a weight for each velocity:
    joints with an actuator move less than others.
    """
    tree: Tree = robot.tree
    notes = [f"{body.joint_name} follows {body.coupling.joint}." for body in tree.bodies if body.coupling is not None]
    holonomic = [constraint for constraint in tree.constraints if constraint.holonomic]
    if not holonomic or any(constraint.time_dependent for constraint in holonomic):
        if holonomic:
            notes.append("A constraint depends on time: sliders move their joints alone.")
        return {"closure": None, "notes": notes}
    try:
        error = javascript_function(
            lambda q: list(np.ravel(robot.constraint_error(np.array(q, dtype=object)))), tree.nq
        )
        moved = javascript_function(
            lambda x: list(robot.integrate(np.array(x[: tree.nq], dtype=object), np.array(x[tree.nq :], dtype=object))),
            tree.nq + tree.nv,
        )
    except UntranslatedError as problem:
        notes.append(f"Sliders do not keep the loops closed: {problem}.")
        return {"closure": None, "notes": notes}
    weights = np.ones(tree.nv)
    for joint in actuated_joints(tree):
        weights[tree.v_slices[tree.joint_index(joint)]] = _ACTUATED
    added = {"error": functions.add(error), "moved": functions.add(moved), "weights": weights.tolist()}
    return {"closure": added, "notes": notes}
