"""Checks of programs from untrusted bytes, in addition to the verifier: sizes, arguments, and named classes.

Machine code computes addresses of memory from an instruction's sizes, so sizes must fit the instruction's arguments.

Bytes may name classes of instructions, rules of differentiation, and their parts.  Only immutable classes are accepted,
from packages whose code is generic over the scalar type; their constructors only store their arguments.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

from linkwork._util.lazy_imports import defining_module
from linkwork.compiler.pickling.byte_stream import DamagedBytesError
from linkwork.compiler.program import (
    COS_OF,
    FMA,
    FMS,
    FNMA,
    SIN_OF,
    SINCOS,
    Instruction,
    InvalidProgramError,
    Program,
    verify,
)
from linkwork.expr.autodiff.custom_derivative import RULE, CustomDerivative, RuleResult
from linkwork.expr.control.branch_and_call_instructions import CALL, CHOICE, Choice, Subroutine
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.control.table_access import PUT, TAKE, Put, Take
from linkwork.expr.linalg.frontal_elimination import FRONT, FrontElimination
from linkwork.expr.linalg.matrix_product import PRODUCT, MatrixProduct
from linkwork.expr.linalg.sparse_factors import FACTORS, SOLUTION, SparseInstruction
from linkwork.expr.scalar.block import InstructionList, Region, bodies_of, instruction_count
from linkwork.expr.scalar.multi_result import PART, MultiResult
from linkwork.expr.scalar.operations import Operation

__all__ = [
    "check_bundle",
    "check_fields",
    "check_program",
    "check_size",
    "check_stored_results",
    "class_of_name",
    "further_operations",
    "is_record",
    "name_of_class",
]

_MOST = 1 << 24  # scalars of an array, and results of the instructions of a program together
_MOST_INSTRUCTIONS = 1e8  # of a program, if all calls were written out
_DEEPEST = 50  # bodies in bodies
_LONGEST = 1 << 40  # steps of a loop


def check_size(size: int) -> None:
    """Raise DamagedBytesError if an array has more scalars than a program permits."""
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
    """Raise DamagedBytesError for values of types that differ from those that the class declares."""
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
    """Return the scan whose stored outputs of all steps are this value; None for other values."""
    if instruction.operation is not PART:
        return None
    bundle = before[instruction.args[0]].value
    return bundle if isinstance(bundle, Loop) and bundle.is_stored(instruction.value) else None


def _check_stored(args: Sequence[int], skipped: Sequence[int], before: Sequence[Instruction]) -> None:
    """Raise DamagedBytesError if an argument that must be a number is the stored outputs of a scan."""
    for k, a in enumerate(args):
        if before[a].operation is PART and k not in skipped and _stored(before[a], before) is not None:
            raise DamagedBytesError("stored outputs of a scan are used as a number")


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
        if not 0 <= bundle.pivots <= bundle.size:
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
    """Raise DamagedBytesError if a result is the stored outputs of a scan, which are not a number."""
    for result in listing.results:
        if _stored(listing.instructions[result], listing.instructions) is not None:
            raise DamagedBytesError("stored outputs of a scan are used as a number")


def _results_of(listing: InstructionList, known: dict[int, int], depth: int) -> int:
    """Return the number of results of all instructions, including instructions in bodies."""
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


_MODULE = re.compile(r"linkwork\.(expr|\w+\.algorithms)(\.[a-z]\w*)+", re.ASCII)
_CLASS = re.compile(r"_?[A-Za-z]\w*", re.ASCII)


_OF_PASSES = (FMA, FMS, FNMA, SINCOS, SIN_OF, COS_OF)


@cache
def further_operations() -> Mapping[str, Operation]:
    """Return the operations that are not in the table: operations with several results, or that compiler passes add."""
    of_matrices = PRODUCT, FRONT, FACTORS, SOLUTION
    return {row.name: row for row in (*_OF_PASSES, LOOP, CHOICE, CALL, TAKE, PUT, *of_matrices, RULE, PART)}


@cache
def is_record(kind: Hashable) -> bool:
    """Return True for a class whose instances can be written as their fields."""
    if not isinstance(kind, type):
        return False
    module, name = defining_module(kind), kind.__qualname__
    if not (_MODULE.fullmatch(module) and _CLASS.fullmatch(name)):
        return False
    if vars(import_module(module)).get(name) != kind or issubclass(kind, (InstructionList, BaseException)):
        return False
    if issubclass(kind, tuple):
        return hasattr(kind, "_fields")
    parameters = getattr(kind, "__dataclass_params__", None)
    return is_dataclass(kind) and bool(parameters and parameters.frozen and parameters.init)


def name_of_class(kind: type) -> str:
    """Return the name by which bytes refer to a class."""
    return f"{defining_module(kind).removeprefix('linkwork.')}:{kind.__qualname__}"


def class_of_name(name: str) -> type:
    """Return the class of this name.  Raises DamagedBytesError for a class that `is_record` does not accept."""
    module, _, called = name.partition(":")
    module = f"linkwork.{module}"
    kind: Any = None
    if _MODULE.fullmatch(module) and _CLASS.fullmatch(called):
        try:
            kind = getattr(import_module(module), called, None)
        except ImportError:
            kind = None
    if not is_record(kind):
        raise DamagedBytesError(f"no class {name!r} is part of programs in this version")
    return kind  # type: ignore[no-any-return]
