"""Methods of a kernel that return its derivatives as kernels: JVPs, VJPs, gradients, Jacobians and Hessians."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from linkwork._util.checked_arguments import public
from linkwork._util.lazy_imports import LazyModule
from linkwork.compiler.derivatives.tangent_spaces import Space

if TYPE_CHECKING:
    from linkwork.compiler.derivatives import kernel_derivatives, kernel_hessian, sparsity
    from linkwork.compiler.derivatives.derivative_recipes import Base, Derivative
else:
    kernel_derivatives = LazyModule("linkwork.compiler.derivatives.kernel_derivatives")
    kernel_hessian = LazyModule("linkwork.compiler.derivatives.kernel_hessian")
    sparsity = LazyModule("linkwork.compiler.derivatives.sparsity")

__all__ = ["Differentiable", "MethodCall"]


Of = str | Iterable[str] | Mapping[str, Space | None] | None
In = Literal["tangent", "coordinates"]
Mode = Literal["auto", "forward", "reverse"]
Make = Callable[..., Any]
MethodCall = tuple[str, tuple[str, ...], Any, tuple[Any, ...]]
"""A request of a derivative: the method's name, ``by``, ``of`` and the options."""


@public
class Differentiable(ABC):
    """Methods that return derivatives of a kernel as kernels."""

    __slots__ = ()

    def jvp(self, *by: str, of: Of = None, space: In = "tangent") -> Self:
        """Return the kernel of directional derivatives, J d.

        It takes the kernel's inputs, followed by a direction ``d_<input>`` for each input of ``by``.  It returns
        ``d_<output>`` of every output, at a small multiple of the kernel's own cost.  Both have the shape of tangent
        vectors. A nested input has a direction of the same nesting. If an input is called ``d_q`` already, the new one
        is ``d2_q``.

        ``by`` are names of inputs, by default all; ``of`` is an output's name, several, or a dict of spaces by output
        name. ``space`` selects how configurations vary: by tangent vectors (nv elements), "tangent", or by their
        coordinates (nq), "coordinates".

        The kernel is compiled at its first call with numbers; a repeated request returns the same kernel. Raises
        UnknownNameError for an unknown name, TypeError for a value that is not a name, ValueError for a repeated name,
        for another ``space``, and if there are no inputs.
        """
        return self._derivative(kernel_derivatives.jvp, by, of, space)

    def vjp(self, *by: str, of: Of = None, space: In = "tangent") -> Self:
        """Return the kernel of gradients of weighted sums of the outputs, Jᵀ w, by reverse mode.

        It takes the kernel's inputs, followed by weights ``w_<output>`` of the shape of each output's tangent vector.
        For each input of ``by`` it returns ``grad_<input>``, of the shape of the input's tangent vector. It costs a
        small multiple of the kernel's own cost, whatever the number of inputs.

        ``by``, ``of``, ``space`` and errors are those of `jvp`. The first call raises NotDifferentiableError if an
        output depends on an input through a loop of unknown length.
        """
        return self._derivative(kernel_derivatives.vjp, by, of, space)

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
        return self._derivative(kernel_derivatives.jacobian, by, of, space, sparse, mode)

    def jacobian_pattern(
        self, *by: str, of: Of = None, space: In = "tangent", mode: Mode = "auto"
    ) -> dict[str, sparsity.Pattern]:
        """Return the sparsity pattern of each Jacobian of ``jacobian(..., sparse=True)``, by the Jacobian's name.

        Arguments, with ``space`` and ``mode``, are those of `jacobian`. A pattern has the ``shape`` of the dense
        Jacobian, and the ``indices`` (nnz, ndim) of the nonzero elements, in the order in which the kernel returns
        their values. Its method ``dense(values)`` returns dense arrays (..., *shape) from values (..., nnz).
        """
        return self._patterns(kernel_derivatives.jacobian, by, of, space, True, mode)

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
        return self._derivative(kernel_hessian.hessian, by, of, space, weights, vector, sparse)

    def hessian_pattern(
        self, *by: str, of: Of = None, space: In = "tangent", weights: bool = False
    ) -> dict[str, sparsity.Pattern]:
        """Return the sparsity pattern of each block of ``hessian(..., sparse=True)``, by the block's name.

        Arguments, with ``space`` and ``weights``, are those of `hessian`. The patterns are like those of
        `jacobian_pattern`.
        """
        return self._patterns(kernel_hessian.hessian, by, of, space, weights, False, True)

    def value_and_gradient(self, *by: str, of: Of = None, space: In = "tangent") -> Self:
        """Return the kernel of an output of one element and of its gradients ``grad_<input>``, by reverse mode.

        ``by``, ``of``, ``space`` and errors are those of `vjp`. Raises ValueError for an output of several elements.
        """
        return self._derivative(kernel_derivatives.value_and_gradient, by, of, space)

    # -- construction

    _derivatives: dict[Any, tuple[Any, Mapping[str, sparsity.Pattern]]]

    def _derivative(self, make: Make, by: tuple[str, ...], of: Of, *options: Any) -> Self:
        return self._stored(make, by, of, options)[0]

    def _patterns(self, make: Make, by: tuple[str, ...], of: Of, *options: Any) -> dict[str, sparsity.Pattern]:
        return dict(self._stored(make, by, of, options)[1])

    def _stored(
        self, make: Make, by: tuple[str, ...], of: Of, options: tuple[Any, ...]
    ) -> tuple[Self, Mapping[str, sparsity.Pattern]]:
        """Return the derivative kernel of these arguments, made by ``make`` at the first request, and its patterns.

        ``patterns`` are the sparsity patterns of its outputs by name.  Raises TypeError for values that are not names.
        """
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
        """This kernel as the object of differentiation: its source, nested arguments, and manifolds."""

    @abstractmethod
    def _kernel_of(self, derived: Derivative, request: MethodCall) -> Self:
        """Return the compiled form of a derivative of this kernel.

        ``request`` has the arguments of `_derivative_named`, from which another process makes the same derivative.
        """

    def _derivative_named(self, name: str, by: tuple[str, ...], of: Any, options: tuple[Any, ...]) -> Self:
        """Return the derivative kernel that the method ``name``, such as "jacobian", makes; used to read pickles."""
        make: Make = kernel_hessian.hessian if name == "hessian" else getattr(kernel_derivatives, name)
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
