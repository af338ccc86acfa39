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
    BuildMethod,
    Derivative,
    DerivativeRequest,
    Elements,
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
MethodCall = tuple[str, tuple[str, ...], Any, tuple[Any, ...]]
"""A request of a derivative: the method's name, ``by``, ``of`` and the options."""


@public
class Differentiable(ABC):
    """Methods that return derivatives of a kernel as kernels."""

    __slots__ = ()

    def jvp(self, *by: str, of: Of = None, space: In = "tangent") -> Self:
        """Return the kernel of directional derivatives, J d.

        It takes the kernel's inputs followed by a direction ``d_<input>`` for each input of ``by``, of the shape of its
        tangent vector, and returns ``d_<output>`` of every output, of the shape of its tangent vector, at a small
        multiple of the kernel's own cost. A nested input has a direction of the same nesting. If an input is called
        ``d_q`` already, the new one is ``d2_q``.

        ``by`` are names of inputs, by default all; ``of`` is an output's name, several, or a dict of spaces by output
        name. ``space`` selects how configurations vary: by tangent vectors (nv elements), "tangent", or by their
        coordinates (nq), "coordinates".

        The kernel is compiled at its first call with numbers; a repeated request returns the same kernel. Raises
        UnknownNameError for an unknown name, TypeError for a value that is not a name, ValueError for a repeated name,
        for another ``space``, and if there are no inputs.
        """
        return self._derivative(jvp, by, of, space)

    def vjp(self, *by: str, of: Of = None, space: In = "tangent") -> Self:
        """Return the kernel of gradients of weighted sums of the outputs, Jᵀ w, by reverse mode.

        It takes the kernel's inputs, followed by weights ``w_<output>`` of the shape of each output's tangent vector.
        For each input of ``by`` it returns ``grad_<input>``, of the shape of the input's tangent vector. It costs a
        small multiple of the kernel's own cost, whatever the number of inputs.

        ``by``, ``of``, ``space`` and errors are those of `jvp`. The first call raises NotDifferentiableError if an
        output depends on an input through a loop of unknown length.
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
        """Return the kernel of Jacobians ``d_<output>_d_<input>``, of shape (*output, *tangent of the input).

        ``mode`` is the mode of differentiation. "forward" differentiates each operation once for each tangent
        direction that it depends on; "reverse" differentiates it once for each element of an output that depends on
        it; "auto" selects the mode of fewer operations, or forward mode if reverse mode is impossible.

        With ``sparse`` each Jacobian is an array (nnz,) of its structurally nonzero elements, row by row;
        `jacobian_pattern` returns their indices.

        ``by``, ``of``, ``space`` and errors are those of `jvp`. With mode "reverse", the first call raises
        NotDifferentiableError if an output depends on an input through a loop of unknown length.
        """
        return self._derivative(jacobian, by, of, space, sparse, mode)

    def jacobian_pattern(
        self, *by: str, of: Of = None, space: In = "tangent", mode: Mode = "auto"
    ) -> dict[str, Pattern]:
        """Return the sparsity pattern of each Jacobian of ``jacobian(..., sparse=True)``, by the Jacobian's name.

        Arguments are those of `jacobian`. A pattern has the ``shape`` of the dense Jacobian, and the ``indices``
        (nnz, ndim) of the nonzero elements, in the order in which the kernel returns their values. Its method
        ``dense(values)`` returns dense arrays (..., *shape) from values (..., nnz).
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
        """Return the kernel of Hessians ``d2_<output>_d_<x>_d_<y>`` of outputs that have one element each.

        Each output has a block for each input with itself, and a block for each pair of inputs x, y in the order of
        ``by``. The block of y and x is the transpose of the block of x and y. For a configuration q, the block is
        ∂²f(q ⊕ φ)/∂φ² at φ = 0. It is symmetric, and only one element of each symmetric pair is computed.

        With ``weights`` the kernel returns the Hessian of Σ w·output, and the weights ``w_<output>`` are additional
        inputs. The sum is over all selected outputs; if there are several, the blocks are called ``d2_d_<x>_d_<y>``.

        With ``vector`` the kernel returns the product of the Hessian with a vector, whose components ``d_<input>`` are
        additional inputs. The product ``d2_<output>_d_<x>`` has the shape of a gradient, and costs a small multiple of
        the kernel itself.

        With ``sparse`` each block is an array (nnz,) of nonzero elements, as in `jacobian`; `hessian_pattern` returns
        their indices.

        ``by``, ``of``, ``space`` and errors are those of `jvp`. Raises ValueError for an output of several elements
        without ``weights``, and for ``sparse`` together with ``vector``.
        """
        return self._derivative(second_order.hessian, by, of, space, weights, vector, sparse)

    def hessian_pattern(
        self, *by: str, of: Of = None, space: In = "tangent", weights: bool = False
    ) -> dict[str, Pattern]:
        """Return the sparsity pattern of each block of ``hessian(..., sparse=True)``, by the block's name.

        Arguments are those of `hessian`. The patterns are like those of `jacobian_pattern`.
        """
        return self._patterns(second_order.hessian, by, of, space, weights, False, True)

    def value_and_gradient(self, *by: str, of: Of = None, space: In = "tangent") -> Self:
        """Return the kernel of an output of one element and of its gradients ``grad_<input>``, by reverse mode.

        ``by``, ``of``, ``space`` and errors are those of `vjp`. Raises ValueError for an output of several elements.
        """
        return self._derivative(value_and_gradient, by, of, space)

    # -- construction

    _derivatives: dict[Any, tuple[Any, Mapping[str, Pattern]]]

    def _derivative(self, make: Make, by: tuple[str, ...], of: Of, *options: Any) -> Self:
        return self._stored(make, by, of, options)[0]

    def _patterns(self, make: Make, by: tuple[str, ...], of: Of, *options: Any) -> dict[str, Pattern]:
        return dict(self._stored(make, by, of, options)[1])

    def _stored(
        self, make: Make, by: tuple[str, ...], of: Of, options: tuple[Any, ...]
    ) -> tuple[Self, Mapping[str, Pattern]]:
        """Return the stored or a new kernel, with its patterns. Raises TypeError for values that are not names."""
        if isinstance(of, Iterable) and not isinstance(of, (str, Mapping)):
            of = (*of,)
        _check_names(self._base.name, by, of, options[0])
        outputs = tuple(of.items()) if isinstance(of, Mapping) else of
        key = (make, by, outputs, *options)
        result = self._derivatives.get(key)
        if result is None:
            derivative = make(self._base, by, dict(of) if isinstance(of, Mapping) else outputs, *options)
            kernel = self._kernel_of(derivative, (make.__name__, by, outputs, options))
            result = self._derivatives.setdefault(key, (kernel, derivative.patterns))
        return result

    @property
    @abstractmethod
    def _base(self) -> Base:
        """The kernel's source, nesting and spaces."""

    @abstractmethod
    def _kernel_of(self, derived: Derivative, request: MethodCall) -> Self:
        """Return the kernel of a derivative of this one; ``request`` are the arguments of `_derivative_named`."""

    def _derivative_named(self, name: str, by: tuple[str, ...], of: Any, options: tuple[Any, ...]) -> Self:
        """Return the kernel of a derivative by the name of its method, for a kernel from another process."""
        make: Make = {one.__name__: one for one in (jvp, vjp, jacobian, value_and_gradient, second_order.hessian)}[name]
        outputs = dict(of) if of and not isinstance(of, str) and not isinstance(of[0], str) else of
        return self._derivative(make, by, outputs, *options)


