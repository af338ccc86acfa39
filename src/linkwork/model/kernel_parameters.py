"""What of a robot may come with a call of a kernel, in the place of its own constants: parameters, and their names.

A parameter is written as its kind and the name of what has it, ``"inertia:forearm"``, or as its kind alone, for all
that there are in one array: ``"damping"``.
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
from linkwork.model.composite_body import told
from linkwork.model.tree import Tree
from linkwork.spatial.inertia_vector import parameters_of

__all__ = ["KINDS", "Kind", "Parameter", "inputs_of", "joint_numbers", "read_parameters"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What some parameters have in common."""

    of: str  # "link", "joint", "frame", "point", "direction"; nothing where it is the robot's own
    doc: str
    size: int | str  # of one: a number, or whether a joint has "nq" or "nv" of them
    all: tuple[int | str, ...] | None = None  # the shape of all in one array; None where each is asked for by name


_OFFSET = "offset (φ; d): turned by φ and moved by d in its own axes [rad, m]"

KINDS: dict[str, Kind] = {
    "inertia": Kind(
        "link", "ten inertial parameters, about the link's origin in its axes [kg, kg·m, kg·m²]", 10, ("nb", 10)
    ),
    "gravity": Kind("", "gravity in the world [m/s²]", 3),
    "armature": Kind("joint", "armature [kg·m², kg]", "nv", ("nv",)),
    "damping": Kind("joint", "viscous damping [N·m·s/rad, N·s/m]", "nv", ("nv",)),
    "friction": Kind("joint", "dry friction of joints that move [N·m, N]", "nv", ("nv",)),
    "static_friction": Kind("joint", "dry friction that holds joints at rest [N·m, N]", "nv", ("nv",)),
    "friction_velocity": Kind("joint", "speed v_s of the smooth law of friction [rad/s, m/s]", "nv", ("nv",)),
    "stiffness": Kind("joint", "stiffness of springs [N·m/rad, N/m]", "nv", ("nv",)),
    "rest": Kind("joint", "configuration at which springs exert nothing [rad, m]", "nq", ("nq",)),
    "placement": Kind("joint", f"the joint's place on the link before it, {_OFFSET}", 6, ("nb", 6)),
    "frame": Kind("frame", f"the frame's place, {_OFFSET}", 6),
    "point": Kind("point", "the point's position in its frame [m]", 3),
    "direction": Kind("direction", "the direction in its frame, of unit length [1]", 3),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """Some numbers of a robot that may come with a call."""

    kind: str
    name: str = ""  # of the link, joint, frame, point or direction; empty for all of them, and for the robot's own
    fitting: bool = False  # whether a pattern stood for it, and it may be of no use

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind

    def shape(self, tree: Tree) -> tuple[int, ...]:
        """The shape of its array."""
        kind = KINDS[self.kind]
        if not self.name and kind.all is not None:
            sizes = {"nb": len(tree.bodies), "nv": tree.nv, "nq": tree.nq}
            return tuple(sizes[n] if isinstance(n, str) else n for n in kind.all)
        if isinstance(kind.size, int):
            return (kind.size,)
        joint = tree.bodies[tree.joint_index(self.name)].joint
        return (joint.nq if kind.size == "nq" else joint.nv,)

    def nominal(self, tree: Tree) -> list[float]:
        """The tree's own numbers, row by row: at these a kernel gives what one without the parameter gives."""
        match self.kind, self.name:
            case "gravity", _:
                return [*tree.gravity]
            case "inertia", "":
                return [x for body in tree.bodies for x in parameters_of(body.inertia)]
            case "inertia", link:
                frames = {frame.name: frame for frame in told(tree.bodies, tree.frames)}
                return [*parameters_of(frames[link].inertia)]
            case (("placement" | "frame"), _):
                return [0.0] * math.prod(self.shape(tree))
            case "point", _:
                return [*tree.point(self.name).position]
            case "direction", _:
                return [*tree.direction(self.name).vector]
            case kind, "":
                result = [0.0] * math.prod(self.shape(tree))
                for i, body in tree.stacked():
                    result[(tree.q_slices if kind == "rest" else tree.v_slices)[i]] = joint_numbers(body, kind)
                return result
            case kind, joint:
                return joint_numbers(tree.bodies[tree.joint_index(joint)], kind)


def joint_numbers(body: Body, kind: str) -> list[Any]:
    """What a body's joint has of a kind, in full."""
    nv = body.joint.nv
    match kind:
        case "damping":
            return [*body.damping]
        case "friction":
            return [*body.friction]
        case "static_friction":
            return [*(body.drive.static_friction or body.friction)]
        case "rest":
            return [*(body.drive.rest or body.asked("zero"))]
        case "friction_velocity":
            return [*Drive.full(body.drive.friction_velocity, nv, FRICTION_VELOCITY)]
        case _:
            return [*Drive.full(getattr(body.drive, kind), nv, 0.0)]


def read_parameters(tree: Tree, caller: str, asked: Any) -> tuple[Parameter, ...]:
    """The parameters that are meant by one text or several; one with ``*``, ``?`` or ``[`` stands for all that fit.

    Raises UnknownNameError for a kind or a name that is not there, ValueError for what is asked for twice, for one that
    does not stand alone, and for inertias of a robot without, TypeError for what is no text.
    """
    if not isinstance(asked, (str, Iterable)) or isinstance(asked, bytes):
        raise TypeError(f'{caller}: parameters: expected strings, as in ["inertia:forearm", "gravity"], got {asked!r}')
    result: list[Parameter] = []
    taken: dict[tuple[str, str], str] = {}
    for text in [asked] if isinstance(asked, str) else asked:
        for parameter in _read(tree, caller, text):
            for own in _places(tree, parameter):
                if own in taken:
                    again = "given twice" if taken[own] == text else f"in {taken[own]!r} already"
                    raise ValueError(f"{caller}: parameters: {str(parameter)!r} is {again}")
                taken[own] = text
            result.append(parameter)
    return tuple(result)


def inputs_of(parameters: Sequence[Parameter]) -> dict[Parameter, str]:
    """The names of their inputs: ``inertia_forearm``."""
    result: dict[str, Parameter] = {}
    for parameter in parameters:
        name = first = letters("_".join(filter(None, (parameter.kind, parameter.name))))
        count = 1
        while name in result:
            name, count = f"{first}_{count}", count + 1
        result[name] = parameter
    return {parameter: name for name, parameter in result.items()}


def _read(tree: Tree, caller: str, text: Any) -> list[Parameter]:
    if not isinstance(text, str):
        raise TypeError(f'{caller}: parameters: expected strings, as in "inertia:forearm", got {text!r}')
    word, colon, name = text.partition(":")
    kind = KINDS.get(word)
    if kind is None:
        meant = _by_input(tree, text)
        if meant is not None:
            return [meant]
        forms = [f"{word}:{name or f'<{kind.of}>'}" if kind.of else word for word, kind in KINDS.items()]
        raise UnknownNameError("parameter", text, forms)
    if word == "inertia":
        tree.require_inertias(f"{caller}: parameters: {text}")
    if not kind.of:
        if colon:
            raise ValueError(f"{caller}: parameters: {word} is the robot's: write {word!r}, not {text!r}")
        return [Parameter(word)]
    if not colon:
        if kind.all is None:
            raise ValueError(
                f"{caller}: parameters: {text!r} names no {kind.of}: write "
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
    """The parameter whose input has a name, where there is one."""
    words = [word for word, kind in KINDS.items() if kind.of and name.startswith(f"{word}_")]
    named = [Parameter(word, x) for word in words for x in _names(tree, word)]
    result = [p for p in named if letters(f"{p.kind}_{p.name}") == name]
    return result[0] if len(result) == 1 else None


def _names(tree: Tree, kind: str) -> list[str]:
    """What may have parameters of a kind."""
    match KINDS[kind].of:
        case "link":
            frames = told(tree.bodies, tree.frames)
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
            return [body.joint_name for body in moving if body.joint.nv]


def _remedy(tree: Tree, kind: str, name: str) -> str:
    """What is meant by a name that is none of its kind."""
    of = KINDS[kind].of
    links = [frame.name for frame in tree.frames]
    if of in ("point", "direction"):
        whose = name if of == "point" else name[:-2]
        if whose in links:
            return f"it is fixed to frame {whose!r}: frame:{whose} moves that, and Robot.with_{of} adds a {of}"
    if of == "joint" and name in links:
        carrying = [joint for joint, link in tree.carried.items() if link == name]
        return f"it is a link, carried by joint {carrying[0]!r}" if carrying else "it is a link"
    if of in ("link", "frame") and name in tree.carried:
        return f"it is a joint, which carries link {tree.carried[name]!r}"
    return ""


def _places(tree: Tree, parameter: Parameter) -> list[tuple[str, str]]:
    """What a parameter stands for, so that none is asked for twice: numbers of a kind, of links, joints and frames."""
    kind, name = parameter.kind, parameter.name
    if kind == "placement" and name in tree.fixed_joints:
        return [("frame", tree.fixed_joints[name])]
    if name or not KINDS[kind].of:
        return [(kind, name)]
    if kind == "inertia":
        moving = [(frame.name, frame.body) for frame in told(tree.bodies, tree.frames)]
        return [(kind, link) for link, body in moving if body >= 0]
    if kind == "placement":
        return [(kind, body.joint_name) for body in tree.bodies]
    return [(kind, body.joint_name) for _, body in tree.stacked()]
