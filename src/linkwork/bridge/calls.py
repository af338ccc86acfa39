"""The call of one function: a kernel, and a look at the arguments where the kernel is not content with them.

Plain arrays of one sample take the compiled single call and see nothing of this.  The compiled loop over a batch counts
the calls in which it met a number that is not finite or a configuration off its manifold; only where a count has grown
are the arguments searched.  With ``out=`` they are searched before anything is written.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._user import levels_up
from ..algorithms.row import QUANTITIES
from ..compiler.kernel import Kernel, call_state, general_call, single_call
from ..errors import ConfigurationWarning
from ..joints import JointType
from ..joints.checked import may_be_off
from .arguments import Asked, stacked
from .requests import Request
from .subjects import OfRobot, Subject, configurations

__all__ = ["checked"]

_SINGULAR = 1e-7  # regularity below which accelerations have lost half of their digits, and soon all

_MASKED = np.ma.MaskedArray

Call = Callable[..., Any]


def checked(subject: Subject, request: Request, kernel: Kernel) -> Call:
    """The call of a kernel for one function that turns dicts into arrays, explains what is wrong with arguments,
    refuses what is not finite and normalises configurations that are a little off their manifold."""
    row, state, run = request.row, call_state(kernel), general_call(kernel)
    asked = Asked(subject, row.name, kernel.inputs, kernel.outputs)
    unchecked = any(port.size == 0 for port in kernel.inputs)  # NumPy takes any size where a dimension is zero

    def call(*arguments: Any, out: Any = None) -> Any:
        if out is not None or unchecked or _MASKED in map(type, arguments):
            arguments = tuple(asked.prepared(arguments))
        if out is not None:
            asked.check_out(arguments, out)
            asked.refuse_not_finite(arguments)
            return run(*(arguments if row.any_configuration else asked.on_manifold(arguments)), out=out)
        seen, off = state.not_finite_calls, state.off_calls
        try:
            result = run(*arguments)
        except (TypeError, ValueError):
            arguments = tuple(asked.prepared(arguments))
            result = run(*arguments)
        if state.not_finite_calls != seen:
            asked.refuse_not_finite(arguments)
        if state.off_calls != off:
            result = run(*asked.on_manifold(asked.prepared(arguments)))
        return result

    if row.any_configuration and any(may_be_off(part.type) for _, part in configurations(subject, request.inputs)):
        return _refusing_the_centre(asked, call)
    found: Call = call if unchecked else single_call(kernel, call)
    return _telling_of_singularities(subject, request, found) if row.regular else found


def _refusing_the_centre(asked: Asked, call: Call) -> Call:
    """Normalizing, which has no answer where every configuration is as near as any other."""

    def normalize(q: Any, *, out: Any = None) -> Any:
        result = np.asarray(call(q))
        if not np.isfinite(result).all():
            (values,) = asked.prepared((q,))
            at = tuple(np.argwhere(~np.isfinite(result))[0])
            quantity = QUANTITIES[asked.inputs[0].name]
            whose = next(p for p in asked.subject.parts(quantity) if at[-1] in range(result.shape[-1])[p.place])
            numbers = np.broadcast_to(values, result.shape)[at[:-1]][whose.place]
            who = f"joint {whose.joint!r} ({whose.type.type_name()})"
            raise ValueError(f"{asked.label}: {who}: q = {numbers.tolist()} has no nearest configuration")
        return result if out is None else call(q, out=out)

    return normalize


def _telling_of_singularities(subject: Subject, request: Request, call: Call) -> Call:
    """A call that warns where a joint's coordinates are singular (Euler angles at gimbal lock)."""
    name = request.row.name
    parts = [part for _, part in configurations(subject, request.inputs)]
    joints = [part for part in parts if type(part.type).regularity is not JointType.regularity]
    if not joints:
        return call

    def told(q: Any, *arguments: Any, out: Any = None) -> Any:
        result = call(q, *arguments) if out is None else call(q, *arguments, out=out)
        if isinstance(q, Mapping) and isinstance(subject, OfRobot):
            q = stacked(subject, QUANTITIES["q"], q)
        numbers = np.asarray(q, dtype=float)
        for joint in joints:
            part = numbers[..., joint.place]
            regular = np.asarray(joint.type.regularity([part[..., k] for k in range(joint.type.nq)]), dtype=float)
            if regular.size and regular.min() < _SINGULAR:
                worst = part[np.unravel_index(np.argmin(regular), regular.shape)]
                warnings.warn(
                    f"{name}: joint {joint.joint!r} ({joint.type.type_name()}): its coordinates are "
                    f"singular at {worst.tolist()}, where accelerations mean nothing",
                    ConfigurationWarning,
                    stacklevel=levels_up(),
                )
        return result

    return told
