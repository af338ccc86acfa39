"""Kernel parameters: values of a robot passed as arguments of a kernel, and their names.

Values that are not parameters are constants of the kernel.  A parameter is written as its kind and the name of its
owner, ``"inertia:forearm"``, or as its kind alone, for all values of the kind in one array: ``"damping"``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from linkwork._util.messages import letters
from linkwork.errors import UnknownNameError
from linkwork.model.body import FRICTION_VELOCITY, Body, Drive
from linkwork.model.composite_body import frames_with_inertias
from linkwork.model.loop_joints import body_of, loops_of
from linkwork.model.tree import Tree

__all__ = ["KINDS", "LOOP_KINDS", "Kind", "Parameter", "inputs_of", "joint_values", "read_parameters"]


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of kernel parameters, such as "inertia": its owner, documentation, and size."""

    of: str  # kind of owner: "link", "joint", "frame", "point", "direction"; "" for the robot
    doc: str
    size: int | str  # number of values of one owner; "nq" or "nv" of a joint
    all: tuple[int | str, ...] | None = None  # shape of the array of all owners; None if each needs a name


_OFFSET = "offset (φ; d): rotation vector φ and translation d in its own axes [rad, m]"

KINDS: dict[str, Kind] = {
    "inertia": Kind(
        "link", "ten inertial parameters, about the link's origin in its axes [kg, kg·m, kg·m²]", 10, ("nb", 10)
    ),
    "gravity": Kind("", "gravity in the world [m/s²]", 3),
    "armature": Kind("joint", "armature [kg·m², kg]", "nv", ("nv",)),
    "damping": Kind("joint", "viscous damping [N·m·s/rad, N·s/m]", "nv", ("nv",)),
    "friction": Kind("joint", "dry friction of joints that move [N·m, N]", "nv", ("nv",)),
    "static_friction": Kind("joint", "maximum dry friction at rest [N·m, N]", "nv", ("nv",)),
    "friction_velocity": Kind("joint", "speed v_s of the smooth law of friction [rad/s, m/s]", "nv", ("nv",)),
    "stiffness": Kind("joint", "stiffness of springs [N·m/rad, N/m]", "nv", ("nv",)),
    "rest": Kind("joint", "configuration of zero spring force [rad, m]", "nq", ("nq",)),
    "placement": Kind("joint", f"the joint's placement on the link before it, {_OFFSET}", 6, ("nb", 6)),
    "frame": Kind("frame", f"the frame's placement, {_OFFSET}", 6),
    "point": Kind("point", "the point's position in its frame [m]", 3),
    "direction": Kind("direction", "the direction in its frame, of unit length [1]", 3),
}

LOOP_KINDS = ("damping", "friction", "static_friction", "friction_velocity", "stiffness", "rest")
"""Kinds that joints that close loops have, too; the kind alone does not include these joints."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """Kernel parameter: values of a robot, such as an inertia, that are passed with each call."""

    kind: str
    name: str = ""  # name of the owner; "" for all owners, and for parameters of the robot
    fitting: bool = False  # True if it came from a pattern, and may have no effect

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind

    def shape(self, tree: Tree) -> tuple[int, ...]:
        """Return the shape of the parameter's array."""
        kind = KINDS[self.kind]
        if not self.name and kind.all is not None:
            sizes = {"nb": len(tree.bodies), "nv": tree.nv, "nq": tree.nq}
            return tuple(sizes[n] if isinstance(n, str) else n for n in kind.all)
        if isinstance(kind.size, int):
            return (kind.size,)
        joint = _joint_body(tree, self.name).joint
        return (joint.nq if kind.size == "nq" else joint.nv,)

    def nominal(self, tree: Tree) -> list[float]:
        """Return the parameter's values in the tree, flattened by rows.

        With these values, a kernel returns the same as one without the parameter.
        """
        match self.kind, self.name:
            case "gravity", _:
                return [*tree.gravity]
            case "inertia", "":
                return [x for body in tree.bodies for x in body.inertia.parameters()]
            case "inertia", link:
                frames = {frame.name: frame for frame in frames_with_inertias(tree.bodies, tree.frames)}
                return [*(frames[link].inertia).parameters()]
            case (("placement" | "frame"), _):
                return [0.0] * math.prod(self.shape(tree))
            case "point", _:
                return [*tree.point(self.name).position]
            case "direction", _:
                return [*tree.direction(self.name).vector]
            case kind, "":
                result = [0.0] * math.prod(self.shape(tree))
                for i, body in tree.stacked():
                    result[(tree.q_slices if kind == "rest" else tree.v_slices)[i]] = joint_values(body, kind)
                return result
            case kind, joint:
                return joint_values(_joint_body(tree, joint), kind)


