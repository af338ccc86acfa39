"""Functions on symbols: inside a function that is being traced, a row's algorithm runs on what it is given.

No kernel is made for it.  What several functions have in common is found by the trace, where equal expressions are one
node; so a function of one's own that calls methods of a robot becomes one kernel of all of them.  The same way is taken
by dual numbers and by arrays whose elements are batches: any scalar of ours.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

from linkwork.dynamics.singular_inertia import refuse_singular_inertia
from linkwork.expr.arrays.symbol_array import is_traced, over_samples
from linkwork.expr.scalar.symbol import Symbol
from linkwork.kernels.array_arguments import Asked
from linkwork.kernels.function_request import Request
from linkwork.kernels.function_trace import elements_of, input_ports, output_ports, run
from linkwork.kernels.operation_attribution import marked
from linkwork.kernels.owners import Subject, has_symbols

__all__ = ["composed", "lazily"]

Call = Callable[..., Any]


def composed(subject: Subject, request: Request, arguments: Sequence[Any]) -> Any:
    """A function's results where symbols are among its arguments, each an array of symbols.

    Configurations are taken to be on their manifold.  Raises what methods raise for shapes and names.
    """
    requests = {request.label: request}
    inputs, outputs = input_ports(subject, requests), output_ports(subject, requests)
    row = request.row
    refuse_singular_inertia(subject, request)
    asked = Asked(subject, row.name, inputs, outputs)
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
