"""Machine code as a NumPy generalized ufunc, created through NumPy's C API.

NumPy then handles broadcasting of leading dimensions, conversion of types, ``out=``, overlapping memory, and
``__array_ufunc__`` of other libraries.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from linkwork.compiler.codegen.float_type import DOUBLE, FloatType
from linkwork.compiler.port import Port
from linkwork.compiler.runtime.cpython import keep_alive
from linkwork.compiler.runtime.typed_loop import takes_single

__all__ = ["make_gufunc", "numpy_function", "signature"]

_NO_IDENTITY = -1
_SLOT = 31  # PyUFunc_FromFuncAndDataAndSignature in NumPy's table of ufunc functions


class _UFuncObject(ctypes.Structure):
    """The head of PyUFuncObject, as NumPy's ufuncobject.h declares it."""

    _fields_ = [
        ("head", ctypes.c_byte * object.__basicsize__),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
        ("reserved1", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.c_void_p),
        ("doc", ctypes.c_char_p),
        ("ptr", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
    ]


def numpy_function(table: str, slot: int) -> int:
    """Return the address of a function in one of the tables of NumPy's C API."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    get_pointer = ctypes.pythonapi["PyCapsule_GetPointer"]  # by index, for a separate object on which to set types
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    start = get_pointer(getattr(_multiarray_umath, table), None)
    address = ctypes.cast(start, ctypes.POINTER(ctypes.c_void_p))[slot]
    return int(address or 0)


@cache
def _constructor() -> Any:
    address = numpy_function("_UFUNC_API", _SLOT)
    pointer, integer, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    return ctypes.PYFUNCTYPE(
        ctypes.py_object, pointer, pointer, pointer, integer, integer, integer, integer, text, text, integer, text
    )(address)


def signature(inputs: Sequence[Port], outputs: Sequence[Port]) -> str:
    """Return the core dimensions, e.g. ``(7),(7)->(7,7)``; a dimension of size zero has a name, as NumPy requires."""

    def side(ports: Sequence[Port]) -> str:
        return ",".join("(" + ",".join(str(n) if n else "none" for n in port.shape) + ")" for port in ports)

    return f"{side(inputs)}->{side(outputs)}"


def make_gufunc(
    name: str,
    doc: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    loops: Sequence[tuple[FloatType, int]],
    state: ctypes.Structure,
    owners: Any,
    parent: Any,
) -> tuple[np.ufunc | ManyOperands, ctypes.Array[ctypes.c_void_p]]:
    """Create a gufunc that calls an inner loop at an address for each floating-point type.

    NumPy uses the first type that all arguments can be cast to safely. ``state`` is passed to the loops as their data.
    The gufunc keeps ``owners`` alive, whatever the garbage collector does (see `keep_alive`), and ``parent``, which may
    refer back to it. Returns the gufunc and NumPy's table of the loops' addresses; for more operands than a ufunc can
    have, a callable that does the same.
    """
    nargs = len(inputs) + len(outputs)
    functions = (ctypes.c_void_p * len(loops))(*(address for _, address in loops))
    if nargs > MOST_OPERANDS:
        many = ManyOperands(name, inputs, outputs, [real for real, _ in loops], functions, state)
        many.owners = owners, parent
        return many, functions
    data = (ctypes.c_void_p * len(loops))(*([ctypes.addressof(state)] * len(loops)))
    types = (ctypes.c_byte * (nargs * len(loops)))(*(real.number for real, _ in loops for _ in range(nargs)))
    texts = name.encode(), doc.encode()
    ufunc = _constructor()(
        ctypes.addressof(functions),
        ctypes.addressof(data),
        ctypes.addressof(types),
        len(loops),
        len(inputs),
        len(outputs),
        _NO_IDENTITY,
        *texts,
        0,
        signature(inputs, outputs).encode(),
    )
    # NumPy keeps pointers to most of these; `obj` is the reference that it releases with the ufunc
    keep = (keep_alive(functions, data, types, texts, state, owners), parent)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(keep))
    _UFuncObject.from_address(id(ufunc)).obj = id(keep)
    assert isinstance(ufunc, np.ufunc)
    return ufunc, functions


# -- calls of inner loops with more operands than a NumPy ufunc has


MOST_OPERANDS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32  # of a ufunc, inputs and outputs

_LOOP = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class ManyOperands:
    """The call of a kernel's inner loops with arrays, which broadcasts and converts them as a generalized ufunc does.

    ``table`` has the address of the loop of each type of ``reals``, and ``state`` is passed to the loops.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Port],
        outputs: Sequence[Port],
        reals: Sequence[FloatType],
        table: ctypes.Array[ctypes.c_void_p],
        state: ctypes.Structure,
    ) -> None:
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self._reals, self._table, self._state = reals, table, state
        self.owners: Any = None  # objects that keep the loops alive

    def __call__(self, *arrays: Any, out: tuple[Any, ...] | None = None) -> Any:
        """Return the outputs; raises TypeError for arrays that are not real, ValueError for wrong shapes."""
        single = len(self._reals) > 1 and takes_single(arrays)
        index = next(k for k, real in enumerate(self._reals) if (real is DOUBLE) != single)
        dtype = np.dtype(np.float32 if single else np.float64)
        values = [np.asarray(x) for x in arrays]
        for port, x in zip(self.inputs, values, strict=True):
            if not np.can_cast(x.dtype, dtype, "same_kind"):
                raise TypeError(f"{self.name}: {port.name}: expected real numbers, got an array of {x.dtype}")
            if x.shape[max(x.ndim - len(port.shape), 0) :] != port.shape:
                raise ValueError(f"{self.name}: {port.name}: expected shape (..., {port.shape}), got {x.shape}")
        leads = [x.shape[: x.ndim - len(port.shape)] for port, x in zip(self.inputs, values, strict=True)]
        lead = np.broadcast_shapes(*leads)
        read = [
            np.ascontiguousarray(np.broadcast_to(x, (*lead, *port.shape)) if has_samples else x, dtype)
            for port, x, has_samples in zip(self.inputs, values, leads, strict=True)
        ]
        results = [np.empty((*lead, *port.shape), dtype) for port in self.outputs]
        self._run(index, dtype.itemsize, math.prod(lead), [bool(samples) for samples in leads], read, results)
        if out is not None:
            for target, result in zip(out, results, strict=True):
                if target is not None:
                    np.copyto(target, result, casting="same_kind")
            results = [result if target is None else target for target, result in zip(out, results, strict=True)]
        values = [x[()] if x.ndim == 0 else x for x in results]
        return values[0] if len(values) == 1 else tuple(values)

    def _run(
        self, index: int, size: int, count: int, varies: Sequence[bool], read: list[Any], results: list[Any]
    ) -> None:
        """Call a type's loop with contiguous arrays of ``count`` samples; arrays that do not vary have one sample."""
        ports, arrays = (*self.inputs, *self.outputs), [*read, *results]
        moves = [*varies, *[True] * len(results)]
        steps = [size * port.size if move else 0 for port, move in zip(ports, moves, strict=True)]
        sizes = [count]
        for port in ports:
            sizes += port.shape
            steps += [size * math.prod(port.shape[d + 1 :]) for d in range(len(port.shape))]
        addresses = (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
        lists = [(ctypes.c_ssize_t * len(row))(*row) for row in (sizes, steps)]
        if count:
            _LOOP(self._table[index] or 0)(addresses, *lists, ctypes.addressof(self._state))
