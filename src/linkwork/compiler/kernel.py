"""A kernel: compiled code behind a NumPy call, with the plain Python function as reference (`run_uncompiled`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ReferenceType, ref

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.compiler.backend import Backend
from linkwork.compiler.backends import default_backend
from linkwork.compiler.build import KernelCode, Recipe, Source
from linkwork.compiler.casadi.to_casadi import to_casadi
from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.derivatives.derivative_recipes import Base, Derivative
from linkwork.compiler.derivatives.kernel_derivatives import Differentiable
from linkwork.compiler.derivatives.tangent_spaces import Spaces
from linkwork.compiler.operation_counts import WhileLoop
from linkwork.compiler.program import Port, Program
from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.compiler.runtime.fastcall import holds, make_fast
from linkwork.compiler.runtime.gufunc import signature
from linkwork.compiler.runtime.loop_state import State
from linkwork.compiler.runtime.numpy_call import GeneralCall
from linkwork.compiler.trace.pytree_ports import PortTree, in_order, taking
from linkwork.expr.arrays.pytree import Leaf, TreeDef, flatten, leaf_paths, unflatten
from linkwork.expr.arrays.symbol_array import is_traced, object_array

__all__ = ["Kernel", "batch_call", "call_state", "general_call", "made_from", "make_ready", "single_call"]


@public
class Kernel(Differentiable):
    """A compiled function of arrays: call it with one array for each input, by place or by name.

    Leading dimensions are a batch and broadcast as NumPy does; ``out=`` takes arrays to write to.  A kernel of one
    output returns an array, one of several a named tuple of arrays.  Where all arguments are float32 (or can be cast to
    it safely, as NumPy has it) it computes and returns float32 (computed in float64 where constraints are solved for),
    and otherwise float64.  NaN and infinity pass through
    as IEEE 754 has it, sample by sample and without warnings; masked arrays are refused (ValueError).  Large batches
    are shared between threads: see `linkwork.set_num_threads`.

    Its derivatives are kernels too, made by `jvp`, `vjp`, `jacobian`, `hessian` and `value_and_gradient`.
    """

    __slots__ = (
        "__weakref__",
        "_call",
        "_code",
        "_derivatives",
        "_function",
        "_general",
        "_nesting",
        "_source",
        "_spaces",
    )

    if TYPE_CHECKING:  # it is the slot `_call`: what stands there is called without a detour through Python

        def __call__(self, /, *arrays: Any, out: Any = None, **named: Any) -> Any: ...

    def __init__(
        self,
        program: Program | Recipe,
        *,
        doc: str = "",
        backend: Backend[Any] | None = None,
        without_passes: Sequence[str] = (),
        function: Callable[..., Any] | None = None,
        nesting: PortTree | None = None,
        spaces: Spaces | None = None,
        later: bool = False,
    ) -> None:
        recipe = Recipe.of(program) if isinstance(program, Program) else program
        self._source = Source(recipe, default_backend() if backend is None else backend, without_passes)
        self._code = KernelCode(self._source)
        self._general = GeneralCall(self._source, self._code, doc)
        self._function = function
        self._nesting = nesting or PortTree({port.name: Leaf(port.shape, bool(port.shape)) for port in self.inputs})
        self._spaces = Spaces() if spaces is None else spaces
        self._derivatives: dict[Any, Any] = {}
        self._call: Any = _first_call(ref(self)) if later else self._compiled()

    def _compiled(self) -> Callable[..., Any]:
        """The call, of what is compiled for it."""
        flat = single_call(self, self._general)
        return flat if self._nesting.is_flat else taking(self._nesting, self.name, flat)

    @property
    def __signature__(self) -> inspect.Signature:
        kinds = inspect.Parameter
        arrays = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in self._nesting.inputs]
        return inspect.Signature([*arrays, kinds("out", kinds.KEYWORD_ONLY, default=None)])

    @property
    def name(self) -> str:
        """What it was called when it was made: messages and the symbols of its code begin with it."""
        return self._source.recipe.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The inputs by name and shape."""
        return self._source.recipe.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The outputs by name and shape."""
        return self._source.recipe.outputs

    @property
    def signature(self) -> str:
        """The core dimensions as NumPy writes them."""
        return signature(self.inputs, self.outputs)

    @property
    def program(self) -> Program:
        """The program that was compiled, after all passes."""
        return self._source.program

    @property
    def operations(self) -> Mapping[str, int]:
        """How many operations of each kind one sample takes, before products and sums are fused.

        What is in a loop counts as often as it runs, and the dearer branch of a choice; loops with a condition count
        with no iteration: see `count`.
        """
        return self._source.traced.operations

    def count(self, iterations: int | Sequence[int] = 0) -> Mapping[str, int]:
        """The operations where loops with a condition do so many iterations.

        One number is for all of them, several are for each of `while_loops`.  Raises ValueError for another number of
        numbers, or for more iterations than a loop may do.
        """
        return self._source.traced.count(iterations)

    @property
    def while_loops(self) -> list[WhileLoop]:
        """The loops with a condition: the most iterations that each does, and the operations that one takes.

        In the order of the program, and those inside others after them.
        """
        return self._source.traced.while_loops

    @property
    def arithmetic(self) -> int:
        """Multiplications, additions and subtractions that one sample takes."""
        return self._source.traced.arithmetic

    @property
    def compile_time(self) -> float:
        """Seconds from the traced program to machine code, or to find and load it where the cache on disk has it.

        Of what has been asked for until now: the code for a batch is compiled with the first one.
        """
        return self._code.seconds

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR that the machine code was made from: of float64, all modules one after the other."""
        return "\n".join(self._source.texts(self._source.backend.all_parts(DOUBLE)))

    @property
    def assembly(self) -> str:
        """The processor's instructions, as text that LLVM writes: of float64."""
        source = self._source
        return source.backend.listing(source.texts(source.backend.all_parts(DOUBLE)))

    @property
    def ufunc(self) -> np.ufunc:
        """The kernel as a NumPy generalized ufunc."""
        if not in_main_interpreter():  # in others, nothing can be compiled while NumPy waits for it
            for loop in self._general.loops:
                loop.make()
        return self._general.ufunc

    def interpret(self, *arrays: Any) -> Any:
        """The same function by the interpreter, one operation at a time in float64: slow, and the reference."""
        arrays = tuple(self._nesting.taken_apart(self.name, arrays))
        return self._together(self._source.traced.interpret(*arrays))

    @property
    def function(self) -> Callable[..., Any]:
        """The Python function that it was made of.  Raises TypeError where there is none."""
        if self._function is None:
            raise TypeError(f"kernel {self.name!r} was made of no Python function; `interpret` runs its program")
        return self._function

    def call_python(self, *arrays: Any, **named: Any) -> Any:
        """What the Python function itself gives for numbers, one state or a batch: slow, and a reference.

        It takes what the kernel takes, but for ``out``.  One state goes in as floats; a batch as arrays whose elements
        are arrays of all samples, so that the function runs once.  Raises TypeError where there is no function.
        """
        function = self.function
        given = self._nesting.taken_apart(self.name, in_order(self.name, [*self._nesting.inputs], arrays, named))
        return self._together(run_uncompiled(function, self._nesting, self.inputs, self.outputs, given))

    def _together(self, results: Sequence[Any]) -> Any:
        """The outputs as a call returns them."""
        result = self._general.result
        return self._nesting.put_together(results[0] if result is None else result(*results))

    @property
    def _base(self) -> Base:
        return Base(self._source, self._nesting, self._spaces)

    def _made_of(self, derived: Derivative) -> Kernel:
        source = self._source
        return Kernel(
            derived.recipe,
            doc=derived.doc,
            backend=source.backend,
            without_passes=source.without_passes,
            nesting=derived.nesting,
            spaces=derived.spaces,
            later=True,
        )

    def to_casadi(self) -> Any:
        """The kernel as a `casadi.Function` of SX, or of MX if its loops are long, with the same inputs and outputs.

        (n,) becomes a column (n, 1), () a scalar; of more than two dimensions all but the last become one, so that
        (nb, 4, 4) becomes (4 nb, 4).  Raises ImportError where CasADi is not installed, and ValueError for what it has
        no counterpart of, such as a loop with a condition.
        """
        return to_casadi(self._source.traced)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"kernel {self.name!r}: machine code is not pickled or copied: compile it where it is needed")

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"<Kernel {self.name}: {inputs} -> {outputs}>"


