"""Entries of a kernel's code, by which it is called, and the parts of each entry.

An entry is compiled on first use (see `linkwork.compiler.kernel_code.KernelCode`), and so is a part, which several
entries may share. A new entry is an item of `ENTRIES`, and a part that only it needs an item of
`part_code.PARTS`. For tables there is an entry for each number of columns (see `piecewise_lookup`).
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType
from linkwork.compiler.runtime import fastcall

__all__ = [
    "ENTRIES",
    "EntryPoint",
    "available",
    "entry_point",
]


class EntryPoint(NamedTuple):
    """A function of a kernel's compiled code that is called from outside, such as ``loop``.

    It has the names of the code's parts that contain it, and the floating-point types that have it.  ``table`` is the
    name of data that is filled in after loading, or "".
    """

    parts: tuple[str, ...]
    reals: tuple[FloatType, ...]  # the floating-point types that have it
    table: str = ""  # data that is filled in after loading


def available(name: str, real: FloatType) -> bool:
    """Return True if compiled code has the function ``name`` on this system for this floating-point type."""
    return real in entry_point(name).reals and (name != "fast" or fastcall.available())


def entry_point(name: str) -> EntryPoint:
    """Return the description of the function ``name``, from `ENTRIES` or, for lookup tables, made for its columns."""
    return ENTRIES.get(name) or SUBSTITUTES.get(name) or EntryPoint((name,), (DOUBLE,))


ENTRIES: dict[str, EntryPoint] = {
    "fast": EntryPoint(("fast", "sample"), (DOUBLE,), "python"),
    "loop": EntryPoint(("loop", "sample"), (DOUBLE, SINGLE)),
}
SUBSTITUTES = {"few": EntryPoint(("few", "sample"), (DOUBLE, SINGLE))}  # for entries that are not compiled yet
