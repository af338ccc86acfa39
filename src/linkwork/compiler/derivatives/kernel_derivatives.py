"""Methods of a kernel that return its derivatives as kernels: JVPs, VJPs, gradients, Jacobians and Hessians."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, Literal, Self, TypeVar

from linkwork._util.checked_arguments import public
from linkwork.compiler.derivatives import forward_and_reverse
from linkwork.compiler.derivatives import kernel_hessian as second_order
from linkwork.compiler.derivatives.derivative_recipes import (
    Base,
    Derivative,
    Elements,
    Wanted,
    Way,
    check_scalar,
    derived,
    ruled,
    weights_of,
)
from linkwork.compiler.derivatives.forward_and_reverse import Replay
from linkwork.compiler.derivatives.sparsity import Estimate, Pattern, estimate
from linkwork.compiler.derivatives.tangent_spaces import Space, Tangent
from linkwork.compiler.program import Port
from linkwork.errors import NotDifferentiableError

__all__ = ["Differentiable"]


Of = str | Iterable[str] | Mapping[str, Space | None] | None
In = Literal["tangent", "coordinates"]
Mode = Literal["auto", "forward", "reverse"]
Make = Callable[..., Derivative]


@public
class Differentiable(ABC):
    """What makes a kernel of a kernel's derivatives."""

    __slots__ = ()

    def jvp(self, *by: str, of: Of = None, space: In = "tangent") -> Self:
        """The kernel of directional derivatives: of every output along a vector for each input of ``by``.

        It takes the kernel's inputs and then a direction ``d_<input>`` for each of ``by``, of the shape of the input's
        tangent vector, and gives ``d_<output>`` of the shape of the output's: J d, at a small multiple of the kernel's
        own cost.  A nested input has a direction nested in the same way.  Where an input is called ``d_q`` already, the
        new one is ``d2_q``.

        ``by`` are names of inputs, all where there are none; ``of`` is an output's name, several, or a dict of what
        they are points of, by names.  ``space`` says whether configurations move by tangent vectors (nv numbers) or
        by their numbers (nq): "tangent" or "coordinates".

        The kernel is compiled when it is first called with numbers; asked for again, it is the same one.  Raises
        UnknownNameError for a name that is not there, TypeError for what is no name, ValueError for one that comes
        twice, for another ``space``, and where there are no inputs.
        """
        return self._derivative(jvp, by, of, space)

    def vjp(self, *by: str, of: Of = None, space: In = "tangent") -> Self:
        """The kernel of gradients of weighed sums of the outputs, in reverse: Jᵀ w, for all inputs at once.

        It takes the kernel's inputs and then weights ``w_<output>`` of the shape of each output's tangent vector, and
        gives ``grad_<input>`` of the shape of the input's for each of ``by``, at a small multiple of the kernel's own
        cost however many inputs there are.

        ``by``, ``of``, ``space`` and errors are those of `jvp`.  Raises NotDifferentiableError, when it is first
        called, where there is a loop of unknown length on the way.
        """
        return self._derivative(vjp, by, of, space)

    def jacobian(
        self,
        *by: str,
        of: Of = None,
        space: In = "tangent",
        sparse: bool = False,
        mode: Mode = "auto",
    ) -> Self:
        """The kernel of Jacobians ``d_<output>_d_<input>``, of shape (*output, *tangent vector of the input).

        ``mode`` is how they are made: "forward" takes an operation once for each direction that it depends on,
        "reverse" once for each element of an output that depends on it, and "auto" the way of fewer operations, which
        is forward where there is no reverse.  With ``sparse`` they are arrays (nnz,) of the elements that are not zero
        whatever the inputs, row by row; `jacobian_pattern` says where they belong.

        ``by``, ``of``, ``space`` and errors are those of `jvp`.  Raises NotDifferentiableError, when it is first
        called, for "reverse" where there is a loop of unknown length on the way.
        """
        return self._derivative(jacobian, by, of, space, sparse, mode)

    def jacobian_pattern(
        self, *by: str, of: Of = None, space: In = "tangent", mode: Mode = "auto"
    ) -> dict[str, Pattern]:
        """Where the elements of sparse Jacobians belong, by the names of ``jacobian(..., sparse=True)``.

        It is asked for as the Jacobians are.  A pattern has the ``shape`` of the whole array, ``indices`` (nnz, ndim)
        of the elements in the order in which they come, and ``dense(values)``, which makes whole arrays (..., *shape)
        of values (..., nnz).
        """
        return self._patterns(jacobian, by, of, space, True, mode)

    def hessian(
        self,
        *by: str,
        of: Of = None,
        space: In = "tangent",
        weights: bool = False,
        vector: bool = False,
        sparse: bool = False,
    ) -> Self:
        """The kernel of second derivatives ``d2_<output>_d_<x>_d_<y>`` of outputs that are one number.

        There is one for each input and itself, and for each pair of inputs in the order of ``by``; those of the
        opposite order are their transposes.  By a configuration it is ∂²f(q ⊕ φ)/∂φ² at φ = 0, which is symmetric: of
        each pair of elements one is computed.

        With ``weights`` it is that of Σ w·output, where the weights ``w_<output>`` are inputs; of several outputs it is
        that of their sum, and called ``d2_d_<x>_d_<y>``.  With ``vector`` it is the product with a vector, whose parts
        ``d_<input>`` are inputs: ``d2_<output>_d_<x>`` has the shape of a gradient, and takes a small multiple of the
        kernel's own cost.  With ``sparse`` the matrices are arrays (nnz,) as those of `jacobian` are, for which
        `hessian_pattern` says where values belong.

        ``by``, ``of``, ``space`` and errors are those of `jvp`.  Raises ValueError for an output of several elements
        without ``weights``, and for a sparse product.
        """
        return self._derivative(second_order.hessian, by, of, space, weights, vector, sparse)

    def hessian_pattern(
        self, *by: str, of: Of = None, space: In = "tangent", weights: bool = False
    ) -> dict[str, Pattern]:
        """Where the elements of sparse Hessians belong: see `jacobian_pattern`."""
        return self._patterns(second_order.hessian, by, of, space, weights, False, True)

    def value_and_gradient(self, *by: str, of: Of = None, space: In = "tangent") -> Self:
        """The kernel of an output that is one number and of its gradients ``grad_<input>``, in reverse.

        ``by``, ``of``, ``space`` and errors are those of `vjp`.  Raises ValueError for an output of several elements.
        """
        return self._derivative(value_and_gradient, by, of, space)

    # -- how they are made

    _derivatives: dict[Any, tuple[Any, Mapping[str, Pattern]]]

    def _derivative(self, make: Make, by: tuple[str, ...], of: Of, *asked: Any) -> Self:
        return self._found(make, by, of, asked)[0]

    def _patterns(self, make: Make, by: tuple[str, ...], of: Of, *asked: Any) -> dict[str, Pattern]:
        return dict(self._found(make, by, of, asked)[1])

    def _found(
        self, make: Make, by: tuple[str, ...], of: Of, asked: tuple[Any, ...]
    ) -> tuple[Self, Mapping[str, Pattern]]:
        """The kernel that was made before, or a new one.  Raises TypeError for what are no names."""
        if isinstance(of, Iterable) and not isinstance(of, (str, Mapping)):
            of = (*of,)
        _check_names(self._base.name, by, of, asked[0])
        outputs = tuple(of.items()) if isinstance(of, Mapping) else of
        key = (make, by, outputs, *asked)
        result = self._derivatives.get(key)
        if result is None:
            made = make(self._base, by, dict(of) if isinstance(of, Mapping) else outputs, *asked)
            result = self._derivatives.setdefault(key, (self._made_of(made), made.patterns))
        return result

    @property
    @abstractmethod
    def _base(self) -> Base:
        """What a kernel tells of itself."""

    @abstractmethod
    def _made_of(self, derived: Derivative) -> Self:
        """The kernel of a derivative of this one."""


