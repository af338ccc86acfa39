"""The call of one function: a kernel, and a look at the arguments where the kernel is not content with them.

Plain arrays of one sample take the compiled single call and see nothing of this.  Compiled code counts the calls in
which it met a number that is not finite, a configuration off its manifold or, where that matters, singular coordinates;
only where a count has grown are the arguments searched.  With ``out=`` they are searched before anything is written.

Functions on symbols: inside a function that is being traced, a row's algorithm runs on what it is given.

No kernel is made for it.  What several functions have in common is found by the trace, where equal expressions are one
node; so a function of one's own that calls methods of a robot becomes one kernel of all of them.  The same way is taken
by dual numbers and by arrays whose elements are batches: any scalar of ours.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import numpy as np

from linkwork.compiler.kernel import Kernel, batch_call, call_state, general_call, single_call
from linkwork.expr.arrays.symbol_array import is_traced, over_samples
from linkwork.expr.scalar.symbol import Symbol
from linkwork.kernels.array_arguments import ArgumentReader
from linkwork.kernels.function_request import Request
from linkwork.kernels.function_trace import elements_of, input_ports, output_ports, run
from linkwork.kernels.operation_attribution import marked
from linkwork.kernels.owners import Subject, configurations, has_symbols
from linkwork.model.function_spec import quantity_of

__all__ = ["checked", "lazily"]


Call = Callable[..., Any]


def checked(subject: Subject, request: Request, kernel: Kernel) -> Call:
    """The call of a kernel for one function that turns dicts into arrays, explains what is wrong with arguments,
    refuses what is not finite and normalises configurations that are a little off their manifold.
    """
    row, state, general, run = request.row, call_state(kernel), general_call(kernel), batch_call(kernel)
    asked = ArgumentReader(subject, row.name, kernel.inputs, kernel.outputs)
    unchecked = any(port.size == 0 for port in kernel.inputs)  # NumPy takes any size where a dimension is zero
    empty = unchecked or any(port.size == 0 for port in kernel.outputs)  # such a kernel would answer symbols by itself

    def writing(arguments: tuple[Any, ...], out: Any) -> Any:
        arrays = asked.prepared(arguments)
        asked.check_out(arrays, out)
        asked.refuse_not_finite(arrays)
        if not row.any_configuration:
            arrays = asked.on_manifold(arrays)
        off, seen = state.off_calls, state.not_finite_calls
        result = general(*arrays, out=out)
        if state.not_finite_calls != seen:
            asked.refuse_overflow(arrays, result)
        if row.requires_regular_coordinates and state.off_calls != off:
            asked.tell_of_singularities(arrays)
            if row.inertia_check is not None:
                row.inertia_check.warn(subject, request, asked.label, arrays)
        return result

    def call(*arguments: Any, out: Any = None) -> Any:
        if out is not None:
            return writing(arguments, out)
        if empty and any(map(is_traced, arguments)):
            return composed(subject, request, arguments)
        if unchecked:
            arguments = tuple(asked.prepared(arguments))
        seen, off = state.not_finite_calls, state.off_calls
        try:
            result = run(*arguments)
        except (TypeError, ValueError, OverflowError):
            if any(map(is_traced, arguments)):
                return composed(subject, request, arguments)
            arguments = tuple(asked.prepared(arguments))
            result = run(*arguments)
        if state.not_finite_calls != seen:
            asked.refuse_not_finite(arguments)
            asked.refuse_overflow(arguments, result)
        if state.off_calls != off:
            arguments = tuple(asked.on_manifold(asked.prepared(arguments)))
            result = run(*arguments)
            if row.requires_regular_coordinates:
                asked.tell_of_singularities(arguments)
                if row.inertia_check is not None:
                    row.inertia_check.warn(subject, request, asked.label, arguments)
        return result

    if row.any_configuration and subject.unfit and configurations(subject, request.inputs):
        return _refusing_the_centre(asked, call)
    return call if unchecked else single_call(kernel, call)


def _refusing_the_centre(asked: ArgumentReader, call: Call) -> Call:
    """Normalizing, which has no answer where every configuration is as near as any other."""

    def normalize(q: Any, *, out: Any = None) -> Any:
        if out is None and is_traced(q):
            return call(q)
        result = np.asarray(call(q))
        if not np.isfinite(result).all():
            (values,) = asked.prepared((q,))
            at = tuple(np.argwhere(~np.isfinite(result))[0])
            quantity = quantity_of(asked.inputs[0].name)
            whose = next(p for p in asked.subject.parts(quantity) if at[-1] in range(result.shape[-1])[p.place])
            numbers = np.broadcast_to(values, result.shape)[at[:-1]][whose.place]
            caller = f"joint {whose.joint!r} ({whose.type.type_name()})"
            raise ValueError(f"{asked.label}: {caller}: q = {numbers.tolist()} has no nearest configuration")
        return result if out is None else call(q, out=out)

    return normalize


def composed(subject: Subject, request: Request, arguments: Sequence[Any]) -> Any:
    """A function's results where symbols are among its arguments, each an array of symbols.

    Configurations are taken to be on their manifold.  Raises what methods raise for shapes and names.
    """
    requests = {request.label: request}
    inputs, outputs = input_ports(subject, requests), output_ports(subject, requests)
    row = request.row
    if row.inertia_check is not None:
        row.inertia_check.refuse(subject, request)
    asked = ArgumentReader(subject, row.name, inputs, outputs)
    walked = subject.walked(row)

    def sample(*elements: list[Any]) -> list[Sequence[Any]]:
        symbol = next((x for part in elements for x in part if isinstance(x, Symbol)), None)
        watched = walked if symbol is None else marked(walked, symbol.graph)
        result = run(request, watched, dict(zip(request.inputs, elements, strict=True)))
        return [elements_of(part) for part in (result if len(outputs) > 1 else (result,))]

    arrays = asked.prepared_scalars(arguments)
    results = over_samples(sample, arrays, [len(p.shape) for p in inputs], [p.shape for p in outputs])
    return results[0] if len(results) == 1 else _named(request.label, *(port.name for port in outputs))(*results)


def lazily(subject: Subject, request: Request, make: Callable[[], Call]) -> Call:
    """The call of a function before there is a kernel of it, which ``make`` makes when numbers come first.

    Of a robot that has symbols among its numbers there is none.
    """

    def first(*arguments: Any, out: Any = None) -> Any:
        if out is None and (has_symbols(subject) or any(map(is_traced, arguments))):
            return composed(subject, request, arguments)
        call = make()
        return call(*arguments) if out is None else call(*arguments, out=out)

    return first


@cache
def _named(label: str, *names: str) -> Any:
    return cast(Any, namedtuple)(f"{label}_result", names)
