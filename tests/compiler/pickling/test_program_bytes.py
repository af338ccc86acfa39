"""Programs as bytes: each refusal of a single wrong byte, beside the bytes that are read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.derivatives.tangent_spaces import Block, Space, Spaces
from linkwork.compiler.pickling import kernel_file, program_checks
from linkwork.compiler.pickling.byte_stream import ByteWriter, DamagedBytesError, compressed
from linkwork.compiler.pickling.kernel_file import kernel_of_bytes
from linkwork.compiler.pickling.program_bytes import VERSION, _described, read_values, write_values
from linkwork.compiler.pickling.program_checks import check_bundle, check_fields, check_program, is_record
from linkwork.compiler.pickling.space_values import space_from, value_of_space, values_of_spaces
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Port, Program
from linkwork.expr.control.branch_and_call_instructions import CALL, Subroutine
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.linalg.sparse_factors import Change
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.multi_result import PART, MultiResult
from linkwork.expr.scalar.operations import BY_NAME

ADD, NEG = BY_NAME["add"], BY_NAME["neg"]
INPUTS = (Instruction(INPUT, (), 0), Instruction(INPUT, (), 1))
INTEGER, NUMBER, FLOATS, REGION, PROGRAM, OBJECT = 3, 4, 7, 9, 11, 12


def number_bytes(*values: int) -> bytes:
    writer = ByteWriter()
    for value in values:
        writer.unsigned(value)
    return bytes(writer.data)


def text_bytes(text: str) -> bytes:
    return number_bytes(len(text)) + text.encode()


def stream(
    body: bytes,
    *,
    version: int = VERSION,
    names: Sequence[str] = (),
    digest: bytes | None = None,
    classes: Sequence[str] = (),
    constants: Sequence[float] = (),
    regions: Sequence[bytes] = (),
) -> bytes:
    """Return bytes as `write_values` writes them, from their parts."""
    known = [x for x in map({**BY_NAME, INPUT.name: INPUT, CONSTANT.name: CONSTANT, CALL.name: CALL}.get, names) if x]
    out = number_bytes(version, len(names)) + b"".join(map(text_bytes, names))
    out += _described(known) if digest is None else digest
    out += number_bytes(len(classes)) + b"".join(map(text_bytes, classes))
    out += number_bytes(len(constants)) + np.array(constants, dtype="<f8").tobytes()
    return out + number_bytes(len(regions)) + b"".join(regions) + body


def listing(operations: Sequence[int], tail: Sequence[int], results: Sequence[int]) -> bytes:
    return number_bytes(len(operations), *operations, *tail, len(results), *results)


def region(operations: Sequence[int], tail: Sequence[int], results: Sequence[int], takes: int = 1) -> bytes:
    return number_bytes(takes, 0) + listing(operations, tail, results)


def one_region(*parts: Any, names: Sequence[str] = ("input", "neg")) -> bytes:
    return stream(number_bytes(1, REGION, 0), names=names, regions=[region(*parts)])


VALUES: tuple[Any, ...] = (None, True, -3, 0.1, "τ", (1.5, -0.0), ("x", 2), Region(1, INPUTS[:1], (0,)))


def test_program_bytes_assembled_by_hand_equal_written_bytes() -> None:
    """The references of the refusals below are valid."""
    negated = Region(1, (INPUTS[0], Instruction(NEG, (0,))), (1,))
    assert write_values([negated])[0] == one_region([0, 1], [0, 1], [1])
    assert read_values(one_region([0, 1], [0, 1], [1])) == (negated,)
    assert write_values([2, (0.5,)])[0] == stream(number_bytes(2, INTEGER, 4, FLOATS, 1, 0), constants=[0.5])
    assert repr(read_values(write_values(VALUES)[0])) == repr(VALUES)


@pytest.mark.light
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (stream(b"\0", version=VERSION + 1), f"they have version {VERSION + 1}, and this linkwork reads version"),
        (stream(b"\0", version=0), "they have version 0, and this linkwork reads version"),
        (stream(b"\0", names=["neg"], digest=bytes(8)), "of linkwork that defines operations differently"),
        (stream(b"\0", names=["no_such"]), "the operation 'no_such' is unknown here"),
        (stream(number_bytes(1, OBJECT + 1)), "no kind of value has the number 13"),
        (stream(number_bytes(1, OBJECT + 2)), "no kind of value has the number 14"),
        (stream(number_bytes(1, OBJECT, 0)), "entry 0 of a table of 0 does not exist"),
        (stream(number_bytes(1, NUMBER, 1), constants=[0.5]), "entry 1 of a table of 1 does not exist"),
        (stream(number_bytes(1, REGION, 2), names=["input"], regions=[region([0], [0], [0])]), "entry 2 of a table of"),
        (one_region([0, 1], [0, 0], [1]), "an argument of value 1 is not defined before it"),
        (one_region([0, 1], [0, 2], [1]), "an argument of value 1 is not defined before it"),
        (one_region([0, 1], [0, 1], [2]), "a result does not exist"),
        (one_region([0, 1], [0, 1], [3]), "a result does not exist"),
        (one_region([0, 1], [0, 1, 1, 2], [0], names=["input", "call"]), "value 1 is not the operation 'call'"),
        (one_region([0, 1], [0, 1, 1, 0], [0], names=["input", "call"]), "value 1 is not the operation 'call'"),
        (stream(b"\0\0"), "1 bytes are left over"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_bytes_with_a_wrong_entry_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(DamagedBytesError, match=message):
        read_values(data)


def program_bytes(guards: int = 0, marks: Sequence[int] = (), in_double: int = 0) -> bytes:
    """Return the bytes of f(x) = -x with these numbers at the end of the program."""
    ports = number_bytes(1) + text_bytes("x") + b"\0" + number_bytes(1) + text_bytes("y") + b"\0"
    end = number_bytes(guards, len(marks), *marks, in_double)
    body = number_bytes(1, PROGRAM) + text_bytes("f") + ports + listing([0, 1], [0, 1], [1]) + end
    return stream(body, names=["input", "neg"])


def test_guards_marks_and_precision_of_programs_are_within_their_ranges() -> None:
    for end, expected in (
        ((0, (), 0), ((), False)),
        ((0, (2,), 1), ((2,), True)),
        ((0, (1, 1), 0), ((1, 2), False)),
    ):
        (program,) = read_values(program_bytes(*end))
        assert (program.marks, program.in_double) == expected
        assert program.instructions == (INPUTS[0], Instruction(NEG, (0,)))
    for end in ((2, (), 0), (0, (3,), 0), (0, (1, 2), 0), (0, (), 2)):
        with pytest.raises(DamagedBytesError, match="guards or marks of a program do not exist"):
            read_values(program_bytes(*end))


def test_records_are_read_as_named_tuples_and_frozen_dataclasses() -> None:
    change = Change(*range(len(Change._fields)))
    loop = Loop(Region(1, INPUTS[:1], (0,)), 1, 0, 0, 3)
    read = read_values(write_values((change, loop))[0])
    assert read == (change, loop) and type(read[0]) is Change and type(read[1]) is Loop

    class Inherited(Change):
        """Named tuple of another module."""

    for kind, expected in (
        (Change, True),
        (Loop, True),
        (Inherited, False),
        (Region, False),
        (Program, False),
        (DamagedBytesError, False),
        (3, False),
    ):
        assert is_record(kind) is expected
    shadow = type("Loop", (Loop,), {"__module__": Loop.__module__})  # of the same name as the class
    assert not is_record(shadow)
    tuples = type("Pairs", (tuple,), {"__module__": Loop.__module__})
    assert not is_record(tuples)


class Unknown(MultiResult):
    """Instruction that programs cannot contain."""

    operation = CALL
    count = 1

    def evaluate(self, *arguments: Any) -> Any: ...

    def push_forward(self, *arguments: Any) -> Any: ...

    def pull_back(self, *arguments: Any) -> Any: ...


def test_instructions_of_unknown_classes_are_refused() -> None:
    body = Region(1, INPUTS[:1], (0,))
    check_bundle(Instruction(CALL, (0,), Subroutine(body)), [INPUTS[0]])
    with pytest.raises(DamagedBytesError, match="Unknown is not an instruction of a traced program"):
        check_bundle(Instruction(CALL, (0,), Unknown()), [INPUTS[0]])
    called = [INPUTS[0], Instruction(CALL, (0,), Subroutine(body))]
    check_bundle(Instruction(PART, (1,), 0), called)
    with pytest.raises(DamagedBytesError, match="result 1 of value 1 does not exist"):
        check_bundle(Instruction(PART, (1,), 1), called)
    values = {"body": body, "carried": 1, "inputs": 0, "outputs": 0, "max_iterations": 3}
    for name, wrong in (("carried", -1), ("carried", 1.0), ("body", None), ("body", 2)):
        with pytest.raises(DamagedBytesError, match=rf"Loop\.{name} is not "):
            check_fields(Loop, {**{f: getattr(Loop(**values), f) for f in Loop.__dataclass_fields__}, name: wrong})


def test_programs_have_at_most_a_hundred_million_instructions_with_calls_written_out() -> None:
    """Each level calls the level below ten times and negates; the deepest body has few or many negations."""

    def of(negations: int) -> Program:
        body = Region(1, (INPUTS[0], *(Instruction(NEG, (k,)) for k in range(negations))), (negations,))
        for _ in range(6):
            calls = [INPUTS[0]]
            for _ in range(10):
                calls += [Instruction(CALL, (0,), Subroutine(body)), Instruction(PART, (len(calls),), 0)]
            body = Region(1, tuple(calls), (len(calls) - 1,))
        calls = [INPUTS[0], Instruction(CALL, (0,), Subroutine(body)), Instruction(PART, (1,), 0)]
        return Program("f", (Port("x", ()),), (Port("y", ()),), tuple(calls), (2,), 0)

    check_program(of(70))
    with pytest.raises(DamagedBytesError, match="a program has too many instructions"):
        check_program(of(120))


HEAD: dict[str, Any] = {"doc": "", "nesting": [[["x", [[2], True]]], None], "classes": [], "facts": []}
NEGATED = Program("f", (Port("x", (2,)),), (Port("y", ()),), (*INPUTS, Instruction(ADD, (0, 1))), (2,), 0)
SPACES: tuple[Any, ...] = ((), (), ())


def space_of(size: int, *, first: int = 0) -> Space:
    """Return a space of coordinates that move with their rates; a ``first`` block has no velocity if it is not 0."""

    def rate(q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        return list(v)

    fixed = Block(slice(0, first), slice(0, 0), lambda q, v: [0.0 * x for x in q], lambda q, v: [])
    moving = Block(slice(first, first + size), slice(0, size), rate, rate)
    return Space(first + size, size, (fixed, moving) if first else (moving,), "line", ("line", str(size)))


def test_configuration_spaces_are_read_from_their_values_and_may_have_blocks_without_velocity() -> None:
    for first in (0, 2):
        value = value_of_space(space_of(3, first=first))
        space = space_from(value)
        assert (space.nq, space.nv, space.shape) == (3 + first, 3, (3 + first,))
        assert list(space.blocks[-1].q_dot([0.1, 0.2, 0.3], [4.0, 5.0, 6.0])) == [4.0, 5.0, 6.0]
        assert value_of_space(space) == value  # maps that were read are written as they are
    nq, nv, name, content, ((q, q_end, v, v_end, *maps),) = value_of_space(space_of(3))
    for block in ((q, -1, v, v_end, *maps), (1, q_end, v, v_end, *maps), (q, q_end, v, 2, *maps)):
        with pytest.raises(DamagedBytesError, match="the blocks of a space contradict each other"):
            space_from((nq, nv, name, content, (block,)))


def kernel_file_bytes(*values: Any) -> bytes:
    packed = compressed(write_values(values)[0])
    return b"linkwork kernel, format 1, of version 0.1.0\n" + hashlib.sha256(packed).digest() + packed


def test_files_without_a_kernel_in_them_are_refused() -> None:
    text = json.dumps(HEAD)
    kernel = kernel_of_bytes(kernel_file_bytes(text, NEGATED, SPACES))
    assert abs(kernel(x=[0.25, 0.5]) - 0.75) < 1e-15
    of_three = json.dumps({**HEAD, "nesting": [[["x", [[3], True]]], None]})
    without = json.dumps({key: x for key, x in HEAD.items() if key != "facts"})
    plane, line = (values_of_spaces(Spaces({"x": space_of(size)}, {})) for size in (2, 3))
    assert kernel_of_bytes(kernel_file_bytes(text, NEGATED, plane))._spaces.inputs["x"].shape == (2,)
    for values, message in (
        ((), "it has no program"),
        ((text, NEGATED), "it has no program"),
        ((3, NEGATED, SPACES), "it has no program"),
        ((text, text, SPACES), "it has no program"),
        ((of_three, NEGATED, SPACES), "the nesting of its arguments differs from those of its program"),
        ((without, NEGATED, SPACES), "its head cannot be read: KeyError"),
        (("{", NEGATED, SPACES), "its head cannot be read: JSONDecodeError"),
        ((text, NEGATED, line), "the shapes of a space and of its array differ"),
    ):
        with pytest.raises(DamagedBytesError, match=message):
            kernel_of_bytes(kernel_file_bytes(*values))


def test_kernel_files_above_the_maximum_size_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel_file._MAX_BYTES == 1024**3 and program_checks._MOST_INSTRUCTIONS == 1e8
    path = tmp_path / "f.kernel"
    data = kernel_file_bytes(json.dumps(HEAD), NEGATED, SPACES)
    path.write_bytes(data)
    monkeypatch.setattr(kernel_file, "_MAX_BYTES", len(data))
    assert lw.load_kernel(path).name == "f"
    monkeypatch.setattr(kernel_file, "_MAX_BYTES", len(data) - 1)
    with pytest.raises(ValueError, match=f"it has {len(data)} bytes, more than the limit of {len(data) - 1}"):
        lw.load_kernel(path)
