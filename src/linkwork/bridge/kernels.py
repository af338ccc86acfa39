"""The bridge: one table of every function of a robot, and how a robot and the table become kernels.

The robot's methods, the documentation, the command line, the tests and the benchmarks read this table.  To add a
function, write its algorithm over any scalar and add a row here and a method in `linkwork.facade.robot`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import algorithms
from ..compiler.build import Recipe
from ..compiler.cache import Cache
from ..compiler.cache import place as cache_place
from ..compiler.facts import CodeFacts, code_facts
from ..compiler.kernel import Kernel, call_state, make_ready, raise_failure, ready_for, single_call
from ..compiler.program import Port, Program, arithmetic
from ..compiler.target import host, levels
from ..compiler.threads import get_num_threads, set_num_threads
from ..compiler.trace import quiet_collector
from ..errors import UnknownNameError
from ..expr.functions import fabs
from ..expr.symbol import Graph, Symbol
from ..joints import JointType
from ..joints.checked import EXACT
from ..model.regroup import regrouped
from ..model.seat import seated
from ..model.slide import slid
from ..model.tilt import tilted
from ..model.tree import Tree
from ..spatial import Pose

__all__ = [
    "INPUTS",
    "TABLE",
    "Cache",
    "CodeFacts",
    "Function",
    "Kernel",
    "Port",
    "Request",
    "arithmetic",
    "cache_place",
    "call_state",
    "code_facts",
    "compile_requests",
    "elements_of",
    "expressions",
    "get_num_threads",
    "host",
    "labelled",
    "levels",
    "make_ready",
    "pose_numbers",
    "raise_failure",
    "read_request",
    "ready_for",
    "set_num_threads",
    "single_call",
    "written_here",
]


@dataclass(frozen=True, slots=True)
class Input:
    """An array that functions of a robot take."""

    shape: str  # "nq" or "nv"
    doc: str


INPUTS: dict[str, Input] = {
    "q": Input("nq", "configuration [rad, m; unit quaternions (w, x, y, z)]"),
    "v": Input("nv", "velocity [rad/s, m/s]"),
    "a": Input("nv", "acceleration [rad/s², m/s²]"),
    "tau": Input("nv", "joint forces [N·m, N]"),
    "q0": Input("nq", "configuration to start from [rad, m; unit quaternions (w, x, y, z)]"),
    "q1": Input("nq", "configuration to reach [rad, m; unit quaternions (w, x, y, z)]"),
}


@dataclass(frozen=True, slots=True)
class Function:
    """A row: a function of a robot, what goes in and what comes out."""

    name: str
    algorithm: Callable[..., Any]
    inputs: tuple[str, ...]
    shape: tuple[str | int, ...]  # of the result: sizes, or "nq", "nv", "nb" (bodies)
    units: str
    doc: str
    options: tuple[str, ...] = ()  # frames to name: the first is required
    joint_space: bool = False  # depends on the inertias only as the joints feel them

    def shape_for(self, tree: Tree) -> tuple[int, ...]:
        sizes = {"nq": tree.nq, "nv": tree.nv, "nb": len(tree.bodies)}
        return tuple(n if isinstance(n, int) else sizes[n] for n in self.shape)


_FRAME = ("frame", "relative_to", "expressed_in", "at")
_DEFAULTS = {"relative_to": "world", "expressed_in": "world", "at": None}

TABLE: dict[str, Function] = {
    row.name: row
    for row in (
        Function(
            "forward_kinematics",
            algorithms.forward_kinematics,
            ("q",),
            ("nb", 4, 4),
            "1, m",
            "Poses of all bodies in the world.",
        ),
        Function(
            "pose",
            algorithms.pose,
            ("q",),
            (4, 4),
            "1, m",
            "Pose of a frame relative to another.",
            ("frame", "relative_to"),
        ),
        Function(
            "twist",
            algorithms.twist,
            ("q", "v"),
            (6,),
            "rad/s, m/s",
            "Twist (ω; v) of a frame relative to another.",
            _FRAME,
        ),
        Function(
            "acceleration",
            algorithms.acceleration,
            ("q", "v", "a"),
            (6,),
            "rad/s², m/s²",
            "Acceleration (ω̇; v̇) of a frame relative to another.",
            _FRAME,
        ),
        Function(
            "jacobian",
            algorithms.jacobian,
            ("q",),
            (6, "nv"),
            "1, m",
            "Matrix that maps velocities to a frame's twist.",
            _FRAME,
        ),
        Function(
            "inverse_dynamics",
            algorithms.inverse_dynamics,
            ("q", "v", "a"),
            ("nv",),
            "N·m, N",
            "Joint forces under which the robot accelerates as asked.",
            joint_space=True,
        ),
        Function(
            "forward_dynamics",
            algorithms.forward_dynamics,
            ("q", "v", "tau"),
            ("nv",),
            "rad/s², m/s²",
            "Accelerations under given joint forces.",
            joint_space=True,
        ),
        Function(
            "mass_matrix",
            algorithms.mass_matrix,
            ("q",),
            ("nv", "nv"),
            "kg·m², kg·m, kg",
            "Joint-space mass matrix.",
            joint_space=True,
        ),
        Function(
            "bias_force",
            algorithms.bias_force,
            ("q", "v"),
            ("nv",),
            "N·m, N",
            "Joint forces at which nothing accelerates: Coriolis, centrifugal and gravity.",
            joint_space=True,
        ),
        Function(
            "gravity_force",
            algorithms.gravity_force,
            ("q",),
            ("nv",),
            "N·m, N",
            "Joint forces that hold the robot still.",
            joint_space=True,
        ),
        Function(
            "integrate",
            algorithms.integrate,
            ("q", "v"),
            ("nq",),
            "rad, m, 1",
            "Configuration that a velocity, held for unit time, leads to.",
        ),
        Function(
            "difference",
            algorithms.difference,
            ("q0", "q1"),
            ("nv",),
            "rad, m",
            "Velocity that leads from one configuration to another in unit time.",
        ),
        Function(
            "normalize",
            algorithms.normalize,
            ("q",),
            ("nq",),
            "rad, m, 1",
            "Nearest configuration on the joints' manifolds: quaternions become unit.",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Request:
    """A function of the table with its frames named."""

    function: Function
    options: tuple[tuple[str, str | None], ...] = ()

    @property
    def label(self) -> str:
        """The function's name and, where it has one, its frame's: letters, digits and underscores."""
        text = "_".join([self.function.name, *(str(value) for key, value in self.options if key == "frame")])
        return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in text)


def read_request(tree: Tree, asked: Any) -> Request:
    """What ``"mass_matrix"``, ``("jacobian", "hand")`` or ``("jacobian", "hand", {"at": "world"})`` asks for.

    Raises UnknownNameError for a function or frame that is not there, TypeError for anything else; ValueError for a
    function of inertias where the robot was loaded without them.
    """
    name, *rest = asked if isinstance(asked, (tuple, list)) else (asked,)
    function = TABLE.get(name) if isinstance(name, str) else None
    if function is None:
        raise UnknownNameError("function", name, TABLE)
    if function.joint_space:
        tree.require_inertias(function.name)
    options: dict[str, str | None] = {}
    for part in rest:
        if isinstance(part, Mapping):
            options.update(part)
        elif "frame" in function.options and "frame" not in options:
            options["frame"] = part
        else:
            raise TypeError(f"{function.name}: expected {_forms(function)}, got {asked!r}")
    unknown = [key for key in options if key not in function.options]
    if unknown or ("frame" in function.options and "frame" not in options):
        raise TypeError(f"{function.name}: expected {_forms(function)}, got {asked!r}")
    for frame in options.values():
        if frame is not None:
            tree.frame(frame)
    asked_for = {key: value for key, value in options.items() if value != _DEFAULTS.get(key, "")}
    return Request(function, tuple(sorted(asked_for.items())))


def labelled(requests: list[Request]) -> dict[str, Request]:
    """Requests by the names of their outputs."""
    names = [request.function.name for request in requests]
    labelled: dict[str, Request] = {}
    for request in requests:
        label = request.function.name if names.count(request.function.name) == 1 else request.label
        if label in labelled:
            raise ValueError(
                f"compile: two outputs would be named {label!r}; name them with a dict, as in "
                f'{{"first": {request.function.name!r}, ...}}'
            )
        labelled[label] = request
    return labelled


def _forms(function: Function) -> str:
    if not function.options:
        return repr(function.name)
    return (
        f'("{function.name}", frame) or ("{function.name}", frame, {{option: frame}}), options {function.options[1:]}'
    )


def compile_requests(tree: Tree, name: str, requests: Mapping[str, Request]) -> Kernel:
    """One kernel for several functions, by the names of its outputs; common work is done once.

    Its inputs are those that any of the functions take, in the order of `INPUTS`.
    """
    recipe = Recipe(
        name,
        tuple(_inputs(tree, requests)),
        tuple(Port(key, request.function.shape_for(tree)) for key, request in requests.items()),
        lambda: trace_requests(tree, name, requests),
        _content(tree, requests),
        (("robot", tree.name),),
    )
    return Kernel(recipe, doc="; ".join(r.function.doc for r in requests.values()))


def _inputs(tree: Tree, requests: Mapping[str, Request]) -> list[Port]:
    needed = {i for request in requests.values() for i in request.function.inputs}
    sizes = {"nq": tree.nq, "nv": tree.nv}
    return [Port(key, (sizes[declared.shape],)) for key, declared in INPUTS.items() if key in needed]


def _content(tree: Tree, requests: Mapping[str, Request]) -> tuple[str, ...] | None:
    """Everything that the program of these functions depends on; None if that includes code that is not linkwork's."""
    if not all(written_here(body.joint) for body in tree.bodies):
        return None
    bodies = [
        (
            b.parent,
            type(b.joint).__qualname__,
            b.joint,
            pose_numbers(b.placement),
            pose_numbers(b.rotor),
            b.inertia,
            b.coupling,
        )
        for b in tree.bodies
    ]
    places = tree.q_slices, tree.v_slices
    asked = [(request.function.name, request.options) for request in requests.values()]
    named = {frame for _, options in asked for _, frame in options if frame is not None}
    frames = [
        (name, frame.body, pose_numbers(frame.placement)) for name in sorted(named) for frame in (tree.frame(name),)
    ]
    return repr(asked), repr((tree.gravity, bodies, places)), repr(frames)


