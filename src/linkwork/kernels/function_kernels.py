"""Kernels of functions of a robot and of a joint.

`configuration_space` and `spaces_of` describe the inputs and outputs that are configurations, so that the compiler
differentiates with respect to tangent vectors.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork.compiler.build import Recipe
from linkwork.compiler.derivatives.tangent_spaces import Block, Space, Spaces
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.trace.side_effects import with_reports
from linkwork.joints import JointType
from linkwork.joints.base.checks import call_joint
from linkwork.kernels.function_request import Request
from linkwork.kernels.function_trace import (
    input_ports,
    is_in_double,
    is_ruled,
    output_ports,
    parameter_ports,
    trace_requests,
    trace_ruled,
)
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.owners import JointOwner, KernelOwner, RobotOwner, has_symbols, is_own_joint, placement_of
from linkwork.model.friction_laws import FrictionLaw
from linkwork.model.function_spec import QUANTITIES, FunctionSpec, quantity_of
from linkwork.model.tree import Report, Tree

if TYPE_CHECKING:
    from linkwork.compiler.program import Program

__all__ = ["CACHED", "compile_requests", "configuration_space", "data_of", "joint_kernel", "kernel_of_pickle"]

CACHED = 512  # kernels that are stored for joints of equal types


def compile_requests(subject: KernelOwner, name: str, requests: Mapping[str, Request]) -> Kernel:
    """Compile one kernel for several functions, with outputs by name; common work is done once.

    The kernel's inputs are the inputs of all functions, in the order of `QUANTITIES`.
    """
    if has_symbols(subject):
        raise TypeError(
            f"{name}: robot {subject.label!r} has symbols among its parameters: call its methods in the compiled "
            f"function, or pass them as parameters: robot.compile(..., parameters=[...])"
        )
    ruled = any(is_ruled(subject, request) for request in requests.values())
    content = _content(subject, requests)

    def trace() -> Program:
        return trace_requests(subject, name, requests)

    recipe = Recipe(
        name,
        input_ports(subject, requests),
        output_ports(subject, requests),
        trace if content is not None else partial(with_reports, name, (subject, requests), trace),
        content,
        ((subject.kind, subject.label),),
        (lambda: trace_ruled(subject, name, requests)) if ruled else None,
        any(is_in_double(subject, request.spec) for request in requests.values()),
        origin=None if content is None else RequestOrigin(subject, name, requests),
    )
    doc = "; ".join(request.spec.doc for request in requests.values())
    return Kernel(recipe, doc=doc, spaces=spaces_of(subject, requests), later=True)


def _content(subject: KernelOwner, requests: Mapping[str, Request]) -> tuple[str, ...] | None:
    """Everything that the program of these functions depends on; None if that includes code that is not linkwork's."""
    rows = [request.spec for request in requests.values()]
    if any(isinstance(value, FrictionLaw) for request in requests.values() for _, value in request.options):
        return None  # a law of the caller's own: those of the library are named
    options = [option for request in requests.values() for option in (*request.options, *request.wrenches)]
    parameters = next((request.parameters for request in requests.values()), ())
    content = subject.content(rows, options, parameters)
    if content is None:
        return None
    requested = [(r.spec.name, r.options, r.optional_inputs, r.wrenches, *parameters) for r in requests.values()]
    return subject.kind, repr(requested), *content


def kernel_of_pickle(data: bytes) -> Kernel:
    """Return the kernel of a pickle that states its robot and functions, compiled again or found in a cache."""
    origin = read_origin(data)
    return compile_requests(origin.subject, origin.name, origin.requests)


_of_joints: LazyCache[Kernel] = LazyCache(CACHED)


def joint_kernel(subject: JointOwner, request: Request) -> Kernel:
    """Return the kernel of one function of a joint, shared by equal joint types while it is stored."""

    def make() -> Kernel:
        return compile_requests(subject, request.spec.name, {request.spec.name: request})

    site = subject.algorithm_input(request.spec)
    try:
        key = (request, site.type, repr(placement_of(site)))
        hash(key)
    except TypeError:  # a user's type with values that cannot be hashed
        return make()
    return _of_joints.get(key, make)


def configuration_space(subject: KernelOwner) -> Space:
    """Return the manifold of the configurations of a robot or a joint, for derivatives by tangent vectors."""
    placed = zip(subject.parts(QUANTITIES["q"]), subject.parts(QUANTITIES["v"]), strict=True)
    nq, nv = range(subject.sizes["nq"]), range(subject.sizes["nv"])
    parts = [(at_q.joint, at_q.type, nq[at_q.indices], nv[at_v.indices]) for at_q, at_v in placed]
    return _space(f"of configurations of {subject.label!r}", subject.kind, len(nq), len(nv), parts)


