"""Machine code as a NumPy generalized ufunc, created through NumPy's C API.

NumPy then handles broadcasting of leading dimensions, conversion of types, ``out=``, overlapping memory, and
``__array_ufunc__`` of other libraries.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.port import Port
from linkwork.compiler.runtime.cpython import keep_alive
from linkwork.compiler.runtime.many_operands import MOST_OPERANDS, ManyOperands

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
    refer back to it. Returns the gufunc and NumPy's table of the loops' addresses; for more operands than a ufunc has,
    a call that does the same.
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
