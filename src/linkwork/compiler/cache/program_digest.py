"""Digest of a program's content: all fields except names, on which the code does not depend."""

from __future__ import annotations

import hashlib
import marshal
import struct
from array import array
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import lru_cache
from numbers import Integral, Real
from operator import itemgetter
from typing import Any

from linkwork.compiler.port import Port
from linkwork.compiler.program import Instruction, Program
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.operations import Operation

__all__ = ["content"]

_MIN_TABLE = 16  # numbers of one type that are encoded together
_VERSION = 2  # of the format of `marshal`
_NAMES = {(Program, "name"), (Port, "name")}  # excluded from the digest


def content(program: Program) -> str:
    """Return a digest of a program's content, without the names of the program and its ports.

    Raises TypeError if the content has a value of an unsupported type.
    """
    return _encoded(program, {}).hex()


def _encoded(value: Any, digests: dict[int, bytes]) -> bytes:
    """Return bytes that are equal for equal values only.

    ``digests`` has the digests of the lists of instructions that were encoded before, by the list's id.
    """
    if isinstance(value, InstructionList):
        if id(value) not in digests:
            digests[id(value)] = hashlib.sha256(_listing(value, digests)).digest()
        return digests[id(value)]
    if isinstance(value, tuple) and len(value) >= _MIN_TABLE:
        kinds = set(map(type, value))
        if kinds == {float}:
            return b"floats%d:" % len(value) + array("d", value).tobytes()  # a table of constants
        if kinds == {int} and max(value) < 1 << 63 and min(value) >= -1 << 63:
            return b"integers%d:" % len(value) + array("q", value).tobytes()  # indices of values
    if isinstance(value, tuple):
        parts = [_encoded(part, digests) for part in value]
    elif isinstance(value, Operation):
        return _operation(value)
    elif is_dataclass(value):
        kind = type(value)
        parts = [_encoded(getattr(value, f.name), digests) for f in fields(value) if (kind, f.name) not in _NAMES]
    else:
        parts = [_plain(value)]
    return _joined(value, parts)


def _joined(value: Any, parts: list[bytes]) -> bytes:
    return b"".join([f"{type(value).__name__}{len(parts)}:".encode(), *(b"%d:%b" % (len(p), p) for p in parts)])


def _listing(value: InstructionList, digests: dict[int, bytes]) -> bytes:
    """Encode a list of instructions as bytes that are equal if the instructions are, whatever their names.

    ``digests`` has the digests of lists that were encoded before, by the list's id.
    """
    left = ("name", "instructions") if isinstance(value, Program) else ("instructions",)
    encoded_fields = [f.name for f in fields(value) if f.name not in left]  # type: ignore[arg-type]
    parts = [_encoded(getattr(value, name), digests) for name in encoded_fields]
    return _joined(value, [_instructions(value.instructions, digests), *parts])


def _plain(value: Any) -> bytes:
    if value is None or isinstance(value, bool | str):
        return repr(value).encode()
    if isinstance(value, Integral):
        return str(int(value)).encode()
    if isinstance(value, Real):
        return struct.pack("<d", value)  # distinguishes zeros of both signs
    raise TypeError(f"a program's content: expected numbers, strings, tuples or dataclasses, got {value!r}")


@lru_cache(1024)
def _operation(operation: Operation) -> bytes:
    return _joined(operation, [_named(getattr(operation, f.name)) for f in fields(operation)])


def _named(value: Any) -> bytes:
    """Encode a value, which may be a function: linkwork's own functions are encoded as their names."""
    if isinstance(value, Callable):  # type: ignore[arg-type]
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}".encode()
    return _encoded(value, {})


def _instructions(instructions: tuple[Instruction, ...], digests: dict[int, bytes]) -> bytes:
    """Encode instructions column by column: most have no value, and most values are floats or integers."""
    operations, arguments = (list(map(itemgetter(k), instructions)) for k in range(2))
    number_of = {operation: n for n, operation in enumerate(dict.fromkeys(operations))}
    values = [x[2] if len(x) == 3 else ... for x in instructions]
    plain = [x if x is None or x.__class__ is float or x.__class__ is int else ... for x in values]
    # in this version of its format, equal numbers have equal bytes: later versions refer to objects
    columns = marshal.dumps((list(map(number_of.__getitem__, operations)), arguments, plain), _VERSION)
    further_values = [_encoded((k, tuple(instructions[k][2:])), digests) for k, x in enumerate(plain) if x is ...]
    return _joined(instructions, [_encoded((len(instructions), tuple(number_of)), digests), columns, *further_values])
