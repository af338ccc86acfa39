"""Programs as compact bytes: data only, with a version, read as untrusted input.

The bytes have tables (operations and classes by name, numbers as exact doubles), then the bodies of loops, calls and
rules, inner bodies first, and then the values that were written.  An argument of an instruction is the distance to the
instruction that defines it, so equal steps have equal bytes.  Operations are identified by their names; a digest of
their definitions reveals bytes of a version with other definitions, which are refused.

Values that are not data, such as a user's rule of differentiation, are references to `objects`, which are pickled with
the bytes.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

from linkwork.compiler.pickling.byte_stream import ByteReader, ByteWriter, DamagedBytesError
from linkwork.compiler.pickling.program_checks import (
    check_bundle,
    check_fields,
    check_program,
    check_size,
    check_stored_results,
    class_of_name,
    further_operations,
    is_record,
    name_of_class,
)
from linkwork.compiler.port import Port
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Program
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.multi_result import PART, MultiResult
from linkwork.expr.scalar.operations import BY_NAME, Operation

__all__ = ["VERSION", "read_values", "write_values"]

VERSION = 1  # of these bytes: a change of their meaning needs another number
_DEPTH = 100  # of values in values

_NONE, _FALSE, _TRUE, _INTEGER, _NUMBER, _TEXT, _TUPLE, _FLOATS, _RECORD, _REGION, _PORT, _PROGRAM, _OBJECT = range(13)


def write_values(values: Sequence[Any], with_objects: bool = True) -> tuple[bytes, tuple[Any, ...]]:
    """Return values as bytes, and the objects that the bytes refer to.

    The values are programs, regions, ports, numbers, texts, None, tuples of such values, and dataclasses of linkwork's
    instructions.  Raises TypeError for other values, unless ``with_objects``.
    """
    return _Writer(with_objects).written(values)


def read_values(data: bytes, objects: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Return the values that `write_values` wrote, with all programs verified.

    Raises DamagedBytesError for other bytes; the message states if another version wrote them.
    """
    return _Reader(data, objects).read()


def _described(operations: Iterable[Operation]) -> bytes:
    """Return a digest of those properties of operations on which programs depend."""
    text = [[o.name, o.arity, o.kinds, o.gives, o.lowering.kind, o.lowering.code] for o in operations]
    return hashlib.sha256(repr(text).encode()).digest()[:8]


def _takes_bundle(operation: Operation) -> bool:
    return operation.arity < 0


