"""Checks of programs from untrusted bytes, beyond those of the verifier: sizes, and arguments of instructions.

Machine code reads memory where an instruction's numbers say, so these must fit the instruction's arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from linkwork.compiler.passes.verifier import InvalidProgramError, verify
from linkwork.compiler.pickling.byte_stream import DamagedBytesError
from linkwork.compiler.program import Instruction, Program
from linkwork.expr.autodiff.custom_derivative import CustomDerivative, RuleResult
from linkwork.expr.control.branch_and_call_instructions import Choice, Subroutine
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.control.table_access import Put, Take
from linkwork.expr.linalg.frontal_elimination import FrontElimination
from linkwork.expr.linalg.matrix_product import MatrixProduct
from linkwork.expr.linalg.sparse_factors import SparseInstruction
from linkwork.expr.scalar.block import InstructionList, Region, bodies_of, instruction_count
from linkwork.expr.scalar.multi_result import PART, MultiResult

__all__ = ["check_bundle", "check_fields", "check_program", "check_size", "check_stored_results"]

_MOST = 1 << 24  # scalars of an array, and results of the instructions of a program together
_MOST_INSTRUCTIONS = 1e8  # of a program, if all calls were written out
_DEEPEST = 50  # bodies in bodies
_LONGEST = 1 << 40  # steps of a loop


def check_size(size: int) -> None:
    """Raise DamagedBytesError for more scalars than a program may have in an array."""
    if size > _MOST:
        raise DamagedBytesError(f"an array has {size} elements, more than {_MOST}")


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LONGEST


_TESTS: Mapping[str, Callable[[Any], bool]] = {
    "int": _whole,
    "bool": lambda value: type(value) is bool,
    "float": lambda value: type(value) is float,
    "str": lambda value: type(value) is str,
    "Region": lambda value: type(value) is Region,
    "Region | None": lambda value: value is None or type(value) is Region,
    "tuple[int, ...]": lambda value: type(value) is tuple and all(map(_whole, value)),
    "tuple[float, ...]": lambda value: type(value) is tuple and all(type(x) is float for x in value),
    "CustomDerivative": lambda value: isinstance(value, CustomDerivative),
}


def check_fields(kind: type, values: Mapping[str, Any]) -> None:
    """Raise DamagedBytesError for values of other types than the class declares."""
    for field in fields(kind):
        test = _TESTS.get(str(field.type))
        if test is not None and not test(values[field.name]):
            raise DamagedBytesError(f"{kind.__name__}.{field.name} is not {field.type}")


def check_bundle(instruction: Instruction, before: Sequence[Instruction]) -> None:
    """Raise DamagedBytesError unless the arguments of an instruction fit its kind.

    ``before`` are the instructions that it may refer to.
    """
    operation, args, bundle = instruction
    if operation is PART:
        bundle_of_results = before[args[0]].value
        if not isinstance(bundle_of_results, MultiResult) or bundle >= bundle_of_results.count:
            raise DamagedBytesError(f"result {bundle} of value {args[0]} does not exist")
        return
    if operation.arity >= 0:
        _check_stored(args, (), before)
        return
    expected = _arguments_of(bundle)
    if expected is not None and len(args) != expected:
        raise DamagedBytesError(f"{operation.name}: expected {expected} arguments, got {len(args)}")
    reads: tuple[int, ...] = ()
    if isinstance(bundle, Loop):
        if bundle.own_inputs < 0 or bundle.stores > bundle.outputs or bundle.watched > bundle.carried:
            raise DamagedBytesError("the counts of a loop contradict each other")
        if (bundle.stores or bundle.reads) and bundle.conditional:
            raise DamagedBytesError("a loop with a condition stores no outputs")
        if bundle.max_iterations == 0 and (bundle.stores or bundle.reads):
            raise DamagedBytesError("a loop without steps has stored outputs")
        reads = bundle.reads
        for k, count in enumerate(reads):
            scan = _stored(before[args[bundle.carried + k]], before) if bundle.carried + k < len(args) else None
            if scan is None or scan.stores != count:
                raise DamagedBytesError("a loop reads outputs that no other loop stores")
    skipped = range(bundle.carried, bundle.carried + len(reads)) if reads else range(0)
    _check_stored(args, skipped, before)


def _stored(instruction: Instruction, before: Sequence[Instruction]) -> Loop | None:
    """Return the scan whose outputs together are this value; None for any other value."""
    if instruction.operation is not PART:
        return None
    bundle = before[instruction.args[0]].value
    return bundle if isinstance(bundle, Loop) and bundle.is_stored(instruction.value) else None


def _check_stored(args: Sequence[int], skipped: Sequence[int], before: Sequence[Instruction]) -> None:
    """Raise DamagedBytesError if an argument that should be a number is all outputs of a scan together."""
    for k, a in enumerate(args):
        if before[a].operation is PART and k not in skipped and _stored(before[a], before) is not None:
            raise DamagedBytesError("the outputs of a loop together are not a number")


def _arguments_of(bundle: Any) -> int | None:
    """Return the number of arguments of an instruction; None if its bodies determine it.

    Raises DamagedBytesError for sizes that contradict each other.
    """
    if isinstance(bundle, Take):
        elements = bundle.rows * bundle.columns
        if not elements or (bundle.table and len(bundle.table) != elements):
            raise DamagedBytesError("the number of elements of a table is not that of its rows times its columns")
        return 1 if bundle.table else 1 + elements
    if isinstance(bundle, Put):
        return 1 + bundle.columns + bundle.rows * bundle.columns
    if isinstance(bundle, MatrixProduct):
        if not (bundle.rows and bundle.inner and bundle.columns):
            raise DamagedBytesError("a matrix product has no elements")
        return bundle.rows * bundle.inner + bundle.inner * bundle.columns
    if isinstance(bundle, FrontElimination):
        if not 0 < bundle.pivots <= bundle.size:
            raise DamagedBytesError("an elimination has more pivots than unknowns")
        return bundle.offset + bundle.triangle
    if isinstance(bundle, SparseInstruction):
        if not bundle.is_valid:
            raise DamagedBytesError("the columns of a sparse matrix have elements that are not below the diagonal")
        return bundle.taken
    if isinstance(bundle, RuleResult):
        if {*bundle.extra} - {*"nt"}:
            raise DamagedBytesError("a rule has intermediate values of unknown kinds")
        return bundle.results + bundle.inputs + len(bundle.extra)
    if not isinstance(bundle, (Loop, Choice, Subroutine)):
        raise DamagedBytesError(f"{type(bundle).__name__} is not an instruction of a traced program")
    return None


def check_program(program: Program) -> None:
    """Verify a program.  Raises DamagedBytesError if it breaks a rule of programs, or is too large."""
    try:
        verify(program)
    except InvalidProgramError as error:
        raise DamagedBytesError(str(error)) from None
    if instruction_count(program) > _MOST_INSTRUCTIONS:
        raise DamagedBytesError("a program has too many instructions")
    check_size(_results_of(program, {}, 0))
    check_stored_results(program)


def check_stored_results(listing: InstructionList) -> None:
    """Raise DamagedBytesError if a result is all outputs of a loop together, which is not a number."""
    for result in listing.results:
        if _stored(listing.instructions[result], listing.instructions) is not None:
            raise DamagedBytesError("the outputs of a loop together are not a number")


def _results_of(listing: InstructionList, known: dict[int, int], depth: int) -> int:
    """Return the number of results of all instructions, those in bodies included."""
    if depth > _DEEPEST:
        raise DamagedBytesError("loops or calls are nested too deeply")
    if id(listing) not in known:
        total = 0
        for instruction in listing.instructions:
            bundle = instruction.value
            if isinstance(bundle, MultiResult):
                total += bundle.count + sum(_results_of(body, known, depth + 1) for body in bodies_of(bundle))
                if not math.isfinite(total) or total > _MOST:
                    break
        known[id(listing)] = total
    return known[id(listing)]