setattr(Kernel, "__call__", Kernel.__dict__["_call"])  # noqa: B010 - as a slot of that name hides it from type checkers


def _first_call(reference: ReferenceType[Kernel]) -> Callable[..., Any]:
    """The call of a kernel that is compiled when it is first called with numbers."""

    def first(*arguments: Any, **named: Any) -> Any:
        kernel = reference()
        if kernel is None:
            raise ReferenceError("the kernel of this call is gone: keep the kernel, and call that")
        if kernel._call is first:
            if kernel._nesting.is_flat and any(map(is_traced, (*arguments, *named.values()))):
                return kernel._general(*arguments, **named)
            kernel._call = kernel._compiled()
        return kernel._call(*arguments, **named)

    return first


def made_from(kernel: Kernel) -> tuple[Source, KernelCode]:
    """What a kernel was made from, and its code."""
    return kernel._source, kernel._code


def make_ready(kernel: Kernel) -> None:
    """Compile all that calls with float64 may need, if it is not there."""
    kernel._code.make(kernel._source.backend.entries)
    kernel._general.loops[0].make()


def call_state(kernel: Kernel) -> State:
    """What a kernel's loop tells: its ``not_finite_calls`` grow with every call in which some input
    was not finite, or so large (beyond 1e100) that products of inputs may not be.
    """
    return kernel._general.state


