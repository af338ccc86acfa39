"""Kernels: compiled code behind a NumPy call, with the plain Python function as reference."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from weakref import ReferenceType, ref

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.lazy_imports import LazyModule
from linkwork.compiler.backend import Backend
from linkwork.compiler.backends import default_backend
from linkwork.compiler.build import DerivativeOrigin, Packed, Recipe, Source
from linkwork.compiler.cache.function_content import UnknownContentError
from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.derivatives.differentiable import Differentiable, MethodCall
from linkwork.compiler.derivatives.tangent_spaces import Spaces
from linkwork.compiler.kernel_code import KernelCode
from linkwork.compiler.port import Port
from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.compiler.runtime.fastcall import holds, make_fast
from linkwork.compiler.runtime.gufunc import signature
from linkwork.compiler.runtime.loop_state import State
from linkwork.compiler.runtime.numpy_call import GeneralCall, flat_call_of
from linkwork.compiler.trace.pytree_ports import PortTree, in_order, nested_call
from linkwork.compiler.trace.user_state import VariableWatch, counted
from linkwork.expr.arrays.pytree import Leaf

if TYPE_CHECKING:
    from linkwork.compiler import program as programs
    from linkwork.compiler.derivatives.derivative_recipes import Base, Derivative
else:
    programs = LazyModule("linkwork.compiler.program")

__all__ = [
    "Kernel",
    "batch_call",
    "call_state",
    "general_call",
    "make_single_call",
    "result_type",
    "single_call",
    "source_and_code",
]


@public
class Kernel(Differentiable, metaclass=WithForeignNames):
    """A compiled function of arrays: call it with one array for each input, by position or by name.

    Leading dimensions are a batch and broadcast as in NumPy; ``out=`` takes arrays to write to. A kernel with one
    output returns an array; a kernel with several outputs returns a named tuple of arrays. If all arguments are
    float32, or can be cast to it safely by NumPy's rules, the kernel computes and returns float32 (kernels that solve
    constraints compute in float64 and round); otherwise it computes and returns float64. NaN and infinity propagate by
    IEEE 754, sample by sample and without warnings; masked arrays are refused (ValueError). Large batches are shared
    between threads: see `linkwork.set_num_threads`.

    Its derivatives are kernels, built by `jvp`, `vjp`, `jacobian`, `hessian` and `value_and_gradient`.

    `linkwork.compile` and methods of a robot build kernels, from a traced ``program`` with its ``doc``. ``backend``,
    ``without_passes``, ``nesting``, ``spaces``, ``watch`` and ``later`` are for the compiler's own use.
    """

    __slots__ = (
        "__weakref__",
        "_call",
        "_code",
        "_derivatives",
        "_doc",
        "_function",
        "_general",
        "_has_single_call",
        "_nesting",
        "_packed",
        "_source",
        "_spaces_or_maker",
        "_watch",
        "_without_passes",
    )

    if TYPE_CHECKING:  # it is the slot `_call`, whose content is called without a Python frame in between

        def __call__(self, /, *arrays: Any, out: Any = None, **named: Any) -> Any: ...

    def __init__(
        self,
        program: Any,
        *,
        doc: str = "",
        backend: Backend[Any] | None = None,
        without_passes: Sequence[str] = (),
        function: Callable[..., Any] | None = None,
        nesting: PortTree | None = None,
        spaces: Spaces | Callable[[], Spaces] | None = None,
        watch: VariableWatch | None = None,
        later: bool = False,
    ) -> None:
        recipe = program if isinstance(program, Recipe) else Recipe.of(program)
        self._source = Source(recipe, default_backend() if backend is None else backend, without_passes)
        self._code = KernelCode(self._source)
        self._general = GeneralCall(self._source, self._code, doc)
        self._general.set_kernel(flat_call_of(self))
        self._function, self._watch = function, watch
        self._nesting = nesting or PortTree({port.name: Leaf(port.shape, bool(port.shape)) for port in self.inputs})
        self._spaces_or_maker = Spaces() if spaces is None else spaces
        self._doc, self._without_passes = doc, tuple(without_passes)
        self._packed: Packed | None = None
        self._derivatives: dict[Any, Any] = {}
        self._has_single_call = False
        self._call: Any = _first_call(ref(self))
        if not later:
            make_single_call(self)

    def _compiled(self) -> Callable[..., Any]:
        """Compile the call with one sample, and return it; it accepts nested arguments if the kernel has them."""
        flat = single_call(self, self._general)
        return flat if self._nesting.is_flat else nested_call(self._nesting, self.name, flat)

    @property
    def __signature__(self) -> inspect.Signature:
        kinds = inspect.Parameter
        arrays = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in self._nesting.inputs]
        return inspect.Signature([*arrays, kinds("out", kinds.KEYWORD_ONLY, default=None)])

    @property
    def name(self) -> str:
        """The kernel's name, at the beginning of its messages and of the symbols of its code."""
        return self._source.recipe.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The input ports, each with name and shape."""
        return self._source.recipe.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The output ports, each with name and shape."""
        return self._source.recipe.outputs

    @property
    def signature(self) -> str:
        """The core dimensions in NumPy's signature notation."""
        return signature(self.inputs, self.outputs)

    @property
    def program(self) -> programs.Program:
        """The compiled program, after all passes."""
        return self._source.program

    @property
    def operations(self) -> Mapping[str, int]:
        """Number of operations of each kind for one sample, before products and sums are fused.

        Operations in a loop count once for each iteration; of the two branches of a `cond`, the more expensive one
        counts. For a loop with a condition no iteration is counted; `count` assumes a number of iterations.
        """
        return self._source.traced.operations

    def count(self, iterations: int | Sequence[int] = 0) -> Mapping[str, int]:
        """Return the number of operations of each kind for one sample, with ``iterations`` of loops with a condition.

        ``iterations`` is one integer for all of these loops, or a list with one for each of `while_loops`. Everything
        else is counted as in `operations`. Raises ValueError for a list of the wrong length, or for more iterations
        than a loop's maximum.
        """
        return self._source.traced.count(iterations)

    @property
    def while_loops(self) -> list[programs.WhileLoop]:
        """The loops with a condition: maximum iterations of each, and the operations of one iteration.

        They are in the order of the program; inner loops follow their outer loop.
        """
        return self._source.traced.while_loops

    @property
    def arithmetic(self) -> int:
        """Number of multiplications, additions and subtractions for one sample."""
        return self._source.traced.arithmetic

    @property
    def compile_time(self) -> float:
        """Time to compile the traced program to machine code, or to find and load code in the cache on disk [s].

        Only code that was needed so far counts: the code for a batch is compiled at the first batch.
        """
        return self._code.seconds

    @property
    def llvm_ir(self) -> str:
        """The LLVM IR of the float64 code, all modules in sequence."""
        return "\n".join(self._source.texts(self._source.backend.all_parts(DOUBLE)))

    @property
    def assembly(self) -> str:
        """The processor's instructions of the float64 code, as text from LLVM."""
        source = self._source
        return source.backend.listing(source.texts(source.backend.all_parts(DOUBLE)))

    @property
    def ufunc(self) -> np.ufunc:
        """The kernel as a NumPy generalized ufunc; for more than 64 arrays, a ufunc's limit, an equivalent callable."""
        if not in_main_interpreter():  # other interpreters cannot compile while NumPy waits for a loop
            for loop in self._general.loops:
                loop.make()
        return cast(np.ufunc, self._general.ufunc)

    def interpret(self, *arrays: Any) -> Any:
        """Evaluate the kernel by the interpreter, one operation at a time in float64: slow, to check compiled code."""
        arrays = tuple(self._nesting.flatten(self.name, arrays))
        return self._together(self._source.traced.interpret(*arrays))

    @property
    def function(self) -> Callable[..., Any]:
        """The Python function that was compiled. Raises TypeError if there is none."""
        if self._function is None:
            raise TypeError(
                f"kernel {self.name!r} was not compiled from a Python function; `interpret` runs its program "
                f"(kernels from pickles and files have no function)"
            )
        return self._function

    def call_python(self, *arrays: Any, **named: Any) -> Any:
        """Evaluate the original Python function, for one state or a batch: slow, to check the compiled results.

        Arguments are the kernel's arguments without ``out``. One state is passed as floats; a batch is passed as arrays
        whose elements are arrays of all samples, so that the function runs once. Raises TypeError if there is no
        function.
        """
        function = self.function
        flat = self._nesting.flatten(self.name, in_order(self.name, [*self._nesting.inputs], arrays, named))
        from linkwork.compiler.uncompiled_call import run_uncompiled

        return self._together(run_uncompiled(function, self._nesting, self.inputs, self.outputs, flat))

    def _together(self, results: Sequence[Any]) -> Any:
        """Return the outputs in the form that a call returns."""
        result = self._general.result
        return self._nesting.unflatten(results[0] if result is None else result(*results))

    @property
    def _spaces(self) -> Spaces:
        if not isinstance(self._spaces_or_maker, Spaces):
            self._spaces_or_maker = self._spaces_or_maker()
        return self._spaces_or_maker

    @property
    def _base(self) -> Base:
        from linkwork.compiler.derivatives.derivative_recipes import Base

        return Base(self._source, self._nesting, self._spaces)

    def _without_derivatives(self) -> Kernel:
        """Return a kernel of the same code, to which its derivatives refer, so that no reference cycle arises."""
        result = object.__new__(Kernel)
        for name in Kernel.__slots__:
            if name not in ("__weakref__", "_call", "_derivatives"):
                setattr(result, name, getattr(self, name))
        result._derivatives = {}
        result._has_single_call, result._call = False, _first_call(ref(result))
        return result

    def _kernel_of(self, derived: Derivative, request: MethodCall) -> Kernel:
        source = self._source
        return Kernel(
            replace(derived.recipe, origin=DerivativeOrigin(self._without_derivatives(), request)),
            doc=derived.doc,
            backend=source.backend,
            without_passes=self._without_passes,
            nesting=derived.nesting,
            spaces=derived.spaces,
            watch=None if self._watch is None else self._watch.derived(derived.recipe.name),
            later=True,
        )

    def to_casadi(self) -> Any:
        """Return the kernel as a `casadi.Function` with the same inputs and outputs.

        The function consists of SX expressions, or of MX expressions if its loops are long. An array (n,) becomes a
        column (n, 1), and () a scalar. If there are more than two dimensions, all but the last are merged: (nb, 4, 4)
        becomes (4 nb, 4). Raises ImportError without CasADi, and ValueError for constructs without a CasADi
        counterpart, such as a loop with a condition.
        """
        from linkwork.compiler.casadi.to_casadi import to_casadi

        return to_casadi(self._source.traced)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the kernel to a file, which `linkwork.load_kernel` reads on any machine.

        The file has the traced program, its arrays and their nesting, and neither machine code nor Python functions. An
        existing file is replaced when the new file is complete. The derivative rules of a robot's functions are left
        out, so rounding errors of the loaded kernel's derivatives differ.

        Raises TypeError for a value that is not a path, and for a kernel with code of the user: a derivative rule, or
        containers other than tuples, named tuples, dataclasses and dicts. Raises FileNotFoundError for a folder that
        does not exist, and other errors of the system.
        """
        from linkwork.compiler.pickling.kernel_file import save_kernel

        save_kernel(self, path)

    def _trace_content(self) -> Any:
        """Return the values on which the trace of a function that calls this kernel depends."""
        if self._base.identity is None:
            raise UnknownContentError(f"kernel {self.name!r} is not traced yet")
        return self._base.identity, self.inputs, self.outputs, self._nesting, self._spaces

    def __reduce__(self) -> tuple[Any, ...]:
        from linkwork.compiler.pickling.kernel_pickle import pickled

        return pickled(self)

    def __dask_tokenize__(self) -> tuple[str, bytes]:
        from linkwork.compiler.pickling.kernel_pickle import packed

        return "linkwork kernel", packed(self).digest

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"<Kernel {self.name}: {inputs} -> {outputs}>"


setattr(Kernel, "__call__", Kernel.__dict__["_call"])  # noqa: B010 - as a slot of that name hides it from type checkers


def _first_call(reference: ReferenceType[Kernel]) -> Callable[..., Any]:
    """Return the call of a kernel whose single call is compiled when it is first called with one sample."""

    def first(*arguments: Any, **named: Any) -> Any:
        kernel = reference()
        if kernel is None:
            raise ReferenceError("the kernel of this call was deleted: keep a reference to the kernel, and call that")
        if not kernel._has_single_call:
            if kernel._nesting.is_flat and not kernel._general.is_single(arguments, named):
                if kernel._watch is not None:
                    kernel._watch.count()
                return kernel._general(*arguments, **named)
            make_single_call(kernel)
        return kernel._call(*arguments, **named)

    return first


def make_single_call(kernel: Kernel) -> None:
    """Compile a kernel's code for a call with one sample, unless it is compiled already."""
    if not kernel._has_single_call:
        kernel._call, kernel._has_single_call = kernel._compiled(), True