def _check_names(caller: str, by: tuple[Any, ...], of: Any, space: Any) -> None:
    """Raises TypeError for what are no names."""
    for name in by:
        if not isinstance(name, str):
            raise TypeError(f"{caller}: expected names of inputs, each by itself as in vjp('q', 'v'), got {name!r}")
    if not (of is None or (isinstance(of, (str, Mapping, tuple)) and all(isinstance(name, str) for name in of))):
        raise TypeError(f"{caller}: of: expected names of outputs, got {of!r}")
    if not isinstance(space, str):
        raise TypeError(f"{caller}: space: expected 'tangent' or 'coordinates', got {space!r}")


_CLEAR = 0.7  # an estimate that is a smaller part of the other decides alone
_COUNTED = 30_000  # operations, estimated, up to which both ways are traced where estimates are near
Given = Mapping[str, Sequence[Any]]
T = TypeVar("T")


def jvp(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """The recipe of `Kernel.jvp`."""
    chosen, outputs = base.chosen(by, space), base.differentiated(of, space)
    d = base.prefix("d", [*chosen.forms, *(t.port.name for t in chosen.tangents)])

    def build(replay: Replay, value: Given) -> Elements:
        directions = {t.port.name: value[f"{d}{t.port.name}"] for t in chosen.tangents}
        return forward_and_reverse.directional(replay, outputs, chosen.tangents, directions)

    ports = [Port(f"d_{t.port.name}", t.shape) for t in outputs]
    more = {f"{d}{name}": form for name, form in chosen.forms.items()}
    return derived(Wanted("jvp", base, chosen, outputs, ports, ruled(build), "Directional derivatives of", more))


def vjp(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """The recipe of `Kernel.vjp`."""
    chosen, outputs = base.chosen(by, space), base.differentiated(of, space)
    w, more = weights_of(base, outputs)

    def build(replay: Replay, value: Given) -> Elements:
        weights = {t.port.name: value[f"{w}{t.port.name}"] for t in outputs}
        return _only_in_reverse(partial(forward_and_reverse.gradients, replay, outputs, chosen.tangents, weights))

    ports = [Port(f"grad_{t.port.name}", t.shape) for t in chosen.tangents]
    return derived(Wanted("vjp", base, chosen, outputs, ports, ruled(build), "Gradients of weighed sums of", more))


def value_and_gradient(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """The recipe of `Kernel.value_and_gradient`."""
    chosen, outputs = base.chosen(by, space), base.differentiated(of, space)
    caller = f"{base.name}: value_and_gradient"
    if len(outputs) != 1:
        names = ", ".join(t.port.name for t in outputs)
        raise ValueError(
            f"{caller}: expected one output, got {len(outputs)} ({names}): name it by of='...', or use vjp"
        )
    (output,) = outputs
    check_scalar(caller, output, "vjp takes weights of an output's elements")

    def build(replay: Replay, value: Given) -> Elements:
        one = {output.port.name: [1.0]}
        result = _only_in_reverse(partial(forward_and_reverse.gradients, replay, outputs, chosen.tangents, one))
        return [replay.outputs[output.port.name], *result]

    ports = [output.port, *(Port(f"grad_{t.port.name}", t.shape) for t in chosen.tangents)]
    about = "Value and gradient of"
    return derived(Wanted("value_and_gradient", base, chosen, outputs, ports, ruled(build), about, {}))


def jacobian(base: Base, by: Sequence[str], of: Any, space: str, sparse: bool, mode: str) -> Derivative:
    """The recipe of `Kernel.jacobian`."""
    chosen, outputs = base.chosen(by, space), base.differentiated(of, space)
    if mode not in ("forward", "reverse", "auto"):
        raise ValueError(f"{base.name}: jacobian: mode: expected 'forward', 'reverse' or 'auto', got {mode!r}")
    tangents = chosen.tangents

    def in_forward(replay: Replay, value: Given) -> Elements:
        return _blocks(forward_and_reverse.rows_forward(replay, outputs, tangents), tangents)

    def in_reverse(replay: Replay, value: Given) -> Elements:
        rows = partial(forward_and_reverse.rows_reverse, replay, outputs, tangents)
        if mode == "reverse":
            return _blocks(_only_in_reverse(rows), tangents)
        try:
            return _blocks(rows(), tangents)
        except NotDifferentiableError:
            return in_forward(replay, value)

    forward_way, reverse_way = Way(in_forward), Way(in_reverse, ruled=True)

    def ways() -> Sequence[Way]:
        if mode != "auto":
            return [forward_way if mode == "forward" else reverse_way]
        likely = _estimated(base, outputs, tangents)
        near = max(likely) * _CLEAR < min(likely) <= _COUNTED
        if near:
            return [forward_way, reverse_way]
        return [forward_way if likely.forward <= likely.reverse else reverse_way]

    ports = [Port(f"d_{o.port.name}_d_{i.port.name}", (*o.shape, *i.shape)) for o in outputs for i in tangents]
    options = (sparse, mode)
    return derived(Wanted("jacobian", base, chosen, outputs, ports, ways, "Jacobian of", {}, options, sparse))


def _estimated(base: Base, of: Sequence[Tangent], by: Sequence[Tangent]) -> Estimate:
    """What the Jacobian takes either way, roughly; a space counts as if each number moved by itself."""
    program = base.source.traced
    first = dict(zip([p.name for p in program.inputs], _starts(program.inputs), strict=False))
    directions: dict[int, int] = {}
    for tangent in by:
        for k in range(tangent.port.size):
            directions[first[tangent.port.name] + k] = 1 << len(directions)
    ends = dict(zip([p.name for p in program.outputs], _starts(program.outputs), strict=False))
    wanted = [0] * len(program.results)
    count = 0
    for tangent in of:
        for k in range(tangent.port.size):
            wanted[ends[tangent.port.name] + k] = 1 << count
            count += 1
    return estimate(program, directions, wanted)


def _starts(ports: Sequence[Port]) -> list[int]:
    return list(accumulate((port.size for port in ports), initial=0))


def _blocks(rows: Sequence[Sequence[Mapping[int, Any]]], by: Sequence[Tangent]) -> Elements:
    """The elements of each output's Jacobian by each input, from rows by the directions of all inputs."""
    ends = list(accumulate((tangent.size for tangent in by), initial=0))
    return [
        [row.get(k, 0.0) for row in part for k in range(start, end)] for part in rows for start, end in pairwise(ends)
    ]


def _only_in_reverse(compute: Callable[[], T]) -> T:
    """What is computed in reverse.  Raises NotDifferentiableError, with what a kernel has instead, where there is
    nothing.
    """
    try:
        return compute()
    except NotDifferentiableError as error:
        instead = "of a kernel, jvp and jacobian(mode='forward') need no reverse"
        raise NotDifferentiableError(f"{error}; {instead}") from None
