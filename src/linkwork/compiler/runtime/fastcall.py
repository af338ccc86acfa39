"""A kernel's call with one sample as a function of CPython's fastcall protocol, with less overhead than a gufunc.

This function, the entry, inspects its arguments by pointer. If all are plain float64 arrays of exactly the kernel's
shapes, aligned, contiguous and without NaN, it creates the result arrays and runs the code for one sample. Any other
call (a batch, a list, another type, a keyword, a NaN, a guard greater than zero) goes to an ordinary Python callable,
with the same result.

The entry reads the heads of NumPy's array objects, whose layout NumPy's C API fixes.  It is created only on ordinary
64-bit CPython, and if sample arrays show the expected layout. Otherwise the Python callable is used.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any
from weakref import ref

import numpy as np

from linkwork.compiler.runtime.cpython import keep_alive
from linkwork.compiler.runtime.gufunc import numpy_function
from linkwork.compiler.trace.user_state import VariableWatch

__all__ = [
    "ARRAY_DATA",
    "ARRAY_DESCR",
    "ARRAY_DIMENSIONS",
    "ARRAY_FLAGS",
    "ARRAY_NDIM",
    "ARRAY_TYPE",
    "CONTIGUOUS_ALIGNED",
    "SLOT",
    "TABLE",
    "TUPLE_SIZE",
    "WRITEABLE",
    "available",
    "holds",
    "items_offset",
    "make_fast",
]

# Offsets in PyArrayObject (NumPy's ndarraytypes.h) and flags an array must have.
ARRAY_TYPE, ARRAY_DATA, ARRAY_NDIM, ARRAY_DIMENSIONS, ARRAY_DESCR, ARRAY_FLAGS = 8, 16, 24, 32, 56, 64
CONTIGUOUS_ALIGNED, WRITEABLE = 0x0001 | 0x0100, 0x0400
TUPLE_SIZE = 16  # in PyVarObject; the offset of a tuple's items depends on Python's version: see `items_offset`
SLOT = 16  # in an object of a class with one slot; `holds` verifies it
_TP_NEW = 65  # in Python's table of slots
_NEW, _RETURN = 93, 76  # PyArray_New and PyArray_Return in NumPy's table of array functions
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@cache
def available() -> bool:
    """Return True if NumPy's arrays have, in memory, the layout that compiled calls with one sample read."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or "free-threading" in sys.version:
        return False
    if not items_offset():
        return False
    probe = np.zeros((3, 5))

    def field(kind: Any, offset: int) -> Any:
        return kind.from_address(id(probe) + offset).value

    return bool(
        field(ctypes.c_void_p, ARRAY_TYPE) == id(np.ndarray)
        and field(ctypes.c_void_p, ARRAY_DATA) == probe.ctypes.data
        and field(ctypes.c_int, ARRAY_NDIM) == 2
        and tuple((ctypes.c_ssize_t * 2).from_address(field(ctypes.c_void_p, ARRAY_DIMENSIONS))) == (3, 5)
        and field(ctypes.c_void_p, ARRAY_DESCR) == id(np.dtype(np.float64))
        and field(ctypes.c_int, ARRAY_FLAGS) & CONTIGUOUS_ALIGNED == CONTIGUOUS_ALIGNED
    )


@cache
def items_offset() -> int:
    """Return the offset [bytes] of the first item in a Python tuple object; 0 if it cannot be determined."""
    probe = (object(),)
    if ctypes.c_ssize_t.from_address(id(probe) + TUPLE_SIZE).value != 1:
        return 0
    for offset in range(TUPLE_SIZE + 8, sys.getsizeof(probe), 8):
        if ctypes.c_void_p.from_address(id(probe) + offset).value == id(probe[0]):
            return offset
    return 0


# Objects that the entry calls or compares with, in the order of the module's table.
TABLE = (
    "ndarray",
    "float64",
    "new_array",
    "as_scalar",
    "vectorcall",
    "pack_tuple",
    "release",
    "retain",
    "none",
    "out",
    "new_tuple",
    "new_object",
    "result",  # the named tuple of several results; this entry and the next one differ between kernels
    "calls",  # until the next one that the callable for counted calls handles
)
_OUT = sys.intern("out")


@cache
def _addresses() -> tuple[int, ...]:
    api = ctypes.pythonapi

    def address(function: Any) -> int:
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)

    return (
        id(np.ndarray),
        id(np.dtype(np.float64)),
        numpy_function("_ARRAY_API", _NEW),
        numpy_function("_ARRAY_API", _RETURN),
        address(api.PyObject_Vectorcall),
        address(api.PyTuple_Pack),
        address(api.Py_DecRef),
        address(api.Py_IncRef),
        id(None),
        id(_OUT),
        _slot(tuple, _TP_NEW),
        address(api.PyType_GenericAlloc),
    )


def _slot(kind: type, number: int) -> int:
    get_slot = ctypes.pythonapi["PyType_GetSlot"]  # by index, for a separate object on which to set types
    get_slot.restype = ctypes.c_void_p
    get_slot.argtypes = [ctypes.py_object, ctypes.c_int]
    return int(get_slot(kind, number) or 0)


@cache
def holds(holder: type) -> bool:
    """Return True if objects of a class have their only slot at the offset that machine code writes to."""
    probe = object()
    instance: object = object.__new__(holder)
    (slot,) = vars(holder)["__slots__"]
    setattr(instance, slot, probe)
    return holder.__basicsize__ == SLOT + 8 and ctypes.c_void_p.from_address(id(instance) + SLOT).value == id(probe)


def make_fast(
    name: str,
    code: Any,
    otherwise: Callable[..., Any],
    result: type | None = None,
    holder: type | None = None,
    watch: VariableWatch | None = None,
) -> tuple[Callable[..., Any], Callable[[Any], None]]:
    """Return the entry of compiled code as a Python function, and a function that installs other code in it.

    ``otherwise`` handles calls that the code does not handle.  Several results are returned as a ``result``, a type of
    named tuples; a single result is returned in a ``holder``, see `holds`.  CPython reads the code's address in every
    call, so newly installed code runs at the next call.  The code counts calls for ``watch``, which compares variables
    after certain numbers of calls.
    """
    definition = _MethodDef(name.encode(), None, _METH_FASTCALL_KEYWORDS, None)
    owners: list[Any] = []  # of all code so far, as another thread may be running it
    tables: list[Any] = []  # of the code in use

    def use(code: Any) -> None:
        table = (ctypes.c_void_p * len(TABLE)).from_address(code.table)
        left = tables[0][-1] if tables else None if watch is None else watch.calls
        table[:] = [*_addresses(), id(result or tuple), left]
        owners.append(code.owner)
        tables[:] = [table]
        definition.function = code.address

    def counted(*arguments: Any, **named: Any) -> Any:
        if watch is not None:
            tables[0][-1] = watch.count_to_next() + 1  # the call below
            watch.warn()
        return (function_of() or otherwise)(*arguments, **named)

    use(code)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype = ctypes.py_object
    create.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    # the function owns this tuple until it is deleted, and with it the definition and the code
    bound = (otherwise, holder, counted, result, keep_alive(definition, owners))
    function: Callable[..., Any] = create(ctypes.addressof(definition), bound, name)
    function_of = ref(function)  # no cycle of references
    return function, use
