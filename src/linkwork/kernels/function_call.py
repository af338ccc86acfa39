"""The call of one function: its kernel, and checks of arguments that the kernel does not accept.

Plain arrays of one sample use the compiled single call without these checks. Compiled code counts the calls with a
number that is not finite, with a configuration off its manifold or, where that matters, with singular coordinates.  The
arguments are searched only if a count has grown.  With ``out=`` they are searched before anything is written.

On symbols, inside a function that is being traced, the function's algorithm runs directly, without a kernel. The trace
detects common work, since equal expressions are one node; so a function that calls several methods of a robot becomes
one kernel of all of them. Dual numbers, and arrays whose elements are batches, are handled in the same manner.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from linkwork._util.array_collections import LazyFunction, has_collections
from linkwork._util.named_tuples import result_tuple
from linkwork.compiler.kernel import Kernel, batch_call, call_state, general_call, result_type, single_call
from linkwork.compiler.runtime.typed_loop import takes_single
from linkwork.expr.arrays.symbol_array import is_traced, map_samples
from linkwork.expr.scalar.symbol import Symbol
from linkwork.kernels.array_arguments import ArgumentReader
from linkwork.kernels.function_kernels import compile_requests, data_of, joint_kernel
from linkwork.kernels.function_request import Request
from linkwork.kernels.function_trace import elements_of, input_ports, output_ports, run
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.operation_attribution import marked
from linkwork.kernels.owners import JointOwner, KernelOwner, RobotOwner, configurations, has_symbols
from linkwork.model.function_spec import quantity_of

__all__ = ["checked", "function_of", "lazily"]

Call = Callable[..., Any]


def checked(
    subject: KernelOwner, request: Request, kernel: Kernel, for_single: Callable[[], Call | None] | None = None
) -> Call:
    """Return a function that calls a kernel after it has checked and converted the arguments.

    It converts dicts to arrays, explains errors in arguments, refuses values that are not finite, and normalizes
    configurations slightly off their manifold.

    Without ``for_single``, the code for one sample is compiled at once.  Otherwise the first call with one sample calls
    ``for_single``, which returns the function that replaces this one.
    """
    row, state, general, run = request.spec, call_state(kernel), general_call(kernel), batch_call(kernel)
    reader = ArgumentReader(subject, row.name, kernel.inputs, kernel.outputs)
    unchecked = any(port.size == 0 for port in kernel.inputs)  # NumPy accepts any size where a dimension is zero
    empty = unchecked or any(port.size == 0 for port in kernel.outputs)  # such a kernel accepts symbols by itself

    is_ambiguous = bool(row.any_configuration and subject.checked_joints and configurations(subject, request.inputs))
    has_single = not (unchecked or is_ambiguous)
    waiting = [for_single] if has_single and kernel.inputs and for_single is not None else []
    ranks = [len(port.shape) for port in kernel.inputs]
    references: list[FunctionReference] = []  # at most one, with a call of its own, so that no call refers to itself

    def lazy(arguments: tuple[Any, ...], out: Any) -> Any:
        if not references:
            references.append(FunctionReference(subject, request, function_of, checked(subject, request, kernel)))
        function = LazyFunction(
            references[0],
            reader.label,
            kernel.inputs,
            kernel.outputs,
            result_type(kernel),
            reader.check_shapes,
            _computes_single,
            reader.sizes_in_dict,
        )
        return function(arguments, out)

    def writing(arguments: tuple[Any, ...], out: Any) -> Any:
        if has_collections((*arguments, *(out if isinstance(out, tuple) else (out,)))):
            return lazy(arguments, out)
        arrays = reader.prepared(arguments)
        reader.check_out(arrays, out)
        reader.refuse_not_finite(arrays, of_kernel=True)
        if not row.any_configuration:
            arrays = reader.on_manifold(arrays)
        off, not_finite = state.off_calls, state.not_finite_calls
        result = general(*arrays, out=out)
        if state.not_finite_calls != not_finite:
            reader.refuse_overflow(arrays, result)
        if row.requires_regular_coordinates and state.off_calls != off:
            reader.warn_of_singularities(arrays)
            if row.inertia_check is not None:
                row.inertia_check.warn(subject, request, reader.label, arrays)
        return result

    def call(*arguments: Any, out: Any = None) -> Any:
        if waiting and (type(arguments[0]) is not np.ndarray or arguments[0].ndim <= ranks[0]):
            single = waiting.pop()() if _is_single(arguments, ranks) else None
            if single is not None:
                return single(*arguments, out=out)
        if out is not None:
            return writing(arguments, out)
        if empty and any(map(is_traced, arguments)):
            return composed(subject, request, arguments)
        if empty and has_collections(arguments):
            return lazy(arguments, None)
        if unchecked:
            arguments = tuple(reader.prepared(arguments))
        not_finite, off = state.not_finite_calls, state.off_calls
        try:
            result = run(*arguments)
        except (TypeError, ValueError, OverflowError, NotImplementedError):
            if has_collections(arguments):
                return lazy(arguments, None)
            if any(map(is_traced, arguments)):
                return composed(subject, request, arguments)
            arguments = tuple(reader.prepared(arguments))
            result = run(*arguments)
        if state.not_finite_calls != not_finite:
            reader.refuse_not_finite(arguments, of_kernel=True)
            reader.refuse_overflow(arguments, result)
        if state.off_calls != off:
            arguments = tuple(reader.on_manifold(reader.prepared(arguments)))
            result = run(*arguments)
            if row.requires_regular_coordinates:
                reader.warn_of_singularities(arguments)
                if row.inertia_check is not None:
                    row.inertia_check.warn(subject, request, reader.label, arguments)
        return result

    if is_ambiguous:
        return _without_ambiguity(reader, call)
    return single_call(kernel, call) if has_single and not waiting else call


def _is_single(arguments: Sequence[Any], ranks: Sequence[int]) -> bool:
    """Return True if no argument has more axes than one sample has, or symbols."""
    return len(arguments) == len(ranks) and not any(
        is_traced(x) or _depth(x) > rank for x, rank in zip(arguments, ranks, strict=True)
    )


def _depth(x: Any) -> int:
    """Return the number of axes of an array or of nested lists."""
    depth = 0
    while isinstance(x, (list, tuple)) and x:
        x, depth = x[0], depth + 1
    return depth + int(getattr(x, "ndim", 0))


def function_of(subject: KernelOwner, request: Request) -> Call:
    """Return the function that computes a request for a robot or a joint, on numbers or symbols."""
    if isinstance(subject, JointOwner):
        return checked(subject, request, joint_kernel(subject, request))
    return checked(subject, request, compile_requests(subject, request.label, {request.label: request}))


def _computes_single(arguments: Sequence[Any]) -> bool:
    """Return True if the function computes in float32 for these arguments: float32 arrays, and no dict.

    Values in dicts are converted to float64.
    """
    return not any(isinstance(x, Mapping) for x in arguments) and takes_single(arguments)


def _without_ambiguity(reader: ArgumentReader, call: Call) -> Call:
    """Return ``call``, which normalizes configurations, with a check for coordinates without a unique normalization.

    The check raises ValueError for coordinates that have no nearest configuration, such as a zero quaternion.
    """

    def normalize(q: Any, *, out: Any = None) -> Any:
        if has_collections((q,)) or (out is None and is_traced(q)):
            return call(q, out=out)
        result = np.asarray(call(q))
        if not np.isfinite(result).all():
            (values,) = reader.prepared((q,))
            at = tuple(np.argwhere(~np.isfinite(result))[0])
            quantity = quantity_of(reader.inputs[0].name)
            part = next(p for p in reader.subject.parts(quantity) if at[-1] in range(result.shape[-1])[p.indices])
            coordinates = np.broadcast_to(values, result.shape)[at[:-1]][part.indices]
            caller = f"joint {part.joint!r} ({part.type.type_name()})"
            raise ValueError(f"{reader.label}: {caller}: q = {coordinates.tolist()} has no nearest configuration")
        return result if out is None else call(q, out=out)

    return normalize


def composed(subject: KernelOwner, request: Request, arguments: Sequence[Any]) -> Any:
    """Return a function's results for arguments with symbols, each an array of symbols.

    Configurations are assumed to be on their manifold. Raises the same errors as methods for shapes and names.
    """
    requests = {request.label: request}
    inputs, outputs = input_ports(subject, requests), output_ports(subject, requests)
    row = request.spec
    if row.inertia_check is not None:
        row.inertia_check.refuse(subject, request)
    reader = ArgumentReader(subject, row.name, inputs, outputs)
    walked = subject.algorithm_input(row)

    def sample(*elements: list[Any]) -> list[Sequence[Any]]:
        symbol = next((x for part in elements for x in part if isinstance(x, Symbol)), None)
        watched = walked if symbol is None else marked(walked, symbol.graph)
        result = run(request, watched, dict(zip(request.inputs, elements, strict=True)))
        return [elements_of(part) for part in (result if len(outputs) > 1 else (result,))]

    arrays = reader.prepared_scalars(arguments)
    results = map_samples(sample, arrays, [len(p.shape) for p in inputs], [p.shape for p in outputs])
    if len(results) == 1:
        return results[0]
    return result_tuple(f"{request.label}_result", tuple(port.name for port in outputs))(*results)


def lazily(subject: KernelOwner, request: Request, make: Callable[[], Call]) -> Call:
    """Return the call of a function whose kernel ``make`` creates at the first call with numbers.

    A robot with symbols among its parameters has no kernels.
    """

    def first(*arguments: Any, out: Any = None) -> Any:
        if out is None and (has_symbols(subject) or any(map(is_traced, arguments))):
            return composed(subject, request, arguments)
        call = make()
        return call(*arguments) if out is None else call(*arguments, out=out)

    return first


# -- functions of a robot or a joint as objects that pickle: by the model and the request, without machine code


CAPACITY = 64  # functions that a process stores
_restored: LazyCache[FunctionReference] = LazyCache(CAPACITY)
Maker = Callable[[KernelOwner, Request], Callable[..., Any]]


class FunctionReference:
    """A function of a robot or a joint: called with arrays, it checks and computes as the method does.

    ``make`` returns the function's call for an owner and a request; it is a function of a module, and pickles by name.
    ``call`` is this call in this process, if it exists already.
    """

    __slots__ = ("_call", "_make", "_pickled", "_request", "_subject")

    def __init__(
        self, subject: KernelOwner, request: Request, make: Maker, call: Callable[..., Any] | None = None
    ) -> None:
        self._subject, self._request, self._make, self._call = subject, request, make, call
        self._pickled: bytes | None = None

    def __call__(self, *arrays: Any) -> Any:
        call = self._call
        if call is None:
            call = self._call = self._make(self._subject, self._request)
        return call(*arrays)

    def pickled(self) -> bytes:
        """Return the owner and the request as bytes, equal for equal functions."""
        if self._pickled is None:
            owner = data_of(self._subject)
            self._pickled = pickle.dumps((owner, self._request, self._make), protocol=5)
        return self._pickled

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored_from, (self.pickled(),)


def _restored_from(pickled: bytes) -> FunctionReference:
    """Return the function whose `FunctionReference.pickled` are these bytes; the same object for the same bytes."""

    def make() -> FunctionReference:
        owner, request, maker = pickle.loads(pickled)
        rows = MappingProxyType({request.spec.name: request.spec})
        is_joint = isinstance(owner, tuple)
        subject: KernelOwner = JointOwner(owner[0], owner[1], rows) if is_joint else RobotOwner(owner, rows)
        return FunctionReference(subject, request, maker)

    return _restored.get(pickled, make)
