"""Configurations as points of their joints' manifolds: what the compiler is told of kernels' inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from linkwork.compiler.derivatives.tangent_spaces import Block, Space, Spaces
from linkwork.joints import JointType
from linkwork.joints.base.error_context import asked
from linkwork.kernels.function_request import Request
from linkwork.kernels.function_trace import output_ports, parameter_ports
from linkwork.kernels.owners import OfRobot, Subject, made_here
from linkwork.model.function_spec import QUANTITIES, quantity_of

__all__ = ["configuration_space", "spaces_of"]


def configuration_space(subject: Subject) -> Space:
    """The space of the configurations of a robot or a joint."""
    placed = zip(subject.parts(QUANTITIES["q"]), subject.parts(QUANTITIES["v"]), strict=True)
    nq, nv = range(subject.sizes["nq"]), range(subject.sizes["nv"])
    parts = [(at_q.joint, at_q.type, nq[at_q.place], nv[at_v.place]) for at_q, at_v in placed]
    return _space(f"of configurations of {subject.about!r}", subject.kind, len(nq), len(nv), parts)


def _space(name: str, kind: str, nq: int, nv: int, parts: Iterable[tuple[str, JointType, range, range]]) -> Space:
    """The space of configurations of joints, each with its places among so many numbers."""
    blocks, said = [], []
    for joint, type_, q, v in parts:
        maps = (partial(asked, joint, type_, method) for method in ("q_dot", "v_of"))
        blocks.append(Block(slice(q.start, q.stop), slice(v.start, v.stop), *maps))
        said.append((type(type_).__qualname__, repr(type_), q.start, v.start, made_here(type_)))
    content = (kind, repr(said)) if all(part[-1] for part in said) else None
    return Space(nq, nv, tuple(blocks), name, content)


def spaces_of(subject: Subject, requests: Mapping[str, Request]) -> Spaces:
    """Those of the inputs and outputs of several functions' kernel that are configurations."""
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


def _space_of_joint(subject: Subject, name: str) -> Space:
    """The space of the configurations of one of a robot's joints."""
    assert isinstance(subject, OfRobot)
    joint = subject.tree.bodies[subject.tree.joint_index(name)].joint
    parts = [(name, joint, range(joint.nq), range(joint.nv))]
    return _space(f"of configurations of joint {name!r}", "joint", joint.nq, joint.nv, parts)
