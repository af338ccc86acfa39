"""Classes of linkwork that bytes of a program may name: instructions, rules of differentiation, and their parts.

They are immutable values of the rooms whose code is generic over the scalar type, and their constructors only store
what they receive.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

from linkwork._util.lazy_imports import defining_module
from linkwork.compiler.pickling.byte_stream import DamagedBytesError
from linkwork.compiler.program import COS_OF, FMA, FMS, FNMA, SIN_OF, SINCOS
from linkwork.expr.autodiff.custom_derivative import RULE
from linkwork.expr.control.branch_and_call_instructions import CALL, CHOICE
from linkwork.expr.control.loop_instruction import LOOP
from linkwork.expr.control.table_access import PUT, TAKE
from linkwork.expr.linalg.frontal_elimination import FRONT
from linkwork.expr.linalg.matrix_product import PRODUCT
from linkwork.expr.linalg.sparse_factors import FACTORS, SOLUTION
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import Operation

__all__ = ["class_of_name", "further_operations", "is_record", "name_of_class"]

_MODULE = re.compile(r"linkwork\.(expr|\w+\.algorithms)(\.[a-z]\w*)+", re.ASCII)
_CLASS = re.compile(r"_?[A-Za-z]\w*", re.ASCII)


_OF_PASSES = (FMA, FMS, FNMA, SINCOS, SIN_OF, COS_OF)


@cache
def further_operations() -> Mapping[str, Operation]:
    """Return the operations that are not in the table: with several results, or added by compiler passes."""
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