def written_here(joint: JointType) -> bool:
    """Whether a joint's code, and that of the joints that it is made of, is linkwork's own."""
    return type(joint).__module__.startswith("linkwork.joints.") and all(map(written_here, joint.parts))


def pose_numbers(pose: Pose) -> tuple[float, ...]:
    """The elements of a pose, row by row."""
    return tuple(pose.elements())


def trace_requests(tree: Tree, name: str, requests: Mapping[str, Request]) -> Program:
    """The program of several functions of a robot, traced together."""
    with quiet_collector():
        inputs, outputs = expressions(tree, requests)
        return Program.of(name, inputs, outputs, _guards(tree, requests, inputs))


def _guards(tree: Tree, requests: Mapping[str, Request], inputs: Inputs) -> list[Symbol]:
    """How far numbers that should have length 1 together are from it, above what is exact enough.

    Twice that: squared lengths are compared.
    """
    if all(request.function.name == "normalize" for request in requests.values()):
        return []
    found = []
    for port, symbols in inputs:
        if INPUTS[port.name].shape == "nq":
            for i, body in tree.stacked():
                q = symbols[tree.q_slices[i]]
                for places in body.joint.unit_length:
                    found.append(fabs(sum((q[k] * q[k] for k in places), -1.0)) - 2.0 * EXACT)
    return found


