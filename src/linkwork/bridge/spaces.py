"""Configurations as points of their joints' manifolds: what the compiler is told of kernels' inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..algorithms.row import QUANTITIES, quantity_of
from ..compiler.derivatives.spaces import Block, Space, Spaces
from ..joints.blamed import asked
from .requests import Request
from .subjects import Subject, made_here
from .tracing import input_ports, output_ports

__all__ = ["configuration_space", "spaces_of"]


def configuration_space(subject: Subject) -> Space:
    """The space of the configurations of a robot or a joint."""
    placed = zip(subject.parts(QUANTITIES["q"]), subject.parts(QUANTITIES["v"]), strict=True)
    blocks, said = [], []
    for at_q, at_v in placed:
        maps = (partial(asked, at_q.joint, at_q.type, method) for method in ("q_dot", "v_of"))
        q, v = range(subject.sizes["nq"])[at_q.place], range(subject.sizes["nv"])[at_v.place]
        blocks.append(Block(slice(q.start, q.stop), slice(v.start, v.stop), *maps))
        said.append((type(at_q.type).__qualname__, repr(at_q.type), q.start, v.start, made_here(at_q.type)))
    content = (subject.kind, repr(said)) if all(part[-1] for part in said) else None
    name = f"of configurations of {subject.about!r}"
    return Space(subject.sizes["nq"], subject.sizes["nv"], tuple(blocks), name, content)


def spaces_of(subject: Subject, requests: Mapping[str, Request]) -> Spaces:
    """Those of the inputs and outputs of several functions' kernel that are configurations."""
    inputs = [port.name for port in input_ports(subject, requests) if quantity_of(port.name).configuration]
    flags = [out.configuration for request in requests.values() for out in request.row.outputs]
    ports = output_ports(subject, requests)
    outputs = [port.name for port, is_one in zip(ports, flags, strict=True) if is_one]
    if not inputs and not outputs:
        return Spaces()
    space = configuration_space(subject)
    return Spaces(dict.fromkeys(inputs, space), dict.fromkeys(outputs, space))