def source_and_code(kernel: Kernel) -> tuple[Source, KernelCode]:
    """Return the program of a kernel, traced on first use (`Source`), and its machine code (`KernelCode`)."""
    return kernel._source, kernel._code


def call_state(kernel: Kernel) -> State:
    """Return the state that a kernel's loop reports to.

    Its ``not_finite_calls`` grows with every call in which some input was not finite, or so large (beyond 1e100) that
    products of inputs may overflow.
    """
    return kernel._general.state


def general_call(kernel: Kernel) -> Callable[..., Any]:
    """Return the kernel's call through NumPy, which accepts any arguments: the fallback of the single call."""
    return kernel._general


def result_type(kernel: Kernel) -> Callable[..., Any] | None:
    """Return the type of the named tuples of a kernel's outputs; None for one output."""
    result: Callable[..., Any] | None = kernel._general.result
    return result


def batch_call(kernel: Kernel) -> Callable[..., Any]:
    """Return a faster call through NumPy, which requires exactly one array for each input."""
    general = kernel._general
    return general.run if general.inputs and not general.has_empty else general


def single_call(kernel: Kernel, otherwise: Callable[..., Any], holder: type | None = None) -> Callable[..., Any]:
    """Return a function for plain arrays of one sample, cheaper than a gufunc.

    ``otherwise`` handles all other calls. If ``holder``, a class with exactly one slot, is given, the function returns
    the kernel's only output in an object of that class; ``otherwise`` returns such objects itself. If such a function
    is impossible, the batch loop is compiled, so that a new kernel can run, and ``otherwise`` is returned.
    """
    watch = kernel._watch if otherwise is kernel._general else None
    if not kernel._source.backend.parts("fast", DOUBLE) or (holder is not None and not holds(holder)):
        kernel._general.loops[0].make()
        return otherwise if watch is None else counted(otherwise, watch)
    code = kernel._code.entry("fast")
    call, use = make_fast(kernel.name, code, otherwise, kernel._general.result, holder, watch)
    kernel._code.when_improved("fast", code, use)
    if otherwise is kernel._general:
        kernel._general.set_single_call(call)
    return call


add_foreign_names(Kernel, "Kernel")
