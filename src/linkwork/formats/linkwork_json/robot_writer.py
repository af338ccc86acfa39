"""Writing of a whole robot as JSON text: everything that its tree holds, exactly.

The text has one entry a line: the bodies with their joints, the frames with their inertias and shapes, and what is
attached to them.  Values that are the default are left out, and null stands for a bound that does not exist.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from linkwork._util.collection_pauses import without_collections
from linkwork.errors import ModelError
from linkwork.formats.actuation_entries import actuator_entry, named_configuration_entry
from linkwork.formats.constraint_entries import constraint_entry, document_lines, element_entry, one_or_list
from linkwork.formats.constructor_schema import constructor_arguments, is_exactly, plain
from linkwork.formats.data_values import decoded
from linkwork.formats.linkwork_json.robot_reader import BUDGET, VERSION, read_data
from linkwork.formats.linkwork_json.shape_entries import geometry_entry
from linkwork.model.body import WORLD, Body, Drive, Following, Frame, Limits
from linkwork.model.composite_body import with_summed_inertias
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose

__all__ = ["robot_text", "unchecked_robot_text"]


@without_collections
def robot_text(tree: Tree) -> str:
    """Return the JSON text of a robot's tree, from which a reader gets an equal tree.

    The content of the text is read back before it is returned.  Raises TypeError for content that a file cannot
    represent, with its name: functions in constraints, and user-defined types of joints, constraints, force elements
    and shapes; ValueError if the tree read back is another one.
    """
    text = unchecked_robot_text(tree)
    try:
        decoded(text, None, BUDGET)
        back = read_data(json.loads(text))
    except ModelError as error:
        raise ValueError(f"robot {tree.name!r} cannot be written to a file that can be read: {error}") from error
    if back != tree:
        differing = ", ".join(
            f.name for f in fields(Tree) if f.compare and getattr(back, f.name) != getattr(tree, f.name)
        )
        raise ValueError(f"robot {tree.name!r} cannot be written to a file exactly: {differing} would change")
    return text


def unchecked_robot_text(tree: Tree) -> str:
    """Return the JSON text of a robot's tree, without reading it back."""
    return "\n".join(document_lines(_document(tree))) + "\n"


def _document(tree: Tree) -> dict[str, Any]:
    names = ["world" if body.parent == WORLD else tree.bodies[body.parent].name for body in tree.bodies]
    summed = with_summed_inertias(tree.bodies, tree.frames)
    document: dict[str, Any] = {
        "linkwork": VERSION,
        "name": tree.name,
        "gravity": [*tree.gravity],
        "inertias_ignored": tree.inertias_ignored,
        "bodies": [_body(*each) for each in zip(tree.bodies, names, summed, strict=True)],
        "frames": [_frame(tree, frame) for frame in tree.frames],
        "stacking": [tree.bodies[i].joint_name for i in tree.stacking],
        "points": [{"name": p.name, "on": p.frame, "xyz": [*p.position]} for p in tree.points],
        "directions": [{"name": d.name, "on": d.frame, "vector": [*d.vector]} for d in tree.directions],
        "constraints": [constraint_entry(c) for c in tree.constraints],
        "force_elements": [element_entry(element) for element in tree.force_elements],
        "actuators": [actuator_entry(actuator) for actuator in tree.actuators],
        "named_configurations": [named_configuration_entry(state) for state in tree.named_configurations],
        "disabled_collisions": [{"links": [p.a, p.b], "reason": p.reason} for p in tree.disabled_collisions],
        "enabled_collisions": [[*pair] for pair in tree.enabled_collisions],
    }
    return {key: value for key, value in document.items() if value or key in ("name", "gravity", "bodies", "frames")}


def _body(body: Body, parent: str, summed: Body) -> dict[str, Any]:
    owner, joint = f"joint {body.joint_name!r}", body.joint
    result: dict[str, Any] = {
        "name": body.name,
        "parent": parent,
        "joint": {"name": body.joint_name, **plain(joint, owner)},
    }
    for key in ("placement", "rotor"):
        _add_pose(result, key, getattr(body, key), owner)
    limits = body.limits
    if limits != Limits.none(joint):
        result["limits"] = {
            key: _bounds(values, no_bound, f"{owner}: {key}")
            for key, values, no_bound in (
                ("lower", limits.lower, -math.inf),
                ("upper", limits.upper, math.inf),
                ("velocity", limits.velocity, math.inf),
                ("effort", limits.effort, math.inf),
                ("acceleration", limits.acceleration, math.inf),
                ("jerk", limits.jerk, math.inf),
            )
            if values != (no_bound,) * len(values)
        } | ({} if limits.enabled else {"enabled": False})
    for key in ("damping", "friction"):
        values = getattr(body, key)
        if any(values):
            result[key] = one_or_list(values)
    for field in fields(Drive):
        values = getattr(body.drive, field.name)
        if values:
            result[field.name] = one_or_list(values)
    for key in ("mimic", "coupling"):
        following = getattr(body, key)
        if following is not None:
            result[key] = constructor_arguments(following, Following, owner)
    if body.dynamics != "urdf":
        result["dynamics"] = body.dynamics
    if body.links is not None:
        result["links"] = [*body.links]
    if body.inertia != summed.inertia:
        result["inertia"] = _inertia(body.inertia)
    return result


def _frame(tree: Tree, frame: Frame) -> dict[str, Any]:
    owner = f"link {frame.name!r}"
    on = "world" if frame.body == WORLD else tree.bodies[frame.body].name
    result: dict[str, Any] = {"name": frame.name, "on": on}
    _add_pose(result, "placement", frame.placement, owner)
    if frame.inertia != Inertia.zero():
        result["inertia"] = _inertia(frame.inertia)
    for key in ("visuals", "collisions"):
        shapes = getattr(frame, key)
        if shapes:
            result[key] = [geometry_entry(geometry, owner) for geometry in shapes]
    for key in ("fixed_joint", "welded_to"):
        name = getattr(frame, key)
        if name is not None:
            result[key] = name
    return result


def _add_pose(result: dict[str, Any], key: str, pose: Pose, owner: str) -> None:
    if not is_exactly(pose, Pose.identity()):
        result[key] = plain(pose, owner)


def _inertia(inertia: Inertia) -> dict[str, Any]:
    return {"mass": inertia.mass, "moment": [*inertia.moment], "about": [*inertia.about.elements()]}


def _bounds(values: Sequence[float], no_bound: float, owner: str) -> Any:
    if any(math.isinf(x) and x != no_bound for x in values):
        raise TypeError(f"{owner}: the bounds {tuple(values)!r} cannot be written to a file")
    return one_or_list(tuple(values))
