"""A name for what a program computes: of everything in it that its code depends on, which is all but names."""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any

from ..expr.operations import Operation
from .program import Instruction, Port, Program

__all__ = ["content"]

_NAMES = {(Program, "name"), (Port, "name")}  # of which code may have none, or others


def content(program: Program) -> str:
    """A digest of all fields of a program and of all that is in them, except for names of the program and its ports.

    Raises TypeError where something in it is of a kind that is not known here.
    """
    return hashlib.sha256(_encoded(program)).hexdigest()


def _encoded(value: Any) -> bytes:
    """Bytes that are the same for equal values and for no others."""
    if isinstance(value, Program):
        others = [f.name for f in fields(value) if f.name not in ("name", "instructions")]
        parts = [_instructions(value.instructions), *(_encoded(getattr(value, name)) for name in others)]
    elif isinstance(value, tuple):
        parts = [_encoded(part) for part in value]
    elif isinstance(value, Operation):
        parts = [_named(getattr(value, f.name)) for f in fields(value)]
    elif is_dataclass(value):
        kind = type(value)
        parts = [_encoded(getattr(value, f.name)) for f in fields(value) if (kind, f.name) not in _NAMES]
    else:
        parts = [_plain(value)]
    return b"".join([f"{type(value).__name__}{len(parts)}:".encode(), *(b"%d:%b" % (len(p), p) for p in parts)])


def _plain(value: Any) -> bytes:
    if value is None or isinstance(value, bool | str):
        return repr(value).encode()
    if isinstance(value, Integral):
        return str(int(value)).encode()
    if isinstance(value, Real):
        return struct.pack("<d", value)  # zeros of both signs are not one number
    raise TypeError(f"a program's content: expected numbers, texts, tuples or dataclasses, got {value!r}")


def _named(value: Any) -> bytes:
    """The same of what may be a function, which is known by its name: its code is linkwork's own."""
    if isinstance(value, Callable):  # type: ignore[arg-type]
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}".encode()
    return _encoded(value)


def _instructions(instructions: tuple[Instruction, ...]) -> bytes:
    """The same of instructions, in less time: there are thousands, of few operations, and most have no value."""
    numbers: dict[Operation, int] = {}
    plain, values = array("q"), []
    for k, instruction in enumerate(instructions):
        operation, args = instruction[:2]
        plain.append(numbers.setdefault(operation, len(numbers)))
        plain.append(len(args))
        plain.extend(args)
        if instruction[2:] != (None,):
            values.append((k, instruction[2:]))
    return _encoded((len(instructions), tuple(numbers), plain.tobytes().hex(), tuple(values)))