def _check_names(caller: str, by: tuple[Any, ...], of: Any, space: Any) -> None:
    """Raise TypeError for values that are not names."""
    for name in by:
        if not isinstance(name, str):
            raise TypeError(
                f"{caller}: expected names of inputs as separate arguments, as in vjp('q', 'v'), got {name!r}"
            )
    if not (of is None or (isinstance(of, (str, Mapping, tuple)) and all(isinstance(name, str) for name in of))):
        raise TypeError(f"{caller}: of: expected names of outputs, got {of!r}")
    if not isinstance(space, str):
        raise TypeError(f"{caller}: space: expected 'tangent' or 'coordinates', got {space!r}")


_CLEAR = 0.7  # ratio of estimates below which the smaller one decides without a trace
_MAX_TRACED = 30_000  # estimated operations up to which both modes are traced if estimates are close
Given = Mapping[str, Sequence[Any]]
T = TypeVar("T")


def jvp(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """Return the recipe of the kernel that `Kernel.jvp` returns: how the products J d are traced."""
    chosen, outputs = base.chosen_inputs(by, space), base.chosen_outputs(of, space)
    d = base.prefix("d", [*chosen.forms, *(t.port.name for t in chosen.tangents)])

    def build(replay: Replay, value: Given) -> Elements:
        directions = {t.port.name: value[f"{d}{t.port.name}"] for t in chosen.tangents}
        return forward_and_reverse.directional(replay, outputs, chosen.tangents, directions)

    ports = [Port(f"d_{t.port.name}", t.shape) for t in outputs]
    more = {f"{d}{name}": form for name, form in chosen.forms.items()}
    return derived(
        DerivativeRequest("jvp", base, chosen, outputs, ports, ruled(build), "Directional derivatives of", more)
    )


def vjp(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """Return the recipe of the kernel that `Kernel.vjp` returns: how the products Jᵀ w are traced."""
    chosen, outputs = base.chosen_inputs(by, space), base.chosen_outputs(of, space)
    w, more = weights_of(base, outputs)

    def build(replay: Replay, value: Given) -> Elements:
        weights = {t.port.name: value[f"{w}{t.port.name}"] for t in outputs}
        return _only_in_reverse(partial(forward_and_reverse.gradients, replay, outputs, chosen.tangents, weights))

    ports = [Port(f"grad_{t.port.name}", t.shape) for t in chosen.tangents]
    return derived(
        DerivativeRequest("vjp", base, chosen, outputs, ports, ruled(build), "Gradients of weighted sums of", more)
    )


def value_and_gradient(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """Return the recipe of `Kernel.value_and_gradient`: how output ``of`` and its gradient by ``by`` are traced."""
    chosen, outputs = base.chosen_inputs(by, space), base.chosen_outputs(of, space)
    caller = f"{base.name}: value_and_gradient"
    if len(outputs) != 1:
        names = ", ".join(t.port.name for t in outputs)
        raise ValueError(
            f"{caller}: expected one output, got {len(outputs)} ({names}): name it by of='...', or use vjp"
        )
    (output,) = outputs
    check_scalar(caller, output, "use vjp with weights of the output's elements")

    def build(replay: Replay, value: Given) -> Elements:
        one = {output.port.name: [1.0]}
        result = _only_in_reverse(partial(forward_and_reverse.gradients, replay, outputs, chosen.tangents, one))
        return [replay.outputs[output.port.name], *result]

    ports = [output.port, *(Port(f"grad_{t.port.name}", t.shape) for t in chosen.tangents)]
    about = "Value and gradient of"
    return derived(DerivativeRequest("value_and_gradient", base, chosen, outputs, ports, ruled(build), about, {}))


def jacobian(base: Base, by: Sequence[str], of: Any, space: str, sparse: bool, mode: str) -> Derivative:
    """Return the recipe of the kernel that `Kernel.jacobian` returns: how the Jacobians are traced."""
    chosen, outputs = base.chosen_inputs(by, space), base.chosen_outputs(of, space)
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

    forward_method, reverse_method = BuildMethod(in_forward), BuildMethod(in_reverse, ruled=True)

    def methods() -> Sequence[BuildMethod]:
        if mode != "auto":
            return [forward_method if mode == "forward" else reverse_method]
        likely = _estimated(base, outputs, tangents)
        near = max(likely) * _CLEAR < min(likely) <= _MAX_TRACED
        if near:
            return [forward_method, reverse_method]
        return [forward_method if likely.forward <= likely.reverse else reverse_method]

    ports = [Port(f"d_{o.port.name}_d_{i.port.name}", (*o.shape, *i.shape)) for o in outputs for i in tangents]
    options = (sparse, mode)
    return derived(
        DerivativeRequest("jacobian", base, chosen, outputs, ports, methods, "Jacobian of", {}, options, sparse)
    )


def _estimated(base: Base, of: Sequence[Tangent], by: Sequence[Tangent]) -> Estimate:
    """Estimate the cost of the Jacobian in forward and in reverse mode.

    Each coordinate of a configuration counts as a direction of its own, as if it moved without the others.
    """
    program = base.source.traced
    first = dict(zip([p.name for p in program.inputs], _starts(program.inputs), strict=False))
    directions: dict[int, int] = {}
    for tangent in by:
        for k in range(tangent.port.size):
            directions[first[tangent.port.name] + k] = 1 << len(directions)
    ends = dict(zip([p.name for p in program.outputs], _starts(program.outputs), strict=False))
    sets = [0] * len(program.results)
    count = 0
    for tangent in of:
        for k in range(tangent.port.size):
            sets[ends[tangent.port.name] + k] = 1 << count
            count += 1
    return estimate(program, directions, sets)


def _starts(ports: Sequence[Port]) -> list[int]:
    return list(accumulate((port.size for port in ports), initial=0))


def _blocks(rows: Sequence[Sequence[Mapping[int, Any]]], by: Sequence[Tangent]) -> Elements:
    """Return the elements, row by row, of the Jacobian of each output with respect to each input.

    ``rows`` has the sparse Jacobian rows of each output. Their columns are the tangent directions of all inputs in
    sequence.
    """
    ends = list(accumulate((tangent.size for tangent in by), initial=0))
    return [
        [row.get(k, 0.0) for row in part for k in range(start, end)] for part in rows for start, end in pairwise(ends)
    ]


def _only_in_reverse(compute: Callable[[], T]) -> T:
    """Return ``compute()``; if it raises NotDifferentiableError, add the alternatives in forward mode to the error."""
    try:
        return compute()
    except NotDifferentiableError as error:
        instead = "of a kernel, jvp and jacobian(mode='forward') need no reverse"
        raise NotDifferentiableError(f"{error}; {instead}") from None