def _space(name: str, kind: str, nq: int, nv: int, parts: Iterable[tuple[str, JointType, range, range]]) -> Space:
    """Return the manifold of configurations of several joints, each with its ranges of coordinates and velocities."""
    blocks, described = [], []
    for joint, type_, q, v in parts:
        maps = (partial(call_joint, joint, type_, method) for method in ("q_dot", "velocity_from_rate"))
        blocks.append(Block(slice(q.start, q.stop), slice(v.start, v.stop), *maps))
        described.append((type(type_).__qualname__, repr(type_), q.start, v.start, is_own_joint(type_)))
    content = (kind, repr(described)) if all(part[-1] for part in described) else None
    return Space(nq, nv, tuple(blocks), name, content)


def spaces_of(subject: KernelOwner, requests: Mapping[str, Request]) -> Spaces:
    """Return the manifolds of a kernel's inputs and outputs that are configurations, by name."""
    names = dict.fromkeys(name for request in requests.values() for name in request.inputs)
    inputs = [name for name in names if quantity_of(name).configuration]
    rests = [(p, port.name) for p, port in parameter_ports(subject, requests).items() if p.kind == "rest"]
    flags = [out.configuration for request in requests.values() for out in request.outputs]
    ports = output_ports(subject, requests)
    outputs = [port.name for port, is_one in zip(ports, flags, strict=True) if is_one]
    if not (inputs or outputs or rests):
        return Spaces()
    space = configuration_space(subject)
    of_springs = {name: _space_of_joint(subject, p.name) if p.name else space for p, name in rests}
    return Spaces(dict.fromkeys(inputs, space) | of_springs, dict.fromkeys(outputs, space))


def _space_of_joint(subject: KernelOwner, name: str) -> Space:
    """Return the manifold of the configurations of the robot's joint ``name``."""
    assert isinstance(subject, RobotOwner)
    joint = subject.tree.bodies[subject.tree.joint_index(name)].joint
    parts = [(name, joint, range(joint.nq), range(joint.nv))]
    return _space(f"of configurations of joint {name!r}", "joint", joint.nq, joint.nv, parts)


@dataclass(frozen=True, eq=False)
class RequestOrigin:
    """The robot or joint, and the requests of its functions, from which a kernel's pickle is compiled again."""

    subject: KernelOwner
    name: str
    requests: Mapping[str, Request]

    def packed(self) -> bytes | None:
        """Return the origin as bytes, which `read_origin` reads; None for functions outside linkwork's tables."""
        table = _table(self.subject.kind)
        if not all(table.get(request.spec.name) is request.spec for request in self.requests.values()):
            return None
        requests = [
            (key, r.spec.name, r.options, r.optional_inputs, r.wrenches, r.parameters)
            for key, r in self.requests.items()
        ]
        return zlib.compress(pickle.dumps((self.subject.kind, data_of(self.subject), self.name, requests), 5))


def read_origin(data: bytes) -> RequestOrigin:
    """Return the robot or joint and the requested functions from the bytes that `RequestOrigin.packed` wrote."""
    kind, values, name, requests = pickle.loads(zlib.decompress(data))
    table = _table(kind)
    subject: KernelOwner = RobotOwner(values, table) if kind == "robot" else JointOwner(values[0], values[1], table)
    return RequestOrigin(subject, name, {key: Request(table[spec], *more) for key, spec, *more in requests})


def _table(kind: str) -> Mapping[str, FunctionSpec]:
    """Return the table of the functions of a robot or of a joint, which is in a package above."""
    if kind == "robot":
        return import_module("linkwork.robot.robot_table").ROBOT  # type: ignore[no-any-return]
    return import_module("linkwork.kinematics.algorithms.joint_functions").TABLE  # type: ignore[no-any-return]


def data_of(subject: KernelOwner) -> Any:
    """Return the pickled data of a robot or a joint: a tree without shapes, or the joint's name and its placement.

    No function depends on shapes, so meshes stay out of pickles.
    """
    if isinstance(subject, RobotOwner):
        return _without_shapes(subject.tree)
    assert isinstance(subject, JointOwner)
    return subject.name, subject.site


def _without_shapes(tree: Tree) -> Tree:
    """Return the tree without shapes, and without the report of its file."""
    frames = tuple([replace(frame, visuals=(), collisions=()) for frame in tree.frames])
    return replace(tree, frames=frames, report=Report(), source=None)