class _Writer:
    def __init__(self, with_objects: bool) -> None:
        self.with_objects = with_objects
        self.operations: dict[Operation, int] = {}
        self.classes: dict[type, int] = {}
        self.constants: dict[bytes, int] = {}
        self.objects: list[Any] = []
        self.regions: dict[bytes, int] = {}
        self._by_id: dict[int, tuple[Region, int]] = {}  # the region is stored so that its id stays its own

    def written(self, values: Sequence[Any]) -> tuple[bytes, tuple[Any, ...]]:
        body = ByteWriter()
        body.unsigned(len(values))
        for value in values:
            self.value(body, value)
        out = ByteWriter()
        out.unsigned(VERSION)
        out.unsigned(len(self.operations))
        for operation in self.operations:
            out.text(operation.name)
        out.data += _described(self.operations)
        out.unsigned(len(self.classes))
        for kind in self.classes:
            out.text(name_of_class(kind))
        out.unsigned(len(self.constants))
        out.data += b"".join(self.constants)
        out.unsigned(len(self.regions))
        for region in self.regions:
            out.data += region
        return bytes(out.data + body.data), tuple(self.objects)

    def value(self, out: ByteWriter, value: Any) -> None:
        kind: type = type(value)
        if value is None or kind is bool:
            out.unsigned({None: _NONE, False: _FALSE, True: _TRUE}[value])
        elif isinstance(value, str):
            out.unsigned(_TEXT)
            out.text(value)
        elif isinstance(value, Region):
            out.unsigned(_REGION)
            out.unsigned(self.region(value))
        elif isinstance(value, Program):
            out.unsigned(_PROGRAM)
            self.program(out, value)
        elif isinstance(value, Port):
            out.unsigned(_PORT)
            self.port(out, value)
        elif is_record(kind):
            out.unsigned(_RECORD)
            out.unsigned(self.classes.setdefault(kind, len(self.classes)))
            for part in value if isinstance(value, tuple) else (getattr(value, f.name) for f in fields(value)):
                self.value(out, part)
        elif kind is tuple:
            are_floats = len(value) > 0 and {*map(type, value)} == {float}
            out.unsigned(_FLOATS if are_floats else _TUPLE)
            out.unsigned(len(value))
            for part in value:
                out.unsigned(self.number(part)) if are_floats else self.value(out, part)
        elif isinstance(value, Integral):
            out.unsigned(_INTEGER)
            out.signed(int(value))
        elif isinstance(value, Real):
            out.unsigned(_NUMBER)
            out.unsigned(self.number(float(value)))
        elif self.with_objects:
            out.unsigned(_OBJECT)
            out.unsigned(len(self.objects))
            self.objects.append(value)
        else:
            raise TypeError(f"expected data of linkwork, got {value!r} of {kind.__module__}.{kind.__qualname__}")

    def number(self, number: float) -> int:
        return self.constants.setdefault(struct.pack("<d", number), len(self.constants))

    def port(self, out: ByteWriter, port: Port) -> None:
        out.text(port.name)
        out.unsigned(len(port.shape))
        for size in port.shape:
            out.unsigned(size)

    def program(self, out: ByteWriter, program: Program) -> None:
        out.text(program.name)
        for ports in (program.inputs, program.outputs):
            out.unsigned(len(ports))
            for port in ports:
                self.port(out, port)
        self.listing(out, program.instructions, program.results)
        out.unsigned(program.guards)
        out.unsigned(len(program.marks))
        for before, mark in zip((0, *program.marks), program.marks, strict=False):
            out.unsigned(mark - before)
        out.unsigned(program.in_double)

    def region(self, region: Region) -> int:
        """Return the index of a region among the written regions; equal regions are written once."""
        known = self._by_id.get(id(region))
        if known is None:
            writer = ByteWriter()
            writer.unsigned(region.takes)
            writer.unsigned(region.first)
            self.listing(writer, region.instructions, region.results)
            known = region, self.regions.setdefault(bytes(writer.data), len(self.regions))
            self._by_id[id(region)] = known
        return known[1]

    def listing(self, out: ByteWriter, instructions: Sequence[Instruction], results: Sequence[int]) -> None:
        tail = ByteWriter()
        out.unsigned(len(instructions))
        for k, (operation, args, value) in enumerate(instructions):
            out.unsigned(self.operations.setdefault(operation, len(self.operations)))
            if _takes_bundle(operation):
                tail.unsigned(len(args))
            for a in args:
                tail.unsigned(k - a)
            if operation is CONSTANT:
                tail.unsigned(self.number(value))
            elif operation is INPUT or operation is PART:
                tail.unsigned(value)
            elif _takes_bundle(operation):
                self.value(tail, value)
        out.data += tail.data
        out.unsigned(len(results))
        for r in results:
            out.unsigned(r)