def joint_values(body: Body, kind: str) -> list[Any]:
    """Return the values of one kind, such as "stiffness", for a body's joint, with defaults filled in."""
    nv = body.joint.nv
    match kind:
        case "damping":
            return [*body.damping]
        case "friction":
            return [*body.friction]
        case "static_friction":
            return [*(body.drive.static_friction or body.friction)]
        case "rest":
            return [*(body.drive.rest or body.call_joint("zero"))]
        case "friction_velocity":
            return [*Drive.full(body.drive.friction_velocity, nv, FRICTION_VELOCITY)]
        case _:
            return [*Drive.full(getattr(body.drive, kind), nv, 0.0)]


def _joint_body(tree: Tree, name: str) -> Body:
    """Return the body that a joint moves; for a loop joint a massless body with the loop joint's parameters."""
    loops = {loop.name: loop for loop in loops_of(tree)}
    return body_of(loops[name]) if name in loops else tree.bodies[tree.joint_index(name)]


def read_parameters(tree: Tree, caller: str, requested: Any) -> tuple[Parameter, ...]:
    """Return the kernel parameters for one string or several, such as "inertia:forearm" or "gravity".

    A pattern with ``*``, ``?`` or ``[`` stands for all matching names.

    Raises UnknownNameError for an unknown kind or name, ValueError for a repeated parameter, for a kind that needs a
    name, and for inertias of a robot without inertias, TypeError for anything but strings.
    """
    if not isinstance(requested, (str, Iterable)) or isinstance(requested, bytes):
        raise TypeError(
            f'{caller}: parameters: expected strings, as in ["inertia:forearm", "gravity"], got {requested!r}'
        )
    result: list[Parameter] = []
    taken: dict[tuple[str, str], str] = {}
    for text in [requested] if isinstance(requested, str) else requested:
        for parameter in _read(tree, caller, text):
            for value in _covered_values(tree, parameter):
                if value in taken:
                    again = "listed twice" if taken[value] == text else f"already part of {taken[value]!r}"
                    raise ValueError(f"{caller}: parameters: {str(parameter)!r} is {again}")
                taken[value] = text
            result.append(parameter)
    return tuple(result)


def inputs_of(parameters: Sequence[Parameter]) -> dict[Parameter, str]:
    """Return the name of each parameter's kernel input, such as ``inertia_forearm``, by parameter."""
    result: dict[str, Parameter] = {}
    for parameter in parameters:
        name = first = letters("_".join(filter(None, (parameter.kind, parameter.name))))
        count = 1
        while name in result:
            name, count = f"{first}_{count}", count + 1
        result[name] = parameter
    return {parameter: name for name, parameter in result.items()}


_OF_PLACEMENT = ("length", "lengths", "link_length", "size", "position", "x", "y", "z", "xyz", "origin", "offset")
_OF_INERTIA = ("mass", "masses", "com", "center_of_mass", "moment_of_inertia", "inertial")  # words for parts of inertia