Inputs = list[tuple[Port, list[Symbol]]]
Outputs = list[tuple[Port, Sequence[Any]]]


def expressions(
    tree: Tree, requests: Mapping[str, Request], watched: Callable[[Tree, Graph], Tree] | None = None
) -> tuple[Inputs, Outputs]:
    """The inputs and the results of several functions of a robot, as expressions of one graph.

    ``watched`` may put another tree in the place of the one that an algorithm would walk, to see how it does.
    """
    in_joint_space = any(request.function.joint_space for request in requests.values())
    felt = regrouped(slid(tilted(seated(tree)))) if in_joint_space else tree
    graph = Graph()
    inputs = [(port, graph.inputs(port.name, port.shape)) for port in _inputs(tree, requests)]
    symbols = {port.name: values for port, values in inputs}
    outputs: Outputs = []
    for key, request in requests.items():
        function = request.function
        walked = felt if function.joint_space else tree
        if watched is not None:
            walked = watched(walked, graph)
        result = function.algorithm(walked, *(symbols[i] for i in function.inputs), **dict(request.options))
        if function.name == "jacobian":  # columns to rows
            result = list(zip(*(column.elements() for column in result), strict=True))
        outputs.append((Port(key, function.shape_for(tree)), elements_of(result)))
    return inputs, outputs


def elements_of(result: Any) -> Sequence[Any]:
    """The scalars of an algorithm's result, row by row."""
    if hasattr(result, "elements"):
        return list(result.elements())
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in elements_of(part)]
    return [result]
