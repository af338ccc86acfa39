"""Kernels of functions of a robot and of a joint: where the robots' tower meets the compiler."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import FunctionType
from typing import Any

from linkwork._util.user_frames import names_in
from linkwork.compiler.build import Recipe
from linkwork.compiler.kernel import Kernel
from linkwork.joints import JointType
from linkwork.kernels.function_kernels_spaces import spaces_of
from linkwork.kernels.function_request import Request
from linkwork.kernels.function_trace import (
    input_ports,
    is_in_double,
    is_ruled,
    output_ports,
    trace_requests,
    trace_ruled,
)
from linkwork.kernels.kernel_cache import Once
from linkwork.kernels.owners import OfJoint, Subject, has_symbols, made_here, place

__all__ = ["CACHED", "compile_requests", "joint_kernel"]

CACHED = 512  # kernels kept for joints made later of equal types


def compile_requests(subject: Subject, name: str, requests: Mapping[str, Request]) -> Kernel:
    """One kernel for several functions, by the names of its outputs; common work is done once.

    Its inputs are those that any of the functions take, in the order of `QUANTITIES`.
    """
    if has_symbols(subject):
        raise TypeError(
            f"{name}: robot {subject.about!r} has symbols for some of its numbers: call its methods in the function "
            f"that is compiled, or name these as parameters: robot.compile(..., parameters=[...])"
        )
    ruled = any(is_ruled(subject, request) for request in requests.values())
    recipe = Recipe(
        name,
        input_ports(subject, requests),
        output_ports(subject, requests),
        lambda: trace_requests(subject, name, requests),
        _content(subject, requests),
        ((subject.kind, subject.about),),
        (lambda: trace_ruled(subject, name, requests)) if ruled else None,
        any(is_in_double(subject, request.row) for request in requests.values()),
    )
    doc = "; ".join(request.row.doc for request in requests.values())
    return Kernel(recipe, doc=doc, spaces=spaces_of(subject, requests))


def _content(subject: Subject, requests: Mapping[str, Request]) -> tuple[str, ...] | None:
    """Everything that the program of these functions depends on; None if that includes code that is not linkwork's."""
    rows = [request.row for request in requests.values()]
    options = [option for request in requests.values() for option in (*request.options, *request.wrenches)]
    parameters = next((request.parameters for request in requests.values()), ())
    content = subject.content(rows, options, parameters)
    if content is None:
        return None
    asked = [(r.row.name, r.options, r.given, r.wrenches, *parameters) for r in requests.values()]
    return subject.kind, repr(asked), *content


_of_joints: Once[Kernel] = Once(CACHED)


def joint_kernel(subject: OfJoint, request: Request) -> Kernel:
    """The kernel of one function of a joint: the same one for equal types, as long as it is kept."""

    def make() -> Kernel:
        return compile_requests(subject, request.row.name, {request.row.name: request})

    site = subject.walked(request.row)
    try:
        key = (request, _code(site.type), repr(place(site)))
        hash(key)
    except TypeError:  # a type of someone's with numbers that cannot be hashed
        return make()
    return _of_joints.get(key, make)


def _code(joint: JointType) -> Hashable:
    """What the code for a joint type depends on.

    Of a type that is not linkwork's also the code of its methods, which may be replaced while Python runs, and of the
    functions of its module that these call; and all that its instances hold, whether it takes part in comparisons or
    not.
    """
    if made_here(joint):
        return type(joint), repr(joint)
    classes = [kind for kind in type(joint).__mro__ if kind.__module__ not in ("builtins", "abc")]
    functions = tuple(
        (name, *_functions(value, set())) for kind in classes for name, value in vars(kind).items() if callable(value)
    )
    values = tuple((name, value) for kind in classes for name, value in vars(kind).items() if _is_number(value))
    return (
        type(joint),
        functions,
        values,
        tuple(sorted(vars(joint).items())),
        tuple(map(_code, joint.parts)),
        repr(joint),
    )


def _functions(value: Any, seen: set[int]) -> tuple[Hashable, ...]:
    """The code of a function and of those that it calls by name in its own module."""
    value = getattr(value, "__func__", value)
    if not isinstance(value, FunctionType) or id(value) in seen or value.__module__.startswith("linkwork."):
        return ()
    seen.add(id(value))
    found: list[Hashable] = [value.__code__, value.__defaults__]
    for name in names_in(value.__code__):
        there = value.__globals__.get(name)
        found += _functions(there, seen) if callable(there) else [there] if _is_number(there) else []
    return tuple(found)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str, tuple))