def _read(tree: Tree, caller: str, text: Any) -> list[Parameter]:
    if not isinstance(text, str):
        raise TypeError(f'{caller}: parameters: expected strings, as in "inertia:forearm", got {text!r}')
    word, colon, name = text.partition(":")
    kind = KINDS.get(word)
    if kind is None:
        by_input = _by_input(tree, text)
        if by_input is not None:
            return [by_input]
        forms = [
            f"{word}:{name if name in _names(tree, word) else f'<{kind.of}>'}" if kind.of else word
            for word, kind in KINDS.items()
        ]
        intended = [f"{word}:{x}" for word in KINDS if text.startswith(f"{word}_") for x in _names(tree, word)]
        remedy = ""
        if word in _OF_INERTIA:
            remedy = (
                f"inertia:{name or '<link>'} has the mass, mass · center and inertia; a factor of it scales the mass"
            )
        if word in _OF_PLACEMENT:
            remedy = 'a length of a link is the placement of the joint at its end: "placement:<joint>" changes it'
        raise UnknownNameError("parameter", text, intended or forms, remedy)
    if word == "inertia":
        tree.require_inertias(f"{caller}: parameters: {text}")
    if not kind.of:
        if colon:
            raise ValueError(f"{caller}: parameters: {word} belongs to the robot: write {word!r}, not {text!r}")
        return [Parameter(word)]
    if not colon:
        if kind.all is None:
            raise ValueError(
                f"{caller}: parameters: {text!r} does not name a {kind.of}: write "
                f'"{word}:{next(iter(_names(tree, word)), kind.of)}" for one and "{word}:*" for each'
            )
        return [Parameter(word)]
    known = _names(tree, word)
    if name in known:
        return [Parameter(word, name)]
    fitting = [x for x in known if fnmatchcase(x, name)] if any(c in name for c in "*?[") else []
    if not fitting:
        raise UnknownNameError(kind.of, name, known, _remedy(tree, word, name))
    return [Parameter(word, x, fitting=True) for x in fitting]


def _by_input(tree: Tree, name: str) -> Parameter | None:
    """Return the parameter whose kernel input has this name, such as ``inertia_forearm``; None if there is none."""
    words = [word for word, kind in KINDS.items() if kind.of and name.startswith(f"{word}_")]
    named = [Parameter(word, x) for word in words for x in _names(tree, word)]
    result = [p for p in named if letters(f"{p.kind}_{p.name}") == name]
    return result[0] if len(result) == 1 else None


def _names(tree: Tree, kind: str) -> list[str]:
    """Return the names of all links, joints, frames, points or directions that can have a parameter of this kind."""
    match KINDS[kind].of:
        case "link":
            frames = frames_with_inertias(tree.bodies, tree.frames)
            return [f.name for f in frames if f.is_link]
        case "frame":
            return [frame.name for frame in tree.frames]
        case "point":
            return [point.name for point in tree.points]
        case "direction":
            return [direction.name for direction in tree.directions]
        case _:
            moving = [tree.bodies[i] for i in tree.order]
            if kind == "placement":
                return [*(body.joint_name for body in moving), *tree.fixed_joints]
            loops = loops_of(tree) if kind in LOOP_KINDS else []
            return [*(body.joint_name for body in moving if body.joint.nv), *(loop.name for loop in loops)]


def _remedy(tree: Tree, kind: str, name: str) -> str:
    """Return a hint for the message about an unknown name, if another kind of object has this name."""
    owner = KINDS[kind].of
    links = [frame.name for frame in tree.frames]
    if owner in ("point", "direction"):
        element = name if owner == "point" else name[:-2]
        if element in links:
            return (
                f"it is fixed to frame {element!r}: frame:{element} moves that, and Robot.with_{owner} adds a {owner}"
            )
    if owner == "joint" and name in links:
        carrying = [joint for joint, link in tree.carried.items() if link == name]
        fixed = f"it is a frame: frame:{name} moves it" if kind == "placement" else "it is a frame"
        return f"it is a link, carried by joint {carrying[0]!r}" if carrying else fixed
    if owner in ("link", "frame") and name in tree.carried:
        return f"it is a joint, which carries link {tree.carried[name]!r}"
    return ""


def _covered_values(tree: Tree, parameter: Parameter) -> list[tuple[str, str]]:
    """Return the (kind, owner) pairs that a parameter covers, to detect repeated ones."""
    kind, name = parameter.kind, parameter.name
    if kind == "placement" and name in tree.fixed_joints:
        return [("frame", tree.fixed_joints[name])]
    if name or not KINDS[kind].of:
        return [(kind, name)]
    if kind == "inertia":
        moving = [(frame.name, frame.body) for frame in frames_with_inertias(tree.bodies, tree.frames)]
        return [(kind, link) for link, body in moving if body >= 0]
    if kind == "placement":
        return [(kind, body.joint_name) for body in tree.bodies]
    return [(kind, body.joint_name) for _, body in tree.stacked()]