class _Reader:
    def __init__(self, data: bytes, objects: Sequence[Any]) -> None:
        self.source, self.objects = ByteReader(data), objects
        self.operations: list[Operation] = []
        self.classes: list[type] = []
        self.constants: tuple[float, ...] = ()
        self.regions: list[Region] = []
        self.depth = 0

    def read(self) -> tuple[Any, ...]:
        source = self.source
        version = source.unsigned()
        if version != VERSION:
            raise DamagedBytesError(f"they have version {version}, and this linkwork reads version {VERSION}")
        names = [source.text() for _ in range(source.count())]
        self.operations = [_operation(name) for name in names]
        if source.taken(8) != _described(self.operations):
            raise DamagedBytesError("they are of a version of linkwork that defines operations differently")
        self.classes = [class_of_name(source.text()) for _ in range(source.count())]
        count = source.count(8)
        self.constants = struct.unpack(f"<{count}d", source.taken(8 * count))
        for _ in range(source.count()):
            self.regions.append(self.region())
        result = tuple([self.value() for _ in range(source.count())])
        source.end()
        return result

    def value(self) -> Any:
        self.depth += 1
        if self.depth > _DEPTH:
            raise DamagedBytesError("values are nested too deeply")
        tag = self.source.unsigned()
        if tag >= len(_READ):
            raise DamagedBytesError(f"no kind of value has the number {tag}")
        result = _READ[tag](self)
        self.depth -= 1
        return result

    def entry(self, table: Sequence[Any]) -> Any:
        index = self.source.unsigned()
        if index >= len(table):
            raise DamagedBytesError(f"entry {index} of a table of {len(table)} does not exist")
        return table[index]

    def values(self) -> tuple[Any, ...]:
        return tuple([self.value() for _ in range(self.source.count())])

    def table(self) -> tuple[float, ...]:
        return tuple([self.entry(self.constants) for _ in range(self.source.count())])

    def record(self) -> Any:
        kind = self.entry(self.classes)
        if issubclass(kind, tuple):
            return kind(*(self.value() for _ in kind._fields))
        values = {f.name: self.value() for f in fields(kind)}
        check_fields(kind, values)
        try:
            return kind(**values)
        except (TypeError, ValueError, AssertionError, ArithmeticError) as error:
            raise DamagedBytesError(f"{kind.__name__}: {error}") from None

    def port(self) -> Port:
        source = self.source
        result = Port(source.text(), tuple([source.unsigned() for _ in range(source.count())]))
        check_size(result.size)
        return result

    def ports(self) -> tuple[Port, ...]:
        return tuple([self.port() for _ in range(self.source.count())])

    def region(self) -> Region:
        takes, first = self.source.unsigned(), self.source.unsigned()
        check_size(takes)
        result = Region(takes, *self.listing(), first)
        check_stored_results(result)
        return result

    def program(self) -> Program:
        source = self.source
        name, inputs, outputs = source.text(), self.ports(), self.ports()
        check_size(sum(port.size for port in (*inputs, *outputs)))
        instructions, results = self.listing()
        guards, marks = source.unsigned(), [0]
        for _ in range(source.count()):
            marks.append(marks[-1] + source.unsigned())
        in_double = source.unsigned()
        if guards > len(results) or marks[-1] > len(instructions) or in_double > 1:
            raise DamagedBytesError("guards or marks of a program do not exist")
        marked = tuple(marks[1:])
        result = Program(name, inputs, outputs, instructions, results, guards, marked, bool(in_double))
        check_program(result)
        return result

    def listing(self) -> tuple[tuple[Instruction, ...], tuple[int, ...]]:
        source = self.source
        operations = [self.entry(self.operations) for _ in range(source.count())]
        instructions: list[Instruction] = []
        for k, operation in enumerate(operations):
            several = _takes_bundle(operation)
            count = source.count() if several else operation.arity
            args = tuple([k - source.unsigned() for _ in range(count)])
            if args and (min(args) < 0 or max(args) >= k):
                raise DamagedBytesError(f"an argument of value {k} is not defined before it")
            value: Any = None
            if operation is CONSTANT:
                value = self.entry(self.constants)
            elif operation is INPUT or operation is PART:
                value = source.unsigned()
            elif several:
                value = self.value()
                if not isinstance(value, MultiResult) or value.operation is not operation:
                    raise DamagedBytesError(f"value {k} is not the operation {operation.name!r}")
            instruction = Instruction(operation, args, value)
            check_bundle(instruction, instructions)
            instructions.append(instruction)
        results = tuple([source.unsigned() for _ in range(source.count())])
        if results and max(results) >= len(instructions):
            raise DamagedBytesError("a result does not exist")
        return tuple(instructions), results


_READ: tuple[Callable[[_Reader], Any], ...] = (
    lambda reader: None,
    lambda reader: False,
    lambda reader: True,
    lambda reader: reader.source.signed(),
    lambda reader: reader.entry(reader.constants),
    lambda reader: reader.source.text(),
    _Reader.values,
    _Reader.table,
    _Reader.record,
    lambda reader: reader.entry(reader.regions),
    _Reader.port,
    _Reader.program,
    lambda reader: reader.entry(reader.objects),
)


def _operation(name: str) -> Operation:
    result = BY_NAME.get(name) or further_operations().get(name)
    if result is None:
        raise DamagedBytesError(
            f"the operation {name!r} is unknown here: they are of another version, or the operation is registered only "
            f"where they were written"
        )
    return result