def general_call(kernel: Kernel) -> Callable[..., Any]:
    """The kernel's call with any arguments, through NumPy: for those that the single call has not taken."""
    return kernel._general


def batch_call(kernel: Kernel) -> Callable[..., Any]:
    """The same for an array for each input and nothing else, with less on the way to NumPy."""
    general = kernel._general
    return general.run if general.inputs and not general.has_empty else general


def single_call(kernel: Kernel, otherwise: Callable[..., Any], holder: type | None = None) -> Callable[..., Any]:
    """A function for plain arrays of one sample, below a gufunc's cost; ``otherwise`` takes everything else.

    It gives a kernel's only array in an object of the class ``holder``, if there is one: of a class with one slot,
    which is all that its objects have; ``otherwise`` gives such objects itself.  Where there can be no such function,
    the loop over a batch is compiled, so that a kernel that has been made can run.
    """
    if not kernel._source.backend.parts("fast", DOUBLE) or (holder is not None and not holds(holder)):
        kernel._general.loops[0].make()
        return otherwise
    return make_fast(kernel.name, kernel._code.entry("fast"), otherwise, kernel._general.result, holder)


def run_uncompiled(
    function: Callable[..., Any],
    nesting: PortTree,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    given: Sequence[Any],
) -> list[np.ndarray]:
    """The outputs, in the order of the ports, for arrays of shape (..., *port shape), one for each input port.

    One state goes in as floats.  A batch goes in as arrays whose elements are arrays, of all samples; so the function
    runs once either way.  Raises ValueError for arrays of other shapes.
    """
    name = getattr(function, "__name__", "function")
    arrays = [port.array(name, x) for port, x in zip(inputs, given, strict=True)]
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(port.shape)] for port, x in zip(inputs, arrays, strict=True)))
    arguments, start = {}, 0
    for key, form in nesting.inputs.items():
        count = len(leaf_paths(form))
        arguments[key] = _argument(form, arrays[start : start + count], batch)
        start += count
    with np.errstate(all="ignore"):
        returned = function(**arguments)
    parts = _parts(returned, nesting, len(outputs))
    return [_output(part, port, batch) for part, port in zip(parts, outputs, strict=True)]


def _argument(form: TreeDef | Leaf, arrays: Sequence[np.ndarray], batch: tuple[int, ...]) -> Any:
    numbers: list[Any] = []
    for (_, leaf), x in zip(leaf_paths(form), arrays, strict=True):
        if batch:
            full = np.broadcast_to(x, (*batch, *leaf.shape)).reshape(*batch, leaf.size)
            numbers += [np.array(full[..., k]) for k in range(leaf.size)]
        else:
            numbers += x.ravel().tolist()
    if batch:
        singles = [leaf for _, leaf in leaf_paths(form) if not leaf.is_array]
        return unflatten(_all_arrays(form) if singles else form, numbers)
    return unflatten(form, numbers, lambda elements: np.array(elements, dtype=np.float64))


def _all_arrays(form: TreeDef | Leaf) -> TreeDef | Leaf:
    """The form with arrays of no dimension in the place of bare numbers: so a batch is told from an array."""
    if isinstance(form, Leaf):
        return Leaf(form.shape)
    return TreeDef(form.kind, form.keys, tuple(_all_arrays(part) for part in form.parts))


def _parts(returned: Any, nesting: PortTree, count: int) -> list[Any]:
    """The arrays that a function returned, one for each output."""
    if nesting.outputs is not None:
        numbers, form = flatten(returned, "output")
        result, start = [], 0
        for _, leaf in leaf_paths(form):
            result.append(object_array(leaf.shape, numbers[start : start + leaf.size]))
            start += leaf.size
        return result
    if isinstance(returned, dict):
        return list(returned.values())
    return list(returned) if isinstance(returned, tuple) else [returned]


def _output(part: Any, port: Port, batch: tuple[int, ...]) -> np.ndarray:
    """One output's numbers, a batch in the leading dimensions."""
    if isinstance(part, np.ndarray) and part.dtype != object and part.shape == port.shape:
        array = np.asarray(part, dtype=np.float64)
        return np.array(np.broadcast_to(array, (*batch, *port.shape)))
    elements = _elements(part)
    columns = [np.broadcast_to(np.asarray(x, dtype=np.float64), batch) for x in elements]
    stacked = np.stack(columns, axis=-1) if columns else np.zeros((*batch, 0))
    return stacked.reshape((*batch, *port.shape))


def _elements(part: Any) -> list[Any]:
    if isinstance(part, list):
        return [x for inner in part for x in _elements(inner)]
    if isinstance(part, np.ndarray) and part.dtype == object:
        return [x for inner in part.ravel().tolist() for x in _elements(inner)]
    return list(np.ravel(part).tolist()) if np.ndim(part) == 0 else [part]
